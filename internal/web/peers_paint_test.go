//go:build peers

package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// painted is true when every line that can be seen of the list has an exchange, and lines fill the window.
const painted = `(() => {
	const list = document.querySelector('.list'), box = list.getBoundingClientRect(), rows = [...list.querySelectorAll('.row:not(.head)')];
	const seen = rows.map(r => [r.getBoundingClientRect(), r.textContent.trim()]).filter(([r]) => r.bottom > box.top + 24 && r.top < box.bottom - 2);
	return seen.length >= Math.floor((list.clientHeight - 24) / 20) && seen.every(([, text]) => text);
})()`

// TestPeerRowsArePainted holds: another order or filter shows rows, from the first on.
func TestPeerRowsArePainted(t *testing.T) {
	r := newDummy()
	r.rows = 570
	p, _ := open(t, chromium.Share(t), r, nil)
	following := func(view string) {
		t.Helper()
		p.Type(view + "CG")
		p.Await(`document.querySelector('.list').scrollTop > 9000 && [...document.querySelectorAll('.act')].some(b => b.textContent.startsWith('Following'))`)
		p.Await(painted)
	}
	head := func(word string) {
		t.Helper()
		p.Eval(`[...document.querySelectorAll('[role=columnheader] button')].find(b => b.textContent.startsWith('`+word+`')).click()`, nil)
		p.Await(`location.hash.includes('s=') && document.querySelector('[aria-sort]')`)
		p.Await(settled)
	}
	following("2")
	head("took")
	p.Await(painted)
	p.Await(`document.querySelector('.list').scrollTop === 0`)
	following("1")
	p.Type("/")
	p.Await(`document.activeElement.id === 'filter'`)
	p.Type("plain\r")
	p.Await(`location.hash.includes('f=plain')`)
	p.Await(painted)
}

// TestPeerNewAddress holds: another address that is pasted into a tab admits it, and a page without
// its server reports that.
func TestPeerNewAddress(t *testing.T) {
	b := chromium.Share(t)
	p, s := open(t, b, newDummy(), nil)
	paste := func(p *chromium.Page) {
		t.Helper()
		_, fragment, _ := strings.Cut(s.URL(), "#")
		p.Eval(`void (window.old = true, location.hash = '`+fragment+`&v=table')`, nil)
		p.Await(`!window.old && document.querySelector('#filter') && location.hash === '#v=table'`)
		p.Await(`document.querySelector('[aria-current=page]').textContent.includes('Table') && document.querySelectorAll('.row').length > 5`)
	}
	paste(p)
	second := b.Tab(t)
	second.Load(s.base + "/")
	second.Await(`document.body.innerText.includes('Enter at the terminal of mcpc prints a new one')`)
	paste(second)

	s.stop() // the second tab is in front, and is drawn
	second.Await(`document.querySelector('.lost') && document.querySelector('.counts').textContent.startsWith('● not connected') && !document.querySelector('.counts .live')`)
	second.Type("/")
	second.Await(`document.activeElement.id === 'filter'`)
	second.Type("nothing\r")
	second.Await(`document.querySelector('.toast.bad') && document.querySelector('.toast').textContent.startsWith('The connection to mcpc is lost.')`)
	if second.Text(`document.body.innerText.includes('Nothing fits')`) == "true" {
		t.Error("the page says that nothing fits")
	}
}

// several is a Reader with four conversations; the third is the newest of a client.
type several struct{ *dummy }

func (several) Conversations() (all []view.Conversation) {
	for i, server := range []string{"tea 1", "other 1", "tea 2", "more 1"} {
		all = append(all, view.Conversation{ID: fmt.Sprint("1.", i+1), Client: "app", Server: server, Began: time.Unix(1_700_000_000+int64(i), 0), Rows: 3, First: i == 2})
	}
	return all
}

// TestPeerCompare holds: it begins with the conversation that is shown, and the newest other
// conversation of its server, the older first.
func TestPeerCompare(t *testing.T) {
	p, _ := open(t, chromium.Share(t), several{newDummy()}, &fakeActor{powers: allPowers})
	for _, c := range []struct {
		entry    int // of the list, with the newest first
		from, to string
	}{{-1, "1.1", "1.3"}, {4, "1.1", "1.3"}, {3, "1.2", "1.4"}} {
		p.Await(`document.querySelectorAll('.talk-entry').length === 5`)
		if c.entry >= 0 {
			p.Eval(fmt.Sprintf(`document.querySelectorAll('.talk-entry')[%d].click()`, c.entry), nil)
			p.Await(fmt.Sprintf(`document.querySelectorAll('.talk-entry')[%d].getAttribute('aria-current')`, c.entry))
		}
		p.Type("D")
		p.Await(`document.querySelector('dialog select') && document.querySelector('dialog').contains(document.activeElement)`)
		if got, want := p.Text(`[...document.querySelectorAll('dialog select')].map(s => s.value).join(' to ')`), c.from+" to "+c.to; got != want {
			t.Errorf("entry %d: compares %s, not %s", c.entry, got, want)
		}
		p.Type(kb.Escape)
		p.Await(`!document.querySelector('dialog')`)
	}
}

