//go:build peers

package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"

	"mcpc/internal/live/view"
	"mcpc/internal/tests/chromium"
)

// small is a page that enters with the token of its URL and keeps its key.
var small = fstest.MapFS{
	"index.html": {Data: []byte(`<!DOCTYPE html><title>small</title><link rel="icon" href="i.svg"><script src="a.js"></script><body>page`)},
	"i.svg":      {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)},
	"a.js": {Data: []byte(`const token = location.hash.slice(3); history.replaceState(null, '', '/');
		fetch('/enter', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) })
			.then(async r => { window.entered = { status: r.status, ...await r.json() }; });`)},
}

// TestPeerForeignPages lets the pages of other sites on this machine, and of a name that resolves
// to it, try what they can while a browser has the cookie.
func TestPeerForeignPages(t *testing.T) {
	actor := &fakeActor{powers: view.Powers{Resend: true, Call: true, Intercept: true, Mark: true, Export: true}}
	s := start(t, Options{Assets: small, Actor: actor})
	s.reader.bodies[0] = []byte("secret")
	b := chromium.Start(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
	own := b.Tab(t)
	address := s.URL()
	own.Load(address)
	own.Await(`window.entered && entered.status === 200 && location.hash === ''`)
	var status int
	own.Eval(`fetch('/api/status', { headers: { 'X-Mcpc': entered.key } }).then(r => r.status)`, &status)
	if status != 200 {
		t.Fatalf("its own page got %d", status)
	}
	own.AssertClean(strings.TrimPrefix(s.base, "http://"))
	own.Eval(`fetch('/api/status', { headers: { 'X-Mcpc': '1' } }).then(r => r.status)`, &status)
	if status != 401 {
		t.Errorf("with the cookie alone: %d", status)
	}
	if text := own.Text(`document.cookie`); text != "" {
		t.Errorf("scripts see the cookie %q", text)
	}
	second := b.Tab(t)
	second.Load(address)
	second.Await(`window.entered && entered.status === 401`)

	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!DOCTYPE html><title>evil</title><link rel="icon" href="data:,"><body>`)
	}))
	defer evil.Close()
	port := s.base[strings.LastIndex(s.base, ":"):]
	asked := len(s.reader.asked)
	for _, from := range []string{evil.URL, strings.Replace(evil.URL, "127.0.0.1", "localhost", 1), strings.Replace(evil.URL, "127.0.0.1", "evil.example", 1)} {
		p := b.Tab(t)
		p.Load(from)
		var got []string
		p.Eval(`(async base => {
			const said = [];
			const attempt = async (name, f) => { try { said.push(name + ': ' + await f()); } catch (e) { said.push(name + ': refused'); } };
			const kinds = { cors: { credentials: 'include' }, opaque: { mode: 'no-cors', credentials: 'include' } };
			for (const [kind, init] of Object.entries(kinds)) for (const path of ['/', '/a.js', '/api/status', '/api/rows', '/api/events', '/api/body?frame=0', '/api/image?frame=0'])
				await attempt('GET ' + kind + ' ' + path, async () => { const r = await fetch(base + path, init); return r.type + ' ' + (await r.text()).length; });
			for (const type of ['application/json', 'text/plain']) for (const [kind, init] of Object.entries(kinds)) for (const path of ['/enter', '/api/do/copy', '/api/do/request', '/api/do/mark'])
				await attempt('POST ' + kind + type + path, async () => { const r = await fetch(base + path, { ...init, method: 'POST', headers: { 'Content-Type': type }, body: '{}' }); return r.type + ' ' + (await r.text()).length; });
			await attempt('key', async () => { const r = await fetch(base + '/api/status', { credentials: 'include', headers: { 'X-Mcpc': '1' } }); return r.status; });
			await attempt('beacon', async () => { navigator.sendBeacon(base + '/api/do/request', new Blob(['{}'], { type: 'application/json' })); throw 1; });
			for (const [tag, path] of [['script', '/a.js'], ['img', '/icon.svg'], ['img', '/api/image?frame=0']]) await attempt(tag + path, () => new Promise((ok, no) => {
				const e = document.createElement(tag); e.onload = () => ok('loaded'); e.onerror = no; e.src = base + path; document.body.append(e); }));
			await attempt('frame', () => new Promise((ok, no) => {
				const e = document.createElement('iframe'); e.onload = () => { try { e.contentDocument ? no() : no(); } catch { no(); } }; e.src = base + '/'; document.body.append(e); }));
			const form = document.createElement('form');
			form.method = 'post'; form.action = base + '/api/do/request'; form.target = 'f';
			const frame = document.createElement('iframe'); frame.name = 'f'; document.body.append(frame, form);
			await attempt('form', () => new Promise((ok, no) => { frame.onload = no; form.submit(); }));
			const opened = window.open(base + '/');
			await attempt('window', async () => { await new Promise(r => setTimeout(r, 300)); return opened && !opened.closed && opened.document.body.textContent; });
			return said;
		})("`+s.base+`")`, &got)
		for _, said := range got {
			// A window that was cut off counts as closed.
			if !strings.HasSuffix(said, ": refused") && !slices.Contains([]string{"window: false", "window: null", "window: "}, said) {
				t.Errorf("from %s %s", from, said)
			}
		}
		if len(got) < 30 {
			t.Errorf("from %s only %q", from, got)
		}
	}
	rebound := b.Tab(t)
	rebound.Load("http://evil.example" + port + "/")
	if text := rebound.Text(`document.body.innerText`); !strings.Contains(text, "the Host field has another host") {
		t.Errorf("by another name: %s", text)
	}
	if len(s.reader.asked) != asked || len(actor.done) > 0 {
		t.Errorf("foreign pages read %v and did %v", s.reader.asked, actor.done)
	}
}
