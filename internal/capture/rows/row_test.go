package rows

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A script of frames: ">" was sent, "<" was received; a number after it is the stream. Then follows
// a message, or a word for other traffic.
func written(t *testing.T, lines ...string) string {
	t.Helper()
	b := capture.AppendHead(nil, capture.Head{Started: noon, Target: "t", Run: 42, By: capture.ByCommand})
	for i, line := range lines {
		if strings.HasPrefix(line, "{") {
			b = append(b, line+"\n"...)
			continue
		}
		b = capture.AppendFrame(b, scripted(line, i))
	}
	name := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func scripted(line string, i int) wire.Frame {
	f := wire.Frame{Seq: uint64(i + 1), Time: noon.Add(time.Duration(i) * time.Millisecond)}
	mark, rest, _ := strings.Cut(line, " ")
	if mark[0] == '<' {
		f.Dir = wire.Received
	}
	_, _ = fmt.Sscan(mark[1:], &f.Stream)
	switch word, more, _ := strings.Cut(rest, " "); word {
	case "post", "get":
		f.Kind, f.HTTP = wire.Head, &wire.HTTPHead{Method: strings.ToUpper(word)}
		if name, value, ok := strings.Cut(more, ": "); ok {
			f.HTTP.Fields = []wire.Field{{Name: name, Value: value}}
		}
	case "status":
		f.Kind, f.HTTP = wire.Head, &wire.HTTPHead{}
		status, kind, typed := strings.Cut(more, " ")
		_, _ = fmt.Sscan(status, &f.HTTP.Status)
		if typed {
			f.HTTP.Proto, f.HTTP.Fields = "HTTP/1.1", []wire.Field{{Name: "Content-Type", Value: kind}, {Name: "Date", Value: "today"}}
		}
		if kind == "-" {
			f.HTTP.Fields = f.HTTP.Fields[1:]
		}
	case "closed":
		how, text, _ := strings.Cut(more, " ")
		f.Kind, f.Close = wire.Closed, &wire.CloseFacts{By: wire.Received, How: how, Text: text}
	case "noise":
		f.Kind, f.Raw = wire.Noise, []byte(more)
	case "left":
		f.Kind, f.Close = wire.Closed, &wire.CloseFacts{By: wire.Sent, How: "cancelled", Text: more}
	case "named":
		event, data, _ := strings.Cut(more, " ")
		f.Kind, f.SSE, f.Raw = wire.Event, &sse.Facts{Event: event}, []byte(data)
	case "comment":
		f.Kind, f.SSE, f.Raw = wire.Event, &sse.Facts{IsComment: true}, []byte(more)
	case "event":
		id, data, _ := strings.Cut(more, " ")
		f.Kind, f.SSE, f.Raw = wire.Event, &sse.Facts{ID: &id}, []byte(data)
	case "again":
		id, raw, _ := strings.Cut(more, " ")
		f.PreviousID, f.Raw = id, []byte(raw)
	default:
		f.Raw = []byte(rest)
	}
	return f
}

// aCall is a request.
const aCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`

// rowText is what the tests look at.
func rowText(r *Row) string {
	mark, cancel := "", ""
	if r.SameAs != nil {
		mark = "same as " + r.SameAs.Number() + " "
	}
	if r.Within != nil {
		mark = "in " + r.Within.Number() + " "
		if r.IsGuess {
			mark = "maybe " + mark
		}
	}
	if c := r.Cancel; c != nil {
		cancel = fmt.Sprintf(": %s, %s, %v", c.Side(), c.Why, c.After)
		if c.IsLate {
			cancel += ", late"
		}
	}
	for _, other := range r.Guesses {
		mark += "guess " + other.Number() + " "
	}
	return mark + strings.TrimSpace(fmt.Sprintf("%s %s %s %s %d %v %d %s", r.Number(), r.Method, r.Name, r.Channel, r.Exit, r.Duration, r.Status, strings.TrimSpace(r.Notes.String()+" "+r.Revision))) + cancel
}

// Bytes are counted for messages that were sent, whatever failed afterwards, and never overflow.
func TestRowsCountBytes(t *testing.T) {
	const refused = "closed cut dial tcp: connection refused"
	for name, c := range map[string]struct {
		script         []string
		sent, received int64
	}{
		"a resume that fails": {[]string{
			`>1 post`, `>1 ` + aCall, `<1 status 200`, `<1 event e1 `, `<1 closed cut`,
			`>2 get Last-Event-ID: e1`, `<2 ` + refused, `>3 get Last-Event-ID: e1`, `<3 ` + refused,
		}, int64(len(aCall)), 0},
		"a call that fails": {[]string{`>1 post`, `>1 ` + aCall, `<1 ` + refused, `<1 ` + refused}, 0, 0},
		"a call that fails once": {[]string{
			`>1 post`, `>1 ` + aCall, `<1 ` + refused, `>2 post`, `>2 ` + aCall, `<2 status 200`,
			`<2 {"jsonrpc":"2.0","id":1,"result":{}}`,
		}, int64(len(aCall)), 36},
		"sizes that cannot be": {[]string{
			`>0 ` + aCall,
			`{"seq":2,"time":"2026-11-21T12:00:00Z","dir":"received","kind":"body","size":9223372036854775807,"raw":"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}"}`,
			`{"seq":3,"time":"2026-11-21T12:00:00Z","dir":"received","kind":"noise","size":9223372036854775807,"raw":"x"}`,
			`{"seq":4,"time":"2026-11-21T12:00:00Z","dir":"received","kind":"body","size":9223372036854775807,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}`,
		}, int64(len(aCall)), 2 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := Open(written(t, c.script...))
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			if r := rows.Rows()[0]; r.Sent != c.sent || r.Received != c.received {
				t.Errorf("%d sent, %d received, want %d and %d", r.Sent, r.Received, c.sent, c.received)
			}
		})
	}
}

func TestRowsOfScripts(t *testing.T) {
	big := strings.Repeat("x ", 4000)
	for name, c := range map[string]struct{ script, want []string }{
		"one call": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"p"}}}`,
				`<1 status 200`, `<1 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
				`<1 {"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`, `<1 closed end`,
			},
			[]string{"42 tools/call echo tool_error 5 3ms 200 1 notification"},
		},
		"large results": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<0 {"jsonrpc":"2.0","id":1,"result":{"content":[{"t":"` + big + `"}]}}`,
				`>0 {"jsonrpc":"2.0","id":"2","method":"b"}`, `<0 {"result":{"content":["` + big + `"], "isError" : true},"id":"2","jsonrpc":"2.0"}`,
				`>0 {"jsonrpc":"2.0","id":3,"method":"c"}`, `<0 {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"` + big + `"}}`,
				`>0 {"jsonrpc":"2.0","id":4,"method":"d"}`, `<0 {"jsonrpc":"2.0","id":4,"result":{"a":"` + big + `","b":[}}`,
			},
			[]string{"42.1 a  ok 0 1ms 0", "42.2 b  tool_error 5 1ms 0", "42.3 c  rpc_error 6 1ms 0", "42.4 d  open -1 1ms 0"},
		},
		"cut and resumed": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`, `<1 status 200`, `<1 event e1 `, `<1 closed cut`,
				`>2 get Last-Event-ID: e1`, `<2 status 200`, `<2 event e2 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42 tools/call slow ok 0 6ms 200 1 connection error, 1 resume attempt"},
		},
		"retried": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<1 status 503`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<2 status 200`, `<2 {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
			},
			[]string{"42 tools/list  ok 0 5ms 200 1 retry"},
		},
		"retried under a new id": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"_meta":{"progressToken":1}}}`, `<1 status 503`, `<1 busy`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":2,"method":"a","params":{"x":2}}`, `<2 status 500`,
				`>3 post`, `>3 again 1 {"jsonrpc":"2.0","id":3,"method":"a","params":{"x":1,"_meta":{"progressToken":3}}}`, `<3 status 200`, `<3 closed cut`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":4,"method":"a","params":{"x":2}}`, `<4 status 200`, `<4 {"jsonrpc":"2.0","id":4,"result":{}}`,
				`>5 post`, `>5 again 3 {"jsonrpc":"2.0","id":5,"method":"a","params":{"x":1,"_meta":{"progressToken":5}}}`, `<5 status 200`, `<5 {"jsonrpc":"2.0","id":5,"result":{}}`,
				`>6 post`, `>6 {"jsonrpc":"2.0","id":6,"method":"a","params":{"x":1,"_meta":{"progressToken":6}}}`,
			},
			[]string{"42.1 a  ok 0 17ms 200 2 retries, 1 connection error", "42.2 a  transport 7 1ms 500", "42.3 a  ok 0 2ms 200", "42.4 a  open -1 0s 0"},
		},
		"the same under other ids": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"_meta":{"progressToken":1}}}`, `<1 status 503`, `<1 closed end`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":2,"method":"a","params":{"x":1,"_meta":{"progressToken":2}}}`, `<2 closed cut dial tcp: refused`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":3,"method":"a","params":{"x":1,"_meta":{"progressToken":3}}}`, `<3 status 200`, `<3 {"jsonrpc":"2.0","id":3,"result":{}}`, `<3 closed end`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":4,"method":"a","params":{"x":1}}`, `<4 status 200`, `<4 {"jsonrpc":"2.0","id":4,"result":{}}`,
			},
			[]string{"42.1 a  transport 7 2ms 503", "same as 42.1 42.2 a  transport 7 1ms 0 1 connection error", "same as 42.2 42.3 a  ok 0 2ms 200", "42.4 a  ok 0 2ms 200"},
		},
		"a revision that was tried first": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
				`<0 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`, `<0 {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","x":"` + big + `"}}`,
				`>0 {"jsonrpc":"2.0","id":3,"method":"b"}`,
			},
			[]string{"42.1 server/discover  probe -1 1ms 0 2026-07-28", "42.2 initialize  ok 0 1ms 0 2025-06-18", "42.3 b  open -1 0s 0 2025-06-18"},
		},
		"probes that fail": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `<0 {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"no"}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `<0 {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`,
				`>1 post`, `>1 {"jsonrpc":"2.0","id":3,"method":"server/discover"}`, `<1 status 401`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":4,"method":"server/discover"}`, `<2 status 500`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":5,"method":"server/discover"}`, `<3 status 404`, `<3 {"jsonrpc":"2.0","id":5,"error":{"code":-32020,"message":"no"}}`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":6,"method":"server/discover"}`, `<4 status 400`, `<4 Bad Request`,
			},
			[]string{
				"42.1 server/discover  rpc_error 6 1ms 0", "42.2 tools/list  rpc_error 6 1ms 0", "42.3 server/discover  auth 4 1ms 401",
				"42.4 server/discover  transport 7 1ms 500", "42.5 server/discover  rpc_error 6 2ms 404", "42.6 server/discover  probe -1 2ms 400",
			},
		},
		"another request of a newer revision": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
				`<0 {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"initialize comes first"}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`, `<0 {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18"}}`,
			},
			[]string{"42.1 tools/list  probe -1 1ms 0 2026-07-28", "42.2 initialize  ok 0 1ms 0 2025-06-18"},
		},
		"an error of a newer server, with a status": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
				`<1 status 400`, `<1 {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing required client capability"}}`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
				`<2 status 400`, `<2 {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"initialize comes first"}}`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, `<3 status 200`, `<3 {"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-06-18"}}`,
			},
			[]string{"42.1 tools/call ask rpc_error 6 2ms 400 2026-07-28", "42.2 tools/list  probe -1 2ms 400 2026-07-28", "42.3 initialize  ok 0 2ms 200 2025-06-18"},
		},
		"a refusal of a newer revision": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
				`<0 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"b","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `<0 {"jsonrpc":"2.0","id":2,"result":{}}`,
				`>0 {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, `<0 {"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-06-18"}}`,
				`>0 {"jsonrpc":"2.0","id":4,"method":"c"}`, `<0 {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no"}}`,
				`>0 {"jsonrpc":"2.0","id":5,"method":"initialize","params":{}}`, `<0 {"jsonrpc":"2.0","id":5,"result":{"protocolVersion":"2025-06-18"}}`,
			},
			[]string{
				"42.1 a  rpc_error 6 1ms 0 2026-07-28", "42.2 b  ok 0 1ms 0 2026-07-28", "42.3 initialize  ok 0 1ms 0 2025-06-18",
				"42.4 c  rpc_error 6 1ms 0 2025-06-18", "42.5 initialize  ok 0 1ms 0 2025-06-18",
			},
		},
		"a refusal after a newer revision was spoken": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `<0 {"jsonrpc":"2.0","id":1,"result":{}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"b","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
				`<0 {"jsonrpc":"2.0","id":2,"error":{"code":-32011,"message":"no"}}`,
				`>0 {"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, `<0 {"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-06-18"}}`,
			},
			[]string{"42.1 a  ok 0 1ms 0 2026-07-28", "42.2 b  rpc_error 6 1ms 0 2026-07-28", "42.3 initialize  ok 0 1ms 0 2025-06-18"},
		},
		"a probe for HTTP+SSE": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"initialize"}`, `<1 status 405`, `<1 closed end`,
				`>2 get`, `<2 status 200`, `<2 named endpoint /messages?id=1`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":2,"method":"initialize"}`, `<3 status 404`, `<3 closed end`,
			},
			[]string{"42.1 initialize  probe -1 2ms 405", "42.2 initialize  transport 7 2ms 404"},
		},
		"a stream that the server does not have": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<1 status 200`,
				`>2 get`, `<2 status 405`, `<2 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`, `<2 closed end`,
				`<1 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42 a  ok 0 6ms 200"},
		},
		"a probe that is answered late": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `>0 {"jsonrpc":"2.0","id":2,"method":"initialize"}`,
				`<0 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, `<0 {"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"v"}}`,
			},
			[]string{"42.1 server/discover  probe -1 2ms 0", "42.2 initialize  ok 0 2ms 0 v"},
		},
		"rounds": {
			[]string{
				`>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`,
				`<1 {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{}}}`,
				`>2 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","requestState":"s","inputResponses":{}}}`,
				`<2 {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}`,
			},
			[]string{"42 tools/call ask ok 0 3ms 0 1 further round"},
		},
		"rounds with questions": {
			[]string{
				`>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`,
				`<1 {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create","params":{}}}}}`,
				`>2 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","requestState":"s","inputResponses":{"a":{},"b":{}}}}`,
				`<2 {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"t","inputRequests":{"c":{"method":"roots/list"}}}}`,
			},
			[]string{"42 tools/call ask input_required 11 3ms 0 3 server requests, 1 further round"},
		},
		"unanswered": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<1 status 401`, `<1 go away`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":2,"method":"b"}`, `<2 status 502`, `<2 <html>`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":3,"method":"c"}`, `<3 closed cut`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":4,"method":"d"}`,
			},
			[]string{"42.1 a  auth 4 2ms 401", "42.2 b  transport 7 2ms 502", "42.3 c  transport 7 1ms 0 1 connection error", "42.4 d  open -1 0s 0"},
		},
		"ended without the answer": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<1 status 200`, `<1 {"jsonrpc":"2.0","id":9,"result":{}}`, `<1 closed end`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":2,"method":"b"}`, `<2 status 200`, `<2 {"jsonrpc":"2.0","method":"notifications/message"}`, `<2 closed end`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":3,"method":"c"}`, `<3 status 202`, `<3 closed end`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":4,"method":"d"}`, `<4 status 200`, `<4 event e1 `, `<4 closed end`,
				`>5 post`, `>5 {"jsonrpc":"2.0","id":5,"method":"e"}`, `<5 status 200`, `<5 event e2 {"jsonrpc":"2.0","id":9,"result":{}}`, `<5 closed end`,
				`>6 post`, `>6 {"jsonrpc":"2.0","id":6,"method":"f"}`, `<6 status 200`, `<6 closed end`,
				`>7 post`, `>7 {"jsonrpc":"2.0","id":7,"method":"g"}`, `<7 status 200 text/event-stream`, `<7 closed end`,
				`>8 post`, `>8 {"jsonrpc":"2.0","id":8,"method":"h"}`, `<8 status 200 application/json`, `<8 closed end`,
			},
			[]string{
				"42.1 a  bad_response 8 3ms 200", "42.2 b  bad_response 8 3ms 200 1 notification", "42.3 c  open -1 2ms 202",
				"42.4 d  open -1 3ms 200", "42.5 e  open -1 3ms 200", "42.6 f  bad_response 8 2ms 200", "42.7 g  transport 7 2ms 200", "42.8 h  bad_response 8 2ms 200",
			},
		},
		"a stateless client numbers all alike": {
			[]string{
				`>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `>2 {"jsonrpc":"2.0","id":1,"method":"b"}`,
				`<1 {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, `<2 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42.1 a  rpc_error 6 2ms 0", "42.2 b  ok 0 2ms 0"},
		},
		"a client has one progress token for all": {
			[]string{
				`>1 {"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":0}}}`, `>2 {"jsonrpc":"2.0","id":2,"method":"b","params":{"_meta":{"progressToken":0}}}`,
				`<1 event e1 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}`, `<1 event e2 {"jsonrpc":"2.0","id":1,"result":{}}`,
				`<2 event e3 {"jsonrpc":"2.0","id":2,"result":{}}`,
			},
			[]string{"42.1 a  ok 0 3ms 0 1 notification", "42.2 b  ok 0 3ms 0"},
		},
		"a server asks": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `<0 {"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
				`>0 {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, `<0 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42.1 tools/call x ok 0 3ms 0 1 message assigned by guess", "maybe in 42.1 42.2 roots/list  ok 0 1ms 0"},
		},
		"lists change during a call": {
			[]string{
				`>1 get`, `<1 status 200`, `>2 post`, `>2 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
				`<1 event e1 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
				`<1 event e2 {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`,
				`<2 status 200`, `<2 {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
			},
			[]string{"42.1 tools/call x ok 0 4ms 200", "42.2 (server stream)  open -1 5ms 200 2 notifications"},
		},
		"lists change during a call on a pipe": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
				`<0 {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`,
				`<0 {"jsonrpc":"2.0","method":"notifications/message"}`, `<0 {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
			},
			[]string{
				"42.1 tools/call x ok 0 3ms 0 1 message assigned by guess",
				"guess 42.1 42.2 (conversation)  ok 0 1ms 0 2 notifications",
			},
		},
		"lists change on the stream of a call": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `<1 status 200`,
				`<1 event e1 {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
				`<1 event e2 {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
			},
			[]string{"42 tools/call x ok 0 3ms 200 1 notification"},
		},
		"a server answers the answer": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `<1 status 200`, `<1 event e1 {"jsonrpc":"2.0","id":1,"method":"ping"}`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":1,"result":{}}`, `<2 status 500`, `<2 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, `<2 closed cut`,
				`<1 event e2 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42.1 tools/call x ok 0 8ms 200 1 server request", "in 42.1 42.2 ping  ok 0 2ms 0"},
		},
		"a subscription": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":"s1","method":"subscriptions/listen"}`, `>0 {"jsonrpc":"2.0","id":2,"method":"ping"}`,
				`<0 {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s1"}}}`,
			},
			[]string{"42.1 subscriptions/listen  open -1 2ms 0 1 notification", "42.2 ping  open -1 0s 0"},
		},
		"cancelled on a pipe, and answered late": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`, `>0 {"jsonrpc":"2.0","id":2,"method":"ping"}`,
				`>0 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no time"}}`, `<0 {"jsonrpc":"2.0","id":2,"result":{}}`,
				`<0 {"jsonrpc":"2.0","id":1,"result":{"isError":true}}`, `>0 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
			},
			[]string{"42.1 tools/call slow cancelled -1 2ms 0: client, no time, 2ms, late", "42.2 ping  ok 0 2ms 0"},
		},
		"cancelled as the client leaves": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<0 {"jsonrpc":"2.0","id":1,"result":{}}`, `>0 {"jsonrpc":"2.0","id":2,"method":"b"}`, `>0 left`,
			},
			[]string{"42.1 a  ok 0 1ms 0", "42.2 b  cancelled -1 1ms 0: client, the client ended the connection, 1ms"},
		},
		"cancelled by the end of the stream": {
			[]string{
				`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<1 status 200`, `<1 event e1 {"jsonrpc":"2.0","method":"notifications/message"}`, `>1 left`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":2,"method":"b"}`, `>2 left`,
				`>3 post`, `>3 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"too long"}}`, `<3 status 202`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":4,"method":"d"}`, `<4 {"jsonrpc":"2.0","id":4,"result":{}}`, `>4 left`,
				`>5 get Last-Event-ID: e1`, `<5 status 200`, `<5 event e2 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42.1 a  ok 0 16ms 200 1 notification, 1 resume attempt", "42.2 b  cancelled -1 1ms 0: client, too long, 1ms", "42.3 d  ok 0 1ms 0"},
		},
		"HTTP+SSE": {
			[]string{
				`>1 get`, `<1 status 200`, `<1 named endpoint /messages?id=1`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<2 status 202`, `<2 Accepted`, `<2 closed end`,
				`>3 post`, `>3 {"jsonrpc":"2.0","id":2,"method":"b"}`, `<3 status 202`, `<3 {"jsonrpc":"2.0","id":2,"result":{}}`, `>3 left`,
				`>4 post`, `>4 {"jsonrpc":"2.0","id":3,"method":"c"}`, `<4 status 202`, `<4 Accepted`, `<4 closed end`,
				`<1 event 1 {"jsonrpc":"2.0","id":1,"result":{}}`,
				`>5 post`, `>5 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}}`, `<5 status 202`, `<5 Accepted`, `<5 closed end`,
				`<1 event 2 {"jsonrpc":"2.0","method":"notifications/message"}`, `>1 left`,
			},
			[]string{
				"42.1 a  ok 0 14ms 202", "42.2 b  cancelled -1 11ms 202: client, enough, 11ms",
				"42.3 c  cancelled -1 11ms 202 1 message assigned by guess: client, the client closed the stream, 11ms", "guess 42.3 42.4 (server stream)  ok 0 25ms 200 1 notification",
			},
		},
		"HTTP+SSE whose stream ends": {
			[]string{
				`>1 get`, `<1 status 200`, `<1 named endpoint /messages?id=1`,
				`>2 post`, `>2 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<2 status 202`, `<2 Accepted`, `<2 closed end`, `<1 closed end`,
			},
			[]string{"42 a  transport 7 4ms 202"},
		},
		"a server takes its question back": {
			[]string{
				`>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<1 event 1 {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`,
				`<1 event 2 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `<1 event 3 {"jsonrpc":"2.0","id":1,"result":{}}`,
			},
			[]string{"42.1 a  ok 0 3ms 0 1 server request", "in 42.1 42.2 elicitation/create  cancelled -1 1ms 0: server, , 1ms"},
		},
		"a command's own ending": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"initialize"}`, `<0 {"jsonrpc":"2.0","id":1,"result":{}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`,
				`{"end":{"exit":9,"kind":"timeout","method":"tools/call","name":"x"}}`,
			},
			[]string{"42.1 initialize  ok 0 1ms 0", "42.2 tools/call x timeout 9 0s 0"},
		},
		"many, of which one was not waited for": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no"}}`, `<0 {"jsonrpc":"2.0","id":1,"result":{"isError":true}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`,
				`>0 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"yes"}}`, `<0 {"jsonrpc":"2.0","id":3,"result":{}}`,
				`{"end":{"exit":9,"kind":"timeout","many":true,"method":"tools/call","name":"slow"}}`,
			},
			[]string{"42.1 tools/call no tool_error 5 1ms 0", "42.2 tools/call slow timeout 9 0s 0", "42.3 tools/call yes ok 0 1ms 0"},
		},
		"given up, and answered late": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"ping"}`, `<0 {"jsonrpc":"2.0","id":1,"result":{}}`,
				`>0 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}`,
				`<0 {"jsonrpc":"2.0","id":2,"result":{"isError":true}}`, `{"end":{"exit":130,"id":2,"kind":"signal"}}`,
				`>0 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b"}}`, `{"end":{"exit":9,"id":3,"kind":"timeout"}}`,
				`<0 {"jsonrpc":"2.0","id":3,"result":{"isError":true}}`, `{"end":{"exit":9,"id":7,"kind":"timeout"}}`,
				`>0 {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"c"}}`, `{"end":{"many":true}}`,
			},
			[]string{"42.1 ping  ok 0 1ms 0", "42.2 tools/call a signal 130 1ms 0", "42.3 tools/call b timeout 9 0s 0", "42.4 tools/call c open -1 0s 0"},
		},
		"its process was ended later": {
			[]string{
				`>0 {"jsonrpc":"2.0","id":1,"method":"a"}`, `>0 {"jsonrpc":"2.0","method":"n"}`, `>0 {"jsonrpc":"2.0","method":"n"}`, `>0 closed end`,
				`{"end":{"exit":9,"kind":"timeout","method":"a","took":1000000}}`,
			},
			[]string{"42.1 a  timeout 9 1ms 0", "42.2 (conversation)  ok 0 1ms 0"},
		},
		"nothing was sent": {
			[]string{`{"end":{"exit":3,"kind":"invalid_arguments","method":"tools/call","name":"x"}}`},
			[]string{"42 tools/call x invalid_arguments 3 0s 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			capture, err := Open(written(t, c.script...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range capture.Rows() {
				got = append(got, rowText(row))
				x, err := row.Exchange()
				if err != nil {
					t.Error(err)
				}
				if frames, _ := row.Frames(); x != nil && len(frames) != begun(x)+len(x.Heads)+len(x.OtherMessages)+len(x.Carriers)+len(x.NonMessages)+answers(x) {
					t.Errorf("%s: %d frames make %+v", row.Number(), len(frames), x)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			capture.Close()
			if diff := cmp.Diff(got, writtenByOthers(t, capture.Path)); diff != "" {
				t.Error("the same lines, written differently:", diff)
			}
		})
	}
}

