package gateway_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/connect/gateway"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// protected returns the URL of a demo server that requires a login.
func protected(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(demo.Protect(demo.Handler(demo.Options{Now: time.Now}), time.Now))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// visit opens a page as a browser does.
func visit(t *testing.T, address string) {
	t.Helper()
	got, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return
	}
	defer got.Body.Close()
	if body, _ := io.ReadAll(got.Body); !strings.Contains(string(body), "Login received") {
		t.Errorf("%s: %s", got.Status, body)
	}
}

// long is longer than a test.
const long = 5 * time.Minute

// hasTool reports whether the tools of a list have this name.
func hasTool(m *wire.Message, name string) bool {
	return strings.Contains(" "+names(m, "tools", "name")+" ", " "+name+" ")
}

// A browser that logs in at once gives the first list the tools of the server. A call that requires
// another scope leads to another login, and is then sent again.
func TestListWaitsForTheLoginInABrowser(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	f, _ := behind(t, func(o *gateway.Options) {
		o.Login = &gateway.LoginOptions{Wait: long, Browse: func(address string, _ func(error)) error {
			opened.Add(1)
			go visit(t, address)
			return nil
		}}
	}, protected(t))
	p := f.connectTo(t, "{}")
	if got := p.call("tools/list", "{}"); !hasTool(got, "one__get-sum") || hasTool(got, "one__login") {
		t.Errorf("%s\n%s", got.Raw, f.said())
	}
	got := answer(p.call("tools/call", `{"name":"one__get-sum","arguments":{"a":1,"b":2}}`))
	if !strings.Contains(got, "is 3") || opened.Load() != 2 {
		t.Errorf("%d pages opened: %s\n%s", opened.Load(), got, f.said())
	}
}

// A host that only opens a session, and ends it, does not start a login.
func TestOpeningASessionDoesNotLogIn(t *testing.T) {
	t.Parallel()
	refused := make(chan bool, 100)
	handler := demo.Protect(demo.Handler(demo.Options{Now: time.Now}), time.Now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		refused <- true
	}))
	t.Cleanup(server.Close)
	f, _ := behind(t, func(o *gateway.Options) {
		o.Plain = true // the first response then waits for the server
		o.Login = &gateway.LoginOptions{Browse: func(string, func(error)) error { return nil }}
	}, server.URL+"/mcp")
	p := f.connectTo(t, "{}")
	if said := f.said(); len(refused) == 0 || f.g.Logins() > 0 || said != "" {
		t.Errorf("%d requests, %d logins: %s", len(refused), f.g.Logins(), said)
	}
	p.call("tools/list", "{}")
	if f.g.Logins() == 0 {
		t.Error("a list starts no login")
	}
}

// A client that can open pages is asked to, in place of a browser. It is told when the login is complete.
func TestClientOpensThePage(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, func(o *gateway.Options) {
		o.Login = &gateway.LoginOptions{Wait: long, Browse: func(string, func(error)) error {
			t.Error("a browser is opened")
			return nil
		}}
	}, protected(t))
	p := f.connectTo(t, `{"elicitation":{"form":{},"url":{}}}`)
	asked := ""
	p.asked = func(m *wire.Message) json.RawMessage {
		asked = string(m.Params)
		go visit(t, jsonraw.TextOrRaw(jsonraw.First(m.Params, "url")))
		return json.RawMessage(`{"action":"accept"}`)
	}
	if got := p.call("tools/list", "{}"); !hasTool(got, "one__get-sum") {
		t.Errorf("%s\n%s", got.Raw, f.said())
	}
	if !strings.Contains(asked, `"mode":"url"`) || !strings.Contains(asked, `"elicitationId":"`) {
		t.Error(asked)
	}
	for range 100 { // each round reads what was sent before
		for _, m := range p.between {
			if m.Method == "notifications/elicitation/complete" {
				return
			}
		}
		p.call("ping", "{}")
	}
	t.Error("the client is not told that the login is complete")
}

// A user who declines gets the login tool, which starts the next login.
func TestDeclinedLogin(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, func(o *gateway.Options) { o.Login = &gateway.LoginOptions{Wait: long} }, protected(t))
	p := f.connectTo(t, `{"elicitation":{"url":{}}}`)
	action := "decline"
	p.asked = func(m *wire.Message) json.RawMessage {
		if action == "accept" {
			go visit(t, jsonraw.TextOrRaw(jsonraw.First(m.Params, "url")))
		}
		return jsonraw.With(nil, "action", jsonraw.Quote(action))
	}
	if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__login" {
		t.Errorf("%s\n%s", got, f.said())
	}
	if said := f.said(); !strings.Contains(said, "one: the login failed: the login was declined") {
		t.Error(said)
	}
	action = "accept"
	got := answer(p.call("tools/call", `{"name":"one__login","arguments":{}}`))
	for !strings.Contains(got, "You are logged in") { // it returns at once, and the login ends later
		if !strings.Contains(got, "Log in to one here: http") {
			t.Fatal(got)
		}
		got = answer(p.call("tools/call", `{"name":"one__login","arguments":{}}`))
	}
	if got := p.call("tools/list", "{}"); !hasTool(got, "one__get-sum") {
		t.Errorf("%s\n%s", got.Raw, f.said())
	}
}

