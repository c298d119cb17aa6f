package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// begin finds out what the server speaks and opens the conversation, along the
// decision tree of 2026-07-28 basic/versioning and the two transports'
// "Backward Compatibility".
func (s *Session) begin(ctx context.Context) wire.Outcome {
	if m := s.opt.Resume; m != nil && s.opt.Server.URL != "" && m.Transport == StreamableHTTP {
		return s.resume(ctx, m)
	}
	if o := s.connect(ctx); !o.Good() {
		return o
	}
	s.why = "remembered from an earlier run"
	if s.opt.Protocol != "" {
		s.why = "asked for with --protocol"
	}
	switch revision := or(s.opt.Protocol, s.opt.Known); {
	case revision == "":
		return s.negotiate(ctx)
	case stateless(revision):
		return s.openModern(ctx, revision, s.opt.Quick)
	default:
		return s.openLegacy(ctx, revision, nil)
	}
}

// resume goes on without a word to the server.
func (s *Session) resume(ctx context.Context, m *Memory) wire.Outcome {
	if o := s.connect(ctx); !o.Good() {
		return o
	}
	s.info, s.why = m.Info, "remembered with the session"
	s.setEra(eraFor(m.Revision, m.SessionID))
	return wire.Outcome{}
}

func eraFor(revision, session string) era {
	if stateless(revision) {
		return &modern{version: revision}
	}
	return &legacy{offered: revision, agreed: revision, session: session}
}

// connect gets a line to the server. A URL costs nothing yet, unless it is known
// to be of the transport that begins with a stream.
func (s *Session) connect(ctx context.Context) wire.Outcome {
	target := s.opt.Server
	var f *fault
	switch {
	case target.Pipe != nil:
		in, out := target.Pipe()
		p := newPipe(in, out, s.opt.Limits, s.rec, s.receive, s.noise)
		go p.readAll()
		s.setLine(p)
	case len(target.Command) > 0:
		var child *stdio
		if child, f = startStdio(target.Command, s.opt.Limits, s.rec, s.receive, s.noise); f == nil {
			s.setLine(child)
		}
	case target.Transport == HTTPSSE:
		f = s.connectSSE(ctx)
	default:
		s.setLine(newHTTPTransport(target.URL, s.opt.Fields, s.opt.Limits, s.rec, s.receive))
	}
	if f != nil {
		return s.outcome(&Call{Method: "initialize"}, failed(f))
	}
	return wire.Outcome{}
}

func (s *Session) connectSSE(ctx context.Context) *fault {
	if limit := s.opt.Limits.Connect; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, timeoutError{"no endpoint event", limit})
		defer stop()
	}
	line, f := openHTTPSSE(ctx, s.opt.Server.URL, s.opt.Fields, s.opt.Limits, s.rec, s.receive)
	if f == nil {
		s.setLine(line)
	}
	return f
}

func (s *Session) noise(text string) {
	s.finding(wire.Finding{Rule: "stdout_noise", Level: wire.Warning, Text: text})
}

// negotiate probes with server/discover, never with a call that does something.
func (s *Session) negotiate(ctx context.Context) wire.Outcome {
	if s.line().name() == HTTPSSE {
		return s.openLegacy(ctx, newest(revisions, handshake), nil)
	}
	revision := newest(revisions, stateless)
	for attempt := 0; ; attempt++ {
		e := &modern{version: revision}
		call := &Call{Method: "server/discover"}
		r := s.request(ctx, e, call, s.probeTimeout())
		v := judgeProbe(r, s.line().name() == Stdio)
		switch {
		case v.kind == speaksModern:
			e.version = v.revision
			s.setEra(e)
			s.why = v.why
			e.learn(s, r.message.Result)
			return s.outcome(call, r)
		case v.kind == askAgain && attempt == 0:
			revision = v.revision
		case v.kind == tryHandshake:
			return s.fallBack(ctx, v)
		default:
			o := s.outcome(call, r)
			if v.text != "" {
				o.Kind, o.Text = wire.RPCFailed, v.text
			}
			return o
		}
	}
}

// probeTimeout: by HTTP silence says nothing about the era, so the probe may
// take as long as any request.
func (s *Session) probeTimeout() time.Duration {
	if s.line().name() == Stdio {
		return s.opt.Limits.Probe
	}
	return s.opt.Limits.Idle
}

