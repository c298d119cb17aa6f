package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	"mcpc/internal/pause"
	"mcpc/internal/sanitize"
	"mcpc/internal/wire"
)

// A link is the connection of a peer to one server. It connects when it is first needed.
type link struct {
	*Member
	peer *peer
	// isLeased is set while one call uses the link alone. The mutex of the gateway guards it.
	isLeased bool

	mu         sync.Mutex
	env        *host.Env
	releaseEnv func() // ends the use of env; it is called when the link is closed
	conn       *connect.Conn
	// dialing is closed when the running attempt to connect has ended. It is nil if no attempt is
	// running.
	dialing chan struct{}
	// failed is the outcome of the last attempt, nextAttempt when the next one may start, and pause
	// the time between them.
	failed      wire.Outcome
	nextAttempt time.Time
	pause       time.Duration
	// sendsToken is set if the last attempt to connect had an Authorization field of the user.
	sendsToken bool
	// shownFailure is the failure that was shown to the user. shownProcess is the exit of the
	// server's process that was shown last.
	shownFailure string
	shownProcess wire.ProcessFacts
	// isUsed is set by the first request. Logins wait for it: some hosts start the program and end it at once,
	// to find out which revisions it has.
	isUsed bool
	// wasOmitted is set if a client got a list without this server.
	wasOmitted bool
	isClosed   bool
	// calls are the running calls, subscriptions the resources that are watched.
	calls         map[*call]bool
	subscriptions map[string]*subscription
	listed        tables
	level         string // of log messages, as last requested from the server
}

// connection returns the connection, or nil.
func (l *link) connection() *connect.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// startDialing starts connecting unless the link is connected or must pause. It returns a channel
// that is closed when the running attempt has ended, or nil if no attempt is running.
func (l *link) startDialing() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialing != nil {
		return l.dialing
	}
	if l.conn != nil || l.isClosed || l.peer.gateway.Now().Before(l.nextAttempt) {
		return nil
	}
	done := make(chan struct{})
	l.dialing = done
	if l.env == nil {
		l.env, l.releaseEnv = l.Env()
	}
	go l.dial(done)
	return done
}

// waitConnected returns the connection for a request. It waits for a running attempt until ctx is done. An
// attempt before the first request starts no login: another attempt does.
func (l *link) waitConnected(ctx context.Context) (*connect.Conn, wire.Outcome) {
	l.mu.Lock()
	isFirst := !l.isUsed
	l.isUsed = true
	l.mu.Unlock()
	conn, out := l.waitDialed(ctx)
	if !isFirst || out.Kind != wire.Auth {
		return conn, out
	}
	l.mu.Lock()
	l.nextAttempt = time.Time{}
	l.mu.Unlock()
	return l.waitDialed(ctx)
}

