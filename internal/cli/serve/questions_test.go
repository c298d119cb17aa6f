package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A poster sends requests that are stateless.
type poster struct {
	t   *testing.T
	url string
}

const alone = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`

// call calls a tool with more members of params, and gives the response.
func (p poster) call(tool, more string) *wire.Message {
	p.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{%s}%s}}`, tool, alone, more)
	req, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Error(err)
		return &wire.Message{}
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 1<<20)
	var last *wire.Message
	for lines.Scan() {
		if line := bytes.TrimPrefix(lines.Bytes(), []byte("data: ")); bytes.HasPrefix(line, []byte("{")) {
			last = wire.ParseMessage(bytes.Clone(line))
		}
	}
	return last
}

// A question to a client with stateless requests is in the response, is answered by the same
// request once, and by no other.
func TestRequestState(t *testing.T) {
	s := serve(t, "demo=demo", "--protocol", "2025-11-25", "--http", "0")
	p := poster{t, s.said.match(t, `listening on (\S+);`)[1]}
	asked := p.call("demo__trigger-elicitation-request", "")
	state := jsonraw.TextOrRaw(jsonraw.First(asked.Result, "requestState"))
	if state == "" || !strings.Contains(string(asked.Result), `"inputRequests":{"question":{"method":"elicitation/create"`) {
		t.Fatalf("%s", asked.Raw)
	}
	answer := func(state string) string {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"question":{"action":"accept","content":{"name":"Ada"}}}`, state)
	}
	for name, got := range map[string]*wire.Message{
		"another request": p.call("demo__order-tea", answer(state)), "another state": p.call("demo__trigger-elicitation-request", answer(state+"x")),
		"a guess": p.call("demo__trigger-elicitation-request", answer(state[:strings.LastIndexByte(state, '-')+1])),
	} {
		if got.Error == nil || got.Error.Code != -32602 {
			t.Errorf("%s: %s", name, got.Raw)
		}
	}
	again := p.call("demo__trigger-elicitation-request", fmt.Sprintf(`,"requestState":%q`, state)) // without an answer
	if state = jsonraw.TextOrRaw(jsonraw.First(again.Result, "requestState")); state == "" {
		t.Fatalf("%s", again.Raw)
	}
	if got := p.call("demo__trigger-elicitation-request", answer(state)); !strings.Contains(string(got.Raw), "Ada") {
		t.Errorf("%s", got.Raw)
	}
	if got := p.call("demo__trigger-elicitation-request", answer(state)); got.Error == nil {
		t.Errorf("a second time: %s", got.Raw)
	}
}

// The rounds of a server of the client's era go through as they are.
func TestRoundsPassThrough(t *testing.T) {
	s := serve(t, "demo=demo", "--protocol", "2026-07-28", "--http", "0")
	p := poster{t, s.said.match(t, `listening on (\S+);`)[1]}
	if m := p.call("demo__trigger-elicitation-request", ""); !strings.Contains(string(m.Result), `"requestState":"the-state-of-the-demo"`) {
		t.Errorf("%s", m.Raw)
	}
	state := jsonraw.First(p.call("demo__order-tea", "").Result, "requestState")
	m := p.call("demo__order-tea", `,"requestState":`+string(state)+`,"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`)
	if members, _ := jsonraw.Object(jsonraw.First(m.Result, "inputRequests")); len(members) != 2 {
		t.Errorf("%s", m.Raw)
	}
}

// Questions in parallel reach the clients whose calls asked them.
func TestQuestionsInParallel(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		s := serve(t, "demo=demo", "--protocol", revision, "--http", "0")
		p := poster{t, s.said.match(t, `listening on (\S+);`)[1]}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				m := p.call("demo__trigger-elicitation-request", "")
				state, requests := jsonraw.TextOrRaw(jsonraw.First(m.Result, "requestState")), jsonraw.First(m.Result, "inputRequests")
				members, _ := jsonraw.Object(requests)
				if len(members) != 1 {
					t.Errorf("%s", m.Raw)
					return
				}
				name := fmt.Sprintf("user-%d", i)
				got := p.call("demo__trigger-elicitation-request", fmt.Sprintf(`,"requestState":%s,"inputResponses":{%q:{"action":"accept","content":{"name":%q}}}`, jsonraw.Quote(state), members[0].Name, name))
				if !strings.Contains(string(got.Raw), name) {
					t.Errorf("%s: %s", name, got.Raw)
				}
			})
		}
		all.Wait()
	}
}