// nameless is a Reader whose rows do not know their server, and whose messages are events that were held.
type nameless struct{ several }

func (n nameless) Rows(_ context.Context, q view.Query) (view.Page, error) {
	p := n.page(q)
	for i := range p.Rows {
		p.Rows[i].Server, p.Rows[i].Target = "", "http://tea"
	}
	return p, nil
}

func (n nameless) Detail(ctx context.Context, key string) (view.Detail, error) {
	d, err := n.several.Detail(ctx, key)
	d.Frames = []view.Frame{{Kind: "event", Event: "message", Body: &view.Body{Text: "{}"}}}
	d.Lines = []view.Line{{Kind: "held", Dir: "sent", Text: "held for 20 s"}}
	return d, err
}

// TestPeerWords holds: words that were written twice or without a space, and names that are known.
func TestPeerWords(t *testing.T) {
	p, _ := open(t, chromium.Share(t), nameless{several{newDummy()}}, nil)
	p.Await(`document.querySelectorAll('.talk-entry').length === 5`)
	p.Type("2")
	p.Await(`[...document.querySelectorAll('.row:not(.head) .p')].some(c => c.textContent === 'tea')`)
	if p.Text(`[...document.querySelectorAll('.row .p')].some(c => c.textContent.includes('http'))`) == "true" {
		t.Error("a server of which the name is known is shown by its address")
	}
	// A click beside the word of a column sorts, too.
	p.Eval(`(head => { const box = head.getBoundingClientRect(); document.elementFromPoint(box.left + 3, box.top + box.height / 2).click(); })([...document.querySelectorAll('[role=columnheader]')].find(h => h.textContent === 'size'))`, nil)
	p.Await(`location.hash.includes('s=-size')`)
	p.Eval(`void (location.hash = 'v=table&d=1&tab=events&row=1.1')`, nil)
	p.Await(`document.querySelector('.frame summary')`)
	if got := p.Text(`document.querySelector('.frame summary').innerText`); !strings.HasPrefix(got, "· event message") {
		t.Errorf("an event is %q", got)
	}
	p.Eval(`void (location.hash = 'v=table&d=1&tab=summary&row=1.1')`, nil)
	p.Await(`document.querySelector('.mini .said') && document.querySelector('.mini .said').textContent === '‖ held for 20 s'`)
}

// late is a Reader whose lanes come when they are let go.
type late struct {
	*dummy
	lanes chan struct{}
}

func (l late) Lanes(ctx context.Context, _ view.Query, _, _ time.Time) ([]view.Lane, error) {
	select {
	case <-l.lanes:
	case <-ctx.Done():
	}
	return nil, nil
}

// TestPeerTimeIsRead holds: the Time view does not say that there is nothing before it knows.
func TestPeerTimeIsRead(t *testing.T) {
	r := late{newDummy(), make(chan struct{})}
	p, _ := open(t, chromium.Share(t), r, nil)
	p.Type("3")
	p.Await(`document.querySelector('.times .empty')`)
	if got := p.Text(`document.querySelector('.times .empty').textContent`); got != "Reading…" {
		t.Errorf("it says %q", got)
	}
	close(r.lanes)
	p.Await(`document.querySelector('.times .empty').textContent === 'Nothing in this time.'`)
}

// absent is a Reader that has no row of a conversation any more.
type absent struct{ *dummy }

const older = "this conversation is older than the 50,000 exchanges kept"

func (a absent) Rows(ctx context.Context, q view.Query) (view.Page, error) {
	if q.Talk == "9.9" {
		return view.Page{Rows: []view.Row{}, Absent: older}, nil
	}
	return a.dummy.Rows(ctx, q)
}

func (a absent) Talk(ctx context.Context, q view.Query) ([]view.Block, view.Page, error) {
	if q.Talk == "9.9" {
		return nil, view.Page{Rows: []view.Row{}, Absent: older}, nil
	}
	return a.dummy.Talk(ctx, q)
}

func (a absent) Streams(ctx context.Context, q view.Query) ([]view.Stream, error) {
	if q.Talk == "9.9" {
		return nil, nil
	}
	return a.dummy.Streams(ctx, q)
}

// TestPeerAbsentConversation holds: a conversation without kept rows is not called unrecorded.
func TestPeerAbsentConversation(t *testing.T) {
	p, _ := open(t, chromium.Share(t), absent{newDummy()}, nil)
	for _, name := range []string{"talk", "table"} {
		p.Eval(`void (location.hash = 'v=`+name+`&c=9.9')`, nil)
		p.Await(`(document.querySelector('.empty') || {}).textContent === 'This conversation is older than the 50,000 exchanges kept. C shows everything.'`)
	}
	p.Eval(`void (location.hash = 'v=streams&c=9.9')`, nil)
	p.Await(`(document.querySelector('.empty') || {}).textContent === 'No exchange of this conversation is kept. C shows everything.'`)
}
