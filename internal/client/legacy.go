package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
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
	agreed string
	// session is the Mcp-Session-Id; "" where the server gave none.
	session string
	// said are the capabilities that were declared when it was opened.
	said json.RawMessage
}

func (e *legacy) revision() string { return e.now().agreed }

func (e *legacy) sessionID() string { return e.now().session }

func (e *legacy) declared() json.RawMessage { return e.now().said }

// batches: arrays are a part of 2025-03-26, were never excluded before it, and
// are gone since (2025-06-18 changelog).
func (e *legacy) batches() bool { return e.revision() < rev2506 }

// open offers one revision and takes the one the server answers with. When the
// server refuses the offer and names others, the best of those is offered once.
func (e *legacy) open(ctx context.Context, c *talk) wire.Outcome {
	o := e.initialize(ctx, c)
	if other := otherOffer(c, e.offered, o); other != "" {
		e.offered = other
		o = e.initialize(ctx, c)
	}
	if !o.Good() {
		return o
	}
	call := &Call{Method: "notifications/initialized"}
	r := c.post(ctx, &Outgoing{method: call.Method, raw: wire.ComposeNotification(call.Method, nil), fields: e.fields()})
	if refused := c.outcome(e, call, r); !refused.Good() {
		return refused
	}
	return o
}

// otherOffer is another revision to offer after a refusal, or "". A server that
// names a stateless one is better spoken to without a handshake.
func otherOffer(c *talk, offered string, o wire.Outcome) string {
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
func (e *legacy) initialize(ctx context.Context, c *talk) wire.Outcome {
	capabilities := withTasks(c.s.opt.Capabilities, e.offered)
	e.update(func(a *agreement) { *a = agreement{said: capabilities} })
	params := `{"protocolVersion":` + string(jsonraw.Quote(e.offered)) + `,"capabilities":` + string(capabilities) +
		`,"clientInfo":` + string(implementation(c.s.opt.Version)) + `}`
	call := &Call{Method: "initialize", Params: json.RawMessage(params)}
	id := c.s.nextID()
	out := &outgoing{Outgoing: Outgoing{raw: wire.ComposeRequest(id, call.Method, call.Params), id: id, method: call.Method,
		resumable: true, batches: true}, lasting: true}
	given := ""
	out.headed = func(h http.Header) {
		given = h.Get("Mcp-Session-Id")
		if visibleASCII(given) {
			e.update(func(a *agreement) { *a = agreement{session: given, said: capabilities} })
			out.fields = e.fields()
		}
	}
	o := c.outcome(e, call, c.exchange(ctx, e, out, c.s.opt.Limits.Idle))
	if !o.Good() {
		return o
	}
	return e.accept(c, o, given)
}

// accept reads the server's side of the handshake.
func (e *legacy) accept(c *talk, o wire.Outcome, session string) wire.Outcome {
	members, _ := jsonraw.Object(o.Result)
	version, _ := members.Get("protocolVersion")
	agreed, _ := jsonraw.Text(version)
	switch {
	case version == nil || string(version) == `""`:
		return ended(o, wire.BadResponse, "the response to initialize has no protocolVersion")
	case agreed == "":
		return ended(o, wire.BadResponse, "the protocolVersion in the response to initialize is not a string: "+jsonraw.Excerpt(version, 40))
	}
	if !visibleASCII(session) {
		return ended(o, wire.BadResponse, "the server's session id is not visible ASCII, or too long")
	}
	e.update(func(a *agreement) { a.agreed, a.session = agreed, session })
	c.update(func(f *facts) { f.info = infoOf(members) })
	pinned := c.s.opt.Protocol
	switch {
	case agreed == rev2024Draft:
		c.found(wire.Info, "revision", "the server speaks the pre-release "+rev2024Draft)
	case slices.Contains(revisions, agreed) && Stateless(agreed):
		return ended(o, wire.RPCFailed, "the server answered initialize with revision "+agreed+", which has no initialize")
	case !slices.Contains(revisions, agreed):
		return ended(o, wire.RPCFailed, "the server answered initialize with revision "+agreed+"; mcpc speaks "+list(revisions))
	case pinned != "" && agreed != pinned:
		return ended(o, wire.RPCFailed, "the server speaks "+agreed+", but --protocol requested "+pinned)
	}
	return o
}

// rev2024Draft is a pre-release tag that old servers still answer with; it is
// spoken like 2024-11-05.
const rev2024Draft = "2024-10-07"

func infoOf(members jsonraw.Members) Info {
	var info Info
	info.ServerInfo, _ = members.Get("serverInfo")
	info.Capabilities, _ = members.Get("capabilities")
	info.Instructions = members.Text("instructions")
	return info
}

// visibleASCII is the grammar of a session id (basic/transports, "Session
// Management"): 0x21 to 0x7E. A length is not given there; 4 KiB is generous.
func visibleASCII(id string) bool {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7E {
			return false
		}
	}
	return len(id) <= 4096
}

