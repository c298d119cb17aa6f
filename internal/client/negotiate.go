package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// A negotiation finds out what a server speaks, and makes that the conversation.
type negotiation struct{ *talk }

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
		return n.openModern(ctx, pinned, "set by --protocol", n.s.opt.Quick)
	case pinned != "":
		n.update(func(f *facts) { f.why = "set by --protocol" })
		return n.openLegacy(ctx, pinned, nil)
	case known != "" && Stateless(known) && n.s.opt.Quick && slices.Contains(revisions, known):
		n.assume(&modern{version: known}, "remembered from an earlier run")
		return wire.Outcome{}
	case known == "" || Stateless(known):
		return n.negotiate(ctx)
	}
	n.update(func(f *facts) { f.why = "remembered from an earlier run" })
	o := n.openLegacy(ctx, known, nil)
	if o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || refused4xx(o) {
		return n.negotiate(ctx)
	}
	return o
}

// resumable: only by Streamable HTTP do conversations outlive a connection, and where
// the process that has them is held.
func (n negotiation) resumable(m *Memory) bool {
	held := n.s.opt.Server.Held
	lasts := n.line().name() == StreamableHTTP || held != nil && !held.Starts
	return m != nil && m.Transport == n.line().name() && lasts &&
		visibleASCII(m.SessionID) && (slices.Contains(revisions, m.Revision) || m.Revision == rev2024Draft)
}

// resume goes on with a remembered session.
func (n negotiation) resume(m *Memory) {
	n.update(func(f *facts) { f.info = m.Info })
	n.assume(eraFor(m), "remembered with the session")
}

// assume takes an earlier run's word for what the server speaks.
func (n negotiation) assume(e era, why string) {
	n.update(func(f *facts) { f.era, f.why, f.untried = e, why, true })
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
	if target.Transport == HTTPSSE && !noSSE && target.URL != "" {
		if f := n.connectSSE(ctx); f == nil || !notThere(f) {
			return n.connected(f)
		}
	}
	line, f := n.newLine(ctx, target)
	if f == nil {
		n.update(func(f *facts) { f.line = line })
		if target.Held != nil && n.resumable(resume) {
			n.resume(resume)
		}
		line.listen()
	}
	return n.connected(f)
}

// connected is the ending of connect.
func (n negotiation) connected(f *fault) wire.Outcome {
	if f != nil {
		return n.outcome(nil, &Call{Method: "initialize"}, failure(f))
	}
	return wire.Outcome{}
}

// newLine makes a line to the server, on which nothing is read yet.
func (n negotiation) newLine(ctx context.Context, target Server) (transport, *fault) {
	limit, rec := MaxSize(n.s.opt.Limits.Message), n.s.rec
	switch {
	case target.Pipe != nil:
		in, out := target.Pipe()
		return newPipe(in, out, limit, rec, n.talk, nil), nil
	case target.Held != nil:
		return openHeld(ctx, target.Held, n.s.opt.Limits.Connect, limit, rec, n.talk)
	case len(target.Command) > 0:
		n.startedAgain()
		return startStdio(Command{Args: target.Command, Env: target.Env, Dir: target.Dir}, limit, rec, n.talk)
	}
	return n.newHTTP(), nil
}

func (n negotiation) newHTTP() *httpTransport {
	opt := &n.s.opt
	return newHTTPTransport(opt.Server.URL, n.s.via, MaxSize(opt.Limits.Message), opt.Fields, n.talk)
}

// notThere reports that the server answered, and with no event stream.
func notThere(f *fault) bool {
	return f.kind == wire.BadResponse || isRefusal(f.status)
}

func (n negotiation) connectSSE(ctx context.Context) *fault {
	ctx, stop := limited(ctx, timeoutError{"--connect-timeout", "no endpoint event", n.s.opt.Limits.Connect}, 0)
	defer stop()
	line, f := openHTTPSSE(ctx, n.newHTTP())
	if f == nil {
		n.update(func(f *facts) { f.line = line })
		line.listen()
	}
	return f
}

// negotiate probes with server/discover, never with a call that does something.
func (n negotiation) negotiate(ctx context.Context) wire.Outcome {
	if n.line().name() == HTTPSSE {
		n.update(func(f *facts) { f.why = "the URL is known to be an event stream that begins with an endpoint event" })
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
		found := judgeProbe(*r, n.line().name() == Stdio)
		switch {
		case found.kind == speaksModern:
			e.version = found.revision
			o := n.outcome(e, call, *r)
			n.update(func(f *facts) { f.era, f.why = e, found.why })
			if o.Good() {
				e.learn(n.talk, o.Result)
			}
			return o
		case found.kind == askAgain && attempt == 0:
			revision = found.revision
			if r.message.Error.Code == codeDraftVersion {
				n.found(wire.Warning, "revision", "the server rejects a version with -32004, the pre-release code; it should be -32022")
			}
		case found.kind == tryHandshake:
			return n.fallBack(ctx, found)
		default:
			o := n.outcome(e, call, *r)
			if found.text != "" {
				o.Kind, o.Text = wire.RPCFailed, found.text
			}
			return o
		}
	}
}

