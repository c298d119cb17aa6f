package exchange

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A step is a frame of a test, a millisecond after the one before.
type step = wire.Frame

func sent(raw string) step     { return step{Raw: []byte(raw)} }
func received(raw string) step { return step{Dir: wire.Received, Raw: []byte(raw)} }

func closed(by wire.Direction, how, text string) step {
	return step{Kind: wire.Closed, Dir: by, Close: &wire.CloseFacts{By: by, How: how, Text: text}}
}

// onStream puts steps on an HTTP request: its head comes first, then the response's with a status and Content-Type.
func onStream(status int, contentType string, steps ...step) []step {
	request := step{Kind: wire.Head, HTTP: &wire.HTTPHead{Method: "POST", URL: "http://x/mcp"}}
	response := step{Kind: wire.Head, Dir: wire.Received, HTTP: &wire.HTTPHead{
		Status: status,
		Fields: []wire.Field{{Name: "Content-Type", Value: contentType}},
	}}
	all := []step{request, steps[0], response}
	for _, s := range steps[1:] {
		if s.Kind == wire.Body && contentType == "text/event-stream" && s.Dir == wire.Received {
			s.Kind, s.SSE = wire.Event, &sse.Facts{}
		}
		all = append(all, s)
	}
	for i := range all {
		all[i].Stream = 1
	}
	return all
}

// states folds steps into the states of their exchanges.
func states(steps []step) []*State {
	var correlator wire.Correlator
	var all []*State
	var conversation Conversation
	for i := range steps {
		f := &steps[i]
		f.Seq, f.Time = uint64(i), noon.Add(time.Duration(i)*time.Millisecond)
		if f.Kind == wire.Head && f.Dir == wire.Sent {
			conversation.AddHead(f.HTTP)
		}
		var m *wire.Message
		facts := &Facts{}
		if f.Kind == wire.Body || f.Kind == wire.Event {
			m = wire.ParseMessage(f.Raw)
			*facts = FactsOf(m)
		}
		for _, place := range correlator.Add(int64(i), f, &facts.Traits) {
			if place.Role == wire.RoleRequest || place.Role == wire.RoleBeginning {
				all = append(all, &State{Time: f.Time, Dir: f.Dir, Channel: ChannelOpen, IsSeparate: place.Role == wire.RoleBeginning})
			}
			p := &PlacedFrame{Place: place, Frame: f, Message: m, Facts: facts, Size: len(f.Raw), Conversation: &conversation}
			if place.Ref != int64(i) {
				p.Frame, p.Message, p.Facts = &steps[place.Ref], nil, &NoFacts
			}
			if place.Role != wire.RoleBeginning {
				all[place.Exchange].Add(p)
			}
		}
	}
	return all
}

const (
	call   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
	list   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	good   = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	events = "text/event-stream"
	object = "application/json"
)

