package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/client/keepalive"
	"mcpc/internal/client/process"
	"mcpc/internal/client/transport"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// A negotiation finds out what a server speaks, and makes that the conversation.
type negotiation struct{ *connection }

// open finds out what the server speaks and opens the conversation, along the
// decision tree of 2026-07-28 basic/versioning and the two transports'
// "Backward Compatibility". What an earlier run found out is believed until the
// server says otherwise.
func (n negotiation) open(ctx context.Context, known string, resume *Memory) wire.Outcome {
	pinned := n.s.opt.Protocol
	if o := n.connect(ctx, pinned != "" && Stateless(pinned), resume); !o.Good() {
		return o
	}
	switch {
	case n.resumable(resume):
		n.resume(resume)
		return wire.Outcome{}
	case pinned != "" && Stateless(pinned):
		return n.openModern(ctx, pinned, "set by --protocol", n.s.opt.SkipDiscover)
	case pinned != "":
		n.update(func(f *connectionState) { f.why = "set by --protocol" })
		return n.openLegacy(ctx, pinned, nil)
	case known != "" && Stateless(known) && n.s.opt.SkipDiscover && slices.Contains(revisions, known):
		n.assume(&modern{version: known}, "remembered from an earlier run")
		return wire.Outcome{}
	case known == "" || Stateless(known):
		return n.negotiate(ctx)
	}
	n.update(func(f *connectionState) { f.why = "remembered from an earlier run" })
	o := n.openLegacy(ctx, known, nil)
	if o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || refused4xx(o) {
		return n.negotiate(ctx)
	}
	return o
}

// resumable: only by Streamable HTTP do conversations outlive a connection, and where
// the process that has them is held.
func (n negotiation) resumable(m *Memory) bool {
	held := n.s.opt.Server.Keepalive
	lasts := n.line().Name() == transport.StreamableHTTP || held != nil && !held.Starts
	return m != nil && m.Transport == n.line().Name() && lasts &&
		visibleASCII(m.SessionID) && (slices.Contains(revisions, m.Revision) || m.Revision == rev2024Draft)
}

// resume goes on with a remembered session.
func (n negotiation) resume(m *Memory) {
	n.update(func(f *connectionState) { f.info = m.Info })
	n.assume(eraFor(m), "remembered with the session")
}

// assume takes an earlier run's word for what the server speaks.
func (n negotiation) assume(e era, why string) {
	n.update(func(f *connectionState) { f.era, f.why, f.untried = e, why, true })
}

func eraFor(m *Memory) era {
	if Stateless(m.Revision) {
		return &modern{version: m.Revision}
	}
	return &legacy{offered: m.Revision, guarded: guarded[agreement]{is: agreement{m.Revision, m.SessionID, m.Declared}}}
}

// connect gets a line to the server. A URL costs nothing yet, unless it is known
// to be of the transport that begins with a stream; one that no longer does is
// tried as any other. A session that is resumed at a kept server is settled before anything is
// read: what the server requested in between is handed over at once.
func (n negotiation) connect(ctx context.Context, noSSE bool, resume *Memory) wire.Outcome {
	target := n.s.opt.Server
	if target.Transport == transport.HTTPSSE && !noSSE && target.URL != "" {
		if f := n.connectSSE(ctx); f == nil || !notThere(f) {
			return n.connected(f)
		}
	}
	line, f := n.newLine(ctx, target)
	if f == nil {
		n.update(func(f *connectionState) { f.line = line })
		if target.Keepalive != nil && n.resumable(resume) {
			n.resume(resume)
		}
		line.Listen()
	}
	return n.connected(f)
}

// connected is the ending of connect.
func (n negotiation) connected(f *transport.Fault) wire.Outcome {
	if f != nil {
		return n.outcome(nil, &Call{Method: "initialize"}, failure(f))
	}
	return wire.Outcome{}
}