func (e *legacy) fields() []wire.Field {
	now := e.now()
	var fields []wire.Field
	if now.agreed >= rev2506 {
		fields = append(fields, wire.Field{Name: "MCP-Protocol-Version", Value: now.agreed})
	}
	if now.session != "" {
		fields = append(fields, wire.Field{Name: "Mcp-Session-Id", Value: now.session})
	}
	return fields
}

func (e *legacy) ear() func() []wire.Field { return e.fields }

// stamp. A request that is augmented to a task must not be cancelled with the
// notification (2025-11-25 basic/utilities/tasks).
func (e *legacy) stamp(_ *talk, call *Call, out *outgoing) {
	out.fields, out.resumable, out.batches = e.fields(), true, e.batches()
	wish(call)
	out.lasting = isTaskMethod(call.Method) || jsonraw.First(call.Params, "task") != nil
	if call.Progress {
		call.Params = withMeta(call.Params, jsonraw.Member{Name: "progressToken", Value: out.id})
	}
}

func (e *legacy) settle(call *Call, response *wire.Message) (wire.Kind, string) {
	members, err := response.ResultMembers()
	if err != nil {
		return noObject(response)
	}
	if _, problem, ok := e.taskIn(call, members); problem != "" {
		return wire.BadResponse, problem
	} else if ok {
		return wire.OK, ""
	}
	method := call.Method
	if method == "tasks/result" {
		method = "tools/call" // "exactly what the underlying request would have returned"
	}
	kind, text := settleResult(method, members)
	// Until 2025-11-25 structuredContent is an object; any other JSON came with the
	// revision after it (server/tools, "Structured Content").
	value, ok := members.Get("structuredContent")
	if kind == wire.OK && method == "tools/call" && ok && value[0] != '{' {
		return wire.BadResponse, "structuredContent must be an object in this revision, got " + jsonraw.Excerpt(value, 40)
	}
	return kind, text
}

// asked answers away from the line: ping and what is about tasks at once, what
// was declared when it is known what to say, and everything else with a refusal.
func (e *legacy) asked(c *talk, m *wire.Message) {
	o := e.offer()
	code, what := o.forbids(m.Method, m.Params)
	why := broken(m.Method, m.Params)
	reply := func(ctx context.Context) []byte { return responder{c}.put(ctx, m) }
	sent := func() {}
	switch {
	case m.Method == "ping":
		reply = func(context.Context) []byte { return wire.ComposeResult(m.ID, json.RawMessage("{}")) }
	case code != 0:
		reply = func(context.Context) []byte { return wire.ComposeError(m.ID, code, refusal(code, what)) }
		c.found(wire.Info, "undeclared", fmt.Sprintf("the server requested %s, which was not declared; it was rejected with %d", what, code))
	case why != "":
		reply = func(context.Context) []byte { return wire.ComposeError(m.ID, -32602, "Invalid params: "+why) }
		c.found(wire.Warning, "sampling", "the server's "+m.Method+" was rejected with -32602: "+why)
	case m.Method == "roots/list":
		sent = c.rootsAsked()
	case isTaskMethod(m.Method):
		reply = func(ctx context.Context) []byte { return responder{c}.aboutErrand(ctx, m) }
	case o.becomesTask(m):
		reply = func(ctx context.Context) []byte {
			return responder{c}.errand(ctx, m, func(raw []byte) { answerRequest(ctx, c, m, raw, e.fields()) })
		}
	}
	if !c.s.answers.start(func(ctx context.Context) {
		defer sent()
		answerRequest(ctx, c, m, reply(ctx), e.fields())
	}) {
		sent()
		c.found(wire.Warning, "server_request", "the server sends requests faster than it reads responses; "+m.Method+" was not answered")
	}
}

