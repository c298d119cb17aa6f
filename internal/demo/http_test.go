package demo

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	sessionHeader = "Mcp-Session-Id"
	both          = "application/json, text/event-stream"
)

// A site is an HTTP server and the headers that go with every request.
type site struct {
	t       *testing.T
	url     string
	headers map[string]string
}

func mount(t *testing.T, h http.Handler) *site {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &site{t: t, url: srv.URL + "/mcp", headers: map[string]string{}}
}

// with returns the site with more headers, given as name, value, name, value.
func (s *site) with(pairs ...string) *site {
	more := &site{t: s.t, url: s.url, headers: map[string]string{}}
	for k, v := range s.headers {
		more.headers[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		more.headers[pairs[i]] = pairs[i+1]
	}
	return more
}

func (s *site) open(ctx context.Context, method, body string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", both)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range s.headers {
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// do returns the response with its body read to the end.
func (s *site) do(method, body string) (*http.Response, string) {
	s.t.Helper()
	resp := s.open(s.t.Context(), method, body)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(b)
}

func (s *site) post(body string) (*http.Response, string) {
	s.t.Helper()
	return s.do(http.MethodPost, body)
}

// data returns the data lines of an event stream that hold anything.
func data(stream string) (lines []string) {
	for line := range strings.Lines(stream) {
		if d, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			lines = append(lines, d)
		}
	}
	return lines
}

// stateless returns the site as seen by a client of 2026-07-28.
func (s *site) stateless(method, name string) *site {
	out := s.with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method)
	if name != "" {
		out.headers["Mcp-Name"] = name
	}
	return out
}

// session shakes hands and returns the site as seen from inside the session.
func (s *site) session(revision string) *site {
	s.t.Helper()
	resp, body := s.post(initialize(revision, `{}`))
	want(s.t, "initialize status", resp.StatusCode, 200)
	lines := data(body)
	want(s.t, "initialize messages", len(lines), 1)
	if !strings.Contains(lines[0], `"protocolVersion":"`+revision+`"`) {
		s.t.Fatalf("initialize: %s", body)
	}
	in := s.with(sessionHeader, resp.Header.Get(sessionHeader))
	if revision >= "2025-06-18" {
		in = in.with("MCP-Protocol-Version", revision)
	}
	resp, body = in.post(initialized)
	want(s.t, "initialized", resp.StatusCode, 202)
	want(s.t, "initialized body", body, "")
	return in
}

func TestHTTPSessions(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			in := mount(t, Handler(Options{})).session(revision)
			resp, body := in.post(toolsCall(1, "echo", `{"message":"hi"}`))
			want(t, "status", resp.StatusCode, 200)
			want(t, "type", resp.Header.Get("Content-Type"), "text/event-stream")
			want(t, "priming event", strings.HasPrefix(body, "event: prime\nid: "), revision == "2025-11-25")
			lines := data(body)
			want(t, "answer", lines[len(lines)-1], `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Echo: hi"}]}}`)

			resp, _ = in.do(http.MethodDelete, "")
			want(t, "DELETE", resp.StatusCode, 204)
			resp, body = in.post(toolsCall(2, "echo", `{"message":"hi"}`))
			want(t, "after DELETE", resp.StatusCode, 404)
			want(t, "after DELETE", body, "session not found\n")
		})
	}
}

func TestHTTPResumption(t *testing.T) {
	in := mount(t, Handler(Options{})).session("2025-11-25")
	_, body := in.post(toolsCall(1, "hang-up", `{}`))
	_, rest, found := strings.Cut(body, "event: prime\nid: ")
	id, end, _ := strings.Cut(rest, "\n")
	want(t, "primed", found, true)
	want(t, "after the priming event", end, "data: \n\nevent: close\nretry: 10\ndata: \n\n")

	_, body = in.with("Last-Event-ID", id).do(http.MethodGet, "")
	want(t, "resumed", strings.Join(data(body), "|"), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"You found the answer."}]}}`)
	in.do(http.MethodDelete, "")
}

// The session's own stream, where messages that belong to no call are sent.
func TestHTTPGetStream(t *testing.T) {
	const uri = `"uri":"demo://resource/static/document/instructions.md"`
	in := mount(t, Handler(Options{})).session("2025-11-25")
	stream := in.open(t.Context(), http.MethodGet, "")
	defer stream.Body.Close()
	in.post(request(1, "resources/subscribe", uri))
	in.post(toolsCall(2, "touch-resource", `{}`))
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		if d, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			want(t, "updated", "{"+d, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`+uri+`}}`)
			break
		}
	}
	in.do(http.MethodDelete, "")
}