// fallBack opens with initialize after a probe that was not understood. A
// process that the probe killed is started again.
func (s *Session) fallBack(ctx context.Context, v verdict) wire.Outcome {
	if v.respawn {
		s.line().close()
		if o := s.connect(ctx); !o.Good() {
			return o
		}
	}
	s.why = v.why
	return s.openLegacy(ctx, newest(revisions, handshake), &v)
}

// openLegacy opens with initialize; by HTTP, where that is refused as well, it
// looks for the transport of 2024-11-05. probe is the verdict that led here, or
// nil.
func (s *Session) openLegacy(ctx context.Context, revision string, probe *verdict) wire.Outcome {
	s.setEra(&legacy{offered: revision})
	o := s.era().open(ctx, s)
	if o.Good() {
		return o
	}
	if again := newest(supportedIn(o.RPC()), stateless); again != "" && s.opt.Protocol == "" && rpcCode(o) == codeUnsupportedVersion {
		s.why = "initialize was refused with -32022"
		return s.openModern(ctx, again, false)
	}
	if s.line().name() == StreamableHTTP && refused4xx(o) {
		return s.trySSE(ctx, revision, probe, o)
	}
	return o
}

// trySSE opens the stream of the HTTP+SSE transport. When there is none either,
// what the server said to initialize is the better evidence.
func (s *Session) trySSE(ctx context.Context, revision string, probe *verdict, refusal wire.Outcome) wire.Outcome {
	old := s.line()
	if f := s.connectSSE(ctx); f != nil {
		if f.kind == wire.Refused {
			return s.outcome(&Call{Method: "initialize"}, failed(f))
		}
		return allRefused(refusal, probe, f)
	}
	old.close()
	s.why = "the URL is an event stream that begins with an endpoint event"
	s.setEra(&legacy{offered: revision})
	return s.era().open(ctx, s)
}

// allRefused reports the attempts together: nobody knows which one the server
// was meant for.
func allRefused(o wire.Outcome, probe *verdict, sse *fault) wire.Outcome {
	var tried []string
	if probe != nil {
		tried = append(tried, "server/discover: "+probe.why)
	}
	tried = append(tried, "initialize: "+o.Text, "GET for an event stream: "+sse.text)
	o.Err = fmt.Errorf("tried %s", strings.Join(tried, "; "))
	if o.Kind == wire.Transport {
		o.Text = "no MCP server answers here (" + strings.Join(tried, "; ") + ")"
	}
	return o
}

// refused4xx: any 4xx but those that speak of authorization or load.
func refused4xx(o wire.Outcome) bool {
	if o.HTTP == nil || o.Kind == wire.Auth {
		return false
	}
	return isRefusal(o.HTTP.Status)
}