// newLine makes a line to the server, on which nothing is read yet.
func (n negotiation) newLine(ctx context.Context, target Server) (transport.Transport, *transport.Fault) {
	line, f := n.openLine(ctx, target)
	if pipe, ok := line.(interface{ KeepIn(spool.Dir) }); ok && f == nil {
		pipe.KeepIn(n.s.opt.Spool)
	}
	return line, f
}

func (n negotiation) openLine(ctx context.Context, target Server) (transport.Transport, *transport.Fault) {
	limit, rec := transport.MaxSize(n.s.opt.Limits.Message), n.s.rec
	switch {
	case target.Pipe != nil:
		in, out := target.Pipe()
		return transport.NewPipe(in, out, limit, rec, n.connection, nil), nil
	case target.Keepalive != nil:
		return keepalive.Open(ctx, target.Keepalive, n.s.opt.Limits.Connect, limit, rec, n.connection)
	case len(target.Command) > 0:
		n.startedAgain()
		return transport.StartStdio(process.Command{Args: target.Command, Env: target.Env, Dir: target.Dir}, limit, rec, n.connection)
	}
	return n.newHTTP(), nil
}

func (n negotiation) newHTTP() *transport.HTTP {
	opt := &n.s.opt
	t := transport.NewHTTP(opt.Server.URL, n.s.via, transport.MaxSize(opt.Limits.Message), opt.Fields, n.connection)
	t.Spool = opt.Spool
	return t
}

// notThere reports that the server answered, and with no event stream.
func notThere(f *transport.Fault) bool {
	return f.Kind == wire.BadResponse || transport.IsRefusal(f.Status)
}

func (n negotiation) connectSSE(ctx context.Context) *transport.Fault {
	ctx, stop := limited(ctx, transport.TimeoutError{Flag: "--connect-timeout", What: "no endpoint event", After: n.s.opt.Limits.Connect}, 0)
	defer stop()
	line, f := transport.OpenHTTPSSE(ctx, n.newHTTP())
	if f == nil {
		n.update(func(f *connectionState) { f.line = line })
		line.Listen()
	}
	return f
}

// negotiate probes with server/discover, never with a call that does something.
func (n negotiation) negotiate(ctx context.Context) wire.Outcome {
	if n.line().Name() == transport.HTTPSSE {
		n.update(func(f *connectionState) {
			f.why = "the URL is known to be an event stream that begins with an endpoint event"
		})
		return n.openLegacy(ctx, newest(revisions, handshake), nil)
	}
	revision := newest(revisions, Stateless)
	for attempt := 0; ; attempt++ {
		e := &modern{version: revision}
		call := &Call{Method: "server/discover"}
		r := n.takeProbed()
		if r == nil {
			fresh := n.request(ctx, probing{e}, call, n.probeTimeout())
			r = &fresh
		}
		found := judgeProbe(*r, n.line().Name() == transport.Stdio)
		switch {
		case found.kind == speaksModern:
			e.version = found.revision
			o := n.outcome(e, call, *r)
			n.update(func(f *connectionState) { f.era, f.why = e, found.why })
			if o.Good() {
				e.learn(n.connection, o.Result)
			}
			return o
		case found.kind == askAgain && attempt == 0:
			revision = found.revision
			if r.Message.Error.Code == codeDraftVersion {
				n.found(wire.Warning, "revision", "the server rejects a version with -32004, the pre-release code; it should be -32022")
			}
		case found.kind == tryHandshake:
			return n.fallBack(ctx, found)
		default:
			o := n.outcome(e, call, *r)
			if found.text != "" {
				o.Kind, o.Text = wire.RPCFailed, found.text
			}
			if n.s.opt.KnownRevision == "" && n.mayBeProbeAlone(o) {
				o.Pin = newest(revisions, handshake)
			}
			return o
		}
	}
}

// graceToStart is how long a process may take until it answers the first request,
// however short the limit for a request is.
const graceToStart = 2 * time.Second

// graceToConnect is how much longer than for a connection a probe waits at least if it may wait as long: that there is
// no connection says more than that there is no response.
const graceToConnect = time.Second

