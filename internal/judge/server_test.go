package judge

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// A testClient posts messages to a server in a session.
type testClient struct {
	t            *testing.T
	server       *Server
	url, session string
}

// newClient starts a server and opens a session of the newest revision with a handshake.
func newClient(t *testing.T, o Options) *testClient {
	t.Helper()
	o.Slow = time.Millisecond
	o.Patience = time.Millisecond
	o.SessionID = func() string { return "session" }
	probes := New(o)
	server := httptest.NewServer(probes.Handler(t.Context()))
	t.Cleanup(server.Close)
	c := &testClient{t: t, server: probes, url: server.URL}
	resp, body := c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + Revisions()[1] +
		`","capabilities":{}}}`)
	c.session = resp.Header.Get("Mcp-Session-Id")
	if c.session == "" {
		t.Fatalf("no session: %s", body)
	}
	return c
}

// do sends a request and returns the response with its body.
func (c *testClient) do(method, body string, fields ...string) (*http.Response, string) {
	c.t.Helper()
	req, err := http.NewRequest(method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(raw)
}

func (c *testClient) post(body string) (*http.Response, string) { return c.do(http.MethodPost, body) }

// call calls a tool and returns the status and the body.
func (c *testClient) call(tool string) (int, string) {
	resp, body := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `"}}`)
	return resp.StatusCode, body
}

// list returns the names of the tools on a page, and the raw nextCursor.
func (c *testClient) list(params string) (names []string, cursor string) {
	c.t.Helper()
	_, body := c.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":` + params + `}`)
	var result struct {
		Tools      []struct{ Name string }
		NextCursor json.RawMessage
	}
	if err := json.Unmarshal(wire.ParseMessage([]byte(body)).Result, &result); err != nil {
		c.t.Fatalf("%v: %s", err, body)
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, string(result.NextCursor)
}

func TestFaultsOfHTTP(t *testing.T) {
	c := newClient(t, Options{Revision: Any})
	for tool, want := range map[string]int{busyTool: 503, limitTool: 429} {
		if status, _ := c.call(tool); status != want {
			t.Errorf("%s: status %d", tool, status)
		}
		if status, body := c.call(tool); status != 200 || !strings.Contains(body, "is done") {
			t.Errorf("%s again: status %d, %s", tool, status, body)
		}
	}
	_, body := c.call(cutTool)
	events := bufio.NewScanner(strings.NewReader(body))
	events.Scan()
	id, hasID := strings.CutPrefix(events.Text(), "id: ")
	if !hasID || strings.Contains(body, `"result"`) {
		t.Fatalf("the stream has a result, or no id: %s", body)
	}
	if _, rest := c.do(http.MethodGet, "", "Last-Event-ID", id); !strings.Contains(rest, "The stream was resumed.") {
		t.Errorf("the resumed stream is %s", rest)
	}
	if status, body := c.call(lostTool); status != 200 {
		t.Errorf("%s: status %d, %s", lostTool, status, body)
	}
	if status, body := c.call("plain"); status != 404 || !strings.Contains(body, "Session not found") {
		t.Errorf("after %s: status %d, %s", lostTool, status, body)
	}
	if n := c.server.Called()["plain"]; n != 1 {
		t.Errorf("the call that was refused with 404 counts as %d", n)
	}
}

func TestPagesOfTools(t *testing.T) {
	c := newClient(t, Options{Revision: Any})
	names, cursor := c.list(`{}`)
	if len(names) < 20 || cursor != `"`+secondPage+`"` {
		t.Errorf("page 1: %q, %s", names, cursor)
	}
	names, cursor = c.list(`{"cursor":` + cursor + `}`)
	if len(names) != 1 || cursor != `""` {
		t.Errorf("page 2: %q, %s", names, cursor)
	}
	if names, _ = c.list(`{"cursor":"page 2\/\u00e9=="}`); len(names) != 1 || names[0] != "second-page" {
		t.Errorf("page 2 with an escaped cursor: %q", names)
	}
	names, cursor = c.list(`{"cursor":""}`)
	if len(names) != 1 || cursor != "" {
		t.Errorf("page 3: %q, %s", names, cursor)
	}
	c.call(changeTool)
	if names, _ = c.list(`{"cursor":"` + secondPage + `"}`); len(names) != 2 {
		t.Errorf("page 2 after a change: %q", names)
	}
}

// A client that begins the list again with an empty cursor ends after some rounds.
func TestEmptyCursorIsNotSentForEver(t *testing.T) {
	c := newClient(t, Options{Revision: Any})
	for range maxIgnored {
		if _, cursor := c.list(`{"cursor":"` + secondPage + `"}`); cursor != `""` {
			t.Errorf("cursor %q", cursor)
		}
	}
	if _, cursor := c.list(`{"cursor":"` + secondPage + `"}`); cursor != "" {
		t.Errorf("cursor %q", cursor)
	}
}

// The server of an old revision offers that only.
func TestRevisionOfTheServer(t *testing.T) {
	for _, revision := range Revisions()[1:] {
		c := newClient(t, Options{Revision: revision, IsBrief: true})
		_, body := c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x","capabilities":{}}}`)
		if !strings.Contains(body, `"protocolVersion":"`+revision+`"`) {
			t.Errorf("%s: %s", revision, body)
		}
		_, body = c.post(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
		if !strings.Contains(body, "-32601") {
			t.Errorf("%s: %s", revision, body)
		}
		if names, _ := c.list(`{}`); len(names) != 2 {
			t.Errorf("%s: %q", revision, names)
		}
	}
}

// Each tool can be called, and the script has each listed tool once.
func TestScriptHasEachToolOnce(t *testing.T) {
	c := newClient(t, Options{Revision: Any})
	seen := map[string]bool{}
	for _, call := range Script() {
		if seen[call.Tool] {
			t.Errorf("%s is called twice", call.Tool)
		}
		seen[call.Tool] = true
		if call.Tool == lostTool || call.Tool == cutTool {
			continue
		}
		_, body := c.call(call.Tool)
		if strings.Contains(body, `"error"`) {
			t.Errorf("%s: %s", call.Tool, body)
		}
	}
	if len(seen) != len(tools)-1 { // one is added later
		t.Errorf("%d calls of %d tools", len(seen), len(tools))
	}
}
