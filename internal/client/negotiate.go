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

// open connects, finds the revision that the server speaks and opens the session. It follows the
// decision tree of 2026-07-28 basic/versioning and "Backward Compatibility" of the two transports.
// known is the revision of an earlier run, or "": it is used until the server contradicts it.
func (c *connection) open(ctx context.Context, known string, resume *Memory) wire.Outcome {
	pinned := c.s.opt.Protocol
	isPinnedModern := pinned != "" && Stateless(pinned) // such a revision is never spoken over HTTP+SSE
	if o := c.connectTransport(ctx, isPinnedModern, resume); !o.OK() {
		return o
	}
	if c.canResume(resume) {
		c.resume(resume)
		return wire.Outcome{}
	}
	if isPinnedModern {
		return c.openModern(ctx, pinned, "set by --protocol", c.s.opt.SkipDiscover)
	}
	if pinned != "" {
		c.update(func(f *connectionState) { f.revisionSource = "set by --protocol" })
		return c.openLegacy(ctx, pinned, nil)
	}
	if known != "" && Stateless(known) && c.s.opt.SkipDiscover && slices.Contains(revisions, known) {
		c.assumeEra(&modern{version: known}, "remembered from an earlier run")
		return wire.Outcome{}
	}
	if known == "" || Stateless(known) { // the probe is the first request of a stateless server anyway
		return c.negotiate(ctx)
	}
	c.update(func(f *connectionState) { f.revisionSource = "remembered from an earlier run" })
	o := c.openLegacy(ctx, known, nil)
	if o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || isHTTPRefusal(o) {
		return c.negotiate(ctx)
	}
	return o
}

// canResume reports whether the session m can be continued. Sessions outlive their connection over
// Streamable HTTP and at a server that a supervisor keeps running.
func (c *connection) canResume(m *Memory) bool {
	if m == nil || m.Transport != c.transport().Name() {
		return false
	}
	supervisor := c.s.opt.Server.Keepalive
	isKept := supervisor != nil && !supervisor.Starts
	if m.Transport != transport.StreamableHTTP && !isKept {
		return false
	}
	isKnownRevision := slices.Contains(revisions, m.Revision) || m.Revision == rev2024Draft
	return isKnownRevision && isSessionID(m.SessionID)
}

// resume continues the session m.
func (c *connection) resume(m *Memory) {
	c.update(func(f *connectionState) { f.info = m.Info })
	c.assumeEra(eraFor(m), "remembered with the session")
}

// assumeEra sets the era that an earlier run found. The connection is unconfirmed then.
func (c *connection) assumeEra(e era, why string) {
	c.update(func(f *connectionState) {
		f.era = e
		f.revisionSource = why
		f.unconfirmed = true
	})
}

// eraFor returns the era of a session of an earlier run.
func eraFor(m *Memory) era {
	if Stateless(m.Revision) {
		return &modern{version: m.Revision}
	}
	return &legacy{offered: m.Revision, guarded: guarded[agreement]{value: agreement{m.Revision, m.SessionID, m.Declared}}}
}

// connectTransport opens the transport; noSSE excludes HTTP+SSE. For a URL this sends nothing, except
// over HTTP+SSE, which begins with a stream; if the server has no such stream any more, the URL is
// used for Streamable HTTP. A session that is resumed at a kept server gets its era before the first
// read, since the supervisor passes on waiting requests from the server at once.
func (c *connection) connectTransport(ctx context.Context, noSSE bool, resume *Memory) wire.Outcome {
	server := c.s.opt.Server
	if server.Transport == transport.HTTPSSE && !noSSE && server.URL != "" {
		f := c.connectSSE(ctx)
		isNoEventStream := f != nil && (f.Kind == wire.BadResponse || wire.IsRefusal(f.Status))
		if !isNoEventStream {
			return c.connectOutcome(f)
		}
	}
	opened, f := c.openTransport(ctx, server)
	if f != nil {
		return c.connectOutcome(f)
	}
	if pipe, ok := opened.(interface{ KeepIn(spool.Dir) }); ok { // HTTP has its directory already
		pipe.KeepIn(c.s.opt.Spool)
	}
	c.update(func(state *connectionState) { state.transport = opened })
	if server.Keepalive != nil && c.canResume(resume) {
		c.resume(resume)
	}
	opened.Listen()
	return wire.Outcome{}
}

// connectOutcome returns the outcome of connecting: a failure because of f, or OK if f is nil.
func (c *connection) connectOutcome(f *transport.Fault) wire.Outcome {
	if f != nil {
		return c.outcome(nil, &Call{Method: "initialize"}, failedReply(f))
	}
	return wire.Outcome{}
}