// writtenByOthers returns the rows of the capture in a spelling that no Recorder writes, so that
// the fast ways of reading do not apply.
func writtenByOthers(t *testing.T, path string) (rows []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "others.jsonl")
	if err := os.WriteFile(name, bytes.ReplaceAll(raw, []byte("\n{"), []byte("\n{ ")), 0o600); err != nil {
		t.Fatal(err)
	}
	capture, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range capture.Rows() {
		rows = append(rows, rowText(row))
	}
	return rows
}

func begun(x *wire.Exchange) int {
	if x.Request.Raw == nil {
		return 0
	}
	return 1
}

func answers(x *wire.Exchange) int {
	if x.Response.Raw == nil {
		return 0
	}
	return 1
}

// A capture that grows is read on, also from the middle of a line.
func TestCaptureGrows(t *testing.T) {
	whole, err := os.ReadFile(written(t, `>1 {"jsonrpc":"2.0","id":1,"method":"a"}`, `<1 {"jsonrpc":"2.0","id":1,"result":{}}`,
		`>2 {"jsonrpc":"2.0","id":2,"method":"b"}`, `{"end":{"exit":0}}`))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "grows.jsonl")
	var capture *Capture
	for n := 0; n <= len(whole); n += 7 {
		if err := os.WriteFile(name, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if capture == nil {
			if capture, err = Open(name); err != nil {
				capture = nil // not even a head yet
			}
			continue
		}
		if _, err := capture.Refresh(); err != nil && !errors.Is(err, ErrNoCapture) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := capture.Refresh()
	if err != nil || len(changed) != 1 || !capture.HasEnded() || len(capture.Findings()) > 0 {
		t.Errorf("%d changed, %v, ended %v, %v", len(changed), err, capture.HasEnded(), capture.Findings())
	}
	if rows := capture.Rows(); len(rows) != 2 || rows[0].Channel != exchange.ChannelOK || !rows[1].IsMain {
		t.Errorf("%+v", rows)
	}
}

// A stream without the answer ended the exchange, and so did a server that died.
func TestRowsOfDeadServers(t *testing.T) {
	for _, c := range []struct {
		by     string
		frames []wire.Frame
		exit   int
		want   string
	}{
		{
			capture.ByProxy,
			[]wire.Frame{scripted(">1 post", 0), scripted(">1 "+aCall, 0), scripted("<1 status 200", 0), scripted("<1 noise {}\n", 0), scripted("<1 closed end", 0)},
			0,
			"transport, 3 bytes: the stream ended before the response",
		},
		{
			capture.ByProxy,
			[]wire.Frame{scripted(">1 post", 0), scripted(">1 "+aCall, 0), scripted("<1 status 200", 0), scripted("<1 noise {}", 0), scripted("<1 closed cut", 0)},
			0,
			"transport, 2 bytes: ",
		},
		{capture.ByTap, []wire.Frame{scripted(">0 "+aCall, 0)}, 3, "transport, 0 bytes: the server ended (exit code 3)"},
		{capture.ByTap, []wire.Frame{scripted(">0 "+aCall, 0), scripted(">0 closed exit", 0)}, 0, "open, 0 bytes: "},
		{capture.ByTap, []wire.Frame{scripted(">0 "+aCall, 0), scripted("<0 closed exit", 0)}, 0, "transport, 0 bytes: the server ended (exit code 0)"},
	} {
		b := capture.AppendHead(nil, capture.Head{By: c.by})
		for _, f := range c.frames {
			b = capture.AppendFrame(b, f)
		}
		name := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(name, capture.AppendEnd(b, capture.End{Exit: c.exit}), 0o600); err != nil {
			t.Fatal(err)
		}
		capture, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer capture.Close()
		row := capture.Rows()[0]
		if got := fmt.Sprintf("%s, %d bytes: %s", row.Channel, row.Received, row.Text); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// No two rows of a file have the same numbers, however it is read.
func TestNumbersOfRowsAreUnique(t *testing.T) {
	call := func(id int) wire.Frame {
		return wire.Frame{Seq: uint64(id), Time: noon, Conn: 1, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)}
	}
	var lines []byte
	for _, run := range []int{7, 0, 8, 7, 0} {
		lines = capture.AppendHead(lines, capture.Head{Started: noon, By: capture.ByTap, Run: run})
		lines = capture.AppendFrame(capture.AppendFrame(lines, call(1)), call(2))
	}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	put(t, path, lines)
	const want = "7.1 7.2 3 4 8.1 8.2 7 8 9 10"
	for name, open := range map[string]func() (*Capture, error){
		"at once": func() (*Capture, error) { return Open(path) },
		"indexed": func() (*Capture, error) {
			c, err := openIndexed(path, "", 0) // writes the index
			if err != nil {
				return nil, err
			}
			c.Close()
			return openIndexed(path, "", 0)
		},
		"in steps": func() (*Capture, error) {
			c, err := Begin(path)
			for more := true; more && err == nil; {
				_, more, err = c.ReadOn(1)
			}
			return c, err
		},
	} {
		c, err := open()
		if err != nil {
			t.Fatal(err)
		}
		var numbers []string
		for _, r := range c.Rows() {
			numbers = append(numbers, r.Number())
		}
		c.Close()
		if got := strings.Join(numbers, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