// A client without capabilities is asked nothing, and no server gets such capabilities.
func TestCapabilitiesAreTheClients(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, theirs := range []string{"2025-11-25", "2026-07-28"} {
			u := serve(t, "demo=demo", "--protocol", theirs).open(revision, "", `{}`)
			if got := u.call("demo__trigger-elicitation-request", `{}`); strings.Contains(got, "Ada") || len(u.asked) > 0 {
				t.Errorf("%s, %s: %s", revision, theirs, got)
			}
		}
	}
}

// Progress has the client's token, log messages the name of the server and the level that the client asked for.
func TestNotificationsOfACall(t *testing.T) {
	eachPair(t, func(t *testing.T, u *user) {
		old := !client.Stateless(u.Revision())
		if old {
			if out := u.do("logging/setLevel", `{"level":"error"}`); !out.OK() {
				t.Fatal(out.Text)
			}
		}
		out := u.Do(t.Context(), client.Call{Method: "tools/call", Progress: true, Params: json.RawMessage(`{"name":"demo__trigger-long-running-operation","arguments":{"duration":0.01,"steps":2}}`)})
		if !out.OK() {
			t.Fatal(out.Text)
		}
		if m := u.note("notifications/progress"); string(jsonraw.First(m.Params, "progressToken")) != string(out.ID) {
			t.Errorf("%s, request %s", m.Params, out.ID)
		}
		params := `{"name":"demo__send-log-messages","arguments":{}}`
		if !old {
			params = `{"name":"demo__send-log-messages","arguments":{},"_meta":{"io.modelcontextprotocol/logLevel":"error"}}`
		}
		if out := u.do("tools/call", params); !out.OK() {
			t.Fatal(out.Text)
		}
		for range 4 { // error to emergency
			if m := u.note("notifications/message"); !strings.HasPrefix(jsonraw.TextOrRaw(jsonraw.First(m.Params, "logger")), "demo") || strings.Contains(string(m.Params), `"info"`) {
				t.Errorf("%s", m.Params)
			}
		}
	})
}

// A cancelled call ends at the server, and the client can continue.
func TestCancel(t *testing.T) {
	eachPair(t, func(t *testing.T, u *user) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan wire.Outcome, 1)
		go func() {
			ended <- u.Do(ctx, client.Call{Method: "tools/call", Progress: true, Params: json.RawMessage(`{"name":"demo__trigger-long-running-operation","arguments":{"duration":3000,"steps":100000}}`)})
		}()
		u.note("notifications/progress")
		stop()
		if out := <-ended; out.OK() {
			t.Error("it ended well")
		}
		if got := u.call("demo__get-sum", `{"a":1,"b":2}`); !strings.Contains(got, "is 3") {
			t.Error(got)
		}
	})
}

// Sessions over HTTP do not share what a server knows of them.
func TestHTTPSessionsDoNotShareLists(t *testing.T) {
	s := serve(t, "demo=demo", "--http", "0")
	url := s.said.match(t, `listening on (\S+);`)[1]
	one, two := s.open("2025-06-18", url, everything), s.open("2025-06-18", url, everything)
	before := len(two.tools())
	one.call("demo__change-list", `{"list":"tools"}`)
	if n := len(one.tools()); n != before+1 {
		t.Errorf("%d tools, then %d", before, n)
	}
	if n := len(two.tools()); n != before {
		t.Errorf("the other session has %d tools, then %d", before, n)
	}
}

// The requestState of an inner mcpc serve passes unchanged.
func TestRequestStateOfInnerServePasses(t *testing.T) {
	inner := serve(t, "demo=demo", "--protocol", "2025-11-25", "--http", "0").said.match(t, `listening on (\S+);`)[1]
	p := poster{t, serve(t, "in="+inner, "--http", "0").said.match(t, `listening on (\S+);`)[1]}
	const tool = "in__demo__trigger-elicitation-request"
	state := jsonraw.First(p.call(tool, "").Result, "requestState")
	got := p.call(tool, fmt.Sprintf(`,"requestState":%s,"inputResponses":{"question":{"action":"decline"}}`, state))
	if !strings.Contains(string(got.Result), "declin") {
		t.Errorf("%s", got.Raw)
	}
}
