//go:build peers

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

var allPowers = view.Powers{Resend: true, Call: true, Intercept: true, Mark: true, Export: true}

// newDummy is a Reader with plain texts.
func newDummy() *dummy {
	return &dummy{
		fakeReader: &fakeReader{more: make(chan struct{}), seq: 1}, text: "plain words", words: sane, rows: 60, long: 4, raw: `{"type":"object","properties":{"message":{"type":"string"}}}`,
		body: `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"# Hello\n\n- one\n- [two](https://example.com)"}]}}`, at: time.Unix(1_700_000_000, 0),
	}
}

// open opens the page of a Reader in a Browser.
func open(t *testing.T, b *chromium.Browser, r view.Reader, a view.Actor) (*chromium.Page, *site) {
	t.Helper()
	s := start(t, Options{Reader: r, Actor: a, Assets: assets()})
	p := b.Tab(t)
	p.Load(s.URL())
	p.Await(`document.querySelector('#filter')`)
	p.Await(`!location.hash.includes('t=')`)
	return p, s
}

// eachView goes to each view and each tab of the detail.
func eachView(p *chromium.Page, key string, look func(where string)) {
	for _, v := range []string{"talk", "table", "time", "tools", "streams", "secrets", "try", "home"} {
		p.Eval(`void (location.hash = 'v=`+v+`')`, nil)
		p.Await(`document.querySelector('[aria-current=page]') && location.hash.includes('` + strings.ReplaceAll(v, "talk", "") + `')`)
		p.Await(settled)
		look(v)
	}
	for _, tab := range []string{"summary", "request", "answer", "events", "wire", "time", "findings", "diff"} {
		p.Eval(`void (location.hash = new URLSearchParams({ v: 'table', d: 1, tab: '`+tab+`', row: `+string(quoted(key))+` }))`, nil)
		p.Await(`document.querySelector('#tab-` + tab + `[aria-selected=true]')`)
		p.Await(settled)
		// All that can be unfolded is.
		p.Eval(`document.querySelectorAll('#panel details:not([open])').forEach(d => d.open = true)`, nil)
		p.Await(settled)
		look("detail, " + tab)
	}
	p.Eval(`void (location.hash = 'v=talk')`, nil)
	p.Await(settled)
}

// settled is true when frames were drawn and nothing is being fetched.
const settled = `new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(r), 60)))).then(() => true)`

func quoted(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return raw
}

const hostileText = `<script>window.hacked=1</script><img src=x onerror="window.hacked=1"><img src="http://evil.example/a.png"><svg onload="hacked=1"><iframe src="javascript:hacked=1"></iframe>` +
	`<a href="javascript:window.hacked=1">x</a>` + "\x1b[31mred\x1b]0;title\x07\u202eevil\u2066\u200f\u200b\u2028" + `"'` + "`${window.hacked=1}`" +
	` [x](javascript:window.hacked=1) ![y](http://evil.example/b.png) </textarea></style><style>*{display:none}</style>` + "\x00\u0085"