func TestHTTPStateless(t *testing.T) {
	s := mount(t, Handler(Options{}))
	resp, body := s.stateless("server/discover", "").post(request(1, "server/discover", meta))
	want(t, "discover", resp.StatusCode, 200)
	want(t, "session", resp.Header.Get(sessionHeader), "")
	if !strings.Contains(body, `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`) {
		t.Errorf("discover: %s", body)
	}

	resp, body = s.stateless("tools/call", "echo").post(toolsCall(2, "echo", `{"message":"hi"}`, meta))
	want(t, "status", resp.StatusCode, 200)
	want(t, "type", resp.Header.Get("Content-Type"), "text/event-stream")
	want(t, "echo", strings.Contains(body, `"content":[{"type":"text","text":"Echo: hi"}],"resultType":"complete"}}`), true)

	token := meta[:len(meta)-1] + `,"progressToken":"p"}`
	_, body = s.stateless("tools/call", "trigger-long-running-operation").
		post(toolsCall(3, "trigger-long-running-operation", `{"duration":0,"steps":2}`, token))
	lines := data(body)
	want(t, "messages", len(lines), 3)
	want(t, "progress", lines[0], `{"jsonrpc":"2.0","method":"notifications/progress","params":`+
		`{"progressToken":"p","message":"Step 1 of 2","progress":1,"total":2}}`)
	want(t, "answer last", strings.Contains(lines[2], `"id":3`), true)

	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		resp, _ = s.stateless("ping", "").do(method, "")
		want(t, method, resp.StatusCode, 405)
	}
}

func TestHTTPStatelessRefusals(t *testing.T) {
	s := mount(t, Handler(Options{}))
	echo := toolsCall(1, "echo", `{"message":"hi"}`, meta)
	for _, c := range []struct {
		name   string
		from   *site
		body   string
		status int
		want   string
	}{
		{"no version", s.with("Mcp-Method", "tools/call", "Mcp-Name", "echo"), echo, 400, `"code":-32020`},
		{"no method", s.with("MCP-Protocol-Version", "2026-07-28", "Mcp-Name", "echo"), echo, 400, `"code":-32020`},
		{"wrong method", s.stateless("tools/list", "echo"), echo, 400, `"code":-32020`},
		{"no name", s.stateless("tools/call", ""), echo, 400, `"code":-32020`},
		{"wrong name", s.stateless("tools/call", "get-sum"), echo, 400, `"code":-32020`},
		{"no meta", s.stateless("tools/list", ""), request(1, "tools/list", ""), 400, `"code":-32602`},
		{
			"future", s.stateless("tools/list", "").with("MCP-Protocol-Version", "2027-01-01"),
			request(1, "tools/list", strings.Replace(meta, "2026-07-28", "2027-01-01", 1)), 400, `"code":-32022`,
		},
		{"unknown tool", s.stateless("tools/call", "nope"), toolsCall(1, "nope", `{}`, meta), 400, `"code":-32602`},
		{"unknown method", s.stateless("nope", ""), request(1, "nope", meta), 404, `"code":-32601`},
		{"raised", s.stateless("tools/call", "raise-protocol-error"), toolsCall(1, "raise-protocol-error", `{}`, meta), 200, `"code":-32000`},
		{
			"raised with a status", s.stateless("tools/call", "raise-protocol-error"),
			toolsCall(1, "raise-protocol-error", `{"code":-32601}`, meta), 404, `"code":-32601`,
		},
		{
			"nothing declared", s.stateless("tools/call", "get-roots-list"), toolsCall(1, "get-roots-list", `{}`, meta), 400,
			`"code":-32021,"message":"This tool needs a client that declares the roots capability.","data":{"requiredCapabilities":{"roots":{}}}`,
		},
		{"foreign host", s.with("Host", "example.com"), initialize("2025-11-25", `{}`), 403, "has another host"},
		{"foreign origin", s.with("Origin", "https://example.com"), initialize("2025-11-25", `{}`), 403, ""},
		{"unknown older version", s.with("MCP-Protocol-Version", "1999-01-01"), initialize("2025-11-25", `{}`), 400, "Unsupported protocol version"},
		{"unknown session", s.with(sessionHeader, "nope"), request(1, "tools/list", ""), 404, "session not found"},
	} {
		resp, body := c.from.post(c.body)
		want(t, c.name+": status", resp.StatusCode, c.status)
		if !strings.Contains(body, c.want) {
			t.Errorf("%s: body %s\nhas no %s", c.name, body, c.want)
		}
	}
}

