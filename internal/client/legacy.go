package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// legacy is the era of the handshake: initialize, notifications/initialized, then requests in a
// session (2025-11-25 basic/lifecycle).
type legacy struct {
	// offered is the revision that initialize proposes.
	offered string

	guarded[agreement]
}

// An agreement is the result of a handshake.
type agreement struct {
	// revision is the revision that the server chose; "" before the handshake.
	revision string
	// sessionID is the Mcp-Session-Id; "" if the server did not assign an id.
	sessionID string
	// declared are the client capabilities that initialize declared.
	declared json.RawMessage
}

func (e *legacy) revision() string { return e.load().revision }

func (e *legacy) sessionID() string { return e.load().sessionID }

func (e *legacy) declaredCapabilities() json.RawMessage { return e.load().declared }

// allowsBatches reports true up to 2025-03-26, which defined arrays of messages; earlier revisions did
// not exclude them, and 2025-06-18 removed them.
func (e *legacy) allowsBatches() bool { return e.revision() < rev20250618 }

// open performs the handshake. If the server refuses the offered revision and names others, open
// offers the newest of them once.
func (e *legacy) open(ctx context.Context, c *connection) wire.Outcome {
	o := e.initialize(ctx, c)
	if other := alternativeRevision(c, e.offered, o); other != "" {
		e.offered = other
		o = e.initialize(ctx, c)
	}
	if !o.OK() {
		return o
	}
	call := &Call{Method: "notifications/initialized"}
	r := c.sendOneWay(
		ctx,
		&transport.Outgoing{Method: call.Method, Raw: wire.ComposeNotification(call.Method, nil), Fields: e.headerFields()},
	)
	if refused := c.outcome(e, call, r); !refused.OK() {
		return refused
	}
	return o
}

// alternativeRevision returns another revision to offer after a refusal, or "". It returns "" if
// the server lists a stateless revision, which needs no handshake.
func alternativeRevision(c *connection, offered string, o wire.Outcome) string {
	theirs := supportedIn(o.RPCError())
	isPinned := c.s.opt.Protocol != ""
	if o.Kind != wire.RPCFailed || isPinned || newestCommon(theirs, Stateless) != "" {
		return ""
	}
	if other := newestCommon(theirs, hasHandshake); other != offered {
		return other
	}
	return ""
}

// initialize sends initialize and processes the response. The session id applies as soon as the
// response header has arrived: messages that are sent while the body is read belong to the session.
func (e *legacy) initialize(ctx context.Context, c *connection) wire.Outcome {
	capabilities := c.s.opt.Capabilities
	if !c.s.opt.Verbatim {
		capabilities = withExtensions(withTasks(capabilities, e.offered), c.s.opt.Extensions)
	}
	e.update(func(a *agreement) { *a = agreement{declared: capabilities} })
	initParams := readParams(
		json.RawMessage(`{"protocolVersion":`+string(jsonraw.Quote(e.offered))+`,"capabilities":`+string(capabilities)+
			`,"clientInfo":`+string(c.s.opt.clientInfo)+`}`),
		nil,
	)
	initParams.addMeta(c.trace(initParams)...)
	call := &Call{Method: "initialize", Params: initParams.raw}
	id := c.s.nextID()
	out := &outgoing{
		Outgoing: transport.Outgoing{
			Raw: wire.ComposeRequest(id, call.Method, call.Params), ID: id, Method: call.Method,
			Resumable: true, AllowsBatch: true,
		},
		mustNotCancel: true,
	}
	sessionID := ""
	out.OnHeader = func(h http.Header) {
		sessionID = h.Get("Mcp-Session-Id")
		if isSessionID(sessionID) {
			e.update(func(a *agreement) { *a = agreement{sessionID: sessionID, declared: capabilities} })
			out.Fields = e.headerFields() // for a resumption of the response's stream
		}
	}
	o := c.outcome(e, call, c.exchange(ctx, e, out, c.s.opt.Limits.Idle))
	if !o.OK() {
		return o
	}
	return e.acceptResult(c, o, sessionID)
}

