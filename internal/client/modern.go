package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// modern is the era without a handshake: every request names its revision, the
// client's capabilities and who it is, in _meta, and by HTTP once more in the
// header (2026-07-28 basic/index, "Per-request metadata").
type modern struct{ version string }

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
)

// The error codes of 2026-07-28, and the number that -32022 had before its
// release.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
	codeDraftVersion       = -32004
)

// modernCodes are the codes that no server of the other era gives.
var modernCodes = []int64{codeHeaderMismatch, codeMissingCapability, codeUnsupportedVersion}

func (e *modern) revision() string { return e.version }

func (e *modern) batches() bool { return false }

func (e *modern) getStream() func() []wire.Field { return nil }

// open asks server/discover. No server needs to be asked first; it is how a
// person learns who answers.
func (e *modern) open(ctx context.Context, c *connection) wire.Outcome {
	call := &Call{Method: "server/discover"}
	o := c.outcome(e, call, c.request(ctx, e, call, c.s.opt.Limits.Idle))
	if o.Good() {
		e.learn(c, o.Result)
	}
	return o
}

// learn reads a DiscoverResult.
func (e *modern) learn(c *connection, result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	info := parseInfo(members)
	c.update(func(f *connectionState) { f.info = info })
}

// stamp returns the members of _meta, and gives out the header fields that repeat the body. The header follows what the
// caller wrote into _meta: the two must be equal (2026-07-28 basic/transports/streamable-http, "Standard headers").
func (e *modern) stamp(c *connection, call *Call, own *params, out *outgoing) []jsonraw.Member {
	out.lasting = mcp.IsTaskMethod(call.Method)
	version := e.version
	if text := own.meta.Text(metaVersion); text != "" && mcp.IsPlainHeader(text) {
		version = text
	}
	out.Fields = []wire.Field{{Name: "Mcp-Protocol-Version", Value: version}, {Name: "Mcp-Method", Value: call.Method}}
	if name, ok := own.name(call.Method); ok && !own.isBroken {
		out.Fields = append(out.Fields, wire.Field{Name: "Mcp-Name", Value: mcp.EncodeHeader(name)})
	}
	if call.Schema != nil {
		out.Fields = append(out.Fields, mcp.HeaderFields(call.Schema, own.members.Value("arguments"))...)
	}
	opt := &c.s.opt
	extensions := opt.Extensions
	if call.Task != nil ||
		mcp.IsTaskMethod(call.Method) { // "clients MUST declare" it on each request that may give a task
		extensions = append(slices.Clone(extensions), mcp.TasksExtension)
	}
	marks := []jsonraw.Member{
		{Name: metaVersion, Value: jsonraw.Quote(e.version)},
		{Name: metaClientInfo, Value: opt.clientInfo},
		{Name: metaCapabilities, Value: withExtensions(opt.Capabilities, extensions)},
	}
	if opt.LogLevel != "" {
		marks = append(marks, jsonraw.Member{Name: metaLogLevel, Value: jsonraw.Quote(opt.LogLevel)})
	}
	return marks
}

// withExtensions returns capabilities with the extensions that they lack.
func withExtensions(capabilities json.RawMessage, ids []string) json.RawMessage {
	if len(ids) == 0 {
		return capabilities
	}
	extensions := jsonraw.First(capabilities, "extensions")
	for _, id := range ids {
		if jsonraw.First(extensions, id) == nil {
			extensions = jsonraw.With(extensions, id, json.RawMessage("{}"))
		}
	}
	return jsonraw.With(capabilities, "extensions", extensions)
}

// settle reads resultType: absent means complete; what was not declared, or may
// not stand here, is an invalid result (2026-07-28 basic/index, "Result types").
func (e *modern) validateResult(call *Call, response *wire.Message) (wire.Kind, string) {
	members, err := response.ResultMembers()
	if err != nil {
		return notAnObject(response)
	}
	raw, ok := members.Get("resultType")
	kind, _ := jsonraw.Text(raw)
	if kind == "task" || call.Method == "tasks/get" {
		_, problem, isTask := e.readTask(call, members)
		if problem != "" {
			return wire.BadResponse, problem
		}
		if isTask {
			return wire.OK, ""
		}
	}
	if !ok || kind == "complete" {
		return validateCompleteResult(call.Method, members)
	}
	if wire.AsksForInput(response.Result) && mcp.MayRequireInput(call.Method) {
		return validateInputRequired(members)
	}
	return wire.BadResponse, "the result's type is " + jsonraw.Excerpt(
		raw,
		40,
	) + ", which was not declared and is not allowed here"
}

// mayBeAsked are the requests that may stand in an input_required result.
var inputMethods = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// settleQuestion: a server that needs input must say what, or give a state to
// come back with (2026-07-28 basic/patterns/mrtr).
func validateInputRequired(result jsonraw.Members) (wire.Kind, string) {
	asks, ok := result.Get("inputRequests")
	if _, state := result.Get("requestState"); !ok && !state {
		return wire.BadResponse, "the result is input_required and has neither inputRequests nor requestState"
	}
	requests, err := jsonraw.Object(asks)
	if ok && err != nil {
		return wire.BadResponse, "inputRequests is not an object: " + jsonraw.Excerpt(asks, 40)
	}
	for _, r := range requests {
		method := jsonraw.First(r.Value, "method")
		switch name, _ := jsonraw.Text(method); {
		case method == nil:
			return wire.BadResponse, "the input request " + r.Name + " has no method"
		case !slices.Contains(inputMethods, name):
			return wire.BadResponse, "the input request " + r.Name + " requests " + cmp.Or(
				name,
				jsonraw.Excerpt(method, 40),
			) + ", which is not allowed"
		}
	}
	return wire.InputRequired, "the server requires input to continue (resultType is input_required)"
}

