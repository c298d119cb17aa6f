package inspect_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
)

// A page that was given no powers reads; with them it acts, and nothing that may change something
// is sent before the user agreed to just that.
func TestInspectWebActs(t *testing.T) {
	b := clitest.EnterHome(t)
	b.MCPC("-s", "demo", "call", "echo", "message=hi")
	b.MCPC("call", "echo", "message=hi", "--", "mcpc", "demo", "--stdio")
	p := b.Page()
	p.Has("resend", `{"key":"1.3"}`, "not allowed: start mcpc inspect with --allow=")
	p.Has("request", `{"target":"demo","kind":"tool","name":"echo","arguments":{}}`, "not allowed: start mcpc inspect with --allow=")
	p.Has("intercept", `{"on":true}`, "not allowed: start mcpc inspect with --allow=")
	p.Has("copy", `{"key":"1.3","form":"mcpc"}`, "mcpc --protocol")
	p.Has("copy", `{"key":"9.1","form":"curl"}`, "no longer kept")
	p.Has("mark", `{"key":"1.3","mark":true}`, "true")
	p.Has("preview", `{"form":"jsonl","marked":true,"from":0,"count":0}`, `"rows":1,`)
	p.Has("export", `{"form":"har","marked":true,"from":0,"count":0}`, `"startedDateTime"`)
	p.Has("export", `{"form":"html","marked":true,"from":0,"count":0}`, `id="mcpc-data"`)
	if made, _ := os.ReadDir(b.Dir); len(made) != 1 {
		t.Errorf("the page left files: %v", made)
	}
	p = b.Page("--allow", "resend,call")
	p.Has("resend", `{"key":"1.3"}`, `"key":"3.`)
	p.Has("resend", `{"key":"1.3","message":{"jsonrpc":"2.0","method":"x"}}`, "not a request")
	p.Has("resend", `{"key":"2.3","confirmed":true}`, "starts no recorded command")
	p.Has("request", `{"target":"demo","kind":"tool","name":"forget-everything","arguments":{},"confirmed":true}`, `"confirm":"the tool`)
	p.Has("request", `{"target":"demo","kind":"tool","name":"forget-everything","arguments":{},"confirmed":true}`, `"channel":"ok"`)
	p.Has("request", `{"target":"demo","kind":"tool","name":"get-sum","arguments":{"a":"x","b":1}}`, `"confirm":"the arguments`)
	p.Has("request", `{"target":"http://127.0.0.1:1/mcp","kind":"tool","name":"x","arguments":{},"confirmed":true}`, `"confirm":"Send tools/call x to http://127.0.0.1:1/mcp? The tool may change something."`)
	p.Has("request", `{"target":"mcpc demo --stdio","kind":"tool","name":"echo","arguments":{}}`, "mcpc inspect -- mcpc demo --stdio")
	tools := string(p.Send("GET", "/api/tools", ""))
	for _, want := range []string{`"command":["mcpc -s demo call echo ",""]`, `"command":["mcpc call echo "," -- mcpc demo --stdio"],"refused":"a view starts no recorded command: mcpc inspect -- mcpc demo --stdio"`} {
		if !strings.Contains(tools, want) {
			t.Errorf("the tools have no %s: %s", want, tools)
		}
	}
}

// Home asks servers and tries them only with --allow call, and starts no command. Checks are not recorded.
func TestInspectWebHome(t *testing.T) {
	b := clitest.EnterHome(t)
	p := b.Page()
	p.Has("check", `{}`, "not allowed: start mcpc inspect with --allow=")
	p.Has("catalog", `{"target":"demo"}`, "not allowed: start mcpc inspect with --allow=")
	if got := string(p.Send("GET", "/api/servers", "")); !strings.Contains(got, `"name":"demo"`) || strings.Contains(got, "asking") {
		t.Errorf("the servers: %s", got)
	}
	p = b.Page("--allow", "call")
	p.Has("check", `{}`, "true")
	got := ""
	for begin := time.Now(); !strings.Contains(got, `"state":"ok"`) && time.Since(begin) < time.Minute; {
		got = string(p.Send("GET", "/api/servers", ""))
	}
	if !strings.Contains(got, `"state":"ok","text":"ok","protocol":"2026-07-28","tools":`) {
		t.Errorf("the servers after the check: %s", got)
	}
	if log := b.MCPC("log", "--jsonl"); log.Stdout != "" {
		t.Errorf("the check is recorded: %s", log.Stdout)
	}
	p.Has("catalog", `{"target":"demo"}`, `"target":"demo"`)
	p.Has("catalog", `{"target":"touch x"}`, "mcpc inspect -- COMMAND")
	p.Has("catalog", `{"target":"http://127.0.0.1:1/mcp"}`, "connection refused")
}