// acceptResult validates the result of initialize in o, and stores the agreement and the server's
// Info. session is the id in the response's header, or "". It returns o, or a failure if the result is
// invalid or the server chose a revision that mcpc or --protocol does not accept.
func (e *legacy) acceptResult(c *connection, o wire.Outcome, session string) wire.Outcome {
	members, _ := jsonraw.Object(o.Result)
	version, _ := members.Get("protocolVersion")
	agreed, _ := jsonraw.Text(version)
	if version == nil || string(version) == `""` {
		return withFailure(o, wire.BadResponse, "the response to initialize has no protocolVersion")
	}
	if agreed == "" { // Text returns "" if the value is not a string
		return withFailure(
			o,
			wire.BadResponse,
			"the protocolVersion in the response to initialize is not a string: "+jsonraw.Excerpt(version, 40),
		)
	}
	if !isSessionID(session) {
		return withFailure(o, wire.BadResponse, "the server's session id is not visible ASCII, or too long")
	}
	// Stored even if the revision is rejected below: the session is then ended with its id.
	e.update(func(a *agreement) {
		a.revision = agreed
		a.sessionID = session
	})
	c.update(func(f *connectionState) { f.info = parseInfo(members) })
	pinned := c.s.opt.Protocol
	switch {
	case agreed == rev2024Draft:
		c.addFinding(wire.Info, "revision", "the server speaks the pre-release "+rev2024Draft)
	case !slices.Contains(revisions, agreed):
		text := "the server answered initialize with revision " + agreed + "; mcpc speaks " + joinOrNone(revisions)
		return withFailure(o, wire.RPCFailed, text)
	case Stateless(agreed):
		text := "the server answered initialize with revision " + agreed + ", which has no initialize"
		return withFailure(o, wire.RPCFailed, text)
	case pinned != "" && agreed != pinned:
		o.Hint = wire.Hint("--protocol " + agreed + " asks for this revision")
		return withFailure(o, wire.RPCFailed, "the server speaks "+agreed+", but --protocol requested "+pinned)
	}
	return o
}

// rev2024Draft is a pre-release revision that old servers still answer with. It is treated like
// 2024-11-05.
const rev2024Draft = "2024-10-07"

// parseInfo reads the Info in the result of initialize or server/discover.
func parseInfo(members jsonraw.Members) Info {
	var info Info
	info.ServerInfo = mcp.ServerInfo(members)
	info.Capabilities = withoutNulls(members.Value("capabilities"))
	info.Instructions = members.Text("instructions")
	return info
}

// withoutNulls returns capabilities without null members, which some servers write for absent ones.
func withoutNulls(capabilities json.RawMessage) json.RawMessage {
	members, err := jsonraw.Object(capabilities)
	isNull := func(m jsonraw.Member) bool { return string(m.Value) == "null" }
	if err != nil || !slices.ContainsFunc(members, isNull) {
		return capabilities
	}
	return jsonraw.Append(json.RawMessage("{}"), slices.DeleteFunc(members, isNull)...)
}

// isSessionID reports whether id consists of visible ASCII, 0x21 to 0x7E (basic/transports,
// "Session Management"). The specification has no maximum length; isSessionID allows 4 KiB.
func isSessionID(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7E {
			return false
		}
	}
	return len(id) <= 4096
}

// headerFields returns the header fields of each request after the handshake.
func (e *legacy) headerFields() []wire.Field {
	now := e.load()
	var fields []wire.Field
	if now.revision >= rev20250618 {
		fields = append(fields, wire.Field{Name: "Mcp-Protocol-Version", Value: now.revision})
	}
	if now.sessionID != "" {
		fields = append(fields, wire.Field{Name: "Mcp-Session-Id", Value: now.sessionID})
	}
	return fields
}

func (e *legacy) getStreamFields() func() []wire.Field { return e.headerFields }

// stamp sets the header fields. A request that may become a task is never cancelled with
// notifications/cancelled (2025-11-25 basic/utilities/tasks).
func (e *legacy) stamp(_ *connection, call *Call, own *params, out *outgoing) []jsonraw.Member {
	out.Fields = e.headerFields()
	out.Resumable = true
	out.AllowsBatch = e.allowsBatches()
	if call.Task != nil && own.members.Value("task") == nil {
		own.add("task", call.Task.params())
	}
	out.mustNotCancel = mcp.IsTaskMethod(call.Method) || own.members.Value("task") != nil
	return nil
}

// validateResult checks a task, or what the method requires of its result.
func (e *legacy) validateResult(call *Call, response *wire.Message) (wire.Kind, string) {
	members, err := response.ResultMembers()
	if err != nil {
		return notAnObject(response)
	}
	_, problem, isTask := e.readTask(call, members)
	if problem != "" {
		return wire.BadResponse, problem
	}
	if isTask {
		return wire.OK, ""
	}
	method := call.Method
	if method == "tasks/result" {
		method = "tools/call" // "exactly what the underlying request would have returned"
	}
	return validateCompleteResult(method, members)
}

