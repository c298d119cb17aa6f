//go:build peers

package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/mcp"
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

// appOf returns an app with a document, whose resource declares what declared says.
func appOf(document, declared string) view.App {
	tool, _ := mcp.ParseTool(json.RawMessage(`{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://x/y"}}}`))
	content, _ := json.Marshal(map[string]any{
		"uri": "ui://x/y", "mimeType": mcp.PageType, "text": document, "_meta": map[string]any{"ui": json.RawMessage(cmp.Or(declared, "{}"))},
	})
	return view.App{Declared: mcp.AppOf(tool, []json.RawMessage{content}), Definition: tool.Raw}
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
	p.Eval(`import('/act.js').then(act => act.post('app', { target: 't', tool: 'show' })).then(app => import('/lib.js').then(lib => lib.set({ app: { ...app, call: { target: 't', tool: 'show' }, input: { a: 1 }, result: { content: [{ type: 'text', text: 'the result' }] }, at: 1 } })))`, nil)
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
	a.app = appOf(appPrelude+`<script>
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
			a.app = appOf(document, attack.declared)
			p, s := appSite(t, b, a)
			before := p.Text(`location.href + document.title + JSON.stringify(Object.keys(sessionStorage))`)
			showApp(p)
			for _, text := range attack.reports {
				p.Await(`got.some(m => m && m.params && String(m.params.data).startsWith(` + string(quoted(text)) + `))`)
			}
			if attack.holds != "" {
				p.Await(attack.holds)
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
			_ = s
		})
	}
}

type appAttack struct {
	name, document, declared string
	bare                     bool     // without the prelude
	reports                  []string // what the app reports begins with these texts
	holds                    string   // an expression that becomes true on the page
	deed                     string   // what the actor may do
}

func appAttacks(o *outside) []appAttack {
	script := func(text string) string { return "<script>" + strings.ReplaceAll(text, "OUT", o.url) + "</script>" }
	_ = fmt.Sprint
	_ = time.Now
	return []appAttack{
		{name: "fetch", document: script(`attempt(() => fetch('OUT/fetch'))`), reports: []string{"refused TypeError"}},
		{name: "preconnect", document: `<link rel=preconnect href="` + o.url + `"><link rel=dns-prefetch href="` + o.url + `"><link rel=prefetch href="` + o.url + `/p"><link rel=preload as=image href="` + o.url + `/p2"><link rel=modulepreload href="` + o.url + `/p3"><link rel=prerender href="` + o.url + `/p4">` + script(`setTimeout(() => report('done'), 500)`), reports: []string{"done"}},
		{name: "WebRTC", document: script(`(async () => { try { const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:` + o.udp + `' }] }); c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer()); setTimeout(() => report('done ' + c.iceGatheringState), 1500); } catch (e) { report('done ' + e) } })()`), reports: []string{"done"}},
		{name: "self navigation", document: script(`location = 'OUT/nav?secret'`)},
		{name: "meta refresh", document: `<meta http-equiv=refresh content="0;url=` + o.url + `/meta">`},
		{name: "top navigation", document: script(`attempt(() => { top.location = 'OUT/top' })`), reports: []string{"refused SecurityError"}},
		{name: "history", document: script(`history.back(); history.go(-2); attempt(() => { history.pushState({}, '', '/x') })`), reports: []string{""}},
	}
}