// refusal is the message of an error: a capability that was not declared is a
// method that does not exist (client/roots, "Error Handling").
func refusal(code int64, what string) string {
	name := map[int64]string{-32601: "Method not found", -32602: "Invalid params"}[code]
	return name + ": the client declared no capability for " + what
}

// answerRequest sends what is to be said; nothing where the question was withdrawn.
func answerRequest(ctx context.Context, c *talk, m *wire.Message, raw []byte, fields []wire.Field) {
	if raw == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, graceForAnswer)
	defer stop()
	r := c.line().send(ctx, &Outgoing{raw: raw, fields: fields})
	if r.fault != nil && ctx.Err() == nil {
		c.found(wire.Warning, "answer_refused", "the server requested "+m.Method+" and did not accept the response: "+r.fault.text)
	}
}

// judge: "404 Not Found" to a request that carried a session id ends the session
// (basic/transports, "Session Management"), unless the server answers the very
// request. Some servers say 400 and name no request: on the first request of a
// conversation that an earlier run opened that may mean the same.
func (e *legacy) judge(r reply, untried bool) standing {
	switch {
	case untried && modernEvidence(r.message):
		return forgotten
	case r.http == nil:
		return good
	case e.sessionID() != "" && r.http.Status == http.StatusNotFound:
		return notFound(r.message)
	case untried && namesNoRequest(r):
		return doubtful
	}
	return good
}

// notFound judges what came with a 404 within a session. Servers say that they do
// not know the session with -32600 or a code of their own making, some by the
// request's id. What else bears that id is meant for the request.
func notFound(m *wire.Message) standing {
	switch {
	case m == nil || m.Error == nil || noID(m):
		return forgotten
	case slices.Contains([]int64{-32601, -32602, codeInternal, codeNoResource}, m.Error.Code):
		return good
	case m.Error.Code == -32600 || -32099 <= m.Error.Code && m.Error.Code <= -32000:
		return forgotten
	}
	return doubtful
}

// codeNoResource was "resource not found" up to 2025-11-25.
const codeNoResource = -32002

// namesNoRequest reports a refusal that does not say of which request.
func namesNoRequest(r reply) bool {
	return isRefusal(r.http.Status) && (r.message == nil || noID(r.message))
}

// alive asks with a ping: whatever answers it by its id knows the session.
func (e *legacy) alive(ctx context.Context, c *talk) bool {
	r := c.request(ctx, e, &Call{Method: "ping"}, c.s.opt.Limits.Idle)
	return r.message != nil && !noID(r.message) && !modernEvidence(r.message)
}

// cancel sends notifications/cancelled. (initialize, which must never be
// cancelled, is sent as lasting: basic/utilities/cancellation.)
func (e *legacy) cancel(c *talk, out *outgoing) { sendCancelled(c, out, e.fields()) }

func sendCancelled(c *talk, out *outgoing, fields []wire.Field) {
	ctx, stop := context.WithTimeout(context.Background(), graceForCancel)
	defer stop()
	params := `{"requestId":` + string(out.id) + `,"reason":"cancelled by the user or a timeout"}`
	c.line().send(ctx, &Outgoing{raw: wire.ComposeNotification("notifications/cancelled", json.RawMessage(params)), fields: fields})
}

// graceForCancel bounds what a Ctrl-C waits for; graceForAnswer how long a
// server may take to receive an answer it asked for.
const (
	graceForCancel = 500 * time.Millisecond
	graceForAnswer = 10 * time.Second
)

func (e *legacy) end(ctx context.Context, c *talk) {
	line, ok := c.line().(*httpTransport)
	if !ok || e.sessionID() == "" {
		return
	}
	ctx, stop := context.WithTimeoutCause(ctx, graceForEnd, timeoutError{what: "no response", after: graceForEnd})
	defer stop()
	line.end(ctx, &Outgoing{fields: e.fields()})
}
