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

// open finds out what the server speaks and opens the conversation, along the
// decision tree of 2026-07-28 basic/versioning and the two transports'
// "Backward Compatibility". What an earlier run found out is believed until the
// server says otherwise.
func (t *talk) open(ctx context.Context, known string, resume *Memory) wire.Outcome {
	pinned := t.s.opt.Protocol
	if o := t.connect(ctx, pinned != "" && Stateless(pinned), resume); !o.Good() {
		return o
	}
	switch {
	case t.resumable(resume):
		t.resume(resume)
		return wire.Outcome{}
	case pinned != "" && Stateless(pinned):
		return t.openModern(ctx, pinned, "set by --protocol", t.s.opt.Quick)
	case pinned != "":
		t.update(func(f *facts) { f.why = "set by --protocol" })
		return t.openLegacy(ctx, pinned, nil)
	case known != "" && Stateless(known) && t.s.opt.Quick && slices.Contains(revisions, known):
		t.assume(&modern{version: known}, "remembered from an earlier run")
		return wire.Outcome{}
	case known == "" || Stateless(known):
		return t.negotiate(ctx)
	}
	t.update(func(f *facts) { f.why = "remembered from an earlier run" })
	o := t.openLegacy(ctx, known, nil)
	if o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || refused4xx(o) {
		return t.negotiate(ctx)
	}
	return o
}

// resumable: only by Streamable HTTP do conversations outlive a connection, and where
// the process that has them is held.
func (t *talk) resumable(m *Memory) bool {
	held := t.s.opt.Server.Held
	lasts := t.line().name() == StreamableHTTP || held != nil && !held.Starts
	return m != nil && m.Transport == t.line().name() && lasts &&
		visibleASCII(m.SessionID) && (slices.Contains(revisions, m.Revision) || m.Revision == rev2024Draft)
}

// resume goes on with a remembered session.
func (t *talk) resume(m *Memory) {
	t.update(func(f *facts) { f.info = m.Info })
	t.assume(eraFor(m), "remembered with the session")
}