// handleRequest answers a request from the server in a goroutine: ping and task requests at once,
// declared requests when the user has answered, and all others with an error.
func (e *legacy) handleRequest(c *connection, m *wire.Message) {
	compose, afterSending := e.chooseAnswer(c, m)
	isStarted := c.s.answerTasks.start(func(ctx context.Context) {
		defer afterSending()
		sendAnswer(ctx, c, m, compose(ctx), e.headerFields())
	})
	if !isStarted {
		afterSending()
		c.addFinding(
			wire.Warning,
			"server_request",
			"the server sends requests faster than it reads responses; "+m.Method+" was not answered",
		)
	}
}

// chooseAnswer returns a function that composes the answer to a request from the server, or nil if
// no answer is to be sent, and a function to call after the answer was sent. It reports a request
// that is rejected.
func (e *legacy) chooseAnswer(
	c *connection, m *wire.Message,
) (compose func(context.Context) []byte, afterSending func()) {
	afterSending = func() {}
	if m.Method == "ping" {
		pong := wire.ComposeResult(m.ID, json.RawMessage("{}"))
		return func(context.Context) []byte { return pong }, afterSending
	}
	support := e.support()
	if code, what := support.rejection(m.Method, m.Params); code != 0 {
		c.s.pending.noteUnanswered(&unansweredRequest{undeclared: m.Method})
		c.addFinding(
			wire.Info,
			wire.RuleUndeclared,
			fmt.Sprintf("the server requested %s, which was not declared; it was rejected with %d", what, code),
		)
		rejection := wire.ComposeError(m.ID, code, rejectionText(code, what))
		return func(context.Context) []byte { return rejection }, afterSending
	}
	if why := invalidSampling(m.Method, m.Params); why != "" {
		c.addFinding(wire.Warning, "sampling", "the server's "+m.Method+" was rejected with -32602: "+why)
		rejection := wire.ComposeError(m.ID, -32602, "Invalid params: "+why)
		return func(context.Context) []byte { return rejection }, afterSending
	}
	if mcp.IsTaskMethod(m.Method) {
		return func(ctx context.Context) []byte { return c.answerTaskRequest(ctx, m) }, afterSending
	}
	if support.wantsTask(m) {
		compose = func(ctx context.Context) []byte {
			return c.runAsTask(ctx, m, func(raw []byte) { sendAnswer(ctx, c, m, raw, e.headerFields()) })
		}
		return compose, afterSending
	}
	if m.Method == "roots/list" {
		afterSending = c.noteRootsRequest()
	}
	return func(ctx context.Context) []byte { return c.composeAnswer(ctx, m) }, afterSending
}

// rejectionText returns the text of the error for a request that needs an undeclared capability
// (client/roots, "Error Handling").
func rejectionText(code int64, what string) string {
	name := map[int64]string{-32601: "Method not found", -32602: "Invalid params"}[code]
	return name + ": the client declared no capability for " + what
}

// sendAnswer sends raw as the answer to m; nil sends nothing.
func sendAnswer(ctx context.Context, c *connection, m *wire.Message, raw []byte, fields []wire.Field) {
	if raw == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, graceForAnswer)
	defer stop()
	r := c.transport().Send(ctx, &transport.Outgoing{Raw: raw, Fields: fields})
	if r.Fault != nil && ctx.Err() == nil {
		c.addFinding(
			wire.Warning,
			"answer_refused",
			"the server requested "+m.Method+" and did not accept the response: "+r.Fault.Text,
		)
	}
}

// sessionStateAfter judges a reply by its HTTP status. 404 to a request with a session id means
// that the session has expired (basic/transports, "Session Management"), unless the body answers
// the request itself. Other refusals without a request id, such as 400 from servers that follow the
// TypeScript SDK's example, only make the session suspect.
func (e *legacy) sessionStateAfter(r reply, unconfirmed bool) sessionState {
	if unconfirmed && isModernError(r.Message) {
		return sessionExpired
	}
	if r.HTTP == nil {
		return sessionValid
	}
	if e.sessionID() != "" && r.HTTP.Status == http.StatusNotFound {
		return stateAfterNotFound(r.Message)
	}
	hasSession := e.sessionID() != ""
	if (unconfirmed || hasSession) && lacksRequestID(r) {
		return sessionSuspect
	}
	if hasSession && mayRefuseSession(r) {
		return sessionSuspect
	}
	return sessionValid
}