// TestPeerHostileText has what a server could try in every field of every document.
func TestPeerHostileText(t *testing.T) {
	b := chromium.Share(t)
	raw, err := json.Marshal(map[string]any{hostileText: hostileText, "type": hostileText, "properties": map[string]any{hostileText: map[string]any{
		"type": "string", "title": hostileText, "description": hostileText,
		"default": hostileText, "enum": []string{hostileText},
	}, "__proto__": map[string]any{"hacked": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	message, err := json.Marshal(map[string]any{
		"jsonrpc": hostileText, "id": hostileText, "method": hostileText, "params": map[string]any{"arguments": json.RawMessage(raw)},
		"result": map[string]any{"content": []any{
			map[string]any{"type": hostileText, "text": hostileText},
			map[string]any{"type": "resource_link", "uri": "javascript:window.hacked=1", "name": hostileText},
			map[string]any{"type": "image", "mimeType": "text/html", "data": strings.Repeat("PHNjcmlwdD4", 40)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]map[string][]string{"in texts": sane, "everywhere": nil} {
		t.Run(name, func(t *testing.T) {
			r := newDummy()
			r.text, r.words, r.raw, r.body, r.waits = hostileText, words, string(raw), string(message), 2
			key := "1.1"
			if words == nil {
				key = hostileText
			}
			p, s := open(t, b, r, asking{&fakeActor{powers: allPowers}, r})
			look := func(where string) {
				t.Helper()
				var got struct {
					Hacked bool
					Odd    []string
					Wrong  []string
				}
				p.Eval(`(() => {
					const odd = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
					const texts = [document.title], walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
					for (let n = walk.currentNode; n; n = walk.nextNode()) {
						if (n.nodeType === 3) texts.push(n.data);
						else for (const a of n.attributes) if (!['id', 'value', 'class'].includes(a.name)) texts.push(a.name + '=' + a.value);
					}
					const wrong = [...document.querySelectorAll('iframe, object, embed, form[action], style, [onload], [onerror], script:not([src$="live.js"]), a:not([href^="http"]):not([href^="#"]), img:not([src^="blob:"])')];
					return { Hacked: 'hacked' in window || 'hacked' in {}, Odd: texts.filter(t => odd.test(t)).slice(0, 5), Wrong: wrong.slice(0, 5).map(e => e.outerHTML.slice(0, 200)) };
				})()`, &got)
				if got.Hacked || len(got.Odd) > 0 || len(got.Wrong) > 0 {
					t.Errorf("%s: hacked %t, odd characters in %q, elements %q", where, got.Hacked, got.Odd, got.Wrong)
				}
				if n := p.Text(`document.querySelectorAll('#filter').length`); n != "1" {
					t.Errorf("%s: the page is not there", where)
				}
			}
			look("first")
			eachView(p, key, look)
			for _, keys := range []string{"?", "t", "i", "x", "D", "f", "y", "E", "n", "a", "e"} {
				p.Eval(`document.activeElement.blur()`, nil)
				p.Type(keys)
				p.Await(settled)
				look("after " + keys)
				p.Type(kb.Escape)
				p.Await(settled)
			}
			p.AssertClean(strings.TrimPrefix(s.base, "http://"), "/api/image?") // no image is drawn of such bytes
		})
	}
}

// TestPeerDeepAndLarge shows 1,000 nested levels and a body of 64 MB.
func TestPeerDeepAndLarge(t *testing.T) {
	b := chromium.Share(t)
	deep := strings.Repeat(`{"a":[`, 500) + strings.Repeat(`]}`, 500)
	r := newDummy()
	r.raw, r.body = deep, `{"result":`+deep+`}`
	p, s := open(t, b, r, nil)
	eachView(p, "1.1", func(where string) {
		if n := p.Text(`document.querySelectorAll('#filter').length`); n != "1" {
			t.Errorf("%s: the page is not there", where)
		}
	})
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))

	r = newDummy()
	r.body = `{"result":{"content":[{"type":"text","text":"` + strings.Repeat("0123456789abcdef", 4<<20) + `"}]}}`
	p, s = open(t, b, r, nil)
	eachView(p, "1.1", func(string) {})
	p.Eval(`void (location.hash = 'v=table&d=1&tab=answer&row=1.1')`, nil)
	p.Await(`[...document.querySelectorAll('#panel button')].find(b => b.textContent.includes('Read all'))`)
	p.Eval(`[...document.querySelectorAll('#panel button')].find(b => b.textContent.includes('Read all')).click()`, nil)
	p.Await(`![...document.querySelectorAll('#panel button')].some(b => b.textContent.includes('Read all'))`)
	began := time.Now()
	p.Await(settled)
	t.Logf("a frame takes %v beside 64 MB; the page has %s elements", time.Since(began), p.Text(`document.querySelectorAll('*').length`))
	p.Type("1")
	p.Await(`document.querySelector('[aria-current=page]').textContent.includes('Talk')`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"), "/api/image?") // the text could be one
}

// peersDir returns the directory of scripts/peers.sh: MCPC_PEERS, or .peers in the root of the repository.
func peersDir() string {
	name := os.Getenv("MCPC_PEERS")
	if name == "" {
		name = ".peers"
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join("..", "..", name)
}

// TestPeerAccess looks for faults that keep people out, light and dark, small and large.
func TestPeerAccess(t *testing.T) {
	b := chromium.Share(t)
	r := newDummy()
	r.waits = 2
	p, s := open(t, b, r, asking{&fakeActor{powers: allPowers}, r})
	look := accessFaults(t, p)
	for _, c := range []struct {
		scheme string
		zoom   float64
	}{{"light", 1}, {"dark", 1}, {"light", 2}} {
		p.SetColorScheme(c.scheme)
		p.SetSize(1280, 800, c.zoom)
		p.Await(settled)
		eachView(p, "1.1", func(where string) { look(fmt.Sprintf("%s, %v, %s", c.scheme, c.zoom, where)) })
		for _, keys := range []string{"?", "t", "i", "x", "D", "f", "y", "E", "n", "a", "e"} {
			p.Eval(`document.activeElement.blur()`, nil)
			p.Type(keys)
			p.Await(settled)
			look(fmt.Sprintf("%s, %v, after %s", c.scheme, c.zoom, keys))
			p.Type(kb.Escape)
			p.Await(settled)
		}
	}
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerFirstTalk holds: the conversation that the page begins with applies to the Talk without a
// filter, the conversation that the user chose to all views.
func TestPeerFirstTalk(t *testing.T) {
	p, _ := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	shown := func(n int) {
		t.Helper()
		p.Await(fmt.Sprintf(`[...document.querySelectorAll('.talk-entry')].findIndex(e => e.getAttribute('aria-current')) === %d`, n))
	}
	shown(1)
	p.Type("2")
	shown(0)
	p.Type("1")
	shown(1)
	p.Type("/")
	p.Await(`document.activeElement.id === 'filter'`)
	p.Type("is:error\r")
	shown(0)
	p.Type("C")
	shown(0)
	p.Eval(`document.querySelectorAll('.talk-entry')[1].click()`, nil)
	shown(1)
	p.Type("2")
	shown(1)
}

// TestPeerKeyboardOnly does what a mouse could do with keys.
func TestPeerKeyboardOnly(t *testing.T) {
	b := chromium.Share(t)
	r := newDummy()
	p, s := open(t, b, r, asking{&fakeActor{powers: allPowers}, r})
	for i, view := range []string{"talk", "table", "time", "tools", "streams", "secrets"} {
		p.Type(fmt.Sprint(i + 1))
		p.Await(`[...document.querySelectorAll('nav.views button')].findIndex(b => b.getAttribute('aria-current')) === ` + fmt.Sprint(i))
		_ = view
	}
	p.Type("2")
	p.Await(`document.querySelectorAll('[role=row]').length > 5`)
	p.Type("gjj")
	p.Await(`location.hash.includes('row=1.3')`)
	p.Type("k")
	p.Await(`location.hash.includes('row=1.2')`)
	p.Type("\r")
	p.Await(`document.querySelector("#panel")`)
	p.Await(`document.activeElement.id === "panel"`)
	p.Type(kb.Escape)
	p.Await(`!document.querySelector('#panel')`)
	p.Type("/")
	p.Await(`document.activeElement.id === 'filter'`)
	p.Type("is:error")
	p.Type("\r")
	p.Await(`location.hash.includes('f=is')`)
	p.Type("C")
	p.Await(`!location.hash.includes('f=is')`)
	for _, key := range []string{"?", "x", "i"} {
		p.Type(key)
		p.Await(`document.querySelector('dialog, [role=dialog]') && document.querySelector('dialog, [role=dialog]').contains(document.activeElement)`)
		p.Type(kb.Escape)
		p.Await(`!document.querySelector("dialog, [role=dialog]")`)
	}
	// Tab goes through all of the page, is seen on each stop, and comes out at the end. It begins
	// at the body: if a dialog was closed, the browser continues from its place, which may be the
	// end of the page.
	p.Eval(`document.body.tabIndex = -1, document.body.focus()`, nil)
	p.Await(`document.activeElement === document.body`)
	stops, unseen := map[string]bool{}, 0
	for range 120 {
		p.Type("\t")
		var at struct {
			Where string
			Seen  bool
		}
		p.Eval(`(() => {
			const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			if (e === document.body) return { where: '', seen: true };
			return { where: e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent).slice(0, 40) + ' ' + Math.round(r.x) + ',' + Math.round(r.y), seen: r.width > 0 && r.height > 0 && (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none') };
		})()`, &at)
		if at.Where == "" || stops[at.Where] {
			break
		}
		stops[at.Where] = true
		if !at.Seen {
			unseen++
			t.Errorf("the focus is not seen on %s", at.Where)
		}
	}
	if len(stops) < 15 || unseen > 0 {
		t.Errorf("%d stops, %d not seen", len(stops), unseen)
	}
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerDetailByKeys turns the tabs of the detail by the arrow keys, wherever the focus is, and leaves it by Back.
func TestPeerDetailByKeys(t *testing.T) {
	p, s := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	p.Type("2")
	p.Await(`document.querySelectorAll('[role=row]').length > 5`)
	p.Type("gj\r")
	p.Await(`document.activeElement.id === "panel"`)
	p.Type(kb.ArrowRight)
	p.Await(`document.querySelector('#tab-request[aria-selected=true]')`)
	p.Type(kb.ArrowLeft + kb.ArrowLeft)
	p.Await(`document.querySelector('#tab-diff[aria-selected=true]')`)
	p.Await(settled)
	p.Eval(`history.back()`, nil)
	p.Await(`!document.querySelector('#panel') && document.querySelector('.list.table')`)
	p.Eval(`history.back()`, nil)
	p.Await(`document.querySelector('.list.talk')`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// A finding is a Reader whose answers have a word far down, in a long text. Its Talk view comes after the rows of
// its Table view.
type finding struct {
	*dummy
	hasRead func()
	read    context.Context // is done when rows were read
}

// Detail returns the answer with the word.
func (r finding) Detail(ctx context.Context, key string) (view.Detail, error) {
	d, err := r.dummy.Detail(ctx, key)
	text := string(quoted(strings.Repeat("word ", 100) + `Needle "39"`))
	d.Response = &view.Body{Text: `{"result":{"list":[` + strings.Repeat("1,", 90) + text + `]}}`}
	return d, err
}

// Rows names the texts that the filter searches for.
func (r finding) Rows(ctx context.Context, q view.Query) (view.Page, error) {
	defer r.hasRead()
	page, err := r.dummy.Rows(ctx, q)
	page.Texts = []string{"NEEDLE", "39"}
	return page, err
}

// Talk waits until rows were read.
func (r finding) Talk(ctx context.Context, q view.Query) ([]view.Block, view.Page, error) {
	select {
	case <-r.read.Done():
	case <-ctx.Done():
	}
	return r.dummy.Talk(ctx, q)
}

// TestPeerMarksFoundTexts checks that the texts that the filter searches for are marked in a message, and that the first of
// them is on the screen. A list that the user has left changes nothing when it comes.
func TestPeerMarksFoundTexts(t *testing.T) {
	read, hasRead := context.WithCancel(t.Context())
	p, s := open(t, chromium.Share(t), finding{newDummy(), hasRead, read}, nil)
	p.Eval(`void (location.hash = 'v=table&row=1.1&d=1&tab=answer')`, nil)
	const found = `[...CSS.highlights.get('found')]`
	p.Await(`document.querySelector('#tab-answer[aria-selected=true]')`)
	p.Await(settled)
	p.Await(found + `.map(String).sort().join() === '39,Needle'`)
	p.Await(found + `.every(r => (at => at.top > 0 && at.bottom < innerHeight)(r.getBoundingClientRect()))`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerHoldIsConfirmed types a filter without /: i opens the dialog, and Enter there does not hold yet.
func TestPeerHoldIsConfirmed(t *testing.T) {
	actor := &fakeActor{powers: allPowers}
	p, s := open(t, chromium.Share(t), newDummy(), actor)
	p.Type("i")
	p.Await(`document.activeElement.matches('dialog input')`)
	p.Type("echo")
	p.Await(`document.activeElement.value === 'echo'`)
	p.Type("\r")
	p.Await(`document.activeElement.id === "hold"`)
	p.Await(settled)
	if got := actor.deeds(); len(got) > 0 {
		t.Errorf("held without a confirmation: %q", got)
	}
	p.Type("\r")
	p.Await(`!document.querySelector("dialog")`)
	if got, want := actor.deeds(), `["intercept",true,"is:request (echo)"]`; len(got) != 1 || got[0] != want {
		t.Errorf("did %q, want %s", got, want)
	}
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// TestPeerEndedServer checks that the page keeps what was read when mcpc has ended, and reports it.
func TestPeerEndedServer(t *testing.T) {
	p, s := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	p.Type("2")
	p.Await(`document.querySelectorAll('[role=row]').length > 5`)
	p.Type("gj\r")
	p.Await(`document.querySelector('#panel .facts')`)
	s.stop()
	p.Await(`document.querySelector('.bar.lost')`)
	p.Await(settled)
	for what, there := range map[string]string{
		"rows": `document.querySelectorAll('.list .row.lead').length > 5`, "detail": `!!document.querySelector('#panel .facts')`,
	} {
		if p.Text(there) != "true" {
			t.Errorf("the %s vanished: %s", what, p.Text(`document.querySelector("section.detail").innerText.slice(0, 400)`))
		}
	}
	p.Type("4")
	p.Await(`document.querySelector('.list.tools')`)
	p.Type("2")
	p.Await(`document.querySelectorAll('.list.table .row.lead').length > 5`)
}

// TestPeerLargeAnswer shows a result of 5 MB as a tree.
func TestPeerLargeAnswer(t *testing.T) {
	r := newDummy()
	r.body = `{"result":{"content":[{"type":"text","text":"` + strings.Repeat("0123456789", 500_000) + `"}],"end":"reached"}}`
	p, s := open(t, chromium.Share(t), r, nil)
	p.Eval(`void (location.hash = 'v=table&d=1&tab=answer&row=1.1')`, nil)
	p.Await(`[...document.querySelectorAll('#panel .leaf')].some(e => e.textContent.includes('reached'))`)
	p.AssertClean(strings.TrimPrefix(s.base, "http://"), "/api/image?")
}

// TestPeerWrongAddress checks the hint for an address that admits no page.
func TestPeerWrongAddress(t *testing.T) {
	b := chromium.Share(t)
	s := start(t, Options{Reader: newDummy(), Assets: assets()})
	p := b.Tab(t)
	p.Load(s.base + "/#t=" + strings.Repeat("x", 43))
	p.Await(`document.querySelector('h1') && document.body.innerText.includes('prints a new one')`)
	p.Await(`document.body.innerText.includes('mcpc inspect --web')`)
}

// TestPeerSlowPage lets a page be busy while much happens: it shows the newest afterwards.
func TestPeerSlowPage(t *testing.T) {
	b := chromium.Share(t)
	r := newDummy()
	p, s := open(t, b, r, nil)
	p.Type("2")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 3000 {
			r.mu.Lock()
			r.rows = 60 + i
			r.mu.Unlock()
			r.change()
			if i%10 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	p.Eval(`(() => { const end = performance.now() + 3000; while (performance.now() < end); })()`, nil)
	<-done
	p.Await(`document.querySelector('.counts').textContent.replace(/\D/g, '').includes('3059')`)
	p.Await(`+document.querySelector('[role=grid]').getAttribute('aria-rowcount') === 3059`)
	if n := p.Text(`document.querySelectorAll('[role=row]').length < 130`); n != "true" {
		t.Error("too many rows are drawn")
	}
	p.AssertClean(strings.TrimPrefix(s.base, "http://"))
}

// deeds are what the actor was asked to do until now.
func (f *fakeActor) deeds() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.done)
}

// TestPeerKeysReachDialog types without waiting for the dialog that the first key opens.
func TestPeerKeysReachDialog(t *testing.T) {
	p, _ := open(t, chromium.Share(t), newDummy(), &fakeActor{powers: allPowers})
	p.Type("2")
	p.Await(`document.querySelectorAll('[role=row]').length > 5`)
	p.Eval(`(() => { const f = fetch, held = new Promise(go => window.goOn = go); window.fetch = (u, o) => u.includes('/row?') ? held.then(() => f(u, o)) : f(u, o); })()`, nil)
	p.Type("gj")
	p.Await(`location.hash.includes('row=1.2')`)
	p.Type("n")
	p.Type("not one C of it")
	p.Eval(`goOn()`, nil)
	p.Await(`document.querySelector('dialog[open] textarea, dialog[open] input') && document.querySelector('dialog[open] textarea, dialog[open] input').value.endsWith('not one C of it')`)
	p.Type(kb.Escape)
	p.Await(`!document.querySelector('dialog')`)
	p.Type("/name:a/name:b")
	p.Await(`document.getElementById('filter').value === 'name:a/name:b'`)
	p.Type("\r/name:c")
	p.Await(`document.getElementById('filter').value === 'name:a/name:b name:c'`)
	p.Type("\rC")
	p.Type("?pause\r")
	p.Await(`document.querySelector('.counts').textContent.includes('paused')`)
	p.Type("y" + kb.Escape + "p")
	p.Await(`document.querySelector('.counts').textContent.includes('live')`)
}
