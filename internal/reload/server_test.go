package reload

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpc/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline is how long a test waits for what must happen.
const deadline = 60 * time.Second

// A harness is a Server with a client and processes that the test plays.
type harness struct {
	t         *testing.T
	server    *Server
	toServer  *io.PipeWriter
	output    chan string
	processes chan *fakeProcess
	replace   chan struct{}
	notes     chan string
	diffs     chan string
	stop      func()
	ended     chan error
}

// newHarness starts a Server whose processes respond as respond says; nil is respondLegacy.
func newHarness(t *testing.T, change func(*Options)) *harness {
	t.Helper()
	h := &harness{
		t: t, output: make(chan string, 1000), processes: make(chan *fakeProcess, 1000),
		replace: make(chan struct{}), notes: make(chan string, 1000), diffs: make(chan string, 1000), ended: make(chan error, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	h.stop = stop
	reader, writer := io.Pipe()
	h.toServer = writer
	o := Options{
		Start: func() (*Process, error) {
			p := newFakeProcess(t)
			h.processes <- p
			return p.process(), nil
		},
		ToClient: writerFunc(func(b []byte) { h.output <- strings.TrimSuffix(string(b), "\n") }),
		Drain:    deadline, Hold: deadline, Now: time.Now,
		Note: func(text string) { h.notes <- text },
		Warn: func(text string) { h.notes <- "warning: " + text },
		ToolsChanged: func(before, after []json.RawMessage) {
			h.diffs <- fmt.Sprintf("%s -> %s", before, after)
		},
	}
	if change != nil {
		change(&o)
	}
	s := New(o)
	h.server = s
	go s.ReadClient(reader)
	go func() { h.ended <- s.Run(ctx, h.replace) }()
	t.Cleanup(func() {
		stop()
		writer.Close()
		if h.ended != nil {
			h.wait()
		}
	})
	return h
}

// wait waits for the end of Run.
func (h *harness) wait() {
	h.t.Helper()
	if err := receive(h.t, h.ended, "the end of Run"); err != nil {
		h.t.Errorf("Run: %v", err)
	}
	h.ended = nil
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// receive returns the next value of a channel.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(deadline):
		t.Fatalf("no %s", what)
		panic("not reached")
	}
}

// send sends lines of the client.
func (h *harness) send(lines ...string) {
	h.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.toServer, line+"\n"); err != nil {
			h.t.Fatal(err)
		}
	}
}

// expect fails unless the next lines for the client are these.
func (h *harness) expect(lines ...string) {
	h.t.Helper()
	for _, want := range lines {
		if got := receive(h.t, h.output, "line for the client: "+want); got != want {
			h.t.Fatalf("the client got\n%s\nwant\n%s", got, want)
		}
	}
}

// expectNote fails unless the next note has the text.
func (h *harness) expectNote(want string) {
	h.t.Helper()
	if got := receive(h.t, h.notes, "note: "+want); !strings.Contains(got, want) {
		h.t.Fatalf("note %q, want %q", got, want)
	}
}

// await waits until a condition on the locked Server holds.
func (h *harness) await(what string, holds func(s *Server) bool) {
	h.t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(time.Millisecond) {
		h.server.mu.Lock()
		ok := holds(h.server)
		h.server.mu.Unlock()
		if ok {
			return
		}
	}
	h.t.Fatal("not " + what)
}

// isDraining and isListed are conditions for await.
func isDraining(s *Server) bool { return s.phase == draining }
func isListed(s *Server) bool   { return s.current != nil && s.current.isListed }

// next returns the next process that was started.
func (h *harness) next() *fakeProcess {
	h.t.Helper()
	return receive(h.t, h.processes, "process")
}

// restart replaces the process and returns the next one.
func (h *harness) restart() *fakeProcess {
	h.t.Helper()
	select {
	case h.replace <- struct{}{}:
	case <-time.After(deadline):
		h.t.Fatal("the process is not replaced")
	}
	return h.next()
}