// probeTimeout returns how long the probe may take: no longer than any request, but for the start of a process.
func (n negotiation) probeTimeout() time.Duration {
	limits := n.s.opt.Limits
	if n.line().Name() == transport.Stdio {
		if patience := max(limits.Idle, graceToStart); limits.Idle > 0 && limits.Probe > patience {
			return patience
		}
		return limits.Probe
	}
	probe := limits.Probe
	if limits.Connect > 0 && probe >= limits.Connect {
		probe = max(probe, limits.Connect+graceToConnect)
	}
	if probe <= 0 || limits.Idle > 0 && probe > limits.Idle {
		return limits.Idle
	}
	return probe
}

// mayBeProbeAlone reports the outcome of a probe that a server may give which would answer initialize: some servers,
// and gateways before them, fail on methods that they do not know. A challenge says what to do instead.
func (n negotiation) mayBeProbeAlone(o wire.Outcome) bool {
	switch o.Kind {
	case wire.Auth:
		return o.HTTP != nil && !hasChallenge(o.HTTP)
	case wire.Transport:
		isForAll := o.HTTP != nil && (o.HTTP.Status/100 == 3 || o.HTTP.Status == http.StatusProxyAuthRequired)
		return o.Reached != wire.Unsent && !isForAll && n.line().Name() != transport.Stdio
	case wire.RPCFailed:
		return o.HTTP != nil && o.HTTP.Status/100 == 5
	}
	return false
}

func hasChallenge(h *wire.HTTPFacts) bool {
	return slices.ContainsFunc(h.Fields, func(f wire.Field) bool { return strings.EqualFold(f.Name, "WWW-Authenticate") })
}

// fallBack opens with initialize after a probe that was not understood. A
// process that the probe killed is started again, and so is one that it spoilt:
// there are bridges (supergateway) that take any first message for their cue to
// initialize the server behind them, which then refuses a second time.
func (n negotiation) fallBack(ctx context.Context, found probeResult) wire.Outcome {
	if !found.respawn {
		n.update(func(f *connectionState) { f.why = found.why })
		o := n.openLegacy(ctx, newest(revisions, handshake), &found)
		wasRefused := o.Kind == wire.RPCFailed || refused4xx(o)
		if found.silent && wasRefused && n.line().Name() == transport.StreamableHTTP {
			return n.probeAgain(ctx, o)
		}
		if !n.mayBeSpoilt(ctx, o) {
			return o
		}
		found.why += ", and so was initialize after it: the server was restarted without it"
	}
	n.line().Close()
	if o := n.connect(ctx, false, nil); !o.Good() {
		return o
	}
	n.update(func(f *connectionState) { f.why = found.why })
	return n.openLegacy(ctx, newest(revisions, handshake), &found)
}

// probeAgain sends a probe that was not answered once more, since initialize was refused: the server may have been slow.
// If the probe fails again, the outcome is refusal.
func (n negotiation) probeAgain(ctx context.Context, refusal wire.Outcome) wire.Outcome {
	e := &modern{version: newest(revisions, Stateless)}
	o := e.open(ctx, n.connection)
	if theirs, _ := supportedVersions(o.Result); !o.Good() || !slices.Contains(theirs, e.version) {
		return refusal
	}
	n.update(func(f *connectionState) {
		f.era = e
		f.why = "server/discover was answered after initialize was refused"
	})
	return o
}

// mayBeSpoilt reports a process that refused initialize, or died of it, and names no
// revisions that it would rather speak.
func (n negotiation) mayBeSpoilt(ctx context.Context, o wire.Outcome) bool {
	refused := o.Kind == wire.RPCFailed && o.RPC() != nil && len(supportedIn(o.RPC())) == 0
	return n.line().Name() == transport.Stdio && o.Method == "initialize" && (refused || o.Kind == wire.Transport) && ctx.Err() == nil
}