// waitDialed returns the connection. It waits for a running attempt until ctx is done.
func (l *link) waitDialed(ctx context.Context) (*connect.Conn, wire.Outcome) {
	if attempt := l.startDialing(); attempt != nil {
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, wire.Outcome{Kind: wire.Timeout, Text: "the connection is not open yet"}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.failed
}

// dial connects, and closes done. If the attempt fails, it sets when the next one starts, and
// shows the failure unless it was shown before. If a client got a list without this server, it tells
// the client that the lists have changed.
func (l *link) dial(done chan struct{}) {
	ctx, stop := context.WithTimeout(l.peer.ctx, dialTimeout)
	defer stop()
	c, out := l.open(ctx, connect.Options{
		Argv:              l.Command,
		Shown:             l.Shown,
		NoResume:          true,
		KeepRevision:      true,
		MultiCall:         true,
		RequireServerInfo: true,
		Unjudged:          true,
		OnNotification:    l.handleNotification,
		As:                &connect.Stand{Capabilities: l.peer.capabilities, Asker: l.ask, Renewed: l.reportRenewal},
	})
	if out.OK() { // before a call can use the connection
		l.setLevel(ctx, c, l.peer.level())
		l.subscribeToLists(ctx, c)
	} else {
		_ = c.Close(ctx)
		out = connect.Explain(l.env, out)
	}
	l.mu.Lock()
	isClosed := l.isClosed
	wasOmitted := l.wasOmitted
	shownFailure := ""
	awaitsUse := out.Kind == wire.Auth && l.peer.gateway.Login != nil && !l.isUsed
	l.failed = out
	l.sendsToken = slices.ContainsFunc(l.env.Headers, isAuthorization)
	if out.OK() && !isClosed {
		l.conn = c
		l.pause = 0
		l.wasOmitted = false
		shownFailure = l.shownFailure
	} else {
		l.pause = min(max(2*l.pause, minPause), maxPause)
		l.nextAttempt = l.peer.gateway.Now().Add(l.pause)
	}
	l.mu.Unlock()
	if shownFailure != "" { // the next failure is shown again
		l.peer.gateway.showMu.Lock()
		delete(l.peer.gateway.shown, shownFailure)
		l.peer.gateway.showMu.Unlock()
	}
	if isClosed && out.OK() { // the link was closed meanwhile; close waits for done
		l.closeConn(c)
	}
	if !isClosed && out.Kind == wire.Auth && !awaitsUse {
		l.startLogin()
	}
	if !isClosed && !out.OK() && !awaitsUse && l.runningLogin() == nil {
		l.showFailure(out) // before a client gets a list without this server
	}
	l.mu.Lock()
	l.dialing = nil
	l.mu.Unlock()
	close(done)
	if !isClosed && !out.OK() {
		go l.dialAgain()
	}
	if !isClosed && out.OK() && wasOmitted {
		l.peer.gateway.Tell(l.Name + " is connected")
		l.pushListChange(allLists)
	}
}

// open opens a connection to the server, or returns the one that the member shares.
func (l *link) open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if l.Share != nil {
		return l.Share(how), wire.Outcome{}
	}
	return connect.Dial(ctx, l.env, how)
}

// closeConn closes a connection unless the member shares it.
func (l *link) closeConn(c *connect.Conn) {
	if l.Share == nil {
		_ = c.Close(context.Background())
	}
}

// dialAgain connects again after the pause of a failed attempt: a host may send no further request.
func (l *link) dialAgain() {
	l.mu.Lock()
	wait := l.nextAttempt.Sub(l.peer.gateway.Now())
	l.mu.Unlock()
	if pause.For(l.peer.ctx, wait) == nil {
		l.startDialing()
	}
}

// showFailure shows the user a failure to connect or to list, once.
func (l *link) showFailure(out wire.Outcome) {
	text := l.Name + " is left out: " + l.env.Secrets.Text(out.Text)
	if out.Hint != "" {
		text += " (" + l.env.UI.HintText(out.Hint) + ")"
	}
	l.mu.Lock()
	l.shownFailure = text
	l.mu.Unlock()
	l.peer.gateway.showOnce(textIsKey, text, l.stderrLines(out)...)
}

// maxStderrLine limits how much of a stderr line is shown, in bytes.
const maxStderrLine = 300

