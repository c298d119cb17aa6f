package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A browsed is the page of mcpc inspect --web, as a browser asks for it.
type browsed struct {
	t    *testing.T
	base string
	key  string
	head http.Header // of the last answer
	http.Client
}

// inspectWeb starts the page of a bench, which ends with the test.
func inspectWeb(b *bench, words ...string) *browsed {
	b.t.Helper()
	cmd := exec.Command("mcpc", append([]string{"inspect", "--web", "--no-open"}, words...)...)
	cmd.Dir, cmd.Env = b.Dir, b.Env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 && cmd.ProcessState.ExitCode() != 130 {
			b.t.Errorf("the page ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	base, token, found := strings.Cut(strings.TrimSpace(line), "/#t=")
	if err != nil || !found {
		b.t.Fatalf("no address: %q, %v", line, err)
	}
	p := &browsed{t: b.t, base: base, Client: http.Client{Timeout: 30 * time.Second}}
	p.Jar, _ = cookiejar.New(nil)
	token, _, _ = strings.Cut(token, "&")
	var door struct{ Key string }
	if err := json.Unmarshal(p.post("/enter", `{"token":"`+token+`"}`), &door); err != nil || door.Key == "" {
		b.t.Fatalf("not let in: %v", err)
	}
	p.key = door.Key
	return p
}

func (p *browsed) send(method, path, body string) []byte {
	p.t.Helper()
	req, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, value := range map[string]string{"X-Mcpc": p.key, "Origin": p.base, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"} {
		req.Header.Set(name, value)
	}
	res, err := p.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	p.head = res.Header
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return raw
}

func (p *browsed) post(path, body string) []byte { return p.send("POST", path, body) }

// has sends an act, and looks for a text in what comes.
func (p *browsed) has(act, body, want string) {
	p.t.Helper()
	if got := p.post("/api/do/"+act, body); !bytes.Contains(got, []byte(want)) {
		p.t.Errorf("%s %s: %s, not %s", act, body, got, want)
	}
}

// A page that was given no powers reads; with them it acts, and nothing that may change something
// is sent before the user agreed to just that.
func TestInspectWebActs(t *testing.T) {
	b := newBench(t)
	b.Run("mcpc", "-s", "demo", "call", "echo", "message=hi")
	b.Run("mcpc", "call", "echo", "message=hi", "--", "mcpc", "demo", "--stdio")
	p := inspectWeb(b)
	p.has("resend", `{"key":"1.3"}`, "may only read")
	p.has("call", `{"target":"demo","tool":"echo","arguments":{}}`, "may only read")
	p.has("intercept", `{"on":true}`, "may only read")
	p.has("copy", `{"key":"1.3","form":"mcpc"}`, "mcpc --protocol")
	p.has("copy", `{"key":"9.1","form":"curl"}`, "not kept")
	p.has("mark", `{"key":"1.3","mark":true}`, "true")
	p.has("preview", `{"form":"jsonl","marked":true,"from":0,"count":0}`, `"rows":1,`)
	p.has("export", `{"form":"har","marked":true,"from":0,"count":0}`, `"startedDateTime"`)
	p.has("export", `{"form":"html","marked":true,"from":0,"count":0}`, `id="mcpc-data"`)
	if made, _ := os.ReadDir(b.Dir); len(made) != 1 {
		t.Errorf("the page left files: %v", made)
	}
	p = inspectWeb(b, "--allow", "resend,call")
	p.has("resend", `{"key":"1.3"}`, `"key":"3.`)
	p.has("resend", `{"key":"1.3","message":{"jsonrpc":"2.0","method":"x"}}`, "not a request")
	p.has("resend", `{"key":"2.3","confirmed":true}`, "starts no recorded command")
	p.has("call", `{"target":"demo","tool":"forget-everything","arguments":{},"confirmed":true}`, `"confirm":"the tool`)
	p.has("call", `{"target":"demo","tool":"forget-everything","arguments":{},"confirmed":true}`, `"channel":"ok"`)
	p.has("call", `{"target":"demo","tool":"get-sum","arguments":{"a":"x","b":1}}`, `"confirm":"the arguments`)
	p.has("call", `{"target":"http://127.0.0.1:1/mcp","tool":"x","arguments":{},"confirmed":true}`, `"confirm":"Send requests to http://127.0.0.1:1/mcp?"`)
	p.has("call", `{"target":"mcpc demo --stdio","tool":"echo","arguments":{}}`, "mcpc inspect -- mcpc demo --stdio")
	tools := string(p.send("GET", "/api/tools", ""))
	for _, want := range []string{`"command":["mcpc -s demo call echo ",""]`, `"command":["mcpc call echo "," -- mcpc demo --stdio"],"refused":"a view starts no recorded command: mcpc inspect -- mcpc demo --stdio"`} {
		if !strings.Contains(tools, want) {
			t.Errorf("the tools have no %s: %s", want, tools)
		}
	}
}

// The file for a colleague is a page by its name, and a recording by its content: of one call it has
// the handshake and the list of tools too.
func TestInspectWebExportsAPage(t *testing.T) {
	b := newBench(t)
	b.Run("mcpc", "-s", "demo", "call", "echo", "message=hi")
	p := inspectWeb(b)
	raw := p.post("/api/do/export", `{"form":"bundle","from":0,"count":0,"filter":"name:echo"}`)
	_, name, _ := strings.Cut(p.head.Get("Content-Disposition"), "filename=")
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
	if got, ended := b.Run("mcpc", "log", name, "--jsonl", "--jq", ".method"); ended != "0" || got != "server/discover\ntools/list\ntools/call\n" {
		t.Errorf("log %s ended with %s: %s", name, ended, got)
	}
}

// A question of a call of the page is answered there; an answer that does not fit leaves it.
func TestInspectWebAnswers(t *testing.T) {
	p := inspectWeb(newBench(t), "--", "mcpc", "demo", "--stdio")
	called := make(chan []byte)
	go func() {
		called <- p.post("/api/do/call", `{"target":"mcpc demo --stdio","tool":"order-tea","arguments":{}}`)
	}()
	var asked []struct{ ID, Method string }
	for begin := time.Now(); len(asked) == 0 && time.Since(begin) < 30*time.Second; {
		if err := json.Unmarshal(p.send("GET", "/api/questions", ""), &asked); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 1 || asked[0].Method != "elicitation/create" {
		t.Fatalf("asked %+v", asked)
	}
	p.has("answer", `{"id":"`+asked[0].ID+`","action":"accept","content":{"bogus":1}}`, "not a field")
	p.has("answer", `{"id":"`+asked[0].ID+`","action":"decline"}`, "true")
	p.has("answer", `{"id":"`+asked[0].ID+`","action":"decline"}`, "answered or cancelled")
	if got := <-called; !bytes.Contains(got, []byte(`"key":"1.`)) {
		t.Errorf("the call: %s", got)
	}
}

// What is copied may be pasted into a terminal.
func TestInspectCopiesNothingThatSteers(t *testing.T) {
	b := newBench(t)
	b.Run("mcpc", "-s", "demo", "call", "echo", "message=a\u009bb\u202ec")
	p := inspectWeb(b)
	for _, form := range []string{"json", "request", "mcpc", "curl", "markdown"} {
		got := string(p.post("/api/do/copy", `{"key":"1.3","form":"`+form+`"}`))
		if strings.ContainsAny(got, "\u009b\u202e") || !strings.Contains(got, "echo") {
			t.Errorf("%s: %q", form, got)
		}
	}
	p.has("copy", `{"key":"1.3","form":"request"}`, `a\\u009bb\\u202ec`)
}