// openTransport opens a transport to the server without reading from it.
func (c *connection) openTransport(ctx context.Context, server Server) (transport.Transport, *transport.Fault) {
	limit := transport.MaxSize(c.s.opt.Limits.Message)
	rec := c.s.recorder
	if server.Pipe != nil {
		in, out := server.Pipe()
		return transport.NewPipe(in, out, limit, rec, c, nil), nil // nil: no child process
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

// newHTTP returns an HTTP transport for the server's URL.
func (c *connection) newHTTP() *transport.HTTP {
	opt := &c.s.opt
	t := transport.NewHTTP(opt.Server.URL, c.s.connector, transport.MaxSize(opt.Limits.Message), opt.Fields, c)
	t.Spool = opt.Spool
	return t
}

// connectSSE opens an HTTP+SSE transport within the connect limit.
func (c *connection) connectSSE(ctx context.Context) *transport.Fault {
	const spent = 0 // the limit begins now
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--connect-timeout", What: "no endpoint event", After: c.s.opt.Limits.Connect},
		spent,
	)
	defer stop()
	opened, f := transport.OpenHTTPSSE(ctx, c.newHTTP())
	if f != nil {
		return f
	}
	c.update(func(state *connectionState) { state.transport = opened })
	opened.Listen()
	return nil
}

// negotiate finds the era by sending server/discover as a probe, never a request with an effect, and
// opens the session. It repeats the probe once if the server names another stateless revision.
func (c *connection) negotiate(ctx context.Context) wire.Outcome {
	if c.transport().Name() == transport.HTTPSSE { // the transport of 2024-11-05 needs no probe
		c.update(func(f *connectionState) {
			f.revisionSource = "the URL is known to be an event stream that begins with an endpoint event"
		})
		return c.openLegacy(ctx, newestCommon(revisions, hasHandshake), nil)
	}
	revision := newestCommon(revisions, Stateless)
	for attempt := 0; ; attempt++ {
		e := &modern{version: revision}
		call := &Call{Method: "server/discover"}
		r := c.takeProbeReply() // the previous connection may have sent the probe already
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
			if o.OK() {
				e.storeInfo(c, o.Result)
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
				o.TryRevision = newestCommon(revisions, hasHandshake)
			}
			return o
		}
	}
}

// graceToStart is the minimum time that a process has to answer the first request, even if
// Limits.Idle is shorter.
const graceToStart = 2 * time.Second

// graceToConnect is how much longer than Limits.Connect a probe waits: the error of a failed
// connection is more useful than a probe's timeout.
const graceToConnect = time.Second

// probeTimeout returns the limit for the probe: at most the limit of any request, except for a
// process that is starting.
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

// mayAcceptInitialize reports whether a server that failed a probe with o might respond to
// initialize: some servers and gateways fail on unknown methods. For an authorization challenge it
// reports false: the challenge already names the next step.
func (c *connection) mayAcceptInitialize(o wire.Outcome) bool {
	switch o.Kind {
	case wire.Auth:
		isChallenge := func(f wire.Field) bool { return strings.EqualFold(f.Name, "WWW-Authenticate") }
		return o.HTTP != nil && !slices.ContainsFunc(o.HTTP.Fields, isChallenge)
	case wire.Transport:
		// A redirect, or a network proxy that requires a login, answers initialize in the same way.
		isForAll := o.HTTP != nil && (o.HTTP.Status/100 == 3 || o.HTTP.Status == http.StatusProxyAuthRequired)
		return o.Reached != wire.Unsent && !isForAll && c.transport().Name() != transport.Stdio
	case wire.RPCFailed:
		return o.HTTP != nil && o.HTTP.Status/100 == 5
	}
	return false
}

// fallBackToInitialize opens the session with initialize after a probe that the server did not
// understand. found is the result of the probe. It restarts a process that exited on the probe, or
// that refuses initialize after it: some bridges (supergateway) initialize their own server on any
// first message, and then refuse to do so again.
func (c *connection) fallBackToInitialize(ctx context.Context, found probeResult) wire.Outcome {
	if !found.respawn {
		c.update(func(f *connectionState) { f.revisionSource = found.why })
		o := c.openLegacy(ctx, newestCommon(revisions, hasHandshake), &found)
		wasRefused := o.Kind == wire.RPCFailed || isHTTPRefusal(o)
		isStreamable := c.transport().Name() == transport.StreamableHTTP
		if found.silent && wasRefused && isStreamable {
			return c.probeAgain(ctx, o)
		}
		if !c.mayBeSpoiltByProbe(ctx, o) {
			return o
		}
		found.why += ", and initialize after it was rejected too: the server was restarted without the probe"
	}
	c.transport().Close()
	const noSSE = false // without effect: the transport is a process
	if o := c.connectTransport(ctx, noSSE, nil); !o.OK() {
		return o
	}
	c.update(func(f *connectionState) { f.revisionSource = found.why })
	return c.openLegacy(ctx, newestCommon(revisions, hasHandshake), &found)
}