// How each exchange of some frames ends.
func TestOutcomesOfExchanges(t *testing.T) {
	pipe := func(steps ...step) []step { return steps }
	end := closed(wire.Received, "end", "")
	numbered := received(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	for _, c := range []struct {
		name  string
		steps []step
		want  string // of each exchange: channel, exit code, text
	}{
		{"good", pipe(sent(call), received(good)), "ok 0"},
		{"open", pipe(sent(call)), "open -"},
		{"tool error", pipe(sent(call), received(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`)), "tool_error 5"},
		{"JSON-RPC error", pipe(sent(call), received(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`)), "rpc_error 6"},
		{
			"input required", pipe(sent(call), received(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{}}}}`)),
			"input_required 11",
		},
		{
			"a list without its list", pipe(sent(list), received(`{"jsonrpc":"2.0","id":1,"result":{}}`)),
			"bad_response 8 the result of tools/list has no tools",
		},
		{
			"cancelled by the client", pipe(sent(call), sent(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"why"}}`)),
			"cancelled - cancelled by the client: why",
		},
		{
			"response after the cancellation", pipe(sent(call), sent(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`), received(good)),
			"cancelled - cancelled by the client; late",
		},
		{"the server ends the pipe", pipe(sent(call), closed(wire.Received, "exit", "exit status 3")), "transport 7 exit status 3"},
		{"the client ends the pipe", pipe(sent(call), closed(wire.Sent, "end", "")), "cancelled - cancelled by the client: the client ended the connection"},
		{"two at once", pipe(sent(call), sent(strings.Replace(list, "1,", "2,", 1)), received(good)), "ok 0|open -"},
		{"the server asks", pipe(received(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), sent(`{"jsonrpc":"2.0","id":1,"result":{}}`)), "ok 0"},
		{"HTTP, good", onStream(200, object, sent(call), received(good), end), "ok 0"},
		{"HTTP, events", onStream(200, events, sent(call), numbered, received(good), end), "ok 0"},
		{"HTTP 401", onStream(401, object, sent(call), end), "auth 4"},
		{"HTTP 503", onStream(503, object, sent(call), end), "transport 7"},
		{"HTTP 400 with an error", onStream(400, object, sent(call), received(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`), end), "rpc_error 6"},
		{
			"a foreign type", onStream(200, "text/html", sent(call), received(good), end),
			"bad_response 8 expected application/json or text/event-stream, got text/html",
		},
		{
			"another id", onStream(200, object, sent(call), received(strings.Replace(good, "1,", "7,", 1)), end),
			"bad_response 8 the response has another id than the request",
		},
		{"no response", onStream(200, object, sent(call), end), "bad_response 8 the HTTP response ended without a JSON-RPC response"},
		{"no event", onStream(200, events, sent(call), end), "transport 7 the stream ended before the response"},
		{"cut", onStream(200, events, sent(call), closed(wire.Received, "cut", "unexpected EOF")), "transport 7 unexpected EOF"},
		{
			"the client closes the stream", onStream(200, events, sent(call), closed(wire.Sent, "cancelled", "")),
			"cancelled - cancelled by the client: the client closed the stream",
		},
		{
			"dropped by a user", pipe(sent(call), step{Kind: wire.Held, Held: &wire.HeldFacts{How: "dropped", Kind: "request", ID: "1"}}),
			"transport 7 the user dropped the request",
		},
		{
			"not decoded", onStream(200, object, sent(call), step{Kind: wire.Noise, Dir: wire.Received, DecodeError: "encoded as x"}, end),
			"unreadable - encoded as x",
		},
	} {
		var got []string
		for _, s := range states(c.steps) {
			exit := "-"
			if s.Exit >= 0 && !s.IsOpen() && s.Cancel == nil && s.Channel != ChannelUnreadable {
				exit = fmt.Sprint(s.Exit)
			}
			text := strings.TrimSpace(s.Channel + " " + exit + " " + s.Text)
			if s.Cancel != nil && s.Cancel.IsLate {
				text += "; late"
			}
			got = append(got, text)
		}
		if all := strings.Join(got, "|"); all != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, all, c.want)
		}
	}
}

// A stream that is taken up again has its response still to come.
func TestResumedStreamIsOpen(t *testing.T) {
	id := "7"
	steps := onStream(200, events, sent(call), step{Kind: wire.Event, Dir: wire.Received, SSE: &sse.Facts{ID: &id}}, closed(wire.Received, "cut", "reset"))
	if s := states(steps)[0]; s.Channel != string(wire.Transport) || !s.Unanswered {
		t.Fatalf("after the cut: %s", s.Channel)
	}
	again := step{Kind: wire.Head, Stream: 2, HTTP: &wire.HTTPHead{Method: "GET", URL: "http://x/mcp", Fields: []wire.Field{{Name: "Last-Event-ID", Value: id}}}}
	if s := states(append(steps, again))[0]; !s.IsOpen() || s.Notes.Resumed != 1 {
		t.Fatalf("taken up again: %s, %+v", s.Channel, s.Notes)
	}
	answer := step{Kind: wire.Event, Dir: wire.Received, Stream: 2, SSE: &sse.Facts{}, Raw: []byte(good)}
	if s := states(append(steps, again, answer))[0]; s.Channel != ChannelOK {
		t.Fatalf("answered: %s", s.Channel)
	}
}
