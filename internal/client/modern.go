package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// modern is the era without a handshake. Each request names its revision, the client's capabilities
// and the client in _meta, and over HTTP repeats some of this in header fields (2026-07-28
// basic/index, "Per-request metadata").
type modern struct{ version string }

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
)

// The error codes of 2026-07-28, and the code that preceded -32022 before the release.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
	codeDraftVersion       = -32004
)

// modernCodes are the error codes that only a server of the modern era sends.
var modernCodes = []int64{codeHeaderMismatch, codeMissingCapability, codeUnsupportedVersion}

func (e *modern) revision() string { return e.version }

func (e *modern) allowsBatches() bool { return false }

func (e *modern) getStreamFields() func() []wire.Field { return nil }

// open requests server/discover. The protocol does not require it; it provides the server's Info.
func (e *modern) open(ctx context.Context, c *connection) wire.Outcome {
	call := &Call{Method: "server/discover"}
	o := c.outcome(e, call, c.request(ctx, e, call, c.s.opt.Limits.Idle))
	if o.OK() {
		e.storeInfo(c, o.Result)
	}
	return o
}

// Rediscover asks the server again for its Info, which may differ after the server was restarted behind the same
// connection. With a revision that has sessions, Info stays that of the session, and nothing is sent.
func (s *Session) Rediscover(ctx context.Context) wire.Outcome {
	c := s.connection()
	e, isStateless := c.era().(*modern)
	if !isStateless {
		return wire.Outcome{}
	}
	return e.open(ctx, c)
}

// storeInfo stores the Info of a DiscoverResult.
func (e *modern) storeInfo(c *connection, result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	info := parseInfo(members)
	c.update(func(f *connectionState) { f.info = info })
}

// stamp adds the header fields that repeat parts of the body, and returns the members for _meta. A
// revision that the caller wrote into _meta is used for the header field, too, because both must be
// equal (2026-07-28 basic/transports/streamable-http, "Standard headers").
func (e *modern) stamp(c *connection, call *Call, own *params, out *outgoing) []jsonraw.Member {
	out.mustNotCancel = mcp.IsTaskMethod(call.Method)
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
	// "Clients MUST declare" the extension in each request that may create a task.
	if call.Task != nil || mcp.IsTaskMethod(call.Method) {
		extensions = append(slices.Clone(extensions), mcp.TasksExtension)
	}
	metaMembers := []jsonraw.Member{
		{Name: metaVersion, Value: jsonraw.Quote(e.version)},
		{Name: metaClientInfo, Value: opt.clientInfo},
		{Name: metaCapabilities, Value: withExtensions(opt.Capabilities, extensions)},
	}
	if opt.LogLevel != "" && call.Method != methodListen { // log messages are never sent in that stream
		metaMembers = append(metaMembers, jsonraw.Member{Name: metaLogLevel, Value: jsonraw.Quote(opt.LogLevel)})
	}
	return metaMembers
}

// withExtensions returns capabilities with the extensions that are not yet in them.
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

// validateResult checks resultType, which means "complete" if absent. An undeclared type, or a type
// that is not allowed for the method, is invalid (2026-07-28 basic/index, "Result types").
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
	if wire.RequiresInput(response.Result) && mcp.MayRequireInput(call.Method) {
		return validateInputRequired(members)
	}
	resultType := jsonraw.Excerpt(raw, 40)
	return wire.BadResponse, "the resultType is " + resultType + ", which is not allowed in this response"
}

// inputMethods are the methods that an input_required result may request.
var inputMethods = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// validateInputRequired checks that an input_required result has input requests or a state to send
// back, and that each request is allowed (2026-07-28 basic/patterns/mrtr).
func validateInputRequired(result jsonraw.Members) (wire.Kind, string) {
	rawRequests, hasRequests := result.Get("inputRequests")
	_, hasState := result.Get("requestState")
	if !hasRequests && !hasState {
		return wire.BadResponse, "the result is input_required and has neither inputRequests nor requestState"
	}
	requests, err := jsonraw.Object(rawRequests)
	if hasRequests && err != nil {
		return wire.BadResponse, "inputRequests is not an object: " + jsonraw.Excerpt(rawRequests, 40)
	}
	for _, r := range requests {
		method := jsonraw.First(r.Value, "method")
		if method == nil {
			return wire.BadResponse, "the input request " + r.Name + " has no method"
		}
		name, _ := jsonraw.Text(method)
		if !slices.Contains(inputMethods, name) {
			requested := name
			if requested == "" {
				requested = jsonraw.Excerpt(method, 40)
			}
			return wire.BadResponse, "the input request " + r.Name + " requests " + requested + ", which is not allowed"
		}
	}
	return wire.InputRequired, "the server requires input to continue (resultType is input_required)"
}

