package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/match"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// talk is a recorded conversation on a pipe: "> " are the client's messages, "< " the server's. jsonrpc is added.
func talk(lines string) (frames []wire.Frame) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		line = strings.TrimSpace(line)
		f := wire.Frame{Seq: uint64(len(frames) + 1), Time: at, Dir: wire.Sent, Raw: []byte(`{"jsonrpc":"2.0",` + line[len("> {"):])}
		if line[0] == '<' {
			f.Dir = wire.Received
		}
		frames, at = append(frames, f), at.Add(10*time.Millisecond)
	}
	return frames
}

// recordingOf makes a recording of frames, as the command does of a capture.
func recordingOf(frames []wire.Frame) (r Recording) {
	all := wire.GroupFrames(frames)
	guessed := func(f wire.Frame) bool {
		return slices.ContainsFunc(all, func(x *wire.Exchange) bool { return x.IsGuess(f) })
	}
	for _, x := range all {
		m := wire.ParseMessage(x.Request.Raw)
		if x.Request.Raw == nil {
			for _, f := range x.OtherMessages {
				if got := wire.ParseMessage(f.Raw); f.Dir == wire.Received && got.Kind == wire.Notification && !guessed(f) {
					r.Unrequested = append(r.Unrequested, Unrequested{After: len(r.Exchanges) - 1, Time: f.Time, Message: got})
				}
			}
			continue
		}
		if x.IsFromServer() || m.Method == "subscriptions/listen" {
			continue
		}
		revision := "2025-11-25"
		if strings.Contains(string(x.Request.Raw), bridge.MetaVersion) {
			revision = bridge.ModernRevision
		}
		r.Exchanges = append(r.Exchanges, Recorded{
			Number: fmt.Sprint(len(r.Exchanges) + 1), Method: m.Method, Revision: revision, Run: x.Request.Conn,
			Time: x.Request.Time, Answered: x.Response.Raw != nil, Request: func() (*wire.Message, error) { return m, nil },
			Load: func() (*wire.Exchange, error) { return x, nil },
		})
	}
	return r
}

type reports struct {
	mu    sync.Mutex
	lines []string
}

func (r *reports) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *reports) has(part string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.lines, func(line string) bool { return strings.Contains(line, part) })
}

func player(t testing.TB, r Recording, change func(*PlayerOptions)) (*Player, *reports) {
	t.Helper()
	said := &reports{}
	o := PlayerOptions{
		Eras: bridge.BothEras, Repeat: InOrder, Report: said.add, Hide: func(s string) string { return s },
		Now: time.Now, SessionID: func() string { return fmt.Sprintf("session-%d", time.Now().UnixNano()) },
	}
	if change != nil {
		change(&o)
	}
	p, err := NewPlayer(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, said
}

// plays sends the client's messages of a conversation, each when the server's before it have come, and
// compares the server's.
func plays(t *testing.T, p *Player, lines string) {
	t.Helper()
	if got, want := exchangeOf(t, p, talk(lines)), talk(lines); true {
		for i := range max(len(got), len(want)) {
			switch {
			case i >= len(got):
				t.Errorf("missing: %s", want[i].Raw)
			case i >= len(want):
				t.Errorf("too much: %s", got[i].Raw)
			case match.Compare(want[i].Raw, got[i].Raw, match.Comparison{}).Same() == false:
				t.Errorf("message %d:\n got %s\nwant %s", i, got[i].Raw, want[i].Raw)
			}
		}
	}
}

// exchange plays a conversation over a pipe, and gives the messages of both sides.
func exchangeOf(t *testing.T, p *Player, script []wire.Frame) (crossed []wire.Frame) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := p.Stdio(context.Background(), inR, outW)
		outW.Close()
		done <- err
	}()
	lines := make(chan []byte, 1000)
	go func() {
		defer close(lines)
		b, _ := newLines(outR)
		for line := range b {
			lines <- line
		}
	}()
	for _, f := range script {
		if f.Dir == wire.Sent {
			if _, err := inW.Write(append(slices.Clone(f.Raw), '\n')); err != nil {
				t.Fatal(err)
			}
			crossed = append(crossed, f)
			continue
		}
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("the mock has ended")
			}
			f.Raw = line
			crossed = append(crossed, f)
		case <-time.After(time.Minute):
			t.Fatalf("nothing came instead of %s", f.Raw)
		}
	}
	inW.Close()
	for line := range lines {
		crossed = append(crossed, wire.Frame{Dir: wire.Received, Raw: line})
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return crossed
}

