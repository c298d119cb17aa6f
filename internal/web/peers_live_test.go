//go:build peers

package web

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// holding is a Reader of a view that holds messages.
type holding struct {
	*dummy
	wanted string
	held   int
}

func (h holding) Status() view.Status {
	s := h.dummy.Status()
	s.Intercept, s.Wanted, s.Held = true, h.wanted, h.held
	return s
}

// TestPeerHoldingBar counts the messages that are held.
func TestPeerHoldingBar(t *testing.T) {
	b := chromium.Share(t)
	for want, r := range map[string]holding{
		"Holding every message: 0 messages held": {newDummy(), "", 0},
		"Holding every message: 1 message held":  {newDummy(), "", 1},
		"Holding name:x: 1,000 messages held":    {newDummy(), "name:x", 1000},
	} {
		p, _ := open(t, b, r, &fakeActor{powers: allPowers})
		p.Await(`document.querySelector('.bar.waits .holding')`)
		if got := p.Text(`document.querySelector('.bar.waits').textContent`); !strings.Contains(got, want+"Let all go") {
			t.Errorf("the bar says %q, want %q", got, want)
		}
	}
}

// growing is a Reader whose newest conversation is the first one to show.
type growing struct {
	*dummy
	mu    *sync.Mutex
	talks *int
}

func (g growing) Conversations() (all []view.Conversation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range *g.talks {
		all = append(all, view.Conversation{
			ID: fmt.Sprint("1.", i+1), Client: "app", Server: fmt.Sprint("server", i+1, " 1"),
			Began: time.Unix(1_700_000_000+int64(i), 0), Rows: 3, First: i == *g.talks-1,
		})
	}
	return all
}

// newGrowing returns a growing of the number of conversations.
func newGrowing(r *dummy, talks *int) growing { return growing{r, &sync.Mutex{}, talks} }

// begin adds a conversation.
func (g growing) begin() {
	g.mu.Lock()
	*g.talks++
	g.mu.Unlock()
	g.change()
}

// TestPeerNewConversation holds: the conversation that the page began with is replaced by a
// conversation that begins, as long as the newest is followed. A conversation that the user chose,
// an older row or a pause prevent that.
func TestPeerNewConversation(t *testing.T) {
	b := chromium.Share(t)
	for name, c := range map[string]struct {
		do   func(p *chromium.Page)
		want string
	}{
		"following": {func(*chromium.Page) {}, "server2"},
		"chosen": {func(p *chromium.Page) {
			p.Eval(`document.querySelectorAll('.talk-entry')[1].click()`, nil)
			p.Await(`location.hash.includes('c=1.1')`)
		}, "server1"},
		"an older row": {func(p *chromium.Page) {
			p.Type("g")
			p.Await(`!document.querySelector('.buttons').textContent.includes('Following')`)
		}, "server1"},
		"paused": {func(p *chromium.Page) {
			p.Type("p")
			p.Await(`document.querySelector('.counts').textContent.includes('paused')`)
		}, "server1"},
	} {
		talks := 1
		g := newGrowing(newDummy(), &talks)
		p, _ := open(t, b, g, &fakeActor{powers: allPowers})
		shown := `(document.querySelector('.talk-entry[aria-current]') || {}).textContent`
		p.Await(`String(` + shown + `).includes('server1')`)
		c.do(p)
		g.begin()
		p.Await(`document.querySelectorAll('.talk-entry').length === 3`)
		p.Await(settled)
		if got := p.Text(shown); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is shown, want %s", name, got, c.want)
		}
	}
}

// unanswered is a Reader with exchanges that ended, and an exchange that has been open for an hour.
type unanswered struct{ *dummy }

func (u unanswered) Conversations() []view.Conversation {
	return []view.Conversation{{
		ID: "1.1", Client: "app", Server: "tea 1", Began: u.at, Last: u.at.Add(10 * time.Second),
		Rows: 4, Open: 1, Live: true,
	}}
}

func (u unanswered) Lanes(context.Context, view.Query, time.Time, time.Time) ([]view.Lane, error) {
	after := func(seconds int) time.Time { return u.at.Add(time.Duration(seconds) * time.Second) }
	return []view.Lane{{Talk: "1.1", Title: "app → tea", Bars: []view.Bar{
		{Key: "1.1", From: u.at, To: after(5), Label: "ended", Channel: "ok", State: "done"},
		{Key: "1.2", From: after(2), To: time.Now(), Level: 1, Label: "open", Channel: "open", State: "open"},
		{Key: "1.3", From: after(6), To: after(10), Label: "asked", Channel: "input_required", State: "done"},
		{
			Key: "1.4", From: after(6), To: after(10), Level: 2, Label: "failed", Channel: "tool_error", State: "done",
			Failed: true,
		},
	}}}, nil
}

