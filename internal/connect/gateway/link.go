package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/sanitize"
	"mcpc/internal/wire"
)

// A link is the connection of a peer to one server, once there is one.
type link struct {
	*Member
	p *peer
	// leased is set while one call has the link to itself. It belongs to the mutex of the gateway.
	leased bool

	mu   sync.Mutex
	env  *host.Env
	done func() // what Env returned
	conn *connect.Conn
	// dialing is closed when the attempt to connect that is under way has ended; nil if none is.
	dialing chan struct{}
	// failed is how the last attempt ended, again when the next one may begin, and pause how long that was.
	failed wire.Outcome
	again  time.Time
	pause  time.Duration
	// told is what the user was told of it, and toldProcess how the process ended that the user was told of last.
	told        string
	toldProcess wire.ProcessFacts
	// missed is set if a list was given without this server.
	missed bool
	closed bool
	// calls are those under way, watched the resources that are subscribed to.
	calls   map[*call]bool
	watched map[string]*watching
	listed  tables
	level   string // of the log messages that the server was asked for
}

func (l *link) current() *connect.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// attempt begins to connect, where there is no connection and it is time to try. It gives the channel that is closed
// when the attempt under way has ended; nil where none is.
func (l *link) attempt() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialing != nil {
		return l.dialing
	}
	if l.conn != nil || l.closed || l.p.g.Now().Before(l.again) {
		return nil
	}
	done := make(chan struct{})
	l.dialing = done
	if l.env == nil {
		l.env, l.done = l.Env()
	}
	go l.dial(done)
	return done
}