func newLines(r io.Reader) (<-chan []byte, error) {
	out := make(chan []byte, 1000)
	go func() {
		defer close(out)
		var rest []byte
		b := make([]byte, 64<<10)
		for {
			n, err := r.Read(b)
			rest = append(rest, b[:n]...)
			for {
				i := slices.Index(rest, '\n')
				if i < 0 {
					break
				}
				out <- slices.Clone(rest[:i])
				rest = rest[i+1:]
			}
			if err != nil {
				return
			}
		}
	}()
	return out, nil
}

const opening = `
	> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
	< {"id":1,"result":{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"version":"7","name":"s"},"instructions":"i","protocolVersion":"2025-11-25"}}
	> {"method":"notifications/initialized"}`

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{}},"progressToken":"p"}`

const asking = opening + `
	> {"id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},"_meta":{"progressToken":5}}}
	< {"method":"notifications/progress","params":{"progressToken":5,"progress":1}}
	< {"id":10,"method":"elicitation/create","params":{"message":"Who?"}}
	> {"id":10,"result":{"action":"accept","content":{"name":"Ada"}}}
	< {"id":11,"method":"elicitation/create","params":{"message":"Sugar?"}}
	< {"id":12,"method":"sampling/createMessage","params":{"maxTokens":1}}
	> {"id":12,"result":{"role":"assistant"}}
	> {"id":11,"result":{"action":"decline"}}
	< {"id":2,"result":{"z":1,"content":[]}}
	> {"id":3,"method":"tools/list"}
	< {"id":3,"result":{"tools":[{"name":"tea"}]}}`

const rounds = `
	> {"id":1,"method":"server/discover","params":{` + meta + `}}
	< {"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}}
	> {"id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},` + meta + `}}
	< {"id":2,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?"}}},"requestState":"abc"}}
	> {"id":3,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}},"requestState":"abc",` + meta + `}}
	< {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}
	< {"id":3,"result":{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}}
	> {"id":4,"method":"tools/list","params":{` + meta + `}}
	< {"id":4,"result":{"tools":[],"resultType":"complete","ttlMs":1,"cacheScope":"public"}}`

func TestPlaybackInRecordedEra(t *testing.T) {
	p, said := player(t, recordingOf(talk(asking)), nil)
	plays(t, p, opening+`
	> {"id":"a","method":"tools/call","params":{"arguments":{"cups":1.0},"name":"tea","_meta":{"progressToken":"live"}}}
	< {"method":"notifications/progress","params":{"progressToken":"live","progress":1}}
	< {"id":1,"method":"elicitation/create","params":{"message":"Who?"}}
	> {"id":1,"result":{"action":"accept","content":{"name":"Ada"}}}
	< {"id":2,"method":"elicitation/create","params":{"message":"Sugar?"}}
	< {"id":3,"method":"sampling/createMessage","params":{"maxTokens":1}}
	> {"id":3,"result":{"role":"assistant"}}
	> {"id":2,"result":{"action":"decline"}}
	< {"id":"a","result":{"z":1,"content":[]}}
	> {"id":4,"method":"ping"}
	< {"id":4,"result":{}}`)
	if len(said.lines) > 0 {
		t.Errorf("reported: %q", said.lines)
	}
	if c := p.Coverage(); c.Played != 2 || c.NeverPlayed != 1 || c.Misses != 0 {
		t.Errorf("coverage %+v", c)
	}
}

func TestRecordedMessagesAskedOfAStatelessClientAreRounds(t *testing.T) {
	p, said := player(t, recordingOf(talk(asking)), nil)
	plays(t, p, `
	> {"id":1,"method":"server/discover","params":{`+meta+`}}
	< {"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"instructions":"i","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"version":"7","name":"s"}}}}
	> {"id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},`+meta+`}}
	< {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}
	< {"id":2,"result":{"resultType":"input_required","inputRequests":{"request-1":{"method":"elicitation/create","params":{"message":"Who?"}}},"requestState":"mcpc-mock:1:2"}}
	> {"id":3,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},"inputResponses":{"request-1":{"action":"accept","content":{"name":"Bob"}}},"requestState":"mcpc-mock:1:2",`+meta+`}}
	< {"id":3,"result":{"resultType":"input_required","inputRequests":{"request-2":{"method":"elicitation/create","params":{"message":"Sugar?"}},"request-3":{"method":"sampling/createMessage","params":{"maxTokens":1}}},"requestState":"mcpc-mock:1:3"}}
	> {"id":4,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},"inputResponses":{"request-2":{"action":"decline"},"request-3":{"role":"assistant"}},"requestState":"mcpc-mock:1:3",`+meta+`}}
	< {"id":4,"result":{"z":1,"content":[],"resultType":"complete"}}
	> {"id":5,"method":"tools/list","params":{`+meta+`}}
	< {"id":5,"result":{"tools":[{"name":"tea"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`)
	if len(said.lines) != 1 || !said.has(`/content/name: recorded "Ada", live "Bob"`) {
		t.Errorf("reported: %q", said.lines)
	}
}

func TestRecordedRoundsAreRequestsToAClientWithASession(t *testing.T) {
	p, said := player(t, recordingOf(talk(rounds)), nil)
	plays(t, p, `
	> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}
	< {"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}}
	> {"method":"notifications/initialized"}
	> {"id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},"_meta":{"progressToken":9}}}
	< {"id":1,"method":"elicitation/create","params":{"message":"Who?"}}
	> {"id":1,"result":{"action":"accept","content":{"name":"Ada"}}}
	< {"method":"notifications/progress","params":{"progressToken":9,"progress":1}}
	< {"id":2,"result":{"content":[]}}
	> {"id":3,"method":"tools/list"}
	< {"id":3,"result":{"tools":[]}}`)
	if len(said.lines) > 0 {
		t.Errorf("reported: %q", said.lines)
	}
}

// A recording of a playback is played like the original recording.
func TestRecordedPlaybackPlaysLikeOriginal(t *testing.T) {
	for name, lines := range map[string]string{"sessions": asking, "rounds": rounds} {
		t.Run(name, func(t *testing.T) {
			script := talk(lines)
			first, _ := player(t, recordingOf(script), nil)
			if name == "rounds" { // the client returns the state that it got
				for i := range script {
					script[i].Raw = []byte(strings.ReplaceAll(string(script[i].Raw), `"requestState":"abc"`, `"requestState":"mcpc-mock:1:1"`))
				}
			} else {
				script = renumbered(script)
			}
			once := exchangeOf(t, first, script)
			second, said := player(t, recordingOf(once), nil)
			twice := exchangeOf(t, second, script)
			for i := range once {
				if string(once[i].Raw) != string(twice[i].Raw) {
					t.Errorf("message %d:\n%s\n%s", i, once[i].Raw, twice[i].Raw)
				}
			}
			if len(said.lines) > 0 {
				t.Errorf("reported: %q", said.lines)
			}
		})
	}
}

// renumbered gives the server's requests the ids that the mock gives them.
func renumbered(script []wire.Frame) []wire.Frame {
	for i := range script {
		for was, is := range map[string]string{`"id":10,`: `"id":1,`, `"id":11,`: `"id":2,`, `"id":12,`: `"id":3,`} {
			script[i].Raw = []byte(strings.Replace(string(script[i].Raw), was, is, 1))
		}
	}
	return script
}

func TestRepeatSelectsResponse(t *testing.T) {
	lines := opening
	for i := range 3 {
		lines += fmt.Sprintf("\n> {\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"n\"}}\n< {\"id\":%d,\"result\":{\"n\":%d}}", i+2, i+2, i)
	}
	for repeat, want := range map[Repeat]string{InOrder: "01222", Last: "22222", Cycle: "01201"} {
		p, _ := player(t, recordingOf(talk(lines)), func(o *PlayerOptions) { o.Repeat = repeat })
		got := ""
		for i := range 5 {
			n, _ := p.library.find("2025-11-25", wire.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"n","arguments":{}}}`, i)))
			got += fmt.Sprint(n - 1)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", repeat, got, want)
		}
	}
}

