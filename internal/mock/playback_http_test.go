package mock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// post sends a body with some more header fields ("Name: value").
func post(t *testing.T, url, body string, fields ...string) (status int, kind, answer, session string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, got.Header.Get("Content-Type"), string(raw), got.Header.Get("Mcp-Session-Id")
}

func served(t *testing.T, lines string, change func(*PlayerOptions)) (*Player, string) {
	t.Helper()
	p, _ := player(t, recordingOf(talk(lines)), change)
	server := httptest.NewServer(p.Handler(t.Context()))
	t.Cleanup(server.Close)
	return p, server.URL + "/mcp"
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"sampling":{}}}}`

// TestLargeResponseToBatchIsStreamed: responses are not kept that a small array asks for again and again.
func TestLargeResponseToBatchIsStreamed(t *testing.T) {
	_, url := served(t, opening+`
	> {"id":2,"method":"tools/list"}
	< {"id":2,"result":{"tools":[{"name":"`+strings.Repeat("x", 2<<20)+`"}]}}`, nil)
	_, _, _, id := post(t, url, initialize)
	for n, want := range map[int]string{2: "application/json", 9: "text/event-stream"} {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
		}
		status, kind, body, _ := post(t, url, "["+strings.Join(items, ",")+"]", "Mcp-Session-Id: "+id)
		if status != 200 || kind != want || strings.Count(body, `"result"`) != n || strings.Count(body, fmt.Sprintf(`"id":%d,`, n-1)) != 1 {
			t.Errorf("%d requests: %d %s, %d results in %d bytes", n, status, kind, strings.Count(body, `"result"`), len(body))
		}
	}
}

func TestHTTPWithASession(t *testing.T) {
	_, url := served(t, asking, nil)
	status, kind, body, id := post(t, url, initialize)
	if status != 200 || kind != "application/json" || id == "" || !strings.Contains(body, `"protocolVersion":"2025-03-26"`) || !strings.Contains(body, `"serverInfo":{"version":"7","name":"s"}`) {
		t.Fatalf("initialize: %d %s %s session %q", status, kind, body, id)
	}
	session := "Mcp-Session-Id: " + id
	for _, c := range []struct {
		body, fields string
		status       int
		want         string
	}{
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, 202, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session, 200, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"tea"}]}}`},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`, session, 200, `[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"result":{}}]`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "", 400, "Mcp-Session-Id header is required"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id: x", 404, "Session not found"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session + "|Mcp-Protocol-Version: 1999-01-01", 400, "Unsupported protocol version"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session + "|Accept: application/json", 406, "Accept must list"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session + "|Content-Type: text/plain", 415, "Content-Type"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session + "|Origin: https://example.com", 403, "Origin"},
		{`{"id":`, session, 400, "Parse error"},
		{`{"jsonrpc":"2.0","id":2}`, session, 400, "Invalid Request"},
	} {
		var fields []string
		if c.fields != "" {
			fields = strings.Split(c.fields, "|")
		}
		if status, _, body, _ := post(t, url, c.body, fields...); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: got %d %s, want %d %s", c.body, c.fields, status, body, c.status, c.want)
		}
	}
	_, _, _, newer := post(t, url, strings.Replace(initialize, "2025-03-26", "2025-06-18", 1))
	if status, _, body, _ := post(t, url, `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, "Mcp-Session-Id: "+newer); status != 400 || !strings.Contains(body, "one message per POST") {
		t.Errorf("an array in a revision without them: %d %s", status, body)
	}
	deleted, err := http.NewRequest(http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	deleted.Header.Set("Mcp-Session-Id", id)
	if got, err := http.DefaultClient.Do(deleted); err != nil || got.StatusCode != 200 {
		t.Fatalf("DELETE: %v %v", got, err)
	}
	if status, _, _, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, session); status != 404 {
		t.Errorf("after DELETE: %d", status)
	}
}

// The server's requests are sent on the stream of the POST, and each answer is a separate POST.
func TestHTTPRequestsOfTheServer(t *testing.T) {
	_, url := served(t, asking, nil)
	_, _, _, id := post(t, url, initialize)
	session := "Mcp-Session-Id: " + id
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", id)
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if kind := got.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("got %s", kind)
	}
	var events []string
	lines := bufio.NewScanner(got.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		events = append(events, data)
		for id, answer := range map[string]string{`"id":1,`: `{"action":"accept","content":{"name":"Ada"}}`, `"id":2,"method"`: `{"action":"decline"}`, `"id":3,`: `{"role":"assistant"}`} {
			if strings.Contains(data, id) {
				number := strings.TrimSuffix(id, `,"method"`)
				body := `{"jsonrpc":"2.0",` + strings.TrimSuffix(number, ",") + `,"result":` + answer + `}`
				if status, _, text, _ := post(t, url, body, session); status != 202 {
					t.Errorf("answer: %d %s", status, text)
				}
			}
		}
	}
	if len(events) != 4 || !strings.HasSuffix(events[3], `"result":{"z":1,"content":[]}}`) {
		t.Errorf("events: %q", events)
	}
}

func TestHTTPStateless(t *testing.T) {
	_, url := served(t, rounds, nil)
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},` + meta + `}}`
	version, method, name := "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: tea"
	for _, c := range []struct {
		body   string
		fields []string
		status int
		want   string
	}{
		{call, []string{version, method, name}, 200, `"requestState":"mcpc-mock:1:1"`},
		{call, []string{version, method, "Mcp-Name: =?base64?dGVh?="}, 200, `"requestState":"mcpc-mock:1:1"`},
		{call, []string{version, method}, 400, "-32020"},
		{call, []string{version, "Mcp-Method: tools/list", name}, 400, "-32020"},
		{call, []string{method, name}, 400, "-32020"},
		{`{"jsonrpc":"2.0","id":2,"method":"ping","params":{` + meta + `}}`, []string{version, "Mcp-Method: ping"}, 404, "-32601"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, []string{version, "Mcp-Method: tools/list"}, 400, "-32602"},
		{`{"jsonrpc":"2.0","id":2,"result":{}}`, []string{version}, 400, "one request per POST"},
		{`{"jsonrpc":"2.0","method":"notifications/x"}`, []string{version}, 202, ""},
	} {
		if status, _, body, _ := post(t, url, c.body, c.fields...); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %q: got %d %s, want %d %s", c.body, c.fields, status, body, c.status, c.want)
		}
	}
	if got, err := http.Get(url); err != nil || got.StatusCode != 405 {
		t.Errorf("GET: %v %v", got, err)
	}
}

// Messages that belong to no request are sent on the GET stream, even if that is opened later.
func TestHTTPStream(t *testing.T) {
	_, url := served(t, opening+`
	> {"id":2,"method":"tools/call","params":{"name":"change"}}
	< {"id":2,"result":{}}
	< {"method":"notifications/tools/list_changed"}
	> {"id":3,"method":"tools/list"}
	< {"id":3,"result":{}}`, nil)
	_, _, _, id := post(t, url, initialize)
	if status, _, body, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"change"}}`, "Mcp-Session-Id: "+id); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", id)
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "notifications/tools/list_changed") {
			return
		}
	}
	t.Errorf("nothing came: %v", lines.Err())
}