// takeRequest: a server of this era may not ask, and a client must not answer
// (2026-07-28 basic/transports/stdio).
func (e *modern) handleRequest(c *connection, m *wire.Message) {
	c.addFinding(
		wire.Warning,
		"server_request",
		"the server sent a request, "+m.Method+", which this revision forbids; it was not answered",
	)
}

// asksAsBefore reports a failure of which the server says that it wanted to send a
// request of its own, which this era has no more: the first is what mcp-go says, the
// second the TypeScript SDK.
func failedToAsk(m *wire.Message) bool {
	said := bytes.ToLower(m.Raw)
	return bytes.Contains(said, []byte("server-initiated requests are not")) ||
		bytes.Contains(said, []byte("server-to-client requests are not"))
}

// judge: there is no conversation to forget, only a revision that an earlier run
// found and that may no longer hold. A server that now wants a handshake refuses a
// request unread: with a status, or with an error that names the request. 404 beside
// -32601 is how this era itself refuses a method.
func (e *modern) sessionStateAfter(r reply, unconfirmed bool) sessionState {
	if !unconfirmed || r.Message == nil && r.HTTP == nil {
		return valid
	}
	code := int64(0)
	if r.Message != nil && r.Message.Error != nil {
		code = r.Message.Error.Code
	}
	switch {
	case code == codeUnsupportedVersion:
		return expired
	case r.HTTP == nil:
	case lacksRequestID(r), code == -32600, code == -32601 && r.HTTP.Status != http.StatusNotFound:
		return suspect
	}
	return valid
}

// alive asks server/discover: a server that lists the revision speaks it. Any other
// answer is the one that the next conversation begins with.
func (e *modern) stillValid(ctx context.Context, c *connection, _ *reply, _ bool) bool {
	r := c.request(ctx, e, &Call{Method: "server/discover"}, c.s.opt.Limits.Idle)
	found := classifyProbe(r, false)
	if found.kind == speaksModern && found.revision == e.version {
		return true
	}
	if found.kind != giveUp {
		c.update(func(f *connectionState) { f.probeReply = &r })
	}
	return false
}

// cancel: by HTTP closing the stream is the cancellation, and the transport
// does that; over stdio it is a notification (2026-07-28
// basic/patterns/cancellation).
func (e *modern) cancel(c *connection, out *outgoing) {
	if c.transport().Name() == transport.Stdio {
		sendCancelled(c, out, nil)
	}
}

func (e *modern) endSession(context.Context, *connection) {}

func (e *modern) sessionID() string { return "" }

func (e *modern) declared() json.RawMessage { return nil }

// probing is the era of a probe: a server that does not answer it may be one
// that takes nothing but initialize, so that nothing is cancelled.
type probing struct{ *modern }

// cancel notes that the answer may still come, and is then not reported.
func (probing) cancel(c *connection, out *outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandonedProbe = string(out.ID)
}

// modernEvidence reports an error that only a server of this era gives.
func isModernError(m *wire.Message) bool {
	return m != nil && m.Error != nil &&
		(m.Error.Code == codeUnsupportedVersion || m.Error.Code == codeHeaderMismatch)
}

// takeVersion changes to another revision that the server named when it refused
// one, even to the same one again, but once only (2026-07-28 basic/versioning).
// What is refused so was not read.
func (c *connection) switchVersion(e *wire.RPCError) bool {
	pinned := c.s.opt.Protocol
	if e == nil || e.Code != codeUnsupportedVersion || !Stateless(c.revision()) {
		return false
	}
	revision := newest(supportedIn(e), func(r string) bool {
		return Stateless(r) && (pinned == "" || r == pinned)
	})
	switched := false
	c.update(func(f *connectionState) {
		switched = revision != "" && !f.switchedVersion
		if switched {
			f.switchedVersion = true
			f.era = &modern{version: revision}
		}
	})
	return switched
}

// HeaderMismatch reports whether a server found header and body to differ; the
// definitions from which Mcp-Param-* were made are then out of date (2026-07-28
// basic/transports/streamable-http).
func HeaderMismatch(o wire.Outcome) bool {
	return o.RPC() != nil && o.RPC().Code == codeHeaderMismatch
}

// UnknownMethod reports an answer that says that the server does not have the
// method. -32601 is the code in every revision.
func UnknownMethod(o wire.Outcome) bool {
	return o.Kind == wire.RPCFailed && rpcCode(o) == -32601
}

// DeniesTool reports whether an answer says that the server has no such tool,
// or not as it was remembered. -32602 is the code in every revision.
func DeniesTool(o wire.Outcome) bool {
	e := o.RPC()
	return e != nil && (e.Code == -32602 && !e.BlamesResult() || e.Code == codeHeaderMismatch)
}