// openLegacy opens with initialize; by HTTP, where that is refused as well, it
// looks for the transport of 2024-11-05. probe is the result that led here, or
// nil.
func (n negotiation) openLegacy(ctx context.Context, revision string, probe *probeResult) wire.Outcome {
	n.update(func(f *connectionState) { f.era = &legacy{offered: revision} })
	o := n.era().open(ctx, n.connection)
	if o.Good() {
		return o
	}
	again := newest(supportedIn(o.RPC()), Stateless)
	if again != "" && n.s.opt.Protocol == "" && rpcCode(o) == codeUnsupportedVersion {
		return n.openModern(ctx, again, "initialize was refused with -32022", false)
	}
	if n.line().Name() == transport.StreamableHTTP && refused4xx(o) && o.Method == "initialize" {
		return n.trySSE(ctx, revision, probe, o)
	}
	return o
}

// trySSE opens the stream of the HTTP+SSE transport. When there is none either,
// what the server said to initialize is the better evidence.
func (n negotiation) trySSE(ctx context.Context, revision string, probe *probeResult, refusal wire.Outcome) wire.Outcome {
	old := n.line()
	if f := n.connectSSE(ctx); f != nil {
		if f.Kind == wire.Refused || f.Kind == wire.Auth || f.Kind == wire.Signal {
			return n.outcome(nil, &Call{Method: "initialize"}, failure(f))
		}
		return allRefused(refusal, probe, f)
	}
	old.Close()
	n.update(func(f *connectionState) {
		f.era, f.why = &legacy{offered: revision}, "the URL is an event stream that begins with an endpoint event"
	})
	return n.era().open(ctx, n.connection)
}

// allRefused reports the attempts together: which of them the server should have
// answered is unknown.
func allRefused(o wire.Outcome, probe *probeResult, sse *transport.Fault) wire.Outcome {
	var tried []string
	if probe != nil {
		tried = append(tried, probe.why)
	}
	tried = append(tried, "initialize: "+o.Text, "GET for an event stream: "+sse.Text)
	o.Err = errors.New("tried " + strings.Join(tried, "; "))
	if o.Kind == wire.Transport {
		o.Text = "no MCP server at this URL (" + strings.Join(tried, "; ") + ")"
	}
	return o
}

// refused4xx reports the ending of a request that was refused with HTTP.
func refused4xx(o wire.Outcome) bool { return o.HTTP != nil && transport.IsRefusal(o.HTTP.Status) }

// openModern opens at a revision that was asked for or that the server named. A
// server that refuses the version and lists the very same one is asked once
// more.
func (n negotiation) openModern(ctx context.Context, revision, why string, quick bool) wire.Outcome {
	n.update(func(f *connectionState) { f.era, f.why = &modern{version: revision}, why })
	if quick {
		return wire.Outcome{}
	}
	o := n.era().open(ctx, n.connection)
	if n.takeVersion(o.RPC()) {
		o = n.era().open(ctx, n.connection)
	}
	if !o.Good() {
		return needsHandshake(o, revision)
	}
	theirs, ok := supportedVersions(o.Result)
	if ok && !slices.Contains(theirs, revision) {
		return ended(o, wire.RPCFailed, "the server speaks "+list(theirs)+" where "+revision+" was requested")
	}
	return o
}

// needsHandshake explains a refused server/discover of a pinned revision: the
// server is of the other era.
func needsHandshake(o wire.Outcome, revision string) wire.Outcome {
	refused := o.Kind == wire.RPCFailed || o.Kind == wire.Transport && refused4xx(o)
	if code := rpcCode(o); !refused || slices.Contains(modernCodes, code) {
		return o
	}
	o.Text = fmt.Sprintf("the server does not speak %s (server/discover: %s)", revision, o.Text)
	o.Hint = "without --protocol the revision is negotiated"
	return o
}

func rpcCode(o wire.Outcome) int64 {
	if o.RPC() == nil {
		return 0
	}
	return o.RPC().Code
}