// A fakeProcess is a server in this process. It answers handshakes and lists by itself.
type fakeProcess struct {
	t       *testing.T
	in      *io.PipeReader
	out     *io.PipeWriter
	toIn    *io.PipeWriter
	fromOut *io.PipeReader
	// received are the lines that the process does not answer by itself, or all of them but lists.
	received chan string
	exiting  chan struct{}
	ended    chan struct{}
	end      sync.Once
	// allowed is closed when the process may answer.
	allowed chan struct{}
	// mu guards the answers.
	mu       sync.Mutex
	revision string
	refusal  string
	tools    []string
	// prompts are the entries of its list.
	prompts string
	// capability is one more capability that the process declares, or "".
	capability string
}

func newFakeProcess(t *testing.T) *fakeProcess {
	p := &fakeProcess{t: t, received: make(chan string, 1000), exiting: make(chan struct{}), ended: make(chan struct{}), revision: "2025-11-25", tools: []string{"a"}}
	p.in, p.toIn = io.Pipe()
	p.fromOut, p.out = io.Pipe()
	p.allowed = make(chan struct{})
	go p.run()
	return p
}

// process returns the process for the Server.
func (p *fakeProcess) process() *Process {
	return &Process{
		Stdin: p.toIn, Stdout: p.fromOut,
		End:    func() { p.exit(); <-p.ended },
		Ending: func() (how, stderr string) { return "exit status 1: it is broken", "x.js:3\nit is broken" },
	}
}

// exit ends the process.
func (p *fakeProcess) exit() {
	p.end.Do(func() {
		close(p.exiting)
		p.in.Close()
		p.out.Close()
	})
}

// allow lets the process answer, with these tools.
func (p *fakeProcess) allow(tools ...string) *fakeProcess {
	p.mu.Lock()
	p.tools = tools
	p.mu.Unlock()
	close(p.allowed)
	return p
}

func (p *fakeProcess) run() {
	defer close(p.ended)
	defer p.exit()
	in := bufio.NewReader(p.in)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		m := wire.ParseMessage([]byte(line))
		if !strings.HasSuffix(m.Method, "/list") {
			p.received <- line
		}
		select {
		case <-p.allowed:
		case <-p.exiting:
			return
		}
		if answer := p.answer(m); answer != "" {
			p.send(answer)
		}
	}
}

// answer returns the response to a message, or "".
func (p *fakeProcess) answer(m *wire.Message) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := ""
	switch m.Method {
	case "initialize":
		if p.refusal != "" {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, m.ID, p.refusal)
		}
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{},"prompts":{}%s}}`, p.revision, p.capability)
	case "server/discover":
		result = fmt.Sprintf(`{"supportedVersions":[%q],"capabilities":{"tools":{}}}`, p.revision)
	case "tools/list": // one tool a page
		var cursor int
		_, _ = fmt.Sscanf(string(m.Params[bytes.IndexByte(m.Params, ':')+1:]), `"%d"`, &cursor)
		next := ""
		if cursor+1 < len(p.tools) {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, cursor+1)
		}
		result = fmt.Sprintf(`{"tools":[{"name":%q}]%s}`, p.tools[cursor], next)
	case "prompts/list":
		result = `{"prompts":[` + p.prompts + `]}`
	case "resources/list":
		result = `{"resources":[]}`
	case "resources/templates/list":
		result = `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"a"}]}`
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "ping":
		result = `{}`
	default:
		return ""
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// send sends a line of the process.
func (p *fakeProcess) send(line string) { _, _ = io.WriteString(p.out, line+"\n") }

// expect fails unless the next line that the process received is like want, in which ID stands for an id of
// the Server's own. It returns the id.
func (p *fakeProcess) expect(want string) string {
	p.t.Helper()
	got := receive(p.t, p.received, "line for the process: "+want)
	id := string(wire.ParseMessage([]byte(got)).ID)
	if strings.Contains(want, `"id":ID`) {
		want = strings.Replace(want, "ID", id, 1)
		if !strings.HasPrefix(id, `"mcpc-`) {
			p.t.Errorf("%s has an id of the client", got)
		}
	}
	if got != want {
		p.t.Fatalf("the process got\n%s\nwant\n%s", got, want)
	}
	return id
}