func TestUnrecordedRequestsAreMisses(t *testing.T) {
	p, said := player(t, recordingOf(talk(asking)), nil)
	plays(t, p, opening+`
	> {"id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":2}}}
	< {"id":2,"error":{"code":-32602,"message":"the recording has no such request","data":{"nearest":[{"exchange":"2","method":"tools/call","distance":0.333,"pointer":"/arguments/cups","recorded":"1","live":"2"},{"exchange":"3","method":"tools/list","distance":3.000,"pointer":"","recorded":"\"tools/list\"","live":"\"tools/call\""}]}}}
	> {"id":3,"method":"prompts/list"}
	< {"id":3,"error":{"code":-32601,"message":"Method not found","data":{"nearest":[{"exchange":"3","method":"tools/list","distance":2.000,"pointer":"","recorded":"\"tools/list\"","live":"\"prompts/list\""},{"exchange":"2","method":"tools/call","distance":2.667,"pointer":"","recorded":"\"tools/call\"","live":"\"prompts/list\""}]}}}
	> {"id":4,"method":"tools/list","params":{"cursor":"x"}}
	< {"id":4,"error":{"code":-32602,"message":"the recording has no such request","data":{"nearest":[{"exchange":"3","method":"tools/list","distance":1.000,"pointer":"/cursor","recorded":"","live":"\"x\""},{"exchange":"2","method":"tools/call","distance":3.000,"pointer":"","recorded":"\"tools/call\"","live":"\"tools/list\""}]}}}`)
	if !said.has("miss: prompts/list; nothing near") || said.has("distance 2") {
		t.Errorf("reported %q", said.lines)
	}
	if c := p.Coverage(); c.Misses != 3 || !said.has("miss: tools/call tea; nearest: #2 tools/call (distance 0.333, /arguments/cups: recorded 1, live 2)") {
		t.Errorf("coverage %+v, reported %q", c, said.lines)
	}
	p.replyMiss(wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":5,"method":"`+strings.Repeat("x", 180)+`"}`)), nil)
	if last := said.lines[len(said.lines)-1]; len(last) > maxLine+30 {
		t.Errorf("a line of %d bytes", len(last))
	}
}

func TestNearestAndPass(t *testing.T) {
	p, said := player(t, recordingOf(talk(rounds)), func(o *PlayerOptions) { o.Nearest = true })
	plays(t, p, opening2025+`
	> {"id":2,"method":"tools/list","params":{"cursor":"x"}}
	< {"id":2,"result":{"tools":[]}}`)
	if c := p.Coverage(); c.Misses != 0 || c.NearMisses != 1 || !said.has("gets the response of the most similar one: #3 tools/list") {
		t.Errorf("coverage %+v, reported %q", c, said.lines)
	}
	asked := 0
	p, _ = player(t, recordingOf(talk(rounds)), func(o *PlayerOptions) {
		o.Pass = func(_ context.Context, method string, params json.RawMessage) (*wire.Message, string, error) {
			asked++
			return wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":77,"result":{"resultType":"complete","got":` + string(params) + `}}`)), bridge.ModernRevision, nil
		}
	})
	plays(t, p, opening2025+`
	> {"id":2,"method":"tools/call","params":{"name":"new","_meta":{"progressToken":1}}}
	< {"id":2,"result":{"got":{"name":"new"}}}
	> {"id":3,"method":"tools/call","params":{"name":"new"}}
	< {"id":3,"result":{"got":{"name":"new"}}}`)
	if asked != 1 {
		t.Errorf("the server was asked %d times", asked)
	}
}

const opening2025 = `
	> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
	< {"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}}
	> {"method":"notifications/initialized"}`

func TestRequestsThatClientCannotAnswerFail(t *testing.T) {
	p, said := player(t, recordingOf(talk(asking)), nil)
	plays(t, p, `
	> {"id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
	< {"id":2,"error":{"code":-32021,"message":"the recorded server sent elicitation/create","data":{"requiredCapabilities":{"elicitation":{}}}}}
	> {"id":3,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}
	< {"id":3,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2027-01-01"}}}
	> {"id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
	< {"id":4,"error":{"code":-32602,"message":"_meta lacks io.modelcontextprotocol/clientCapabilities"}}`)
	if !said.has("elicitation/create of the recording has no counterpart for this client") {
		t.Errorf("reported %q", said.lines)
	}
}

func TestUnansweredRequests(t *testing.T) {
	r := recordingOf(talk(opening + `
	> {"id":2,"method":"tools/call","params":{"name":"open"}}
	> {"id":3,"method":"tools/call","params":{"name":"given-up"}}`))
	r.Exchanges[2].Cancelled = true
	p, _ := player(t, r, nil)
	plays(t, p, opening+`
	> {"id":2,"method":"tools/call","params":{"name":"open"}}
	< {"id":2,"error":{"code":-32603,"message":"not answered in the recording"}}
	> {"id":3,"method":"tools/call","params":{"name":"given-up"}}
	> {"method":"notifications/cancelled","params":{"requestId":3}}
	> {"id":4,"method":"ping"}
	< {"id":4,"result":{}}`)
}

func TestSubscriptions(t *testing.T) {
	lines := opening + `
	> {"id":2,"method":"tools/call","params":{"name":"change"}}
	< {"id":2,"result":{}}
	< {"method":"notifications/tools/list_changed"}
	< {"method":"notifications/resources/updated","params":{"uri":"a:b"}}
	> {"id":3,"method":"tools/list"}
	< {"id":3,"result":{"tools":[]}}`
	p, _ := player(t, recordingOf(talk(lines)), nil)
	plays(t, p, opening+`
	> {"id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}
	< {"id":2,"result":{}}
	> {"id":3,"method":"tools/call","params":{"name":"change"}}
	< {"id":3,"result":{}}
	< {"method":"notifications/tools/list_changed"}
	< {"method":"notifications/resources/updated","params":{"uri":"a:b"}}`)
	plays(t, p, `
	> {"id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},`+meta+`}}
	< {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
	> {"id":3,"method":"tools/call","params":{"name":"change",`+meta+`}}
	< {"id":3,"result":{"resultType":"complete"}}
	< {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
	> {"method":"notifications/cancelled","params":{"requestId":"l"}}`)
}

func TestUnservedErasAreRefused(t *testing.T) {
	p, _ := player(t, recordingOf(talk(asking)), func(o *PlayerOptions) { o.Eras = bridge.LegacyOnly })
	plays(t, p, `
	> {"id":1,"method":"server/discover","params":{`+meta+`}}
	< {"id":1,"error":{"code":-32601,"message":"Method not found"}}`)
	p, _ = player(t, recordingOf(talk(asking)), func(o *PlayerOptions) { o.Eras = bridge.ModernOnly })
	plays(t, p, `
	> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
	< {"id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`)
}

// A question for roots that only happened to come beside another question is no round of the request either.
func TestRootsListDuringElicitationIsNoRound(t *testing.T) {
	head := func(stream int, method string) wire.Frame {
		return wire.Frame{Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Method: method, URL: "http://x/mcp"}}
	}
	status := func(stream int) wire.Frame {
		return wire.Frame{Kind: wire.Head, Dir: wire.Received, Stream: stream, HTTP: &wire.HTTPHead{
			Status: 200,
			Fields: []wire.Field{{Name: "Content-Type", Value: "text/event-stream"}},
		}}
	}
	sent := func(stream int, raw string) wire.Frame { return wire.Frame{Stream: stream, Raw: []byte(raw)} }
	event := func(stream int, raw string) wire.Frame {
		return wire.Frame{Dir: wire.Received, Kind: wire.Event, Stream: stream, SSE: &sse.Facts{}, Raw: []byte(raw)}
	}
	frames := []wire.Frame{
		head(1, "GET"), status(1), head(2, "POST"), sent(2, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n"}}`), status(2),
		event(2, `{"jsonrpc":"2.0","id":10,"method":"elicitation/create","params":{"message":"m"}}`),
		event(1, `{"jsonrpc":"2.0","id":11,"method":"roots/list"}`),
		head(3, "POST"), sent(3, `{"jsonrpc":"2.0","id":10,"result":{"action":"accept"}}`),
		head(4, "POST"), sent(4, `{"jsonrpc":"2.0","id":11,"result":{"roots":[]}}`),
		event(2, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`),
	}
	for i := range frames {
		frames[i].Seq = uint64(i + 1)
	}
	steps := stepsOf(wire.GroupFrames(frames)[0])
	if len(steps) == 0 || len(steps[0].requests) == 0 {
		t.Fatalf("got %+v", steps)
	}
	for _, s := range steps {
		for _, a := range s.requests {
			if a.isGuessed != (a.method == "roots/list") {
				t.Errorf("%s: guessed is %v", a.method, a.isGuessed)
			}
		}
	}
}

// A server asks for roots once a session, while it answers something else. That is no round of that request.
func TestRootsListOncePerSessionIsNoRound(t *testing.T) {
	lines := opening + `
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"id":10,"method":"roots/list"}
	> {"id":10,"result":{"roots":[]}}
	< {"id":2,"result":{}}`
	p, said := player(t, recordingOf(talk(lines)), nil)
	plays(t, p, `
	> {"id":1,"method":"tools/call","params":{"name":"n","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}
	< {"id":1,"result":{"resultType":"complete"}}`)
	if !said.has("#2: roots/list of the recording is not played") {
		t.Errorf("reported %q", said.lines)
	}
	plays(t, p, `
	> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}
	< {"id":1,"result":{"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"version":"7","name":"s"},"instructions":"i","protocolVersion":"2025-11-25"}}
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"id":1,"method":"roots/list"}
	> {"id":1,"result":{"roots":[]}}
	< {"id":2,"result":{}}`)
}

// An answer that the response did not wait for is not waited for.
func TestLateClientAnswerIsNotAwaited(t *testing.T) {
	lines := opening + `
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"id":10,"method":"sampling/createMessage","params":{}}
	< {"id":2,"result":{}}
	> {"id":10,"result":{"role":"assistant"}}`
	p, _ := player(t, recordingOf(talk(lines)), nil)
	plays(t, p, opening+`
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"id":1,"method":"sampling/createMessage","params":{}}
	< {"id":2,"result":{}}`)
}

func TestListsComeFromNewestRun(t *testing.T) {
	var frames []wire.Frame
	for run, tools := range []string{`[{"name":"old"}]`, `[{"name":"new"}]`} {
		for _, f := range talk(opening + `
		> {"id":2,"method":"tools/list"}
		< {"id":2,"result":{"tools":` + tools + `}}`) {
			f.Conn = run
			frames = append(frames, f)
		}
	}
	p, _ := player(t, recordingOf(frames), nil)
	plays(t, p, opening+`
	> {"id":2,"method":"tools/list"}
	< {"id":2,"result":{"tools":[{"name":"new"}]}}
	> {"id":3,"method":"tools/list","params":{}}
	< {"id":3,"result":{"tools":[{"name":"new"}]}}`)
}

// A message that precedes the response and belongs to no request is sent before it.
func TestUnrequestedMessageIsSentBeforeResponse(t *testing.T) {
	r := recordingOf(talk(opening + `
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"id":2,"result":{}}`))
	listChanged := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	request := r.Exchanges[1].Time
	r.Unrequested = []Unrequested{{After: 1, Time: request.Add(time.Millisecond), Message: listChanged}, {After: 1, Time: request.Add(time.Hour), Message: listChanged}}
	p, _ := player(t, r, nil)
	plays(t, p, opening+`
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"method":"notifications/tools/list_changed"}
	< {"id":2,"result":{}}
	< {"method":"notifications/tools/list_changed"}`)
}

// TestUnansweredServerRequestsAreBounded: not ever more of them are waited for.
func TestUnansweredServerRequestsAreBounded(t *testing.T) {
	p, said := player(t, recordingOf(talk(opening+`
		> {"id":2,"method":"tools/list"}
		< {"id":2,"result":{"tools":[]}}`)), nil)
	pushed := 0
	s := mcpserver.NewSession(t.Context(), "s", func([]byte) { pushed++ })
	defer s.End()
	s.Open("2025-06-18", []byte(`{"capabilities":{"roots":{}}}`))
	u := Unrequested{Message: wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))}
	for i := range maxUnanswered {
		_, _ = s.Ask("roots/list", nil)
		if s.Unanswered() != i+1 {
			t.Fatal(s.Unanswered())
		}
	}
	p.askUnrequested(u, s)
	if pushed > 0 || !said.has("too many requests without an answer") {
		t.Errorf("%d pushed: %q", pushed, said.lines)
	}
	s.Deliver(&wire.Message{ID: []byte("1")})
	s.End()
	if p.askUnrequested(u, s); pushed != 1 {
		t.Errorf("%d pushed", pushed)
	}
}

func TestLogLevels(t *testing.T) {
	p, _ := player(t, recordingOf(talk(opening+`
	> {"id":2,"method":"tools/call","params":{"name":"n"}}
	< {"method":"notifications/message","params":{"level":"info","data":1}}
	< {"method":"notifications/message","params":{"level":"error","data":2}}
	< {"id":2,"result":{}}`)), nil)
	plays(t, p, opening+`
	> {"id":2,"method":"logging/setLevel","params":{"level":"warning"}}
	< {"id":2,"result":{}}
	> {"id":3,"method":"tools/call","params":{"name":"n"}}
	< {"method":"notifications/message","params":{"level":"error","data":2}}
	< {"id":3,"result":{}}
	> {"id":4,"method":"tools/call","params":{"name":"n",`+meta+`}}
	< {"id":4,"result":{"resultType":"complete"}}
	> {"id":5,"method":"tools/call","params":{"name":"n","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}}}
	< {"method":"notifications/message","params":{"level":"error","data":2}}
	< {"id":5,"result":{"resultType":"complete"}}`)
}

// The clients in TypeScript drop progress that they read at once with the response.
func TestPauseFollowsNotification(t *testing.T) {
	recorded := recordingOf(talk(`
	> {"id":1,"method":"tools/call","params":{"name":"tea","_meta":{"progressToken":1}}}
	< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
	< {"id":1,"result":{"content":[]}}`))
	for _, c := range []struct {
		pace Pace
		want [2]time.Duration
	}{{Pace{}, [2]time.Duration{0, minNotificationGap}}, {Pace{Factor: 3}, [2]time.Duration{30 * time.Millisecond, 30 * time.Millisecond}}} {
		p, _ := player(t, recorded, func(o *PlayerOptions) { o.Pace = c.pace })
		y, err := p.newPlayback(0, mcpserver.Caller{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]time.Duration{y.pauseBefore(0), y.pauseBefore(1)}; got != c.want || !y.takesTime() {
			t.Errorf("%+v: pauses of %v, want %v", c.pace, got, c.want)
		}
	}
}