// probeAgain repeats a probe that got no response, because initialize was refused: the server may
// have been slow. It returns refusal if the probe fails again.
func (c *connection) probeAgain(ctx context.Context, refusal wire.Outcome) wire.Outcome {
	e := &modern{version: newestCommon(revisions, Stateless)}
	o := e.open(ctx, c)
	if theirs, _ := supportedVersions(o.Result); !o.OK() || !slices.Contains(theirs, e.version) {
		return refusal
	}
	c.update(func(f *connectionState) {
		f.era = e
		f.revisionSource = "server/discover was answered after initialize was refused"
	})
	return o
}

// mayBeSpoiltByProbe reports whether o, the outcome of initialize over stdio, may be an effect of
// the probe: the process exited, or refused initialize without naming a revision.
func (c *connection) mayBeSpoiltByProbe(ctx context.Context, o wire.Outcome) bool {
	if c.transport().Name() != transport.Stdio || o.Method != "initialize" || ctx.Err() != nil {
		return false
	}
	wasRefused := o.Kind == wire.RPCFailed && o.RPCError() != nil && len(supportedIn(o.RPCError())) == 0
	return wasRefused || o.Kind == wire.Transport
}

// openLegacy opens the session with initialize. If a server refuses that over HTTP, openLegacy
// tries the HTTP+SSE transport of 2024-11-05. probe is the result of the probe before, or nil.
func (c *connection) openLegacy(ctx context.Context, revision string, probe *probeResult) wire.Outcome {
	c.update(func(f *connectionState) { f.era = &legacy{offered: revision} })
	o := c.era().open(ctx, c)
	if o.OK() {
		return o
	}
	stateless := newestCommon(supportedIn(o.RPCError()), Stateless)
	isPinned := c.s.opt.Protocol != ""
	if stateless != "" && !isPinned && rpcCode(o) == codeUnsupportedVersion {
		const quick = false
		return c.openModern(ctx, stateless, "initialize was refused with -32022", quick)
	}
	if c.transport().Name() == transport.StreamableHTTP && isHTTPRefusal(o) && o.Method == "initialize" {
		return c.trySSE(ctx, revision, probe, o)
	}
	return o
}

// trySSE opens the session over the HTTP+SSE transport after refusal, the outcome of initialize. probe
// is the result of the probe before that, or nil. If there is no such stream either, the outcome
// describes all attempts.
func (c *connection) trySSE(
	ctx context.Context,
	revision string,
	probe *probeResult,
	refusal wire.Outcome,
) wire.Outcome {
	old := c.transport()
	if f := c.connectSSE(ctx); f != nil {
		// These say more than the attempts: mcpc, the server or the user forbids the connection.
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

// combineRefusals returns o, the outcome of initialize, with the texts of all attempts: the server
// should perhaps have accepted an earlier attempt.
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

// isHTTPRefusal reports whether the server refused the request with an HTTP status.
func isHTTPRefusal(o wire.Outcome) bool { return o.HTTP != nil && wire.IsRefusal(o.HTTP.Status) }

// openModern opens the session at a stateless revision that the user or the server named. quick
// skips server/discover. If the server refuses the revision but lists it, openModern asks once
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
	if c.switchVersion(o.RPCError()) {
		o = c.era().open(ctx, c)
	}
	if !o.OK() {
		return explainHandshake(o, revision)
	}
	theirs, ok := supportedVersions(o.Result)
	if ok && !slices.Contains(theirs, revision) {
		return withFailure(o, wire.RPCFailed, "the server speaks "+joinOrNone(theirs)+" where "+revision+" was requested")
	}
	return o
}

// explainHandshake adds to a refused server/discover that the server may speak a revision with
// initialize.
func explainHandshake(o wire.Outcome, revision string) wire.Outcome {
	wasRefused := o.Kind == wire.RPCFailed || o.Kind == wire.Transport && isHTTPRefusal(o)
	if !wasRefused || slices.Contains(modernCodes, rpcCode(o)) { // a modern code: it speaks the era
		return o
	}
	o.Text = fmt.Sprintf("the server does not speak %s (server/discover: %s)", revision, o.Text)
	o.Hint = "without --protocol the revision is negotiated"
	return o
}

// rpcCode returns the code of the JSON-RPC error in o, or 0.
func rpcCode(o wire.Outcome) int64 {
	if o.RPCError() == nil {
		return 0
	}
	return o.RPCError().Code
}