const (
	initialize       = `{"jsonrpc":"2.0", "id":1, "method":"initialize", "params":{"protocolVersion":"2025-11-25","x":1}}`
	initializeResult = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}}}}`
	initialized      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	call             = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`
	callResult       = `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`
	toolsChanged     = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// openLegacy starts a Server and does the handshake.
func openLegacy(t *testing.T, change func(*Options)) (*harness, *fakeProcess) {
	t.Helper()
	h := newHarness(t, change)
	p := h.next().allow("a")
	h.send(initialize)
	p.expect(initialize)
	h.expect(initializeResult)
	h.send(initialized)
	p.expect(initialized)
	return h, p
}

// repeated returns a request of the client with an id of the Server's own, as expect wants it.
func repeated(line string) string {
	id := string(wire.ParseMessage([]byte(line)).ID)
	return strings.Replace(strings.Replace(line, `"id":`+id, `"id":ID`, 1), `"id": `+id, `"id":ID`, 1)
}

func TestRestartRepeatsTheSession(t *testing.T) {
	h, p := openLegacy(t, nil)
	level := `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`
	subscribe := `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"x:1"}}`
	other := `{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"x:2"}}`
	unsubscribe := `{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"x:2"}}`
	for _, line := range []string{level, subscribe, other, unsubscribe} {
		h.send(line)
		p.expect(line)
		h.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, wire.ParseMessage([]byte(line)).ID))
	}
	next := h.restart().allow("a")
	<-p.ended
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.expect(repeated(level))
	next.expect(repeated(subscribe))
	h.expectNote("restarted (process 2); what it keeps in memory is lost")
	h.send(call)
	next.expect(call)
	next.send(callResult)
	h.expect(callResult) // and no response to what was repeated
	h.restart().allow("a")
	h.expectNote("restarted (process 3)")
}

func TestOpenRequestsAreFinishedBeforeTheRestart(t *testing.T) {
	h, p := openLegacy(t, nil)
	h.send(call)
	p.expect(call)
	h.replace <- struct{}{}
	h.await("draining", isDraining)
	held := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"b"}}`
	h.send(held)
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	p.send(progress)
	p.send(callResult)
	h.expect(progress, callResult)
	next := h.next().allow("a")
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.expect(held)
}

func TestRequestsAreRefusedAfterTheirLimit(t *testing.T) {
	h, p := openLegacy(t, func(o *Options) {
		o.Drain = time.Millisecond
		o.Hold = 50 * time.Millisecond
	})
	h.send(call)
	p.expect(call)
	next := h.restart() // it does not respond
	h.expect(`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: the server was restarted before it responded","data":{"by":"mcpc"}}}`)
	h.send(`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
	h.expect(`{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"mcpc tap: the server was not ready within 50ms","data":{"by":"mcpc"}}}`)
	next.allow("a")
	h.expectNote("restarted")
	p.send(callResult) // too late
	h.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.expect(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
}

func TestCancelledRequestsAreForgotten(t *testing.T) {
	h, p := openLegacy(t, nil)
	h.send(call)
	p.expect(call)
	h.replace <- struct{}{}
	h.await("draining", isDraining)
	cancelled := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	h.send(cancelled) // ends the drain
	next := h.next()
	h.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`,
		`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	next.allow("a")
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.expect(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
}

func TestRequestsOfTheProcess(t *testing.T) {
	h, p := openLegacy(t, nil)
	ask := `{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{}}`
	answer := func(id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, id)
	}
	p.send(ask)
	h.expect(ask)
	h.send(answer("0"))
	p.expect(answer("0"))
	p.send(ask)
	h.expect(ask)
	next := h.restart().allow("a")
	h.expect(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"the server was restarted before it responded"}}`)
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.send(ask) // with the same id
	id := string(wire.ParseMessage([]byte(receive(t, h.output, "request"))).ID)
	if !strings.HasPrefix(id, `"mcpc-`) {
		t.Errorf("the id %s was used before", id)
	}
	h.send(answer("0"), answer(id)) // the first one is too late
	next.expect(answer("0"))
	next.send(ask)
	id = string(wire.ParseMessage([]byte(receive(t, h.output, "request"))).ID)
	next.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
	h.expect(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
}