// TestPeerTimeOfOpenExchange holds: an exchange that is open for hours leaves the others their room
// in the Time view, and only a failed exchange is drawn as failed, and found by ].
func TestPeerTimeOfOpenExchange(t *testing.T) {
	p, _ := open(t, chromium.Share(t), unanswered{newDummy()}, nil)
	p.Type("3")
	p.Await(`document.querySelectorAll('.lane g').length === 4`)
	p.Await(settled)
	var wide []float64
	bars := `[...document.querySelectorAll('.lane g rect:first-of-type')]`
	p.Eval(bars+`.map(r => parseFloat(r.getAttribute('width')))`, &wide)
	if len(wide) != 4 || wide[0] < 40 || wide[0] > 50 || wide[1] < 70 {
		t.Errorf("the bars have %v %% of the width", wide)
	}
	got := p.Text(`[...document.querySelectorAll('.lane g')].map(g => g.classList.contains('failed'))`)
	if got != "false,false,false,true" {
		t.Errorf("bars are drawn as failed: %s", got)
	}
	p.Type("g]")
	p.Await(`location.hash.includes('row=1.4')`)
}

// TestPeerCutTexts holds: a text that a column of Tools cuts is complete in a tooltip.
func TestPeerCutTexts(t *testing.T) {
	r := newDummy()
	r.text = strings.TrimSpace(strings.Repeat("a reason of many words ", 20))
	p, _ := open(t, chromium.Share(t), r, nil)
	p.Type("4")
	p.Await(`document.querySelector('.list.tools .row:not(.head) .notes')`)
	var whole []string
	p.Eval(`[...document.querySelectorAll('.list.tools .row:not(.head) .notes [title]')].map(e => e.title)`, &whole)
	if !slices.Contains(whole, r.text) {
		t.Errorf("the tooltips are %q", whole)
	}
}

// TestPeerTheme holds: z changes the colors, and a page that is loaded again keeps them.
func TestPeerTheme(t *testing.T) {
	p, s := open(t, chromium.Share(t), newDummy(), nil)
	p.SetColorScheme("light")
	const background = `getComputedStyle(document.body).backgroundColor`
	p.Await(background + ` === 'rgb(255, 255, 255)'`)
	p.Type("z")
	p.Await(background + ` === 'rgb(21, 24, 28)' && location.hash.includes('theme=dark')`)
	p.Run(chromedp.Reload())
	p.Await(background + ` === 'rgb(21, 24, 28)'`)
	p.Type("z")
	p.Await(background + ` === 'rgb(255, 255, 255)'`)
	p.SetColorScheme("dark")
	p.Await(background + ` === 'rgb(21, 24, 28)'`)
	p.Type("z")
	p.Await(background + ` === 'rgb(255, 255, 255)'`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// twins is a Reader with two servers of one name.
type twins struct{ *dummy }

func (twins) Conversations() []view.Conversation {
	return []view.Conversation{
		{ID: "1.1", Client: "app", Server: "tea 1", Target: "http://127.0.0.1:4000/mcp", By: "proxy"},
		{ID: "2.1", Client: "app", Server: "tea 1", Target: "/opt/tea/bin/tea --stdio", By: "tap"},
		{ID: "3.1", Client: "app", Server: "milk 1", Target: "http://127.0.0.1:5000/mcp", By: "proxy", Revision: "2026-07-28"},
	}
}

// TestPeerServersOfOneName holds: servers of one name have their targets below the name.
func TestPeerServersOfOneName(t *testing.T) {
	p, _ := open(t, chromium.Share(t), twins{newDummy()}, nil)
	p.Await(`document.querySelectorAll('.talk-entry').length === 4`)
	got := p.Text(`[...document.querySelectorAll('.under-name')].map(e => e.textContent.trim()).join(', ')`)
	if want := "proxy 2026-07-28, tap tea --stdio, proxy 127.0.0.1:4000/mcp"; got != want {
		t.Errorf("below the names: %q, want %q", got, want)
	}
}

// TestPeerPhone holds: on a phone, the controls above the exchanges leave them the most room.
func TestPeerPhone(t *testing.T) {
	p, _ := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	p.SetSize(390, 844, 1)
	p.Await(settled)
	var top float64
	p.Eval(`document.querySelector('.body').getBoundingClientRect().top`, &top)
	if top > 190 {
		t.Errorf("the controls take %v pixels", top)
	}
}

// wave returns the base64 of a WAV file with a tenth of a second of silence.
func wave() string {
	const samples = 800
	head := "RIFF\x44\x03\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x20\x03\x00\x00"
	return base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("\x80", samples)))
}