// assume takes an earlier run's word for what the server speaks.
func (t *talk) assume(e era, why string) {
	t.update(func(f *facts) { f.era, f.why, f.untried = e, why, true })
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
func (t *talk) connect(ctx context.Context, noSSE bool, resume *Memory) wire.Outcome {
	target := t.s.opt.Server
	if target.Transport == HTTPSSE && !noSSE && target.URL != "" {
		if f := t.connectSSE(ctx); f == nil || !notThere(f) {
			return t.connected(f)
		}
	}
	line, f := t.newLine(ctx, target)
	if f == nil {
		t.update(func(f *facts) { f.line = line })
		if target.Held != nil && t.resumable(resume) {
			t.resume(resume)
		}
		line.listen()
	}
	return t.connected(f)
}

// connected is the ending of connect.
func (t *talk) connected(f *fault) wire.Outcome {
	if f != nil {
		return t.outcome(nil, &Call{Method: "initialize"}, failure(f))
	}
	return wire.Outcome{}
}

// newLine makes a line to the server, on which nothing is read yet.
func (t *talk) newLine(ctx context.Context, target Server) (transport, *fault) {
	limits, rec := t.s.opt.Limits, t.s.rec
	switch {
	case target.Pipe != nil:
		in, out := target.Pipe()
		return newPipe(in, out, limits, rec, t, nil), nil
	case target.Held != nil:
		return openHeld(ctx, target.Held, limits, rec, t)
	case len(target.Command) > 0:
		t.startedAgain()
		return startStdio(Command{Args: target.Command, Env: target.Env, Dir: target.Dir}, limits, rec, t)
	}
	return t.newHTTP(), nil
}

func (t *talk) newHTTP() *httpTransport {
	opt := &t.s.opt
	return newHTTPTransport(opt.Server.URL, t.s.via, opt.Limits, opt.Fields, t)
}

// notThere reports that the server answered, and with no event stream.
func notThere(f *fault) bool {
	return f.kind == wire.BadResponse || isRefusal(f.status)
}

func (t *talk) connectSSE(ctx context.Context) *fault {
	ctx, stop := limited(ctx, timeoutError{"--connect-timeout", "no endpoint event", t.s.opt.Limits.Connect}, 0)
	defer stop()
	line, f := openHTTPSSE(ctx, t.newHTTP())
	if f == nil {
		t.update(func(f *facts) { f.line = line })
		line.listen()
	}
	return f
}

// negotiate probes with server/discover, never with a call that does something.
func (t *talk) negotiate(ctx context.Context) wire.Outcome {
	if t.line().name() == HTTPSSE {
		t.update(func(f *facts) { f.why = "the URL is known to be an event stream that begins with an endpoint event" })
		return t.openLegacy(ctx, newest(revisions, handshake), nil)
	}
	revision := newest(revisions, Stateless)
	for attempt := 0; ; attempt++ {
		e := &modern{version: revision}
		call := &Call{Method: "server/discover"}
		r := t.takeProbed()
		if r == nil {
			fresh := t.request(ctx, probing{e}, call, t.probeTimeout())
			r = &fresh
		}
		v := judgeProbe(*r, t.line().name() == Stdio)
		switch {
		case v.kind == speaksModern:
			e.version = v.revision
			o := t.outcome(e, call, *r)
			t.update(func(f *facts) { f.era, f.why = e, v.why })
			if o.Good() {
				e.learn(t, o.Result)
			}
			return o
		case v.kind == askAgain && attempt == 0:
			revision = v.revision
			if r.message.Error.Code == codeDraftVersion {
				t.found(wire.Warning, "revision", "the server rejects a version with -32004, the pre-release code; it should be -32022")
			}
		case v.kind == tryHandshake:
			return t.fallBack(ctx, v)
		default:
			o := t.outcome(e, call, *r)
			if v.text != "" {
				o.Kind, o.Text = wire.RPCFailed, v.text
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
func (t *talk) probeTimeout() time.Duration {
	limits := t.s.opt.Limits
	if t.line().name() != Stdio {
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
func (t *talk) fallBack(ctx context.Context, v verdict) wire.Outcome {
	if !v.respawn {
		t.update(func(f *facts) { f.why = v.why })
		o := t.openLegacy(ctx, newest(revisions, handshake), &v)
		if !t.mayBeSpoilt(ctx, o) {
			return o
		}
		v.why += ", and so was initialize after it: the server was restarted without it"
	}
	t.line().close()
	if o := t.connect(ctx, false, nil); !o.Good() {
		return o
	}
	t.update(func(f *facts) { f.why = v.why })
	return t.openLegacy(ctx, newest(revisions, handshake), &v)
}

// mayBeSpoilt reports a process that refused initialize, or died of it, and names no
// revisions that it would rather speak.
func (t *talk) mayBeSpoilt(ctx context.Context, o wire.Outcome) bool {
	refused := o.Kind == wire.RPCFailed && o.RPC() != nil && len(supportedIn(o.RPC())) == 0
	return t.line().name() == Stdio && o.Method == "initialize" && (refused || o.Kind == wire.Transport) && ctx.Err() == nil
}

// openLegacy opens with initialize; by HTTP, where that is refused as well, it
// looks for the transport of 2024-11-05. probe is the verdict that led here, or
// nil.
func (t *talk) openLegacy(ctx context.Context, revision string, probe *verdict) wire.Outcome {
	t.update(func(f *facts) { f.era = &legacy{offered: revision} })
	o := t.era().open(ctx, t)
	if o.Good() {
		return o
	}
	again := newest(supportedIn(o.RPC()), Stateless)
	if again != "" && t.s.opt.Protocol == "" && rpcCode(o) == codeUnsupportedVersion {
		return t.openModern(ctx, again, "initialize was refused with -32022", false)
	}
	if t.line().name() == StreamableHTTP && refused4xx(o) && o.Method == "initialize" {
		return t.trySSE(ctx, revision, probe, o)
	}
	return o
}

// trySSE opens the stream of the HTTP+SSE transport. When there is none either,
// what the server said to initialize is the better evidence.
func (t *talk) trySSE(ctx context.Context, revision string, probe *verdict, refusal wire.Outcome) wire.Outcome {
	old := t.line()
	if f := t.connectSSE(ctx); f != nil {
		if f.kind == wire.Refused || f.kind == wire.Auth || f.kind == wire.Signal {
			return t.outcome(nil, &Call{Method: "initialize"}, failure(f))
		}
		return allRefused(refusal, probe, f)
	}
	old.close()
	t.update(func(f *facts) {
		f.era, f.why = &legacy{offered: revision}, "the URL is an event stream that begins with an endpoint event"
	})
	return t.era().open(ctx, t)
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

// refused4xx: any 4xx but those that speak of authorization or load.
func refused4xx(o wire.Outcome) bool { return o.HTTP != nil && isRefusal(o.HTTP.Status) }

func isRefusal(status int) bool {
	return status/100 == 4 && status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusTooManyRequests && status != http.StatusRequestTimeout &&
		status != http.StatusProxyAuthRequired
}

// openModern opens at a revision that was asked for or that the server named. A
// server that refuses the version and lists the very same one is asked once
// more.
func (t *talk) openModern(ctx context.Context, revision, why string, quick bool) wire.Outcome {
	t.update(func(f *facts) { f.era, f.why = &modern{version: revision}, why })
	if quick {
		return wire.Outcome{}
	}
	o := t.era().open(ctx, t)
	if t.takeVersion(o.RPC()) {
		o = t.era().open(ctx, t)
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
