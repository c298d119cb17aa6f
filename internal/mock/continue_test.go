package mock

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/match"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// realServer answers every request with its method and params.
type realServer struct {
	mu      sync.Mutex
	adopted int
	got     []string
}

func (s *realServer) Adopt(mcpserver.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopted++
}

func (s *realServer) Prepare(_ mcpserver.Caller, m *wire.Message) mcpserver.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, m.Method+" "+string(m.Params))
	result := `{"content":[{"type":"text","text":"real"}]}`
	if m.Method == "tools/list" {
		result = `{"tools":[{"name":"real"}],"nextCursor":"page-2"}`
	}
	return mcpserver.Replying(wire.ComposeResult(m.ID, []byte(result)))
}

func (s *realServer) Notified(_ mcpserver.Caller, m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, m.Method)
}

const orders = opening + `
	> {"id":2,"method":"tools/list"}
	< {"id":2,"result":{"tools":[{"name":"create"},{"name":"get"}],"nextCursor":"page-2"}}
	> {"id":3,"method":"tools/list","params":{"cursor":"page-2"}}
	< {"id":3,"result":{"tools":[{"name":"close"}]}}
	> {"id":4,"method":"tools/call","params":{"name":"create","arguments":{"item":"lamp"}}}
	< {"id":4,"result":{"content":[{"type":"text","text":"recorded-order"}]}}
	> {"id":5,"method":"tools/call","params":{"name":"get","arguments":{"order":"recorded-order"}}}
	< {"id":5,"result":{"content":[{"type":"text","text":"lamp"}]}}
	> {"id":6,"method":"tools/call","params":{"name":"get","arguments":{"order":"recorded-order"}}}
	< {"id":6,"result":{"content":[{"type":"text","text":"real"}]}}`

// continued returns a player of the recording orders that continues at the exchange with the index until.
func continued(t *testing.T, until int) (*Player, *realServer, *reports) {
	t.Helper()
	server := &realServer{}
	binder := match.NewBinder()
	binder.BindNamed("handle", "recorded-order", "present-order")
	recording := recordingOf(talk(orders))
	before := map[int]bool{}
	for n := range recording.Exchanges {
		x := &recording.Exchanges[n]
		m, err := x.Request()
		if err != nil {
			t.Fatal(err)
		}
		x.Name = match.NameOf(m.Method, m.Params)
		if n > 0 && n < until { // 0 is the handshake
			before[n] = x.Name == "create"
		}
	}
	p, said := player(t, recording, func(o *PlayerOptions) {
		o.Continue = &Continuation{
			Until: until, Before: before, Server: server, Adopt: server.Adopt, Hub: &mcpserver.Hub{}, Binder: binder,
		}
	})
	return p, server, said
}

// callers send requests in one era over one transport.
func callers(t *testing.T, p *Player) map[string]func(id int, method, params string) string {
	t.Helper()
	server := httptest.NewServer(p.Handler(t.Context()))
	t.Cleanup(server.Close)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	compose := func(id int, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params)
	}
	modern := func(params string) string { return strings.TrimPrefix(params+","+meta, ",") }
	pipe := func(id int, method, params string) string {
		m := wire.ParseMessage([]byte(compose(id, method, params)))
		c := mcpserver.Caller{Revision: "2025-11-25", Session: mcpserver.NewSession(t.Context(), "", func([]byte) {})}
		if strings.Contains(params, "protocolVersion") {
			c = mcpserver.Caller{Stateless: true, Revision: "2026-07-28"}
		}
		return string(p.Prepare(c, m).Run(context.Background(), func([]byte) {}))
	}
	session := ""
	return map[string]func(id int, method, params string) string{
		"2025 over HTTP": func(id int, method, params string) string {
			if session == "" {
				_, _, _, session = post(t, server.URL, initialize)
			}
			_, _, body, _ := post(t, server.URL, compose(id, method, params), "Mcp-Session-Id: "+session)
			return body
		},
		"2026 over HTTP": func(id int, method, params string) string {
			fields := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
			if _, name, isCall := strings.Cut(params, `"name":"`); isCall {
				name, _, _ = strings.Cut(name, `"`)
				fields = append(fields, "Mcp-Name: "+name)
			}
			_, _, body, _ := post(t, server.URL, compose(id, method, modern(params)), fields...)
			return body
		},
		"2025 over stdio": pipe,
		"2026 over stdio": func(id int, method, params string) string { return pipe(id, method, modern(params)) },
	}
}