// stderrLines returns the main lines that a failed server wrote to stderr, without secrets and
// control characters.
func (l *link) stderrLines(out wire.Outcome) []string {
	if out.Process == nil || l.env == nil {
		return nil
	}
	process := wire.ProcessFacts{Stderr: l.env.Secrets.Text(out.Process.Stderr)}
	all, _ := process.MainLines()
	var lines []string
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

// showExit shows the user that the server exited during a call.
func (l *link) showExit(out wire.Outcome) {
	if out.Process != nil && out.Process.HowEnded != "" && l.env != nil {
		l.mu.Lock()
		l.shownProcess = *out.Process
		l.mu.Unlock()
		l.peer.gateway.Tell(l.Name+": "+l.env.Secrets.Text(out.Text), l.stderrLines(out)...)
	}
}

// subscribeToLists asks the server to report changes of its lists, if that needs a request: in a session
// over stdio the server sends them anyway. It waits for the server's agreement or refusal, so that
// later changes are not missed.
func (l *link) subscribeToLists(ctx context.Context, c *connect.Conn) {
	filter := client.SubscriptionFilter{
		Tools:     c.Offers("tools", "listChanged"),
		Prompts:   c.Offers("prompts", "listChanged"),
		Resources: c.Offers("resources", "listChanged"),
	}
	sendsAnyway := !client.Stateless(c.Revision()) && c.Transport() == transport.Stdio
	hasLists := filter.Tools || filter.Prompts || filter.Resources
	if sendsAnyway || !hasLists {
		return
	}
	answered := make(chan struct{}) // closed when the subscription began, or ended without that
	closeAnswered := sync.OnceFunc(func() { close(answered) })
	began := false
	go func() {
		defer closeAnswered()
		c.Listen(l.peer.ctx, client.ListenRequest{SubscriptionFilter: filter, Began: func(client.SubscriptionFilter) {
			if began { // the stream was reopened: changes may have been missed
				l.pushListChange(allLists)
			}
			began = true
			closeAnswered()
		}})
	}()
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

// listChanges are the notifications about changed lists.
var listChanges = []string{
	"notifications/tools/list_changed",
	"notifications/prompts/list_changed",
	"notifications/resources/list_changed",
}

// allLists as the method of pushListChange stands for all of listChanges.
const allLists = ""

// pushListChange sends the client the notification of listChanges with this method. It sends nothing
// if listChanges does not have the method.
func (l *link) pushListChange(method string) {
	for _, change := range listChanges {
		if change == method || method == allLists {
			l.peer.push(&wire.Message{Kind: wire.Notification, Method: change})
		}
	}
}

// reportRenewal shows the user that the connection was opened again. It shows the stderr of a
// server that exited, unless showExit has shown it.
func (l *link) reportRenewal(r client.Renewal) {
	l.mu.Lock()
	c := l.conn
	process := r.Process
	if process != nil && *process == l.shownProcess {
		process = nil
	}
	l.shownProcess = wire.ProcessFacts{}
	l.level = "" // the new session has none yet
	l.mu.Unlock()
	l.peer.gateway.Tell(l.Name+": "+r.Why, l.stderrLines(wire.Outcome{Process: process})...)
	if c != nil {
		go l.setLevel(l.peer.ctx, c, l.peer.level())
	}
	l.pushListChange(allLists)
}

// setLevel sends logging/setLevel if the server has this request and the level has changed.
func (l *link) setLevel(ctx context.Context, c *connect.Conn, level string) {
	const noMember = ""
	hasRequest := !client.Stateless(c.Revision()) && c.Offers("logging", noMember)
	if level == "" || !hasRequest {
		return
	}
	l.mu.Lock()
	isUnchanged := l.level == level
	l.level = level
	l.mu.Unlock()
	if !isUnchanged {
		c.Do(ctx, client.Call{Method: "logging/setLevel", Params: jsonraw.With(nil, "level", jsonraw.Quote(level))})
	}
}

// level returns the log level of the client's session, or "".
func (p *peer) level() string {
	if p.session == nil {
		return ""
	}
	return p.session.Caller().Level
}

// handleNotification forwards a notification of the server to the client.
func (l *link) handleNotification(m *wire.Message) {
	switch m.Method {
	case "notifications/progress":
		token := jsonraw.TextOrRaw(jsonraw.First(m.Params, "progressToken"))
		if c := l.newestCall(func(c *call) bool { return c.serverToken == token }); c != nil {
			c.forwardProgress(m.Params)
		}
	case "notifications/message":
		l.forwardLog(m)
	case "notifications/resources/updated", "notifications/elicitation/complete":
		params := bridge.WithoutMeta(m.Params, bridge.MetaSubscription)
		l.peer.push(&wire.Message{Kind: wire.Notification, Method: m.Method, Params: params})
	default:
		l.pushListChange(m.Method)
	}
}

// forwardLog forwards a log message, and prefixes its logger with the server's name. Without a
// session it goes to the only running call that asked for log messages.
func (l *link) forwardLog(m *wire.Message) {
	params := bridge.WithoutMeta(m.Params, bridge.MetaSubscription)
	if !l.peer.gateway.IsTransparent {
		logger := l.Name
		if own, ok := jsonraw.Text(jsonraw.First(m.Params, "logger")); ok {
			logger += "/" + own
		}
		params = jsonraw.With(params, "logger", jsonraw.Quote(logger))
	}
	if l.peer.session != nil {
		l.peer.push(&wire.Message{Kind: wire.Notification, Method: m.Method, Params: params})
		return
	}
	var candidates []*call // the calls that the message may be about
	l.mu.Lock()
	for c := range l.calls {
		if c.level != "" || !l.peer.gateway.IsStdio { // over HTTP the message may be about another client's call
			candidates = append(candidates, c)
		}
	}
	l.mu.Unlock()
	if len(candidates) != 1 {
		return
	}
	only := candidates[0]
	if only.level != "" && bridge.IsLoudEnough(params, only.level) {
		only.send(wire.ComposeNotification(m.Method, params))
	}
}

// newestCall returns the newest running call that matches accepts, or nil.
func (l *link) newestCall(matches func(*call) bool) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	var newest *call
	for c := range l.calls {
		isNewer := newest == nil || c.number > newest.number
		if isNewer && matches(c) {
			newest = c
		}
	}
	return newest
}

// failureResponse returns the response to a request that the server did not answer. For a
// tools/call it is a result: agents show their models the text of a result, but often not the text
// of an error.
func (l *link) failureResponse(c mcpserver.Caller, m *wire.Message, out wire.Outcome) []byte {
	text := out.Text
	if l.env != nil {
		text = l.env.Secrets.Text(text)
	}
	text = fmt.Sprintf("the server %q: %s", l.Name, text)
	needsUser := out.Kind == wire.Auth || out.Kind == wire.Refused // a login, or an approval
	if needsUser && out.Hint != "" && l.env != nil {
		text += " (" + l.env.UI.HintText(out.Hint) + ")"
	}
	if out.Kind == wire.Auth {
		if a := l.runningLogin(); a != nil && a.hasPage() {
			text += "; " + a.invitation(l.Name)
		}
	}
	if stderr := l.stderrLines(out); len(stderr) > 0 {
		text += "; its stderr:\n" + strings.Join(stderr, "\n")
	}
	if m.Method == "tools/call" {
		return toolFailureResponse(c, m, text)
	}
	var data jsonraw.Builder
	data.Text("server", l.Name)
	data.Text("kind", string(out.Kind))
	return mcpserver.ComposeError(m.ID, mcpserver.Failure(-32603, text, data.Bytes()))
}

// toolFailureResponse returns the result of a call that failed before a server answered it.
func toolFailureResponse(c mcpserver.Caller, m *wire.Message, text string) []byte {
	return composeToolResult(c, m, jsonraw.With(textContent(text), "isError", json.RawMessage("true")))
}

// toolResponse returns the result of a call of a tool of the gateway itself.
func toolResponse(c mcpserver.Caller, m *wire.Message, text string) []byte {
	return composeToolResult(c, m, textContent(text))
}

// textContent returns a result with one text.
func textContent(text string) json.RawMessage {
	block := jsonraw.With(jsonraw.With(nil, "type", jsonraw.Quote("text")), "text", jsonraw.Quote(text))
	return jsonraw.With(nil, "content", jsonraw.List([]json.RawMessage{block}))
}

// composeToolResult returns the response with a result that has no members of stateless revisions.
func composeToolResult(c mcpserver.Caller, m *wire.Message, result json.RawMessage) []byte {
	const fromStateless = false
	return wire.ComposeResult(m.ID, bridge.ConvertResult(c.Stateless, fromStateless, m.Method, result))
}

// close closes the connection and ends its recording. It waits for a running attempt to connect.
func (l *link) close() {
	l.mu.Lock()
	l.isClosed = true // no attempt starts after this
	attempt := l.dialing
	l.mu.Unlock()
	if attempt != nil {
		<-attempt
	}
	l.mu.Lock()
	c := l.conn
	releaseEnv := l.releaseEnv
	l.conn = nil
	l.mu.Unlock()
	if c != nil {
		l.closeConn(c)
	}
	if releaseEnv != nil {
		releaseEnv()
	}
}