// connected gives the connection, and waits for an attempt to connect until ctx is done.
func (l *link) connected(ctx context.Context) (*connect.Conn, wire.Outcome) {
	if under := l.attempt(); under != nil {
		select {
		case <-under:
		case <-ctx.Done():
			return nil, wire.Outcome{Kind: wire.Timeout, Text: "the connection is not there yet"}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.failed
}

// dial connects.
func (l *link) dial(done chan struct{}) {
	ctx, stop := context.WithTimeout(l.p.life, dialTime)
	defer stop()
	c, out := connect.Dial(
		ctx,
		l.env,
		connect.Options{
			NoResume:          true,
			KeepRevision:      true,
			MultiCall:         true,
			RequireServerInfo: true,
			Unjudged:          true,
			OnNotification:    l.notified,
			As:                &connect.Stand{Capabilities: l.p.capabilities, Asker: l.ask, Renewed: l.renewed},
		},
	)
	if out.Good() {
		l.setLevel(ctx, c, l.p.level())
		l.listen(ctx, c)
	} else {
		_ = c.Close(ctx)
		out = connect.Explain(l.env, out)
	}
	l.mu.Lock()
	closed := l.closed
	missed := l.missed
	told := ""
	l.dialing = nil
	l.failed = out
	if out.Good() && !closed {
		l.conn = c
		l.pause = 0
		l.missed = false
		told = l.told
	} else {
		l.pause = min(max(2*l.pause, firstPause), longestPause)
		l.again = l.p.g.Now().Add(l.pause)
	}
	l.mu.Unlock()
	if told != "" { // it may be told again
		l.p.g.telling.Lock()
		delete(l.p.g.told, told)
		l.p.g.telling.Unlock()
	}
	if closed && out.Good() { // close waits for it
		_ = c.Close(context.Background())
	}
	if !closed && !out.Good() {
		l.tell(out) // before any list that is given without this server
	}
	close(done)
	if !closed && out.Good() && missed {
		l.p.g.Tell(l.Name + " is connected")
		l.changed("")
	}
}

// tell tells of a failure, once.
func (l *link) tell(out wire.Outcome) {
	text := l.Name + " is left out: " + l.env.Secrets.Text(out.Text)
	if out.Hint != "" {
		text += " (" + l.env.UI.HintText(out.Hint) + ")"
	}
	l.mu.Lock()
	l.told = text
	l.mu.Unlock()
	l.p.g.once("", text, l.stderr(out)...)
}

// maxStderrLine is how much of a line of a server's stderr is repeated, in bytes.
const maxStderrLine = 300

// stderr returns the main lines that a failed server wrote to stderr, without secrets and control characters.
func (l *link) stderr(out wire.Outcome) (lines []string) {
	if out.Process == nil || l.env == nil {
		return nil
	}
	process := wire.ProcessFacts{Stderr: l.env.Secrets.Text(out.Process.Stderr)}
	all, _ := process.MainLines()
	for _, line := range all {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if len(line) > maxStderrLine {
			line = line[:jsonraw.RuneStart([]byte(line), maxStderrLine)] + "…"
		}
		lines = append(lines, sanitize.Line(line, sanitize.Signs))
	}
	return lines
}

// tellOfExit tells the user that the server exited during a call.
func (l *link) tellOfExit(out wire.Outcome) {
	if out.Process != nil && out.Process.Ended != "" && l.env != nil {
		l.mu.Lock()
		l.toldProcess = *out.Process
		l.mu.Unlock()
		l.p.g.Tell(l.Name+": "+l.env.Secrets.Text(out.Text), l.stderr(out)...)
	}
}

// listen has the server tell of changes, where that has to be asked for: on the line of a session over stdio they
// come anyway. It waits until the server agreed, or does not, so that no change of a list that follows is missed.
func (l *link) listen(ctx context.Context, c *connect.Conn) {
	filter := client.SubscriptionFilter{
		Tools:     c.Offers("tools", "listChanged"),
		Prompts:   c.Offers("prompts", "listChanged"),
		Resources: c.Offers("resources", "listChanged"),
	}
	pipe := !client.Stateless(c.Revision()) && c.Transport() == transport.Stdio
	if pipe || !filter.Tools && !filter.Prompts && !filter.Resources {
		return
	}
	settled := make(chan struct{})
	settle := sync.OnceFunc(func() { close(settled) })
	began := false
	go func() {
		defer settle()
		c.Listen(l.p.life, client.ListenRequest{SubscriptionFilter: filter, Began: func(client.SubscriptionFilter) {
			if began { // something may have been missed
				l.changed("")
			}
			began = true
			settle()
		}})
	}()
	ctx, stop := context.WithTimeout(ctx, connectTime)
	defer stop()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// listChanges are the notifications about lists.
var listChanges = []string{
	"notifications/tools/list_changed",
	"notifications/prompts/list_changed",
	"notifications/resources/list_changed",
}

// changed tells the client that a list has changed; "" is all of them.
func (l *link) changed(method string) {
	for _, one := range listChanges {
		if one == method || method == "" {
			l.p.push(&wire.Message{Kind: wire.Notification, Method: one})
		}
	}
}

// renewed reports that the connection was opened again, with the stderr of a server that exited, unless the
// note of a call has it already.
func (l *link) renewed(r client.Renewal) {
	l.mu.Lock()
	c := l.conn
	process := r.Process
	if process != nil && *process == l.toldProcess {
		process = nil
	}
	l.toldProcess = wire.ProcessFacts{}
	l.level = ""
	l.mu.Unlock()
	l.p.g.Tell(l.Name+": "+r.Why, l.stderr(wire.Outcome{Process: process})...)
	if c != nil {
		go l.setLevel(l.p.life, c, l.p.level())
	}
	l.changed("")
}

// setLevel asks for log messages from a level on, where that is a request of its own and was not asked for last.
func (l *link) setLevel(ctx context.Context, c *connect.Conn, level string) {
	if level == "" || client.Stateless(c.Revision()) || !c.Offers("logging", "") {
		return
	}
	l.mu.Lock()
	same := l.level == level
	l.level = level
	l.mu.Unlock()
	if !same {
		c.Do(ctx, client.Call{Method: "logging/setLevel", Params: jsonraw.With(nil, "level", jsonraw.Quote(level))})
	}
}

// level is that of the client's session; "" where it has none.
func (p *peer) level() string {
	if p.session == nil {
		return ""
	}
	return p.session.Caller().Level
}

// notified takes a notification of the server.
func (l *link) notified(m *wire.Message) {
	switch m.Method {
	case "notifications/progress":
		token := jsonraw.TextOrRaw(jsonraw.First(m.Params, "progressToken"))
		if c := l.callOf(func(c *call) bool { return c.own == token }); c != nil {
			c.progress(m.Params)
		}
	case "notifications/message":
		l.logged(m)
	case "notifications/resources/updated", "notifications/elicitation/complete":
		l.p.push(
			&wire.Message{
				Kind:   wire.Notification,
				Method: m.Method,
				Params: bridge.WithoutMeta(m.Params, bridge.MetaSubscription),
			},
		)
	default:
		l.changed(m.Method)
	}
}

// logged passes on a log message, whose logger gets the name of the server. Requests that stand alone get those of
// the one request that asked for them.
func (l *link) logged(m *wire.Message) {
	logger := l.Name
	if own, ok := jsonraw.Text(jsonraw.First(m.Params, "logger")); ok {
		logger += "/" + own
	}
	params := jsonraw.With(bridge.WithoutMeta(m.Params, bridge.MetaSubscription), "logger", jsonraw.Quote(logger))
	if l.p.session != nil {
		l.p.push(&wire.Message{Kind: wire.Notification, Method: m.Method, Params: params})
		return
	}
	var asked []*call
	l.mu.Lock()
	for c := range l.calls {
		if c.level != "" || !l.p.g.pipe { // over HTTP the other may be of another client, and the message about it
			asked = append(asked, c)
		}
	}
	l.mu.Unlock()
	if len(asked) == 1 && asked[0].level != "" && bridge.Loud(params, asked[0].level) {
		asked[0].send(wire.ComposeNotification(m.Method, params))
	}
}

// callOf gives a call that is under way, the one that began last where several fit; nil where none does.
func (l *link) callOf(fits func(*call) bool) (newest *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.calls {
		if fits(c) && (newest == nil || c.number > newest.number) {
			newest = c
		}
	}
	return newest
}

// failure is the response to a request that the server did not answer. That of a tool's call is a result: agents show
// their models the text of a result, and of an error often nothing.
func (l *link) failure(c mcpserver.Caller, m *wire.Message, out wire.Outcome) []byte {
	text := out.Text
	if l.env != nil {
		text = l.env.Secrets.Text(text)
	}
	text = fmt.Sprintf("the server %q: %s", l.Name, text)
	if stderr := l.stderr(out); len(stderr) > 0 {
		text += "; its stderr:\n" + strings.Join(stderr, "\n")
	}
	if m.Method == "tools/call" {
		return toolFailure(c, m, text)
	}
	var data jsonraw.Builder
	data.Text("server", l.Name)
	data.Text("kind", string(out.Kind))
	return mcpserver.ComposeError(m.ID, mcpserver.Failure(-32603, text, data.Bytes()))
}

// toolFailure is the result of a call that failed before a server answered it.
func toolFailure(c mcpserver.Caller, m *wire.Message, text string) []byte {
	block := jsonraw.With(jsonraw.With(nil, "type", jsonraw.Quote("text")), "text", jsonraw.Quote(text))
	result := jsonraw.With(
		jsonraw.With(nil, "content", jsonraw.List([]json.RawMessage{block})),
		"isError",
		json.RawMessage("true"),
	)
	return wire.ComposeResult(m.ID, bridge.Result(c.Stateless, false, m.Method, result))
}

// close closes the connection and ends the recording of it.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	under := l.dialing
	l.mu.Unlock()
	if under != nil {
		<-under
	}
	l.mu.Lock()
	c := l.conn
	done := l.done
	l.conn = nil
	l.mu.Unlock()
	if c != nil {
		_ = c.Close(context.Background())
	}
	if done != nil {
		done()
	}
}
