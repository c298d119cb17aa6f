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

// open finds out what the server speaks and opens the conversation, along the
// decision tree of 2026-07-28 basic/versioning and the two transports'
// "Backward Compatibility". What an earlier run found out is believed until the
// server says otherwise.
func (c *connection) open(ctx context.Context, known string, resume *Memory) wire.Outcome {
	pinned := c.s.opt.Protocol
	if o := c.connect(ctx, pinned != "" && Stateless(pinned), resume); !o.Good() {
		return o
	}
	switch {
	case c.canResume(resume):
		c.resume(resume)
		return wire.Outcome{}
	case pinned != "" && Stateless(pinned):
		return c.openModern(ctx, pinned, "set by --protocol", c.s.opt.SkipDiscover)
	case pinned != "":
		c.update(func(f *connectionState) { f.revisionSource = "set by --protocol" })
		return c.openLegacy(ctx, pinned, nil)
	case known != "" && Stateless(known) && c.s.opt.SkipDiscover && slices.Contains(revisions, known):
		c.assumeEra(&modern{version: known}, "remembered from an earlier run")
		return wire.Outcome{}
	case known == "" || Stateless(known):
		return c.negotiate(ctx)
	}
	c.update(func(f *connectionState) { f.revisionSource = "remembered from an earlier run" })
	o := c.openLegacy(ctx, known, nil)
	if o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || isHTTPRefusal(o) {
		return c.negotiate(ctx)
	}
	return o
}

// resumable: only by Streamable HTTP do conversations outlive a connection, and where
// the process that has them is held.
func (c *connection) canResume(m *Memory) bool {
	held := c.s.opt.Server.Keepalive
	lasts := c.transport().Name() == transport.StreamableHTTP || held != nil && !held.Starts
	return m != nil && m.Transport == c.transport().Name() && lasts &&
		isSessionID(m.SessionID) && (slices.Contains(revisions, m.Revision) || m.Revision == rev2024Draft)
}

// resume goes on with a remembered session.
func (c *connection) resume(m *Memory) {
	c.update(func(f *connectionState) { f.info = m.Info })
	c.assumeEra(eraFor(m), "remembered with the session")
}

// assume takes an earlier run's word for what the server speaks.
func (c *connection) assumeEra(e era, why string) {
	c.update(func(f *connectionState) {
		f.era = e
		f.revisionSource = why
		f.unconfirmed = true
	})
}

func eraFor(m *Memory) era {
	if Stateless(m.Revision) {
		return &modern{version: m.Revision}
	}
	return &legacy{offered: m.Revision, guarded: guarded[agreement]{value: agreement{m.Revision, m.SessionID, m.Declared}}}
}

// connect gets a line to the server. A URL costs nothing yet, unless it is known
// to be of the transport that begins with a stream; one that no longer does is
// tried as any other. A session that is resumed at a kept server is settled before anything is
// read: what the server requested in between is handed over at once.
func (c *connection) connect(ctx context.Context, noSSE bool, resume *Memory) wire.Outcome {
	server := c.s.opt.Server
	if server.Transport == transport.HTTPSSE && !noSSE && server.URL != "" {
		f := c.connectSSE(ctx)
		noStream := f != nil && (f.Kind == wire.BadResponse || transport.IsRefusal(f.Status)) // there is no event stream
		if !noStream {
			return c.connectOutcome(f)
		}
	}
	line, f := c.openTransport(ctx, server)
	if f == nil {
		if pipe, ok := line.(interface{ KeepIn(spool.Dir) }); ok {
			pipe.KeepIn(c.s.opt.Spool)
		}
		c.update(func(f *connectionState) { f.transport = line })
		if server.Keepalive != nil && c.canResume(resume) {
			c.resume(resume)
		}
		line.Listen()
	}
	return c.connectOutcome(f)
}

// connected is the ending of connect.
func (c *connection) connectOutcome(f *transport.Fault) wire.Outcome {
	if f != nil {
		return c.outcome(nil, &Call{Method: "initialize"}, failedReply(f))
	}
	return wire.Outcome{}
}

// openLine makes a line to the server, on which nothing is read yet.
func (c *connection) openTransport(ctx context.Context, server Server) (transport.Transport, *transport.Fault) {
	limit := transport.MaxSize(c.s.opt.Limits.Message)
	rec := c.s.recorder
	if server.Pipe != nil {
		in, out := server.Pipe()
		return transport.NewPipe(in, out, limit, rec, c, nil), nil
	}
	if server.Keepalive != nil {
		return keepalive.Open(ctx, server.Keepalive, c.s.opt.Limits.Connect, limit, rec, c)
	}
	if len(server.Command) > 0 {
		c.restartCounts()
		return transport.StartStdio(process.Command{Args: server.Command, Env: server.Env, Dir: server.Dir}, limit, rec, c)
	}
	return c.newHTTP(), nil
}