// TestPeerAudio plays the audio of a result after a click, and no other type of media.
func TestPeerAudio(t *testing.T) {
	r := newDummy()
	r.body = `{"result":{"content":[{"type":"audio","mimeType":"audio/wav","data":"` + wave() + `"},` +
		`{"type":"audio","mimeType":"text/html","data":"` + wave() + `"}]}}`
	p, s := open(t, chromium.Share(t), r, nil)
	p.Eval(`void (location.hash = 'v=table&d=1&tab=answer&row=1.1')`, nil)
	const plays = `[...document.querySelectorAll('#panel .leaf button')].filter(b => b.textContent === 'play')`
	p.Await(plays + `.length === 1`)
	p.Eval(plays+`[0].click()`, nil)
	p.Await(`(document.querySelector('#panel audio') || {}).duration > 0.09`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerFault sets a fault for the selected exchange, by the menu of the page.
func TestPeerFault(t *testing.T) {
	a := &fakeActor{powers: allPowers}
	p, _ := open(t, chromium.Share(t), newDummy(), a)
	p.Type("2")
	p.Await(`document.querySelector('.list.table .row:not(.head)')`)
	p.Type("gb")
	p.Await(`(document.querySelector('dialog[open]') || {}).textContent?.includes('respond with HTTP 503')`)
	p.Type("5")
	p.Await(`(document.querySelector('.toast') || {}).textContent?.includes('the next call fails')`)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.done) != 1 || !strings.Contains(a.done[0], `["fault",{"kind":"503","method":"`) {
		t.Errorf("it did %q", a.done)
	}
}

// silent is a Reader whose filters find no tool, stream or secret.
type silent struct{ *dummy }

func (silent) Tools(context.Context, view.Query) ([]view.Tool, error)     { return nil, nil }
func (silent) Streams(context.Context, view.Query) ([]view.Stream, error) { return nil, nil }
func (silent) Secrets(context.Context, view.Query) ([]view.Secret, error) { return nil, nil }

// TestPeerNothingFits names what the filter does not find: exchanges may fit it.
func TestPeerNothingFits(t *testing.T) {
	p, _ := open(t, chromium.Share(t), silent{newDummy()}, nil)
	p.Type("/is:error\r")
	for key, what := range map[string]string{"4": "tools", "5": "streams", "6": "secrets"} {
		p.Type(key)
		want := string(quoted("No " + what + " fit the filter. C shows everything."))
		p.Await(`(document.querySelector('.empty') || {}).textContent === ` + want)
	}
}

// adding is a Reader that gets more exchanges, and none of which matches the filter is:none.
type adding struct {
	*dummy
	more *atomic.Int64
}

func (a adding) Rows(ctx context.Context, q view.Query) (view.Page, error) {
	page, err := a.dummy.Rows(ctx, q)
	page.Total += int(a.more.Load())
	if q.Filter == "is:none" {
		page = view.Page{Rows: []view.Row{}}
	}
	return page, err
}

// TestPeerRowsAfterAClick checks that the page counts the exchanges that are new since the user selected one, and that the
// detail says when a new filter excludes its exchange.
func TestPeerRowsAfterAClick(t *testing.T) {
	r := adding{newDummy(), &atomic.Int64{}}
	p, _ := open(t, chromium.Share(t), r, &fakeActor{powers: allPowers})
	p.Type("2")
	follow := `[...document.querySelectorAll('.top .buttons button')].some(b => b.textContent.startsWith('%s '))`
	p.Await(fmt.Sprintf(follow, "Following"))
	p.Await(`document.querySelectorAll('.list.table .row.lead').length > 3`)
	p.Eval(`[...document.querySelectorAll('.list.table .row.lead')].at(-3).click()`, nil)
	p.Await(fmt.Sprintf(follow, "Follow") + ` && document.querySelector('#panel')`)
	r.more.Store(2)
	r.change()
	p.Await(fmt.Sprintf(follow, "Follow: 2 new"))
	p.Type("/is:none\r")
	p.Await(`document.querySelector('.detail .callout').textContent === 'The filter excludes this exchange.'`)
	p.Type("C")
	p.Await(`!document.querySelector('.detail').textContent.includes('The filter excludes')`)
	p.Eval(`document.querySelector('[title^="Newest"]').click()`, nil)
	p.Await(fmt.Sprintf(follow, "Following"))
}

// TestPeerTryFirst checks that a page that begins with Try shows the same conversation in Talk as a page that does not.
func TestPeerTryFirst(t *testing.T) {
	b := chromium.Share(t)
	s := start(t, Options{Reader: newDummy(), Actor: newTrying(), Assets: assets()})
	p := b.Tab(t)
	p.Load(s.URL() + "&v=try")
	p.Await(`document.querySelector('.try')`)
	p.Eval(`document.activeElement.blur()`, nil)
	p.Type("1")
	p.Await(`document.querySelectorAll('.talk-entry')[1].getAttribute('aria-current') === 'true'`)
}