// stateAfterNotFound judges the body of a 404 in a session. m is nil if the body is not a message.
func stateAfterNotFound(m *wire.Message) sessionState {
	ended, sure := mcp.EndsSession(m)
	if !sure {
		return sessionSuspect
	}
	if ended {
		return sessionExpired
	}
	return sessionValid
}

// mayRefuseSession reports whether an error with the request's id may be about the session.
func mayRefuseSession(r reply) bool {
	isInvalidRequest := r.Message != nil && r.Message.Error != nil && r.Message.Error.Code == codeInvalidRequest
	return wire.IsRefusal(r.HTTP.Status) && (hasVagueCode(r.Message) || isInvalidRequest)
}

// codeInvalidRequest is the JSON-RPC code for "invalid request".
const codeInvalidRequest = -32600

// codeNoResource is the code for "resource not found" up to 2025-11-25.
const codeNoResource = -32002

// lacksRequestID reports whether the server refused a request without naming its id.
func lacksRequestID(r reply) bool {
	return wire.IsRefusal(r.HTTP.Status) && (r.Message == nil || !r.Message.HasID())
}

// isSessionValid sends a ping. A response with the ping's id means that the server knows the session. A
// server that does not know the session refuses all requests alike; so in a confirmed session, a
// ping that is refused differently from refusal means that the refusal was about its own request.
func (e *legacy) isSessionValid(ctx context.Context, c *connection, refusal *reply, unconfirmed bool) bool {
	r := c.request(ctx, e, &Call{Method: "ping"}, c.s.opt.Limits.Idle)
	isRefused := r.HTTP != nil && r.HTTP.Status/100 != 2
	isRefusedAlike := refusal != nil && isRefused && isSameRefusal(*refusal, r)
	if isModernError(r.Message) || isRefusedAlike {
		return false
	}
	if isRefused && !unconfirmed {
		return true
	}
	return r.Message != nil && r.Message.HasID()
}

// isSameRefusal reports whether two requests were refused with the same HTTP status, and with the
// same error or body. b has an HTTP response; a has no HTTP response over a different transport.
func isSameRefusal(a, b reply) bool {
	if a.HTTP == nil || a.HTTP.Status != b.HTTP.Status {
		return false
	}
	if a.Message != nil && b.Message != nil && a.Message.Error != nil && b.Message.Error != nil {
		return a.Message.Error.Code == b.Message.Error.Code && a.Message.Error.Message == b.Message.Error.Message
	}
	return bytes.Equal(a.HTTP.Body, b.HTTP.Body)
}

// cancel sends notifications/cancelled. It is not called for initialize, which must not be cancelled
// (basic/utilities/cancellation).
func (e *legacy) cancel(c *connection, out *outgoing) { sendCancelled(c, out, e.headerFields()) }

// sendCancelled sends notifications/cancelled for a request. It waits at most graceForCancel, and
// ignores errors: the request is over for the client in any case.
func sendCancelled(c *connection, out *outgoing, fields []wire.Field) {
	ctx, stop := context.WithTimeout(context.Background(), graceForCancel)
	defer stop()
	params := `{"requestId":` + string(out.ID) + `,"reason":"cancelled by the user or a timeout"}`
	c.transport().Send(
		ctx,
		&transport.Outgoing{
			Raw:    wire.ComposeNotification("notifications/cancelled", json.RawMessage(params)),
			Fields: fields,
		},
	)
}

// graceForCancel bounds the wait after Ctrl-C. graceForAnswer bounds the sending of an
// answer to the server.
const (
	graceForCancel = 500 * time.Millisecond
	graceForAnswer = 10 * time.Second
)

// endSession sends the HTTP DELETE that ends a session. It does nothing over other transports, or if
// the server assigned no session id.
func (e *legacy) endSession(ctx context.Context, c *connection) {
	httpTransport, ok := c.transport().(*transport.HTTP)
	if !ok || e.sessionID() == "" {
		return
	}
	ctx, stop := context.WithTimeoutCause(
		ctx,
		transport.SessionEndGrace,
		transport.TimeoutError{What: "no response", After: transport.SessionEndGrace},
	)
	defer stop()
	httpTransport.DeleteSession(ctx, &transport.Outgoing{Fields: e.headerFields()}, c.s.opt.LeaveSoon)
}
