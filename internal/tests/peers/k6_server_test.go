//go:build peers

package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/bench/k6"
	"mcpc/internal/redact"
	"mcpc/internal/tests/servers"
	"mcpc/internal/wire"
)

// A k6Reply is what a server of a test answers.
type k6Reply struct {
	status     int
	kind, body string
	header     map[string]string
}

func k6Result(m *wire.Message, value string) k6Reply {
	return k6Reply{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, value)}
}

// answering is a server that answers each message so.
func answering(answer func(servers.Received, *wire.Message) k6Reply) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := answer(servers.Received{Method: r.Method, URL: r.URL.String(), Header: r.Header, Body: body}, wire.ParseMessage(body))
		w.Header().Set("Content-Type", "application/json")
		if a.kind != "" {
			w.Header().Set("Content-Type", a.kind)
		}
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		_, _ = io.WriteString(w, a.body)
	})
}

// Each fault of a server or a network ends in its channel.
func TestPeersK6TellsChannelsApart(t *testing.T) {
	t.Parallel()
	var followed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	t.Cleanup(elsewhere.Close)
	const fine = `{"content":[]}`
	stream := func(text string) k6Reply { return k6Reply{kind: "text/event-stream; charset=utf-8", body: text} }
	cases := map[string]struct {
		channel string
		answer  func(*wire.Message) k6Reply
	}{
		"result": {"ok", func(m *wire.Message) k6Reply { return k6Result(m, fine) }},
		"stream": {"ok", func(m *wire.Message) k6Reply {
			return stream("event: message\ndata: " + k6Result(m, fine).body + "\n\n")
		}},
		"stream with more": {"ok", func(m *wire.Message) k6Reply {
			return stream("\ufeff: hello\r\nid: 1\r\ndata:\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"x\"}\r\n\r\ndata: " + k6Result(m, fine).body + "\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":7}\r\n\r\n")
		}},
		"stream, lone CR":  {"ok", func(m *wire.Message) k6Reply { return stream("data:" + k6Result(m, fine).body + "\r\r") }},
		"is error":         {"tool_error", func(m *wire.Message) k6Reply { return k6Result(m, `{"content":[],"isError":true}`) }},
		"stream, is error": {"tool_error", func(m *wire.Message) k6Reply { return stream("data: " + k6Result(m, `{"isError":true}`).body + "\n\n") }},
		"error in a 200": {"rpc_error", func(m *wire.Message) k6Reply {
			return k6Reply{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"x"}}`, m.ID)}
		}},
		"error in a 400": {"rpc_error", func(m *wire.Message) k6Reply {
			return k6Reply{status: 400, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x"}}`}
		}},
		"input required": {"rpc_error", func(m *wire.Message) k6Reply {
			return k6Result(m, `{"resultType":"input_required","requestState":"s"}`)
		}},
		"502": {"transport", func(*wire.Message) k6Reply {
			return k6Reply{status: 502, kind: "text/html", body: "<h1>Bad Gateway</h1>"}
		}},
		"401":        {"transport", func(*wire.Message) k6Reply { return k6Reply{status: 401} }},
		"nothing":    {"transport", func(*wire.Message) k6Reply { return k6Reply{} }},
		"another id": {"transport", func(*wire.Message) k6Reply { return k6Reply{body: `{"jsonrpc":"2.0","id":99999,"result":{}}`} }},
		"id as a text": {"transport", func(m *wire.Message) k6Reply {
			return k6Reply{body: fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{}}`, m.ID)}
		}},
		"result is null":  {"transport", func(m *wire.Message) k6Reply { return k6Result(m, `null`) }},
		"stream, unended": {"transport", func(m *wire.Message) k6Reply { return stream("data: " + k6Result(m, fine).body + "\n") }},
		"stream, other": {"transport", func(m *wire.Message) k6Reply {
			return stream("event: endpoint\ndata: " + k6Result(m, fine).body + "\n\n")
		}},
		"redirect": {"transport", func(*wire.Message) k6Reply {
			return k6Reply{status: 307, header: map[string]string{"Location": elsewhere.URL}}
		}},
		"result with a 500": {"transport", func(m *wire.Message) k6Reply { r := k6Result(m, fine); r.status = 500; return r }},
	}
	server := newScribe(t, answering(func(h servers.Received, m *wire.Message) k6Reply {
		var params struct{ Name string }
		_ = json.Unmarshal(m.Params, &params)
		return cases[params.Name].answer(m)
	}))
	p := k6.Plan{Version: "1", URL: server.URL, Headers: []wire.Field{{Name: "Authorization", Value: "Bearer " + redact.Redacted("canary-of-redirects")}}, Revision: "2026-07-28", Stateless: true}
	want := map[string]float64{}
	for name, c := range cases {
		params, _ := json.Marshal(map[string]string{"name": name})
		p.Calls = append(p.Calls, k6.Call{Method: "tools/call", Tool: name, Params: params})
		want[c.channel]++
	}
	dir := t.TempDir()
	if _, err := k6.Write(dir, p); err != nil {
		t.Fatal(err)
	}
	r := runK6(t, dir, "--vus", "1", "--iterations", fmt.Sprint(len(cases)), "MCP_TOKEN=x")
	r.wantCounts(t, want)
	if followed.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestPeersK6StopsWaiting(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	server := newScribe(t, answering(func(servers.Received, *wire.Message) k6Reply {
		<-released
		return k6Reply{}
	}))
	t.Cleanup(func() { close(released) })
	dir := t.TempDir()
	if _, err := k6.Write(dir, k6.Plan{URL: server.URL, Revision: "2026-07-28", Stateless: true, Calls: []k6.Call{{Method: "tools/list"}}}); err != nil {
		t.Fatal(err)
	}
	runK6(t, dir, "--vus", "1", "--iterations", "2", "TIMEOUT=200ms").wantCounts(t, map[string]float64{"timeout": 2})
}

// A rate that is given to a test without one may have many calls in flight; a variable that is not a
// number is refused, and nothing is sent.
func TestPeersK6ReadsItsVariables(t *testing.T) {
	t.Parallel()
	const together = 5
	var arrived atomic.Int64
	all := make(chan struct{})
	server := newScribe(t, answering(func(_ servers.Received, m *wire.Message) k6Reply {
		if arrived.Add(1) == together {
			close(all)
		}
		<-all
		return k6Result(m, `{"content":[]}`)
	}))
	dir := t.TempDir()
	plan := k6.Plan{URL: server.URL, Revision: "2026-07-28", Stateless: true, Users: 1, Duration: time.Second, Calls: []k6.Call{{Method: "tools/list"}}}
	if _, err := k6.Write(dir, plan); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"RATE=2x", "RATE=", "USERS=0", "USERS=1.5"} {
		name, _, _ := strings.Cut(wrong, "=")
		if r := runK6(t, dir, wrong); r.code == 0 || !strings.Contains(r.output, name+" must be a number, not") || arrived.Load() != 0 {
			t.Errorf("%s: status %d, %d requests: %s", wrong, r.code, arrived.Load(), r.output)
		}
	}
	if r := runK6(t, dir, "RATE=20"); r.counts["mcp_ok"] < together || r.counts["mcp_transport"]+r.counts["mcp_timeout"] > 0 {
		t.Errorf("%v: %s", r.counts, r.output)
	}
}

// Params are sent byte for byte, whatever they contain, and nothing in them is read as a script.
func TestPeersK6SendsTheBytes(t *testing.T) {
	t.Parallel()
	hostile := "</script>`${process.exit(7)}` '\" \\ \u2028\u2029 */ /*PLAN*/ \x7f é 😀"
	quoted, _ := json.Marshal(hostile)
	all := []string{
		`{"name":"t","arguments":{"n":9007199254740993,"f":1.0,"e":1E+2,"2":0,"1":0,"a":1,"a":2}}`,
		`{ "name" : "t" , "arguments" : {"lone":"\ud800","zero":"\u0000","slash":"\/"} }`,
		`{"name":` + string(quoted) + `,"arguments":{` + string(quoted) + `:"` + "\u2028" + `"}}`,
		`{"name":"t","_meta":{"vendor/x":[1.0],"progressToken":7}}`,
		`{"name":"t","arguments":{"text":"` + redact.Redacted("canary") + `"}}`,
	}
	for _, stateless := range []bool{false, true} {
		server := newScribe(t, answering(func(h servers.Received, m *wire.Message) k6Reply {
			return k6Result(m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
		}))
		revision := map[bool]string{false: "2025-11-25", true: "2026-07-28"}[stateless]
		p := k6.Plan{Version: hostile, URL: server.URL + "/?q=`${1}`'", Headers: []wire.Field{{Name: "X-Y", Value: "a'`${b}"}}, Revision: revision, Stateless: stateless}
		for _, params := range all {
			p.Calls = append(p.Calls, k6.Call{Method: "tools/call", Tool: hostile, Params: json.RawMessage(params)})
		}
		dir := t.TempDir()
		if _, err := k6.Write(dir, p); err != nil {
			t.Fatal(err)
		}
		checkSyntax(t, dir)
		r := runK6(t, dir, "--vus", "1", "--iterations", fmt.Sprint(len(all)), `MCP_SECRET=a"b`)
		r.wantCounts(t, map[string]float64{"ok": float64(len(all))})
		server.wantParams(t, stateless, all)
	}
}