// handleRequest reports the request and does not answer it: in this era the server must not send
// requests, and the client must not answer them (2026-07-28 basic/transports/stdio).
func (e *modern) handleRequest(c *connection, m *wire.Message) {
	c.addFinding(
		wire.Warning,
		"server_request",
		"the server sent a request, "+m.Method+", which this revision forbids; it was not answered",
	)
}

// failedToSendRequest reports whether a tool failed because the server tried to send a request,
// which this era forbids. mcp-go and the TypeScript SDK write these texts into the tool's result;
// their errors have no specific code, so only the text can be checked. It only selects a hint.
func failedToSendRequest(m *wire.Message) bool {
	text := bytes.ToLower(m.Raw)
	return bytes.Contains(text, []byte("server-initiated requests are not")) ||
		bytes.Contains(text, []byte("server-to-client requests are not"))
}

// sessionStateAfter judges an unconfirmed connection: only the revision can be outdated, since the
// era has no session. A server that requires a handshake refuses a request with an HTTP status and
// no request id, or with -32600, or with -32601 unless the status is 404, which servers of this era
// use to refuse a method.
func (e *modern) sessionStateAfter(r reply, unconfirmed bool) sessionState {
	if !unconfirmed || r.Message == nil && r.HTTP == nil {
		return sessionValid
	}
	code := int64(0)
	if r.Message != nil && r.Message.Error != nil {
		code = r.Message.Error.Code
	}
	if code == codeUnsupportedVersion {
		return sessionExpired
	}
	if r.HTTP == nil {
		return sessionValid
	}
	isUnknownMethod := code == -32601 && r.HTTP.Status != http.StatusNotFound
	if lacksRequestID(r) || code == codeInvalidRequest || isUnknownMethod {
		return sessionSuspect
	}
	return sessionValid
}

// isSessionValid requests server/discover and reports whether the server lists the revision. Any other
// reply is stored as the probe of the next connection.
func (e *modern) isSessionValid(ctx context.Context, c *connection, _ *reply, _ bool) bool {
	r := c.request(ctx, e, &Call{Method: "server/discover"}, c.s.opt.Limits.Idle)
	const overStdio = false // a suspect connection has a reply over HTTP
	found := classifyProbe(r, overStdio)
	if found.kind == speaksModern && found.revision == e.version {
		return true
	}
	if found.kind != probeFailed {
		c.update(func(f *connectionState) { f.probeReply = &r })
	}
	return false
}

// cancel sends notifications/cancelled over stdio. Over HTTP it does nothing, because the transport
// cancels by closing the stream (2026-07-28 basic/patterns/cancellation).
func (e *modern) cancel(c *connection, out *outgoing) {
	if c.transport().Name() == transport.Stdio {
		sendCancelled(c, out, nil)
	}
}

func (e *modern) endSession(context.Context, *connection) {}

func (e *modern) sessionID() string { return "" }

func (e *modern) declaredCapabilities() json.RawMessage { return nil }

// probing is the era of a probe. It does not cancel a probe, because the server may accept no
// message before initialize.
type probing struct{ *modern }

// cancel stores the probe's id, so that a late response is not reported.
func (probing) cancel(c *connection, out *outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandonedProbe = string(out.ID)
}

// isModernError reports whether m is an error that only a server of the modern era sends.
func isModernError(m *wire.Message) bool {
	return m != nil && m.Error != nil &&
		(m.Error.Code == codeUnsupportedVersion || m.Error.Code == codeHeaderMismatch)
}

// switchVersion changes to a revision that the server lists in a -32022 error, which may be the
// same revision again. It changes once per connection and reports whether it did (2026-07-28
// basic/versioning). The server has not processed the refused request.
func (c *connection) switchVersion(e *wire.RPCError) bool {
	pinned := c.s.opt.Protocol
	if e == nil || e.Code != codeUnsupportedVersion || !Stateless(c.revision()) {
		return false
	}
	revision := newestCommon(supportedIn(e), func(r string) bool {
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

// IsHeaderMismatch reports whether the server rejected a request because its header fields differ from
// its body. The tool definitions that the fields Mcp-Param-* are derived from are then outdated
// (2026-07-28 basic/transports/streamable-http).
func IsHeaderMismatch(o wire.Outcome) bool {
	return o.RPCError() != nil && o.RPCError().Code == codeHeaderMismatch
}

// IsUnknownMethod reports whether the server does not have the method (-32601 in every revision).
func IsUnknownMethod(o wire.Outcome) bool {
	return o.Kind == wire.RPCFailed && rpcCode(o) == -32601
}

// DeniesTool reports whether the server has no such tool, or has it with another definition (-32602
// in every revision).
func DeniesTool(o wire.Outcome) bool {
	e := o.RPCError()
	return e != nil && (e.Code == -32602 && !e.BlamesResult() || e.Code == codeHeaderMismatch)
}