func isRefusal(status int) bool {
	return status/100 == 4 && status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

func (s *Session) openModern(ctx context.Context, revision string, quick bool) wire.Outcome {
	e := &modern{version: revision}
	s.setEra(e)
	if quick {
		return wire.Outcome{}
	}
	o := e.open(ctx, s)
	if !o.Good() {
		return needsHandshake(o, revision)
	}
	theirs, ok := supportedVersions(o.Result)
	if ok && newest(theirs, func(r string) bool { return r == revision }) == "" {
		return ended(o, wire.RPCFailed, "the server speaks "+list(theirs)+" where "+revision+" was asked for")
	}
	return o
}

// needsHandshake explains a refused server/discover of a pinned revision: the
// server is of the other era.
func needsHandshake(o wire.Outcome, revision string) wire.Outcome {
	refused := o.Kind == wire.RPCFailed || o.Kind == wire.Transport && refused4xx(o)
	if !refused || rpcCode(o) == codeUnsupportedVersion || rpcCode(o) == codeHeaderMismatch || rpcCode(o) == codeMissingCapability {
		return o
	}
	o.Text = "the server does not speak " + revision + ": it answered server/discover with " + o.Text
	o.Hint = "without --protocol the revision is negotiated"
	return o
}

// A verdict is what the answer to a probe says about the server's era.
type verdict struct {
	kind     verdictKind
	revision string
	why      string
	// text replaces the outcome's where the probe is the end of it.
	text    string
	respawn bool
}

type verdictKind int

const (
	giveUp verdictKind = iota
	speaksModern
	askAgain
	tryHandshake
)

// judgeProbe reads the answer to server/discover. Only what a server of the
// stateless era alone would say is taken for that era; authorization, load and
// network say nothing of it; everything else means "try initialize".
func judgeProbe(r reply, overStdio bool) verdict {
	switch {
	case r.fault != nil:
		return judgeFault(r, overStdio)
	case r.message.Kind == wire.Response:
		return judgeDiscover(r.message.Result)
	case r.message.Error != nil:
		return judgeError(r)
	}
	return verdict{kind: tryHandshake, why: "server/discover was not understood"}
}

func judgeFault(r reply, overStdio bool) verdict {
	f := r.fault
	switch {
	case f.kind == wire.Auth || f.kind == wire.Signal || f.kind == wire.LocalIO:
		return verdict{}
	case overStdio && f.kind == wire.Timeout:
		return verdict{kind: tryHandshake, why: "server/discover was not answered in time"}
	case overStdio:
		return verdict{kind: tryHandshake, why: "the server ended on server/discover", respawn: true}
	case f.kind == wire.BadResponse:
		return verdict{kind: tryHandshake, why: "server/discover was answered with no JSON-RPC message"}
	case r.http != nil && isRefusal(r.http.Status):
		return verdict{kind: tryHandshake, why: fmt.Sprintf("server/discover was answered with HTTP %d", r.http.Status)}
	}
	return verdict{}
}

// judgeDiscover: a result is no proof. Servers exist that answer {} to any
// method, and servers that list only revisions with a handshake.
func judgeDiscover(result json.RawMessage) verdict {
	theirs, ok := supportedVersions(result)
	if !ok {
		return verdict{kind: tryHandshake, why: "the answer to server/discover lists no versions"}
	}
	return judgeVersions(theirs, speaksModern, "server/discover lists ")
}

func judgeVersions(theirs []string, found verdictKind, how string) verdict {
	if revision := newest(theirs, stateless); revision != "" {
		return verdict{kind: found, revision: revision, why: how + list(theirs)}
	}
	for _, revision := range theirs {
		if stateless(revision) {
			return verdict{text: "the server speaks " + list(theirs) + "; mcpc speaks " + list(revisions)}
		}
	}
	return verdict{kind: tryHandshake, why: how + list(theirs)}
}

func judgeError(r reply) verdict {
	e := r.message.Error
	theirs := supportedIn(e)
	switch {
	case e.Code == codeUnsupportedVersion && len(theirs) > 0,
		e.Code == codeDraftVersion && len(theirs) > 0:
		return judgeVersions(theirs, askAgain, fmt.Sprintf("server/discover was answered with %d, which lists ", e.Code))
	case e.Code == codeUnsupportedVersion || e.Code == codeHeaderMismatch || e.Code == codeMissingCapability:
		return verdict{}
	}
	why := fmt.Sprintf("server/discover was answered with the error %d", e.Code)
	if r.http != nil && r.http.Status/100 == 5 {
		return verdict{}
	}
	return verdict{kind: tryHandshake, why: why}
}

// supportedVersions reads a DiscoverResult; false where it is none.
func supportedVersions(result json.RawMessage) ([]string, bool) {
	members, err := wire.Object(result)
	if err != nil {
		return nil, false
	}
	raw, _ := members.Get("supportedVersions")
	return texts(raw)
}

// supportedIn reads data.supported of a version error; nil where there is none.
func supportedIn(e *wire.RPCError) []string {
	if e == nil || e.Data == nil {
		return nil
	}
	members, err := wire.Object(e.Data)
	if err != nil {
		return nil
	}
	raw, _ := members.Get("supported")
	versions, _ := texts(raw)
	return versions
}

func texts(raw json.RawMessage) ([]string, bool) {
	items, err := wire.Array(raw)
	if err != nil {
		return nil, false
	}
	var out []string
	for _, item := range items {
		if s, ok := wire.Text(item); ok {
			out = append(out, s)
		}
	}
	return out, true
}

func rpcCode(o wire.Outcome) int64 {
	if o.RPC() == nil {
		return 0
	}
	return o.RPC().Code
}

// mistaken reports a reply that a server which speaks the remembered revision
// would not give: the memory is out of date.
func (s *Session) mistaken(r reply) bool {
	if s.opt.Protocol != "" || s.opt.Resume == nil && s.opt.Known == "" {
		return false
	}
	if r.message != nil && r.message.Error != nil {
		code := r.message.Error.Code
		return code == codeUnsupportedVersion || code == codeHeaderMismatch && !stateless(s.era().revision()) ||
			r.http != nil && isRefusal(r.http.Status) && noID(r.message)
	}
	return r.fault != nil && r.http != nil && isRefusal(r.http.Status)
}