// From the exchange of --until on the real server answers, with its own handles; what the recording began
// it ends.
func TestContinueWithARealServer(t *testing.T) {
	for _, name := range []string{"2025 over HTTP", "2026 over HTTP", "2025 over stdio", "2026 over stdio"} {
		t.Run(name, func(t *testing.T) {
			p, server, said := continued(t, 4)
			call := callers(t, p)[name]
			for i, step := range []struct{ method, params, want string }{
				{"tools/list", ``, `"create"`},
				{"tools/call", `"name":"create","arguments":{"item":"lamp"}`, "recorded-order"},
				{"tools/call", `"name":"get","arguments":{"order":"recorded-order"}`, "real"},
				{"tools/list", `"cursor":"page-2"`, `"close"`},
				{"tools/call", `"name":"get","arguments":{"order":"recorded-order"}`, "real"},
				{"tools/list", ``, "real"},
				{"tools/list", `"cursor":"page-2"`, "real"},
			} {
				if got := call(i+2, step.method, step.params); !strings.Contains(got, step.want) {
					t.Errorf("step %d: %s, want %s", i, got, step.want)
				}
			}
			bound := func(text string) bool { return strings.Contains(text, `{"order":"present-order"}`) }
			if !slices.ContainsFunc(server.got, bound) || strings.Contains(fmt.Sprint(server.got), "recorded-order") {
				t.Errorf("the server got %q", server.got)
			}
			if name != "2025 over stdio" && server.adopted != 1 { // each of its requests here has its own session
				t.Errorf("adopted %d times", server.adopted)
			}
			report := p.continued()
			isCompared := report.Requests == 4 && report.Bound == 2 && report.Same == 1 && report.Different == 1
			if !isCompared || !strings.Contains(report.Differences[0], `#5 tools/call get: differs at /content/0/text: recorded "lamp", now "real"`) {
				t.Errorf("%+v", report)
			}
			if !said.has("the real server answers from here on: tools/call get; the client did not repeat 1 earlier request") {
				t.Errorf("%q", said.lines)
			}
		})
	}
}

// A subscription that was requested before the switch and opens after it is repeated at the real server.
func TestSubscriptionThatOpensAfterTheSwitchIsAdopted(t *testing.T) {
	p, server, _ := continued(t, 4)
	c := mcpserver.Caller{Stateless: true, Revision: "2026-07-28"}
	listen := p.Prepare(c, wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`)))
	call := callers(t, p)["2026 over stdio"]
	call(2, "tools/call", `"name":"create","arguments":{"item":"lamp"}`)
	call(3, "tools/call", `"name":"get","arguments":{"order":"recorded-order"}`)
	call(4, "tools/call", `"name":"get","arguments":{"order":"recorded-order"}`)
	if server.adopted != 1 {
		t.Fatalf("adopted %d times before the subscription", server.adopted)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	listen.Run(ctx, func([]byte) {})
	if server.adopted != 2 {
		t.Errorf("adopted %d times", server.adopted)
	}
}

// A client that leaves out a request that changed something, or does something else, is reported, and gets
// what the recording has.
func TestClientThatDoesNotFollowTheRecording(t *testing.T) {
	p, server, said := continued(t, 4)
	call := callers(t, p)["2026 over HTTP"]
	if got := call(2, "tools/call", `"name":"get","arguments":{"order":"recorded-order"}`); !strings.Contains(got, "lamp") {
		t.Errorf("%s", got)
	}
	if got := call(3, "tools/call", `"name":"create","arguments":{"item":"chair"}`); !strings.Contains(got, "error") {
		t.Errorf("%s", got)
	}
	for _, want := range []string{
		"does not follow the recording before #5: expected #4 tools/call create, received tools/call get", "miss: tools/call create",
	} {
		if !said.has(want) {
			t.Errorf("%q lacks %q", said.lines, want)
		}
	}
	if len(server.got) > 0 || p.continued().Requests > 0 {
		t.Errorf("the server got %q", server.got)
	}
}