func (c *connection) newHTTP() *transport.HTTP {
	opt := &c.s.opt
	t := transport.NewHTTP(opt.Server.URL, c.s.connector, transport.MaxSize(opt.Limits.Message), opt.Fields, c)
	t.Spool = opt.Spool
	return t
}

func (c *connection) connectSSE(ctx context.Context) *transport.Fault {
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--connect-timeout", What: "no endpoint event", After: c.s.opt.Limits.Connect},
		0,
	)
	defer stop()
	line, f := transport.OpenHTTPSSE(ctx, c.newHTTP())
	if f == nil {
		c.update(func(f *connectionState) { f.transport = line })
		line.Listen()
	}
	return f
}

// negotiate probes with server/discover, never with a call that does something.
func (c *connection) negotiate(ctx context.Context) wire.Outcome {
	if c.transport().Name() == transport.HTTPSSE {
		c.update(func(f *connectionState) {
			f.revisionSource = "the URL is known to be an event stream that begins with an endpoint event"
		})
		return c.openLegacy(ctx, newest(revisions, handshake), nil)
	}
	revision := newest(revisions, Stateless)
	for attempt := 0; ; attempt++ {
		e := &modern{version: revision}
		call := &Call{Method: "server/discover"}
		r := c.takeProbeReply()
		if r == nil {
			fresh := c.request(ctx, probing{e}, call, c.probeTimeout())
			r = &fresh
		}
		found := classifyProbe(*r, c.transport().Name() == transport.Stdio)
		switch {
		case found.kind == speaksModern:
			e.version = found.revision
			o := c.outcome(e, call, *r)
			c.update(func(f *connectionState) {
				f.era = e
				f.revisionSource = found.why
			})
			if o.Good() {
				e.learn(c, o.Result)
			}
			return o
		case found.kind == askAgain && attempt == 0:
			revision = found.revision
			if r.Message.Error.Code == codeDraftVersion {
				c.addFinding(
					wire.Warning,
					"revision",
					"the server rejects a version with -32004, the pre-release code; it should be -32022",
				)
			}
		case found.kind == tryHandshake:
			return c.fallBackToInitialize(ctx, found)
		default:
			o := c.outcome(e, call, *r)
			if found.text != "" {
				o.Kind = wire.RPCFailed
				o.Text = found.text
			}
			if c.s.opt.KnownRevision == "" && c.mayAcceptInitialize(o) {
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
func (c *connection) probeTimeout() time.Duration {
	limits := c.s.opt.Limits
	if c.transport().Name() == transport.Stdio {
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
func (c *connection) mayAcceptInitialize(o wire.Outcome) bool {
	switch o.Kind {
	case wire.Auth:
		isChallenge := func(f wire.Field) bool { return strings.EqualFold(f.Name, "WWW-Authenticate") }
		return o.HTTP != nil && !slices.ContainsFunc(o.HTTP.Fields, isChallenge)
	case wire.Transport:
		isForAll := o.HTTP != nil && (o.HTTP.Status/100 == 3 || o.HTTP.Status == http.StatusProxyAuthRequired)
		return o.Reached != wire.Unsent && !isForAll && c.transport().Name() != transport.Stdio
	case wire.RPCFailed:
		return o.HTTP != nil && o.HTTP.Status/100 == 5
	}
	return false
}

// fallBack opens with initialize after a probe that was not understood. A
// process that the probe killed is started again, and so is one that it spoilt:
// there are bridges (supergateway) that take any first message for their cue to
// initialize the server behind them, which then refuses a second time.
func (c *connection) fallBackToInitialize(ctx context.Context, found probeResult) wire.Outcome {
	if !found.respawn {
		c.update(func(f *connectionState) { f.revisionSource = found.why })
		o := c.openLegacy(ctx, newest(revisions, handshake), &found)
		wasRefused := o.Kind == wire.RPCFailed || isHTTPRefusal(o)
		if found.silent && wasRefused && c.transport().Name() == transport.StreamableHTTP {
			return c.probeAgain(ctx, o)
		}
		if !c.mayBeSpoiltByProbe(ctx, o) {
			return o
		}
		found.why += ", and so was initialize after it: the server was restarted without it"
	}
	c.transport().Close()
	if o := c.connect(ctx, false, nil); !o.Good() {
		return o
	}
	c.update(func(f *connectionState) { f.revisionSource = found.why })
	return c.openLegacy(ctx, newest(revisions, handshake), &found)
}

// probeAgain sends a probe that was not answered once more, since initialize was refused: the server may have
// been slow. If the probe fails again, the outcome is refusal.
func (c *connection) probeAgain(ctx context.Context, refusal wire.Outcome) wire.Outcome {
	e := &modern{version: newest(revisions, Stateless)}
	o := e.open(ctx, c)
	if theirs, _ := supportedVersions(o.Result); !o.Good() || !slices.Contains(theirs, e.version) {
		return refusal
	}
	c.update(func(f *connectionState) {
		f.era = e
		f.revisionSource = "server/discover was answered after initialize was refused"
	})
	return o
}

// mayBeSpoilt reports a process that refused initialize, or died of it, and names no
// revisions that it would rather speak.
func (c *connection) mayBeSpoiltByProbe(ctx context.Context, o wire.Outcome) bool {
	refused := o.Kind == wire.RPCFailed && o.RPC() != nil && len(supportedIn(o.RPC())) == 0
	return c.transport().Name() == transport.Stdio && o.Method == "initialize" && (refused || o.Kind == wire.Transport) &&
		ctx.Err() == nil
}

// openLegacy opens with initialize; by HTTP, where that is refused as well, it
// looks for the transport of 2024-11-05. probe is the result that led here, or
// nil.
func (c *connection) openLegacy(ctx context.Context, revision string, probe *probeResult) wire.Outcome {
	c.update(func(f *connectionState) { f.era = &legacy{offered: revision} })
	o := c.era().open(ctx, c)
	if o.Good() {
		return o
	}
	again := newest(supportedIn(o.RPC()), Stateless)
	if again != "" && c.s.opt.Protocol == "" && rpcCode(o) == codeUnsupportedVersion {
		return c.openModern(ctx, again, "initialize was refused with -32022", false)
	}
	if c.transport().Name() == transport.StreamableHTTP && isHTTPRefusal(o) && o.Method == "initialize" {
		return c.trySSE(ctx, revision, probe, o)
	}
	return o
}

// trySSE opens the stream of the HTTP+SSE transport. When there is none either,
// what the server said to initialize is the better evidence.
func (c *connection) trySSE(
	ctx context.Context,
	revision string,
	probe *probeResult,
	refusal wire.Outcome,
) wire.Outcome {
	old := c.transport()
	if f := c.connectSSE(ctx); f != nil {
		if f.Kind == wire.Refused || f.Kind == wire.Auth || f.Kind == wire.Signal {
			return c.outcome(nil, &Call{Method: "initialize"}, failedReply(f))
		}
		return combineRefusals(refusal, probe, f)
	}
	old.Close()
	c.update(func(f *connectionState) {
		f.era = &legacy{offered: revision}
		f.revisionSource = "the URL is an event stream that begins with an endpoint event"
	})
	return c.era().open(ctx, c)
}

// allRefused reports the attempts together: which of them the server should have
// answered is unknown.
func combineRefusals(o wire.Outcome, probe *probeResult, sse *transport.Fault) wire.Outcome {
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
func isHTTPRefusal(o wire.Outcome) bool { return o.HTTP != nil && transport.IsRefusal(o.HTTP.Status) }

// openModern opens at a revision that was asked for or that the server named. A
// server that refuses the version and lists the very same one is asked once
// more.
func (c *connection) openModern(ctx context.Context, revision, why string, quick bool) wire.Outcome {
	c.update(func(f *connectionState) {
		f.era = &modern{version: revision}
		f.revisionSource = why
	})
	if quick {
		return wire.Outcome{}
	}
	o := c.era().open(ctx, c)
	if c.switchVersion(o.RPC()) {
		o = c.era().open(ctx, c)
	}
	if !o.Good() {
		return explainHandshake(o, revision)
	}
	theirs, ok := supportedVersions(o.Result)
	if ok && !slices.Contains(theirs, revision) {
		return withFailure(o, wire.RPCFailed, "the server speaks "+joinOrNone(theirs)+" where "+revision+" was requested")
	}
	return o
}

// needsHandshake explains a refused server/discover of a pinned revision: the
// server is of the other era.
func explainHandshake(o wire.Outcome, revision string) wire.Outcome {
	refused := o.Kind == wire.RPCFailed || o.Kind == wire.Transport && isHTTPRefusal(o)
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
