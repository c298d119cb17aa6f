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

// legacy is the era of the handshake: initialize, then notifications/initialized,
// then requests within a session (2025-11-25 basic/lifecycle).
type legacy struct {
	offered string

	guarded[agreement]
}

// An agreement is what a handshake came to.
type agreement struct {
	// agreed is what the server answered with; "" until then.
	revision string
	// session is the Mcp-Session-Id; "" where the server gave none.
	sessionID string
	// said are the capabilities that were declared when it was opened.
	declared json.RawMessage
}

func (e *legacy) revision() string { return e.load().revision }

func (e *legacy) sessionID() string { return e.load().sessionID }

func (e *legacy) declared() json.RawMessage { return e.load().declared }

// batches: arrays are a part of 2025-03-26, were never excluded before it, and
// are gone since (2025-06-18 changelog).
func (e *legacy) batches() bool { return e.revision() < rev2506 }

// open offers one revision and takes the one the server answers with. When the
// server refuses the offer and names others, the best of those is offered once.
func (e *legacy) open(ctx context.Context, c *connection) wire.Outcome {
	o := e.initialize(ctx, c)
	if other := alternativeRevision(c, e.offered, o); other != "" {
		e.offered = other
		o = e.initialize(ctx, c)
	}
	if !o.Good() {
		return o
	}
	call := &Call{Method: "notifications/initialized"}
	r := c.sendOneWay(
		ctx,
		&transport.Outgoing{Method: call.Method, Raw: wire.ComposeNotification(call.Method, nil), Fields: e.headerFields()},
	)
	if refused := c.outcome(e, call, r); !refused.Good() {
		return refused
	}
	return o
}

// otherOffer is another revision to offer after a refusal, or "". A server that
// names a stateless one is better spoken to without a handshake.
func alternativeRevision(c *connection, offered string, o wire.Outcome) string {
	theirs := supportedIn(o.RPC())
	if o.Kind != wire.RPCFailed || c.s.opt.Protocol != "" || newest(theirs, Stateless) != "" {
		return ""
	}
	if other := newest(theirs, handshake); other != offered {
		return other
	}
	return ""
}

// initialize sends the offer. The session id holds from the head of the answer
// on: what has to be sent while its body is read belongs to the session.
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
		Outgoing: transport.Outgoing{Raw: wire.ComposeRequest(id, call.Method, call.Params), ID: id, Method: call.Method,
			Resumable: true, Batches: true},
		lasting: true,
	}
	sessionID := ""
	out.Headed = func(h http.Header) {
		sessionID = h.Get("Mcp-Session-Id")
		if isSessionID(sessionID) {
			e.update(func(a *agreement) { *a = agreement{sessionID: sessionID, declared: capabilities} })
			out.Fields = e.headerFields()
		}
	}
	o := c.outcome(e, call, c.exchange(ctx, e, out, c.s.opt.Limits.Idle))
	if !o.Good() {
		return o
	}
	return e.acceptResult(c, o, sessionID)
}

// accept reads the server's side of the handshake.
func (e *legacy) acceptResult(c *connection, o wire.Outcome, session string) wire.Outcome {
	members, _ := jsonraw.Object(o.Result)
	version, _ := members.Get("protocolVersion")
	agreed, _ := jsonraw.Text(version)
	if version == nil || string(version) == `""` {
		return withFailure(o, wire.BadResponse, "the response to initialize has no protocolVersion")
	}
	if agreed == "" {
		return withFailure(
			o,
			wire.BadResponse,
			"the protocolVersion in the response to initialize is not a string: "+jsonraw.Excerpt(version, 40),
		)
	}
	if !isSessionID(session) {
		return withFailure(o, wire.BadResponse, "the server's session id is not visible ASCII, or too long")
	}
	e.update(func(a *agreement) {
		a.revision = agreed
		a.sessionID = session
	})
	c.update(func(f *connectionState) { f.info = parseInfo(members) })
	pinned := c.s.opt.Protocol
	switch {
	case agreed == rev2024Draft:
		c.addFinding(wire.Info, "revision", "the server speaks the pre-release "+rev2024Draft)
	case slices.Contains(revisions, agreed) && Stateless(agreed):
		return withFailure(o, wire.RPCFailed, "the server answered initialize with revision "+agreed+", which has no initialize")
	case !slices.Contains(revisions, agreed):
		return withFailure(
			o,
			wire.RPCFailed,
			"the server answered initialize with revision "+agreed+"; mcpc speaks "+joinOrNone(revisions),
		)
	case pinned != "" && agreed != pinned:
		o.Hint = wire.Hint("--protocol " + agreed + " asks for this revision")
		return withFailure(o, wire.RPCFailed, "the server speaks "+agreed+", but --protocol requested "+pinned)
	}
	return o
}