// Without a browser the tool returns the page and the code to enter there. The demo accepts the code
// at once, and the client is told that the lists have changed.
func TestLoginWithoutABrowser(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, func(o *gateway.Options) { o.Login = &gateway.LoginOptions{Wait: long} }, protected(t))
	p := f.connectTo(t, `{}`)
	if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__login" {
		t.Errorf("%s\n%s", got, f.said())
	}
	got := answer(p.call("tools/call", `{"name":"one__login","arguments":{}}`))
	if !strings.Contains(got, "/device and enter the code DEMO-CODE") && !strings.Contains(got, "logged in") {
		t.Error(got)
	}
	got = answer(p.call("tools/call", `{"name":"one__get-sum","arguments":{"a":1,"b":2}}`))
	if !strings.Contains(got, "authentication required") && !strings.Contains(got, "is 3") {
		t.Error(got)
	}
}

// A server that accepts no login, and a browser that cannot be started, leave a tool with the reason.
func TestLoginThatCannotBegin(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	f, _ := behind(t, func(o *gateway.Options) {
		o.Login = &gateway.LoginOptions{Wait: long, Browse: func(string, func(error)) error { return errors.New("no display") }}
	}, server.URL, protected(t))
	p := f.connectTo(t, `{}`)
	if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__status two__login" {
		t.Errorf("%s\n%s", got, f.said())
	}
	if said := f.said(); !strings.Contains(said, "one: the login failed: ") || !strings.Contains(said, "no display") {
		t.Error(said)
	}
	if got := answer(p.call("tools/call", `{"name":"two__login"}`)); !strings.Contains(got, "Log in to two here: http") {
		t.Error(got)
	}
}

// An authorization server that is down for a while only delays the login.
func TestLoginBeginsOnceTheAuthorizationServerIsUp(t *testing.T) {
	t.Parallel()
	var isUp atomic.Bool
	good := demo.Protect(demo.Handler(demo.Options{Now: time.Now}), time.Now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") && !isUp.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		good.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f, _ := behind(t, func(o *gateway.Options) {
		o.Login = &gateway.LoginOptions{Wait: long, Browse: func(address string, _ func(error)) error {
			go visit(t, address)
			return nil
		}}
	}, server.URL+"/mcp")
	p := f.connectTo(t, `{}`)
	if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__status" {
		t.Errorf("%s\n%s", got, f.said())
	}
	isUp.Store(true)
	for p.out.Scan() {
		if wire.ParseMessage(p.out.Bytes()).Method == "notifications/tools/list_changed" {
			break
		}
	}
	if got := p.call("tools/list", "{}"); !hasTool(got, "one__get-sum") {
		t.Errorf("%s\n%s", got.Raw, f.said())
	}
}

// Two gateways of one user open one browser between them: the second waits for the token of the
// first.
func TestTwoHostsLogInOnce(t *testing.T) {
	t.Parallel()
	url := protected(t)
	state := t.TempDir()
	pages := make(chan string, 10)
	open := func() *pipe {
		f, _ := behind(t, func(o *gateway.Options) {
			makeEnv := o.Members[0].Env
			o.Members[0].Env = func() (*host.Env, func()) {
				env, end := makeEnv()
				env.State = state
				return env, end
			}
			o.Login = &gateway.LoginOptions{Wait: long, Browse: func(address string, _ func(error)) error {
				pages <- address
				return nil
			}}
		}, url)
		return f.connectTo(t, `{}`)
	}
	first, second := open(), open()
	lists := make(chan *wire.Message, 2)
	for _, p := range []*pipe{first, second} {
		go func() { lists <- p.call("tools/list", "{}") }()
	}
	visit(t, <-pages)
	for range 2 {
		if got := <-lists; !hasTool(got, "one__get-sum") {
			t.Errorf("%s", got.Raw)
		}
	}
	if len(pages) > 0 {
		t.Errorf("another page is opened: %s", <-pages)
	}
}

// A client that sends no request is told when a server is available, after a list without it.
func TestServerThatComesBackIsReported(t *testing.T) {
	t.Parallel()
	var isUp atomic.Bool
	good := demo.Handler(demo.Options{Now: time.Now})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isUp.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		good.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f, _ := behind(t, nil, server.URL)
	p := f.connectTo(t, `{}`)
	if got := names(p.call("tools/list", "{}"), "tools", "name"); got != "one__status" {
		t.Error(got)
	}
	isUp.Store(true)
	for p.out.Scan() {
		if wire.ParseMessage(p.out.Bytes()).Method == "notifications/tools/list_changed" {
			break
		}
	}
	if got := p.call("tools/list", "{}"); !hasTool(got, "one__get-sum") {
		t.Errorf("%s", got.Raw)
	}
}

// A single server whose tools keep their names gives its own instructions.
func TestInstructionsOfASingleServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(demo.Handler(demo.Options{Now: time.Now}))
	t.Cleanup(server.Close)
	instructions := func(m *wire.Message) string { return jsonraw.TextOrRaw(jsonraw.First(m.Result, "instructions")) }
	own, _ := behind(t, func(o *gateway.Options) { o.Plain = true }, server.URL)
	if got := instructions(own.connectTo(t, "{}").opened); !strings.Contains(got, "demo") {
		t.Errorf("%q", got)
	}
	named, _ := behind(t, nil, server.URL)
	const want = "These are the tools, prompts and resources of the MCP server one. " +
		"The name of a tool or prompt begins with that of its server and __."
	if got := instructions(named.connectTo(t, "{}").opened); got != want {
		t.Errorf("%q", got)
	}
}