func TestClientDoesNotWaitForTheHandshake(t *testing.T) {
	h := newHarness(t, nil)
	p := h.next()
	h.send(initialize, initialized)
	p.expect(initialize)
	p.allow("a")
	p.expect(initialized)
	h.expect(initializeResult)
	h.await("listed", isListed)
	next := h.restart().allow("b")
	next.expect(repeated(initialize))
	next.expect(initialized)
	h.expect(toolsChanged)
}

func TestListChangesAreReportedOnce(t *testing.T) {
	h, _ := openLegacy(t, nil)
	h.await("listed", isListed)
	next := h.restart().allow("a", "b", "c")
	h.expect(toolsChanged)
	if got := receive(t, h.diffs, "difference"); got != `[{"name":"a"}] -> [{"name":"a"} {"name":"b"} {"name":"c"}]` {
		t.Error(got)
	}
	next.mu.Lock()
	next.tools = append(next.tools, "d")
	next.mu.Unlock()
	next.send(toolsChanged) // the process itself notifies
	h.expect(toolsChanged)
	h.await("listed again", func(s *Server) bool { return len(s.lists["tools/list"]) == 4 })
	h.restart().allow("a", "b", "c", "d") // without a difference
	h.await("listed", isListed)
	h.restart().allow("c")
	h.expect(toolsChanged)
	if got := receive(t, h.diffs, "difference"); got != `[{"name":"a"} {"name":"b"} {"name":"c"} {"name":"d"}] -> [{"name":"c"}]` {
		t.Error(got)
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestSubscriptionsAreRepeated(t *testing.T) {
	h := newHarness(t, nil)
	p := h.next()
	p.revision = "2026-07-28"
	p.allow("a")
	listen := `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{` + modernMeta + `,"notifications":{"toolsListChanged":true}}}`
	ack := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{"toolsListChanged":true}}}`
	h.send(listen)
	p.expect(listen)
	discover := `{"jsonrpc":"2.0","id":ID,"method":"server/discover","params":{` + modernMeta + `}}`
	p.expect(discover)
	p.send(ack)
	h.expect(ack)
	h.await("listed", isListed)
	next := h.restart()
	next.revision = "2026-07-28"
	next.allow("b")
	next.expect(discover)
	next.expect(listen)
	next.send(ack) // the client has it already
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`
	h.expect(changed)
	next.send(changed)
	h.expect(changed)
	end := `{"jsonrpc":"2.0","id":"s","result":{"resultType":"complete"}}`
	next.send(end)
	h.expect(end)
	h.await("listed", isListed)
	last := h.restart()
	last.revision = "2026-07-28"
	last.allow("c")
	last.expect(discover)
	h.send(call)
	last.expect(call) // the subscription has ended
}