// A page logs in only with --allow call, and at a server that the user did not configure only after a
// question. It gets each step of the login.
func TestInspectWebLogin(t *testing.T) {
	server := httptest.NewServer(demo.Protect(demo.Handler(demo.Options{Now: time.Now}), time.Now))
	t.Cleanup(server.Close)
	target := `{"target":"` + server.URL + `/mcp"}`
	b := clitest.EnterHome(t)
	p := b.Page()
	p.Has("login", target, "not allowed: start mcpc inspect with --allow=")
	p.Has("login-cancel", target, "not allowed: start mcpc inspect with --allow=")
	p = b.Page("--allow", "call")
	p.Has("login-cancel", target, "no such login is running")
	p.Has("login", target, `"confirm":"Send requests to `+server.URL)
	if got := string(p.Send("GET", "/api/login", "")); strings.TrimSpace(got) != "null" {
		t.Errorf("a login before the consent: %s", got)
	}
	p.Has("login", target[:len(target)-1]+`,"confirmed":true}`, "{}")
	got := ""
	for begin := time.Now(); !strings.Contains(got, `"done":true`) && time.Since(begin) < time.Minute; {
		got = string(p.Send("GET", "/api/login", ""))
	}
	for _, want := range []string{`"name":"first request with the token","state":"done"`, `"row":"`, `POST`, `access_token`} {
		if !strings.Contains(got, want) {
			t.Errorf("the login has no %s: %s", want, got)
		}
	}
	if strings.Contains(got, `"error":`) {
		t.Errorf("the login failed: %s", got)
	}
	if list := b.MCPC("-s", server.URL+"/mcp", "list"); list.Code != 0 {
		t.Errorf("a command after the login: %+v", list)
	}
}

// The file for a colleague is a page by its name, and a recording by its content: of one call it has
// the handshake and the list of tools too.
func TestInspectWebExportsAPage(t *testing.T) {
	b := clitest.EnterHome(t)
	b.MCPC("-s", "demo", "call", "echo", "message=hi")
	p := b.Page()
	raw := p.Post("/api/do/export", `{"form":"bundle","from":0,"count":0,"filter":"name:echo"}`)
	_, name, _ := strings.Cut(p.Head.Get("Content-Disposition"), "filename=")
	name = strings.Trim(name, `"`)
	if want := "2 exchanges added to those that were chosen"; !bytes.Contains(raw, []byte(want)) {
		t.Errorf("the bundle does not say: %s", want)
	}
	if !strings.HasSuffix(name, ".mcpcz.html") || !bytes.HasPrefix(raw, []byte("<!DOCTYPE html>")) {
		t.Fatalf("the bundle is named %q, and begins with %.20q", name, raw)
	}
	if err := os.WriteFile(filepath.Join(b.Dir, name), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.MCPC("log", name, "--jsonl", "--jq", ".method"); got.Code != 0 || got.Stdout != "server/discover\ntools/list\ntools/call\n" {
		t.Errorf("log %s: %+v", name, got)
	}
}

// A question of a call of the page is answered there; an answer that does not fit leaves it.
func TestInspectWebAnswers(t *testing.T) {
	p := clitest.EnterHome(t).Page("--", "mcpc", "demo", "--stdio")
	called := make(chan []byte)
	caller := *p
	go func() {
		called <- caller.Post("/api/do/request", `{"target":"mcpc demo --stdio","kind":"tool","name":"order-tea","arguments":{}}`)
	}()
	var asked []struct{ ID, Method string }
	for begin := time.Now(); len(asked) == 0 && time.Since(begin) < 30*time.Second; {
		if err := json.Unmarshal(p.Send("GET", "/api/questions", ""), &asked); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 1 || asked[0].Method != "elicitation/create" {
		t.Fatalf("asked %+v", asked)
	}
	p.Has("answer", `{"id":"`+asked[0].ID+`","action":"accept","content":{"bogus":1}}`, "not a field")
	p.Has("answer", `{"id":"`+asked[0].ID+`","action":"decline"}`, "true")
	p.Has("answer", `{"id":"`+asked[0].ID+`","action":"decline"}`, "answered or cancelled")
	if got := <-called; !bytes.Contains(got, []byte(`"key":"1.`)) {
		t.Errorf("the call: %s", got)
	}
}

// Copied text can be pasted into a terminal safely.
func TestInspectCopiesNothingThatSteers(t *testing.T) {
	b := clitest.EnterHome(t)
	b.MCPC("-s", "demo", "call", "echo", "message=a\u009bb\u202ec")
	p := b.Page()
	for _, form := range []string{"json", "request", "mcpc", "curl", "markdown"} {
		got := string(p.Post("/api/do/copy", `{"key":"1.3","form":"`+form+`"}`))
		if strings.ContainsAny(got, "\u009b\u202e") || !strings.Contains(got, "echo") {
			t.Errorf("%s: %q", form, got)
		}
	}
	p.Has("copy", `{"key":"1.3","form":"request"}`, `a\\u009bb\\u202ec`)
}
