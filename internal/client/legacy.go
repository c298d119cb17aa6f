package client

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"mcpc/internal/wire"
)

// legacy is the era of the handshake: initialize, then notifications/initialized,
// then requests within a session (2025-11-25 basic/lifecycle).
type legacy struct {
	offered string
	agreed  string
	// session is the Mcp-Session-Id; "" where the server gave none.
	session string
}

func (e *legacy) revision() string { return e.agreed }

func (e *legacy) sessionID() string { return e.session }

// open offers one revision and takes the one the server answers with. When the
// server refuses the offer and names others, the best of those is offered once.
func (e *legacy) open(ctx context.Context, s *Session) wire.Outcome {
	o := e.initialize(ctx, s)
	if other := supportedIn(o.RPC()); o.Kind == wire.RPCFailed && other != nil && s.opt.Protocol == "" {
		if revision := newest(other, handshake); revision != "" && revision != e.offered {
			e.offered = revision
			o = e.initialize(ctx, s)
		}
	}
	if !o.Good() {
		return o
	}
	r := s.line().send(ctx, &outgoing{raw: wire.ComposeNotification("notifications/initialized", nil), fields: e.fields()})
	if r.fault != nil {
		return s.outcome(&Call{Method: "notifications/initialized"}, r)
	}
	return o
}

func (e *legacy) initialize(ctx context.Context, s *Session) wire.Outcome {
	e.session, e.agreed = "", ""
	params := `{"protocolVersion":"` + e.offered + `","capabilities":` + string(s.opt.Capabilities) +
		`,"clientInfo":` + string(implementation(s.opt.Version)) + `}`
	call := &Call{Method: "initialize", Params: json.RawMessage(params)}
	id := s.nextID()
	out := &outgoing{raw: wire.ComposeRequest(id, call.Method, call.Params), id: id, method: call.Method, resumable: true}
	r := s.exchange(ctx, out, s.opt.Limits.Idle)
	o := s.outcome(call, r)
	if !o.Good() {
		return o
	}
	return e.accept(ctx, s, o, r.header)
}

// accept reads the server's side of the handshake.
func (e *legacy) accept(ctx context.Context, s *Session, o wire.Outcome, header http.Header) wire.Outcome {
	members, err := wire.Object(o.Result)
	if err != nil || members.Text("protocolVersion") == "" {
		return ended(o, wire.BadResponse, "the answer to initialize names no protocolVersion")
	}
	e.agreed = members.Text("protocolVersion")
	s.info = infoOf(members, "serverInfo")
	e.session = header.Get("Mcp-Session-Id")
	if !visibleASCII(e.session) {
		e.session = ""
		return ended(o, wire.BadResponse, "the session id that the server gave is no visible ASCII, or far too long")
	}
	if e.agreed == rev2024Draft {
		s.finding(wire.Finding{Rule: "revision", Level: wire.Info, Text: "the server speaks the pre-release " + rev2024Draft})
		return o
	}
	if !slices.Contains(revisions, e.agreed) || stateless(e.agreed) {
		o = ended(o, wire.RPCFailed, "the server answered initialize with revision "+e.agreed+"; mcpc speaks "+list(revisions))
	} else if s.opt.Protocol != "" && e.agreed != s.opt.Protocol {
		o = ended(o, wire.RPCFailed, "the server speaks "+e.agreed+" where --protocol asked for "+s.opt.Protocol)
	}
	if !o.Good() {
		e.end(context.WithoutCancel(ctx), s)
	}
	return o
}

// rev2024Draft is a pre-release tag that old servers still answer with; it is
// spoken like 2024-11-05.
const rev2024Draft = "2024-10-07"

func infoOf(members wire.Members, name string) Info {
	var info Info
	info.ServerInfo, _ = members.Get(name)
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
	var fields []wire.Field
	if e.agreed >= rev2506 {
		fields = append(fields, wire.Field{Name: "MCP-Protocol-Version", Value: e.agreed})
	}
	if e.session != "" {
		fields = append(fields, wire.Field{Name: "Mcp-Session-Id", Value: e.session})
	}
	return fields
}

func (e *legacy) stamp(_ *Session, call *Call, out *outgoing) {
	out.fields, out.resumable = e.fields(), true
	if call.Progress {
		call.Params = withMeta(call.Params, "progressToken", out.id)
	}
}

func (e *legacy) settle(call *Call, result json.RawMessage) (wire.Kind, string) {
	return settleResult(call, result)
}

// asked answers ping and refuses everything else: a capability that was not
// declared is a method that does not exist (client/roots, "Error Handling").
func (e *legacy) asked(s *Session, m *wire.Message) {
	raw := wire.ComposeResult(m.ID, json.RawMessage("{}"))
	if m.Method != "ping" {
		raw = wire.ComposeError(m.ID, -32601, "Method not found: the client declared no capability for "+m.Method)
		s.finding(wire.Finding{Rule: "undeclared", Level: wire.Info,
			Text: "the server asked for " + m.Method + ", which was not offered; it was refused with -32601"})
	}
	ctx, stop := context.WithTimeout(context.Background(), graceForAnswer)
	defer stop()
	s.line().send(ctx, &outgoing{raw: raw, fields: e.fields()})
}

// lost: "404 Not Found" to a request that carried a session id ends the session
// (basic/transports, "Session Management"). Some servers say 400 and name no
// request; on a session that an earlier run opened that means the same.
func (e *legacy) lost(r reply) bool {
	if e.session == "" || r.http == nil {
		return false
	}
	switch r.http.Status {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest:
		return r.message == nil || noID(r.message)
	}
	return false
}

// cancel sends notifications/cancelled, but never for initialize
// (basic/utilities/cancellation).
func (e *legacy) cancel(s *Session, out *outgoing) {
	if out.method != "initialize" && out.id != nil {
		sendCancelled(s, out, e.fields())
	}
}

func sendCancelled(s *Session, out *outgoing, fields []wire.Field) {
	ctx, stop := context.WithTimeout(context.Background(), graceForCancel)
	defer stop()
	params := `{"requestId":` + string(out.id) + `,"reason":"cancelled by the user or a timeout"}`
	s.line().send(ctx, &outgoing{raw: wire.ComposeNotification("notifications/cancelled", json.RawMessage(params)), fields: fields})
}

// graceForCancel bounds what a Ctrl-C waits for; graceForAnswer how long a
// server may take to receive an answer it asked for.
const (
	graceForCancel = 500 * time.Millisecond
	graceForAnswer = 10 * time.Second
)

func (e *legacy) end(ctx context.Context, s *Session) {
	if e.session == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, graceForEnd)
	defer stop()
	s.line().end(ctx, &outgoing{fields: e.fields()})
}