// rev2024Draft is a pre-release tag that old servers still answer with; it is
// spoken like 2024-11-05.
const rev2024Draft = "2024-10-07"

func parseInfo(members jsonraw.Members) Info {
	var info Info
	info.ServerInfo = mcp.ServerInfo(members)
	info.Capabilities = withoutNulls(members.Value("capabilities"))
	info.Instructions = members.Text("instructions")
	return info
}

// withoutNulls returns capabilities without those that are null, which servers write for absent.
func withoutNulls(capabilities json.RawMessage) json.RawMessage {
	members, err := jsonraw.Object(capabilities)
	isNull := func(m jsonraw.Member) bool { return string(m.Value) == "null" }
	if err != nil || !slices.ContainsFunc(members, isNull) {
		return capabilities
	}
	return jsonraw.Append(json.RawMessage("{}"), slices.DeleteFunc(members, isNull)...)
}

// visibleASCII is the grammar of a session id (basic/transports, "Session
// Management"): 0x21 to 0x7E. A length is not given there; 4 KiB is generous.
func isSessionID(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7E {
			return false
		}
	}
	return len(id) <= 4096
}

func (e *legacy) headerFields() []wire.Field {
	now := e.load()
	var fields []wire.Field
	if now.revision >= rev2506 {
		fields = append(fields, wire.Field{Name: "Mcp-Protocol-Version", Value: now.revision})
	}
	if now.sessionID != "" {
		fields = append(fields, wire.Field{Name: "Mcp-Session-Id", Value: now.sessionID})
	}
	return fields
}

func (e *legacy) getStream() func() []wire.Field { return e.headerFields }

// stamp. A request that is augmented to a task must not be cancelled with the
// notification (2025-11-25 basic/utilities/tasks).
func (e *legacy) stamp(_ *connection, call *Call, own *params, out *outgoing) []jsonraw.Member {
	out.Fields = e.headerFields()
	out.Resumable = true
	out.Batches = e.batches()
	if call.Task != nil && own.members.Value("task") == nil {
		own.add("task", call.Task.params())
	}
	out.lasting = mcp.IsTaskMethod(call.Method) || own.members.Value("task") != nil
	return nil
}

func (e *legacy) validateResult(call *Call, response *wire.Message) (wire.Kind, string) {
	members, err := response.ResultMembers()
	if err != nil {
		return notAnObject(response)
	}
	if _, problem, ok := e.readTask(call, members); problem != "" {
		return wire.BadResponse, problem
	} else if ok {
		return wire.OK, ""
	}
	method := call.Method
	if method == "tasks/result" {
		method = "tools/call" // "exactly what the underlying request would have returned"
	}
	return validateCompleteResult(method, members)
}

// takeRequest answers away from the line: ping and what is about tasks at once, what
// was declared when it is known what to say, and everything else with a refusal.
func (e *legacy) handleRequest(c *connection, m *wire.Message) {
	o := e.support()
	code, what := o.rejection(m.Method, m.Params)
	why := invalidSampling(m.Method, m.Params)
	reply := func(ctx context.Context) []byte { return c.composeAnswer(ctx, m) }
	sent := func() {}
	switch {
	case m.Method == "ping":
		reply = func(context.Context) []byte { return wire.ComposeResult(m.ID, json.RawMessage("{}")) }
	case code != 0:
		reply = func(context.Context) []byte { return wire.ComposeError(m.ID, code, rejectionText(code, what)) }
		c.s.pending.noteUnanswered(&unanswered{undeclared: m.Method})
		c.addFinding(
			wire.Info,
			wire.Undeclared,
			fmt.Sprintf("the server requested %s, which was not declared; it was rejected with %d", what, code),
		)
	case why != "":
		reply = func(context.Context) []byte { return wire.ComposeError(m.ID, -32602, "Invalid params: "+why) }
		c.addFinding(wire.Warning, "sampling", "the server's "+m.Method+" was rejected with -32602: "+why)
	case m.Method == "roots/list":
		sent = c.noteRootsRequest()
	case mcp.IsTaskMethod(m.Method):
		reply = func(ctx context.Context) []byte { return c.answerTaskRequest(ctx, m) }
	case o.wantsTask(m):
		reply = func(ctx context.Context) []byte {
			return c.runAsTask(ctx, m, func(raw []byte) { sendAnswer(ctx, c, m, raw, e.headerFields()) })
		}
	}
	if !c.s.answerTasks.start(func(ctx context.Context) {
		defer sent()
		sendAnswer(ctx, c, m, reply(ctx), e.headerFields())
	}) {
		sent()
		c.addFinding(
			wire.Warning,
			"server_request",
			"the server sends requests faster than it reads responses; "+m.Method+" was not answered",
		)
	}
}

