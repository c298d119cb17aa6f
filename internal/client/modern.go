package client

import (
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/wire"
)

// modern is the era without a handshake: every request names its revision, the
// client's capabilities and who it is, in _meta, and by HTTP once more in the
// header (2026-07-28 basic/index, "Per-request metadata").
type modern struct {
	version string
}

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
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

func (e *modern) revision() string { return e.version }

func (e *modern) sessionID() string { return "" }

// open asks server/discover. No server needs to be asked first; it is how a
// person learns who answers.
func (e *modern) open(ctx context.Context, s *Session) wire.Outcome {
	call := &Call{Method: "server/discover"}
	r := s.request(ctx, e, call, s.opt.Limits.Idle)
	o := s.outcome(call, r)
	if o.Good() {
		e.learn(s, o.Result)
	}
	return o
}

// learn reads a DiscoverResult. serverInfo stands in _meta; release candidates
// had it at the top.
func (e *modern) learn(s *Session, result json.RawMessage) {
	members, _ := wire.Object(result)
	s.info = infoOf(members, "serverInfo")
	raw, _ := members.Get("_meta")
	if meta, err := wire.Object(raw); err == nil {
		if info, ok := meta.Get(metaServerInfo); ok {
			s.info.ServerInfo = info
		}
	}
}

func (e *modern) stamp(s *Session, call *Call, out *outgoing) {
	params := withMeta(call.Params, metaVersion, wire.Quote(e.version))
	params = withMeta(params, metaClientInfo, implementation(s.opt.Version))
	params = withMeta(params, metaCapabilities, s.opt.Capabilities)
	if s.opt.LogLevel != "" {
		params = withMeta(params, metaLogLevel, wire.Quote(s.opt.LogLevel))
	}
	if call.Progress {
		params = withMeta(params, "progressToken", out.id)
	}
	call.Params = params
	out.fields = []wire.Field{{Name: "MCP-Protocol-Version", Value: e.version}, {Name: "Mcp-Method", Value: call.Method}}
	if name, ok := headerName(call.Method, params); ok {
		out.fields = append(out.fields, wire.Field{Name: "Mcp-Name", Value: encodeHeader(name)})
	}
	if call.Schema != nil {
		out.fields = append(out.fields, paramFields(call.Schema, params)...)
	}
}

// withMeta sets a member of params._meta unless the caller already did.
func withMeta(params json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	members, err := wire.Object(params)
	if err != nil && len(params) > 0 {
		return params
	}
	meta, ok := members.Get("_meta")
	if !ok {
		meta = json.RawMessage("{}")
	}
	if inner, err := wire.Object(meta); err != nil {
		return params
	} else if _, taken := inner.Get(name); taken {
		return params
	}
	return wire.With(params, "_meta", wire.With(meta, name, value))
}

// nameOf says which member of params is the Mcp-Name of a method (2026-07-28
// basic/transports/streamable-http, "Standard headers").
var nameOf = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

func headerName(method string, params json.RawMessage) (string, bool) {
	member, ok := nameOf[method]
	if !ok {
		return "", false
	}
	members, err := wire.Object(params)
	if err != nil {
		return "", false
	}
	raw, _ := members.Get(member)
	return wire.Text(raw)
}

// mayAskBack are the methods whose result may be input_required (2026-07-28
// basic/patterns/mrtr).
var mayAskBack = []string{"tools/call", "prompts/get", "resources/read"}

// settle reads resultType: absent means complete; what was not declared, or may
// not stand here, is an invalid result (2026-07-28 basic/index, "Result types").
func (e *modern) settle(call *Call, result json.RawMessage) (wire.Kind, string) {
	members, err := wire.Object(result)
	if err != nil {
		return wire.BadResponse, "the result is no object"
	}
	raw, ok := members.Get("resultType")
	kind, isText := wire.Text(raw)
	switch {
	case !ok || kind == "complete":
		return settleResult(call, result)
	case isText && kind == "input_required" && slices.Contains(mayAskBack, call.Method):
		return wire.InputRequired, "the server needs an answer before it goes on (resultType is input_required)"
	default:
		return wire.BadResponse, "the result's type is " + wire.Excerpt(raw, 40) + ", which was not declared and may not stand here"
	}
}

// asked: a server of this era may not ask, and a client must not answer
// (2026-07-28 basic/transports/stdio).
func (e *modern) asked(s *Session, m *wire.Message) {
	s.finding(wire.Finding{Rule: "server_request", Level: wire.Warning,
		Text: "the server sent a request, " + m.Method + ", which this revision forbids; it was not answered"})
}

func (e *modern) lost(reply) bool { return false }

// cancel: by HTTP closing the stream is the cancellation, and the transport
// does that; over stdio it is a notification (2026-07-28
// basic/patterns/cancellation).
func (e *modern) cancel(s *Session, out *outgoing) {
	if s.line().name() == Stdio && out.id != nil {
		sendCancelled(s, out, nil)
	}
}

func (e *modern) end(context.Context, *Session) {}

// HeaderMismatch reports whether a server found header and body to differ; the
// definitions from which Mcp-Param-* were made are then out of date (2026-07-28
// basic/transports/streamable-http).
func HeaderMismatch(o wire.Outcome) bool {
	return o.RPC() != nil && o.RPC().Code == codeHeaderMismatch
}

// DeniesTool reports whether an answer says that the server has no such tool,
// or not as it was remembered. -32602 is the code in every revision.
func DeniesTool(o wire.Outcome) bool {
	return o.RPC() != nil && (o.RPC().Code == -32602 || o.RPC().Code == codeHeaderMismatch)
}