// A subscription that a restarted process refuses stays open for the client, and the next process receives it.
func TestRefusedSubscriptionIsRepeated(t *testing.T) {
	h := newHarness(t, nil)
	p := h.next()
	p.revision = "2026-07-28"
	p.allow("a")
	listen := `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{` + modernMeta + `,"notifications":{"toolsListChanged":true}}}`
	ack := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{"toolsListChanged":true}}}`
	refusal := `{"jsonrpc":"2.0","id":"s","error":{"code":-32603,"message":"bad schema"}}`
	h.send(listen)
	p.expect(listen)
	discover := `{"jsonrpc":"2.0","id":ID,"method":"server/discover","params":{` + modernMeta + `}}`
	p.expect(discover)
	p.send(ack)
	h.expect(ack)
	h.await("listed", isListed)
	for range 2 {
		next := h.restart()
		next.revision = "2026-07-28"
		next.allow("a")
		next.expect(discover)
		next.expect(listen)
		h.expectNote("restarted")
		next.send(refusal)
		h.expectNote("the restarted server refused subscriptions/listen of the client: bad schema")
		h.await("listed", isListed)
	}
	last := h.restart()
	last.revision = "2026-07-28"
	last.allow("b")
	last.expect(discover)
	last.expect(listen)
	h.expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`)
}

func TestOtherRevisionIsRefused(t *testing.T) {
	h, _ := openLegacy(t, nil)
	next := h.restart()
	next.revision = "2024-11-05"
	h.send(call)
	next.allow("a")
	const why = "the restarted server no longer speaks the client's revision 2025-11-25"
	refused := `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: ` + why + `","data":{"by":"mcpc"}}}`
	h.expectNote(why)
	h.expect(refused)
	h.send(call)
	h.expect(refused)
	next = h.restart().allow("a")
	h.expectNote("restarted")
	h.send(call)
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.expect(call)
}

func TestOtherRevisionIsRefusedWithoutHandshake(t *testing.T) {
	h := newHarness(t, nil)
	p := h.next()
	p.revision = "2026-07-28"
	p.allow("a")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`
	h.send(ping)
	h.expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	next := h.restart()
	next.revision = "2099-01-01"
	next.allow("a")
	h.expectNote("no longer speaks the client's revision 2026-07-28")
	h.send(ping)
	h.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"mcpc tap: the restarted server no longer speaks the client's revision 2026-07-28","data":{"by":"mcpc"}}}`)
}

func TestProcessThatEndsIsStartedAgain(t *testing.T) {
	h, p := openLegacy(t, nil)
	h.send(call)
	p.expect(call)
	p.exit()
	h.expect(`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: the server ended: exit status 1: it is broken","data":{"by":"mcpc","stderr":"x.js:3\nit is broken"}}}`)
	h.expectNote("the server ended: exit status 1: it is broken; it is started again in 1s or after a change")
	h.send(call)
	h.next().exit()
	refused := `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: the server ended: exit status 1: it is broken","data":{"by":"mcpc","stderr":"x.js:3\nit is broken"}}}`
	h.expect(refused) // it ended before it was ready
	h.expectNote("again in 2s")
	h.send(call)
	h.expect(refused)
	next := h.restart()
	h.send(call) // waits, because something has changed
	h.await("held", func(s *Server) bool { return len(s.held) == 1 })
	next.refusal = "bad config"
	next.allow("a")
	h.expect(`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: the restarted server refused the handshake: bad config","data":{"by":"mcpc","stderr":"x.js:3\nit is broken"}}}`)
	h.expectNote("the restarted server refused the handshake: bad config; it is started again in 1s")
	next = h.restart().allow("a")
	h.send(call)
	next.expect(repeated(initialize))
	next.expect(initialized)
	next.expect(call)
}

func TestRequestsAreRefusedWhileTheBuildFails(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.AwaitsBuild = true })
	s := h.server
	s.BuildStarted()
	h.send(initialize, call)
	h.await("held", func(s *Server) bool { return len(s.held) == 2 })
	s.BuildEnded("--build failed")
	refused := `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: --build failed","data":{"by":"mcpc"}}}`
	h.expect(refused)
	h.send(call)
	h.expect(refused)
	s.BuildStarted()
	h.send(call)
	s.BuildEnded("")
	next := h.restart().allow("a")
	next.expect(initialize)
	h.expect(initializeResult)
	next.expect(call)
	s.BuildStarted()
	s.BuildEnded("--build failed") // the process stays
	h.send(call)
	next.expect(call)
	if len(h.processes) > 0 {
		t.Error("a process was started before a build succeeded")
	}
}