// graceToStart is how long a process may take until it answers the first request,
// however short the limit for a request is.
const graceToStart = 2 * time.Second

// probeTimeout: by HTTP silence says nothing about the era, so the probe may
// take as long as any request. Over stdio it takes no longer than that either, but
// for the start of a process.
func (n negotiation) probeTimeout() time.Duration {
	limits := n.s.opt.Limits
	if n.line().name() != Stdio {
		return limits.Idle
	}
	if patience := max(limits.Idle, graceToStart); limits.Idle > 0 && limits.Probe > patience {
		return patience
	}
	return limits.Probe
}

// fallBack opens with initialize after a probe that was not understood. A
// process that the probe killed is started again, and so is one that it spoilt:
// there are bridges (supergateway) that take any first message for their cue to
// initialize the server behind them, which then refuses a second time.
func (n negotiation) fallBack(ctx context.Context, found verdict) wire.Outcome {
	if !found.respawn {
		n.update(func(f *facts) { f.why = found.why })
		o := n.openLegacy(ctx, newest(revisions, handshake), &found)
		if !n.mayBeSpoilt(ctx, o) {
			return o
		}
		found.why += ", and so was initialize after it: the server was restarted without it"
	}
	n.line().close()
	if o := n.connect(ctx, false, nil); !o.Good() {
		return o
	}
	n.update(func(f *facts) { f.why = found.why })
	return n.openLegacy(ctx, newest(revisions, handshake), &found)
}

// mayBeSpoilt reports a process that refused initialize, or died of it, and names no
// revisions that it would rather speak.
func (n negotiation) mayBeSpoilt(ctx context.Context, o wire.Outcome) bool {
	refused := o.Kind == wire.RPCFailed && o.RPC() != nil && len(supportedIn(o.RPC())) == 0
	return n.line().name() == Stdio && o.Method == "initialize" && (refused || o.Kind == wire.Transport) && ctx.Err() == nil
}

// openLegacy opens with initialize; by HTTP, where that is refused as well, it
// looks for the transport of 2024-11-05. probe is the result that led here, or
// nil.
func (n negotiation) openLegacy(ctx context.Context, revision string, probe *verdict) wire.Outcome {
	n.update(func(f *facts) { f.era = &legacy{offered: revision} })
	o := n.era().open(ctx, n.talk)
	if o.Good() {
		return o
	}
	again := newest(supportedIn(o.RPC()), Stateless)
	if again != "" && n.s.opt.Protocol == "" && rpcCode(o) == codeUnsupportedVersion {
		return n.openModern(ctx, again, "initialize was refused with -32022", false)
	}
	if n.line().name() == StreamableHTTP && refused4xx(o) && o.Method == "initialize" {
		return n.trySSE(ctx, revision, probe, o)
	}
	return o
}

// trySSE opens the stream of the HTTP+SSE transport. When there is none either,
// what the server said to initialize is the better evidence.
func (n negotiation) trySSE(ctx context.Context, revision string, probe *verdict, refusal wire.Outcome) wire.Outcome {
	old := n.line()
	if f := n.connectSSE(ctx); f != nil {
		if f.kind == wire.Refused || f.kind == wire.Auth || f.kind == wire.Signal {
			return n.outcome(nil, &Call{Method: "initialize"}, failure(f))
		}
		return allRefused(refusal, probe, f)
	}
	old.close()
	n.update(func(f *facts) {
		f.era, f.why = &legacy{offered: revision}, "the URL is an event stream that begins with an endpoint event"
	})
	return n.era().open(ctx, n.talk)
}

// allRefused reports the attempts together: which of them the server should have
// answered is unknown.
func allRefused(o wire.Outcome, probe *verdict, sse *fault) wire.Outcome {
	var tried []string
	if probe != nil {
		tried = append(tried, probe.why)
	}
	tried = append(tried, "initialize: "+o.Text, "GET for an event stream: "+sse.text)
	o.Err = errors.New("tried " + strings.Join(tried, "; "))
	if o.Kind == wire.Transport {
		o.Text = "no MCP server at this URL (" + strings.Join(tried, "; ") + ")"
	}
	return o
}

// refused4xx reports the ending of a request that was refused with HTTP.
func refused4xx(o wire.Outcome) bool { return o.HTTP != nil && isRefusal(o.HTTP.Status) }

// isRefusal reports any 4xx but those that speak of authorization or load.
func isRefusal(status int) bool {
	return status/100 == 4 && status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusTooManyRequests && status != http.StatusRequestTimeout &&
		status != http.StatusProxyAuthRequired
}

// openModern opens at a revision that was asked for or that the server named. A
// server that refuses the version and lists the very same one is asked once
// more.
func (n negotiation) openModern(ctx context.Context, revision, why string, quick bool) wire.Outcome {
	n.update(func(f *facts) { f.era, f.why = &modern{version: revision}, why })
	if quick {
		return wire.Outcome{}
	}
	o := n.era().open(ctx, n.talk)
	if n.takeVersion(o.RPC()) {
		o = n.era().open(ctx, n.talk)
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