// Pages from elsewhere get no stream either, and a second Origin field does not hide them.
func TestHTTPRefusesPagesFromElsewhere(t *testing.T) {
	for _, h := range []http.Handler{Handler(Options{}), SSEHandler(Options{})} {
		s := mount(t, h)
		own := strings.TrimSuffix(s.url, "/mcp")
		for _, origins := range [][]string{{"https://example.com"}, {own, "https://example.com"}, {"", "https://example.com"}, {"null"}} {
			for _, method := range []string{"GET", "POST"} {
				req, err := http.NewRequestWithContext(t.Context(), method, s.url, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header["Origin"], req.Header["Accept"] = origins, []string{both}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				want(t, method+" "+strings.Join(origins, ","), resp.StatusCode, http.StatusForbidden)
			}
		}
	}
}

func TestHTTPParamHeaders(t *testing.T) {
	s := mount(t, Handler(Options{})).stateless("tools/call", "route-by-region")
	call := toolsCall(1, "route-by-region", `{"region":"eu-1","priority":3,"dryRun":true}`, meta)
	right := s.with("Mcp-Param-Region", "eu-1", "Mcp-Param-Priority", "3", "Mcp-Param-Dry-Run", "true")

	_, body := right.post(call)
	want(t, "all right", strings.Contains(body, `"text":"Routed to region eu-1.\nregion: \"eu-1\"; Mcp-Param-Region: eu-1\n`+
		`priority: 3; Mcp-Param-Priority: 3\ndryRun: true; Mcp-Param-Dry-Run: true"`), true)

	_, body = s.with("Mcp-Param-Region", "=?base64?5p2x?=").post(toolsCall(1, "route-by-region", `{"region":"東"}`, meta))
	want(t, "encoded", strings.Contains(body, `"text":"Routed to region 東.\nregion: \"東\"; Mcp-Param-Region: =?base64?5p2x?="`), true)

	for name, from := range map[string]*site{"missing": s, "mismatch": right.with("Mcp-Param-Region", "us-1")} {
		resp, body := from.post(call)
		want(t, name, resp.StatusCode, 400)
		want(t, name, strings.Contains(body, `"code":-32020`), true)
	}
}

func TestHTTPCancelledNotification(t *testing.T) {
	in := mount(t, Handler(Options{})).session("2025-11-25")
	stream := in.open(t.Context(), http.MethodPost, toolsCall(7, "trigger-long-running-operation",
		`{"duration":3600,"steps":100000}`, `"_meta":{"progressToken":1}`))
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	for line := ""; !strings.Contains(line, "notifications/progress"); { // it runs
		var err error
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	resp, _ := in.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	want(t, "status", resp.StatusCode, 202)
	rest, err := io.ReadAll(lines)
	want(t, "answer", strings.Contains(string(rest), `"id":7,"result":{"content":[{"type":"text","text":"Long running operation cancelled`), true)
	want(t, "error", err, nil)
	in.do(http.MethodDelete, "")
}

// "Closing the stream is cancellation" cannot be answered, so that the proof
// is that the server comes to rest: httptest's Close waits for every request.
func TestHTTPDisconnectCancels(t *testing.T) {
	s := mount(t, Handler(Options{})).stateless("tools/call", "trigger-long-running-operation")
	ctx, hangUp := context.WithCancel(t.Context())
	token := meta[:len(meta)-1] + `,"progressToken":"p"}`
	resp := s.open(ctx, http.MethodPost, toolsCall(1, "trigger-long-running-operation", `{"duration":3600,"steps":100000}`, token))
	if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil { // it runs
		t.Fatal(err)
	}
	hangUp()
	resp.Body.Close()
}

func TestHTTPListen(t *testing.T) {
	const uri = `demo://resource/static/document/instructions.md`
	s := mount(t, Handler(Options{}))
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	stream := s.stateless("subscriptions/listen", "").
		open(ctx, http.MethodPost, request(1, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["`+uri+`"]},`+meta))
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	next := func() string {
		for lines.Scan() {
			if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return d
			}
		}
		t.Fatalf("stream ended: %v", lines.Err())
		return ""
	}
	want(t, "acknowledged", strings.Contains(next(), "notifications/subscriptions/acknowledged"), true)
	s.stateless("tools/call", "touch-resource").post(toolsCall(2, "touch-resource", `{}`, meta))
	want(t, "updated", next(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":`+
		`{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"`+uri+`"}}`)
}

func TestHTTPWithoutSessions(t *testing.T) {
	s := mount(t, Handler(Options{Stateless: true}))
	resp, body := s.post(initialize("2025-11-25", `{}`))
	want(t, "session", resp.Header.Get(sessionHeader), "")
	want(t, "negotiated", strings.Contains(body, `"protocolVersion":"2025-11-25"`), true)
	_, body = s.with("MCP-Protocol-Version", "2025-11-25").post(toolsCall(1, "echo", `{"message":"hi"}`))
	want(t, "echo", strings.Join(data(body), "|"), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Echo: hi"}]}}`)
	resp, _ = s.do(http.MethodGet, "")
	want(t, "GET", resp.StatusCode, 405)
	_, body = s.stateless("tools/call", "echo").post(toolsCall(1, "echo", `{"message":"hi"}`, meta))
	want(t, "stateless", strings.Contains(body, `"resultType":"complete"`), true)
}

func TestHTTPJSON(t *testing.T) {
	s := mount(t, Handler(Options{JSON: true}))
	resp, body := s.post(initialize("2025-11-25", `{}`))
	want(t, "type", resp.Header.Get("Content-Type"), "application/json")
	want(t, "body", strings.HasPrefix(body, `{"jsonrpc":"2.0","id":0,"result":{"capabilities"`), true)
	in := s.with(sessionHeader, resp.Header.Get(sessionHeader), "MCP-Protocol-Version", "2025-11-25")
	in.post(initialized)
	_, body = in.post(toolsCall(1, "echo", `{"message":"hi"}`))
	want(t, "echo", body, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Echo: hi"}]}}`)
	in.do(http.MethodDelete, "")
	resp, _ = s.stateless("tools/call", "echo").post(toolsCall(1, "echo", `{"message":"hi"}`, meta))
	want(t, "stateless", resp.Header.Get("Content-Type"), "application/json")
}

func TestSSE(t *testing.T) {
	s := mount(t, SSEHandler(Options{}))
	stream := s.open(t.Context(), http.MethodGet, "")
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	event := func() (name, data string) {
		for lines.Scan() && lines.Text() != "" {
			name = strings.TrimPrefix(lines.Text(), "event: ")
			lines.Scan()
			data = strings.TrimPrefix(lines.Text(), "data: ")
		}
		return name, data
	}
	name, endpoint := event()
	want(t, "first event", name, "endpoint")
	if !strings.HasPrefix(endpoint, "/mcp?sessionid=") {
		t.Fatalf("endpoint %q", endpoint)
	}
	messages := &site{t: t, url: strings.TrimSuffix(s.url, "/mcp") + endpoint}
	for _, c := range []struct{ send, want string }{
		{initialize("2024-11-05", `{}`), `"protocolVersion":"2024-11-05"`},
		{toolsCall(1, "echo", `{"message":"hi"}`), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Echo: hi"}]}}`},
	} {
		resp, _ := messages.post(c.send)
		want(t, "POST", resp.StatusCode, 202)
		name, data := event()
		want(t, "event", name, "message")
		want(t, "data "+data, strings.Contains(data, c.want), true)
	}
}