// refusal is the message of an error: a capability that was not declared is a
// method that does not exist (client/roots, "Error Handling").
func rejectionText(code int64, what string) string {
	name := map[int64]string{-32601: "Method not found", -32602: "Invalid params"}[code]
	return name + ": the client declared no capability for " + what
}

// answerRequest sends what is to be said; nothing where the question was withdrawn.
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

// judge: "404 Not Found" to a request that carried a session id ends the session
// (basic/transports, "Session Management"), unless the server answers the very
// request. Some servers, those made from the TypeScript SDK's example among them, say 400 and
// name no request: that may mean the same.
func (e *legacy) sessionStateAfter(r reply, unconfirmed bool) sessionState {
	switch {
	case unconfirmed && isModernError(r.Message):
		return expired
	case r.HTTP == nil:
		return valid
	case e.sessionID() != "" && r.HTTP.Status == http.StatusNotFound:
		return stateAfterNotFound(r.Message)
	case (unconfirmed || e.sessionID() != "") && lacksRequestID(r), e.sessionID() != "" && mayRefuseSession(r):
		return suspect
	}
	return valid
}

// notFound judges what came with a 404 within a session. Servers say that they do
// not know the session with -32600 or a code of their own making, some by the
// request's id. What else bears that id is meant for the request.
func stateAfterNotFound(m *wire.Message) sessionState {
	if m == nil || m.Error == nil || transport.NoID(m) {
		return expired
	}
	if slices.Contains([]int64{-32601, -32602, codeInternal, codeNoResource}, m.Error.Code) {
		return valid
	}
	if m.Error.Code == codeInvalidRequest || -32099 <= m.Error.Code && m.Error.Code <= -32000 {
		return expired
	}
	return suspect
}

// mayRefuseSession reports a refusal by the request's id that may be about the session.
func mayRefuseSession(r reply) bool {
	return transport.IsRefusal(r.HTTP.Status) && (hasVagueCode(r.Message) ||
		r.Message != nil && r.Message.Error != nil && r.Message.Error.Code == codeInvalidRequest)
}

// codeInvalidRequest is JSON-RPC's "invalid request".
const codeInvalidRequest = -32600

// codeNoResource was "resource not found" up to 2025-11-25.
const codeNoResource = -32002

// namesNoRequest reports a refusal that does not say of which request.
func lacksRequestID(r reply) bool {
	return transport.IsRefusal(r.HTTP.Status) && (r.Message == nil || transport.NoID(r.Message))
}

// alive asks with a ping: a server that answers it by its id knows the session. A server that
// does not know the session refuses all requests alike. In a session that has been answered, a
// ping that is refused in another way than the request means that each refusal is about its
// own request.
func (e *legacy) stillValid(ctx context.Context, c *connection, refusal *reply, unconfirmed bool) bool {
	r := c.request(ctx, e, &Call{Method: "ping"}, c.s.opt.Limits.Idle)
	isRefused := r.HTTP != nil && r.HTTP.Status/100 != 2
	if isModernError(r.Message) || refusal != nil && isRefused && isSameRefusal(*refusal, r) {
		return false
	}
	if isRefused && !unconfirmed {
		return true
	}
	return r.Message != nil && !transport.NoID(r.Message)
}

// sameRefusal reports whether two requests were refused with the same status, and the same
// error or body.
func isSameRefusal(a, b reply) bool {
	if a.HTTP == nil || a.HTTP.Status != b.HTTP.Status {
		return false
	}
	if a.Message != nil && b.Message != nil && a.Message.Error != nil && b.Message.Error != nil {
		return a.Message.Error.Code == b.Message.Error.Code && a.Message.Error.Message == b.Message.Error.Message
	}
	return bytes.Equal(a.HTTP.Body, b.HTTP.Body)
}

// cancel sends notifications/cancelled. (initialize, which must never be
// cancelled, is sent as lasting: basic/utilities/cancellation.)
func (e *legacy) cancel(c *connection, out *outgoing) { sendCancelled(c, out, e.headerFields()) }

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

// graceForCancel bounds what a Ctrl-C waits for; graceForAnswer how long a
// server may take to receive an answer it asked for.
const (
	graceForCancel = 500 * time.Millisecond
	graceForAnswer = 10 * time.Second
)

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