// wantParams compares the params that came, in their order, with those of a plan.
func (l scribe) wantParams(t *testing.T, stateless bool, want []string) {
	t.Helper()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`
	for _, h := range l.All() {
		m := wire.ParseMessage(h.Body)
		if m.Method != "tools/call" {
			continue
		}
		params, expected := string(m.Params), strings.Replace(want[0], redact.Redacted("canary"), `a\"b`, 1)
		want = want[1:]
		own := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(expected), "{"))
		switch {
		case !stateless && params != expected:
			t.Errorf("params %s, want %s", params, expected)
		case stateless && strings.Contains(expected, "_meta"):
			if !strings.Contains(params, `{"vendor/x":[1.0],"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28",`) || strings.Count(params, "_meta") != 1 {
				t.Errorf("params %s", params)
			}
		case stateless && !(strings.HasPrefix(params, "{"+meta) && strings.HasSuffix(params, ","+own)):
			t.Errorf("params %s, want _meta and %s", params, own)
		}
		if h.Header.Get("X-Y") != "a'`${b}" || h.Header.Get("Mcp-Protocol-Version") == "" {
			t.Errorf("the header is %v", h.Header)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d calls did not come", len(want))
	}
}

// A handle that the server gave out in a recording is replaced by the handle that it gives out now.
func TestPeersK6BindsHandles(t *testing.T) {
	t.Parallel()
	var given, unknown atomic.Int64
	server := newScribe(t, answering(func(h servers.Received, m *wire.Message) k6Reply {
		var params struct {
			Name      string
			Arguments struct{ ID string }
		}
		_ = json.Unmarshal(m.Params, &params)
		run := h.Header.Get("X-Run")
		switch {
		case m.Method == "initialize":
			return k6Result(m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "notifications/initialized":
			return k6Reply{status: http.StatusAccepted}
		case m.Method == "tools/list":
			return k6Result(m, `{"tools":[{"name":"create","inputSchema":{"type":"object"}},{"name":"read","inputSchema":{"type":"object"}}]}`)
		case params.Name == "create":
			return k6Result(m, fmt.Sprintf(`{"content":[],"structuredContent":{"orders":[{"id":"order-%s-%08d"}]}}`, run, given.Add(1)))
		case strings.HasPrefix(params.Arguments.ID, "order-"+run+"-"):
			return k6Result(m, `{"content":[]}`)
		}
		unknown.Add(1)
		return k6Result(m, `{"content":[],"isError":true}`)
	}))
	m, record, dir := newRunner(t), filepath.Join(t.TempDir(), "r.jsonl"), filepath.Join(t.TempDir(), "load")
	target := []string{"-s", server.URL, "--protocol", "2025-11-25", "--record", record, "-H", "X-Run: then"}
	var created struct {
		StructuredContent struct{ Orders []struct{ ID string } }
	}
	mustUnmarshal(t, m.want(0, with(target, "call", "--no-validate", "create", "--json")...).stdout, &created)
	id := created.StructuredContent.Orders[0].ID
	m.want(0, with(target, "call", "--no-validate", "read", `{"id":"`+id+`"}`)...)
	r := m.want(0, "export", record, "-method:tools/list", "--as", "k6", "-o", dir)
	if !strings.Contains(r.stderr, "1 value taken from earlier responses") {
		t.Errorf("export says\n%s", r.stderr)
	}
	script := filepath.Join(dir, k6.Script)
	raw, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(strings.Replace(string(raw), `"then"`, `"now"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	run := runK6(t, dir, "--vus", "3", "--iterations", "30") // each user asks for its own order
	run.wantCounts(t, map[string]float64{"ok": 30})
	if unknown.Load() != 0 || given.Load() < 1+15 {
		t.Errorf("%d orders given, %d unknown", given.Load(), unknown.Load())
	}
}

// A session that the server has ended is replaced.
func TestPeersK6OpensAnotherSession(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	server := newScribe(t, answering(func(h servers.Received, m *wire.Message) k6Reply {
		id := h.Header.Get("Mcp-Session-Id")
		switch {
		case m.Method == "initialize":
			r := k6Result(m, `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
			r.header = map[string]string{"Mcp-Session-Id": fmt.Sprint("session-", opened.Add(1))}
			return r
		case m.Method == "notifications/initialized":
			return k6Reply{status: http.StatusAccepted}
		case id == "session-1":
			return k6Reply{status: http.StatusNotFound}
		}
		return k6Result(m, `{"content":[]}`)
	}))
	dir := t.TempDir()
	if _, err := k6.Write(dir, k6.Plan{URL: server.URL, Revision: "2025-11-25", Calls: []k6.Call{{Method: "ping"}}}); err != nil {
		t.Fatal(err)
	}
	runK6(t, dir, "--vus", "1", "--iterations", "5").wantCounts(t, map[string]float64{"transport": 1, "ok": 4})
	if last := server.Last(t, "ping"); last.Header.Get("Mcp-Session-Id") != "session-2" || last.Header.Get("Mcp-Protocol-Version") != "2025-06-18" {
		t.Errorf("the header is %v", last.Header)
	}
}