func TestEndOfTheClientEndsTheFirstBuild(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.AwaitsBuild = true })
	h.send(call)
	h.toServer.Close()
	h.wait()
	h.expect(`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"mcpc tap: the client has closed its output before --build succeeded","data":{"by":"mcpc"}}}`)
}

func TestHandshakeIsSentAgainToTheNextProcess(t *testing.T) {
	h := newHarness(t, nil)
	h.send(initialize)
	p := h.next()
	p.expect(initialize)
	p.exit()
	h.expectNote("the server ended")
	next := h.restart().allow("a")
	next.expect(initialize)
	h.expect(initializeResult)

	h = newHarness(t, nil)
	h.send(initialize)
	for range 2 {
		p = h.next()
		p.expect(initialize)
		p.exit()
	}
	h.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"mcpc tap: the server ended: exit status 1: it is broken","data":{"by":"mcpc","stderr":"x.js:3\nit is broken"}}}`)
}

func TestFailFastRefusesTheHandshakeAtOnce(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.FailFast = true })
	h.send(initialize)
	p := h.next()
	p.expect(initialize)
	p.exit()
	refused := `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"mcpc tap: the server ended: exit status 1: it is broken","data":{"by":"mcpc","stderr":"x.js:3\nit is broken"}}}`
	h.expect(refused)
	h.expectNote("the server ended")
	h.send(initialize)
	h.expect(refused)
	next := h.restart().allow("a")
	h.send(initialize)
	next.expect(initialize)
	h.expect(initializeResult)
}

func TestEndOfTheClientEndsTheProcess(t *testing.T) {
	h, p := openLegacy(t, nil)
	h.send(call)
	p.expect(call)
	h.toServer.Close()
	h.wait()
	<-p.ended

	h = newHarness(t, nil) // its client ends before the process is ready
	h.send(initialize)
	h.toServer.Close()
	p = h.next().allow("a")
	p.expect(initialize)
	h.wait()
}

func TestOtherCapabilitiesAreNoted(t *testing.T) {
	h, _ := openLegacy(t, nil)
	restart := func() {
		p := h.restart()
		p.capability = `,"logging":{}`
		p.allow("a")
	}
	restart()
	h.expectNote("other capabilities")
	h.expectNote("restarted (process 2)")
	restart()
	h.expectNote("restarted (process 3)")
}

func TestOtherPromptsAreNoted(t *testing.T) {
	h, _ := openLegacy(t, nil)
	h.await("listed", isListed)
	p := h.restart()
	p.prompts = `{"name":"x"}`
	p.allow("a")
	h.expect(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
	for !strings.Contains(receive(t, h.notes, "note about the prompts"), "the prompts have changed: 0 before, 1 now") {
	}
}

// A server without resources that is restarted with a resource template reports a change of its resources.
func TestFirstResourceTemplateIsNoted(t *testing.T) {
	h, _ := openLegacy(t, nil)
	h.await("listed", isListed)
	p := h.restart()
	p.capability = `,"resources":{}`
	p.allow("a")
	h.expect(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
	want := "the resource templates have changed: 0 before, 1 now"
	for !strings.Contains(receive(t, h.notes, "note about the resource templates"), want) {
	}
}

func TestBatchesAreSplit(t *testing.T) {
	h, p := openLegacy(t, nil)
	h.send("[" + call + "," + initialized + "]")
	p.expect(call)
	p.expect(initialized)
	p.send("[" + callResult + "," + toolsChanged + "]")
	h.expect(callResult, toolsChanged)
	p.send("a line that is no message")
	h.expect("a line that is no message")
}
