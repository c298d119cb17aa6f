package client

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// A connection is one session at one server process or URL: its transport, its era, and what the
// server reported about itself. If the server loses the session, the Session opens another
// connection; a connection is opened once.
type connection struct {
	s *Session

	findings
	// questions are the server's requests that wait for an answer. serverTasks are the requests
	// that became tasks of the client.
	questions   questions
	serverTasks serverTasks

	guarded[connectionState]
	// requestIDs are the ids of recent requests, marked if the request was given up.
	// abandonedProbe is the id of a probe that was given up, or "".
	// Both are guarded by guarded.mu.
	requestIDs     *transport.RecentIDs
	abandonedProbe string
}

// A connectionState is the changing part of a connection.
type connectionState struct {
	// transport and era change only while the connection is being opened; the server may already
	// send messages then. era is nil until it is known.
	transport transport.Transport
	era       era
	info      Info
	// revisionSource says how the revision was found, for the user.
	revisionSource string
	// unconfirmed is set while the connection relies on the memory of an earlier run and the server
	// has not responded yet.
	unconfirmed bool
	// switchedVersion is set after the revision changed because of a -32022 error; it changes once
	// only.
	switchedVersion bool
	// isLost is set when the server no longer knows the session.
	isLost bool
	// getStream is the GET stream for messages that belong to no request. It is nil before
	// openGetStream, and if the era or the transport has no GET stream.
	getStream *transport.GetStream
	// rootsSettled is closed when the server has had time to process the roots that it requested
	// last; nil if it requested no roots.
	rootsSettled chan struct{}
	// probeReply is the reply to a probe that contradicted the memory of an earlier run. The next
	// connection uses it instead of sending a probe. It is nil otherwise.
	probeReply *reply
	// noise is the first non-message that was received before the responses that opened the
	// connection.
	noise []byte
	// sentAt is the time of the last request.
	sentAt time.Time
}

// openConnection opens a connection. known is the revision that an earlier connection or run used,
// or "". resume is the session to continue, or nil. probed is a reply that replaces the first probe,
// or nil. If it fails, the connection is closed and nil; closing does not count in the outcome's
// duration.
func (s *Session) openConnection(
	ctx context.Context,
	known string,
	resume *Memory,
	probed *reply,
) (*connection, wire.Outcome) {
	c := &connection{
		s:          s,
		guarded:    guarded[connectionState]{value: connectionState{probeReply: probed}},
		requestIDs: transport.NewRecentIDs(),
		findings:   findings{sink: s.opt.Found, once: &s.reportedRules},
	}
	began := s.opt.Now()
	o := c.open(ctx, known, resume)
	if o.OK() {
		rejectNoise(c, c.load().noise, &o)
	}
	if !o.OK() && o.ID != nil {
		began = c.load().sentAt // time of the request that failed, not of a probe before it
	}
	o.Took = s.opt.Now().Sub(began)
	if !o.OK() {
		const endSession = true // the server may have opened a session before the failure
		c.close(context.WithoutCancel(ctx), endSession)
		return nil, o
	}
	if s.opt.GetStream {
		c.openGetStream(ctx)
	}
	return c, o
}

// openGetStream opens the GET stream on the first call, if era and transport have one, and waits
// briefly until it is open: the server may need it for requests during the next request of the
// client. It returns nil if there is no such stream.
func (c *connection) openGetStream(ctx context.Context) *transport.GetStream {
	httpTransport, ok := c.transport().(*transport.HTTP)
	fields := c.era().getStreamFields()
	if !ok || fields == nil {
		return nil
	}
	var stream *transport.GetStream
	c.update(func(f *connectionState) {
		if f.getStream == nil {
			f.getStream = httpTransport.OpenGetStream(c.s.lifetime, fields, &c.s.subscriptions)
		}
		stream = f.getStream
	})
	stream.WaitOpen(ctx)
	return stream
}

// close closes the connection and reports the counted findings. endSession also asks the server to
// end the session.
func (c *connection) close(ctx context.Context, endSession bool) {
	now := c.load()
	if now.transport == nil {
		return
	}
	now.getStream.Close()
	if endSession && now.era != nil && !c.load().isLost { // the server no longer knows a lost session
		now.era.endSession(ctx, c)
	}
	now.transport.Close()
	c.reportRepeated()
}

// A guarded value is read and changed under its mutex.
type guarded[T any] struct {
	mu    sync.Mutex
	value T
}

// load returns a copy of the value.
func (g *guarded[T]) load() T { return g.update(func(*T) {}) }

// update calls change with the value under the mutex, and returns the value before the change.
func (g *guarded[T]) update(change func(*T)) T {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.value
	change(&g.value)
	return before
}

func (c *connection) transport() transport.Transport { return c.load().transport }

// era returns the era, nil before it is known. It copies nothing else, because each message needs
// it.
func (c *connection) era() era {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value.era
}

// takeProbeReply returns probeReply and resets it.
func (c *connection) takeProbeReply() *reply {
	var r *reply
	c.update(func(f *connectionState) {
		r = f.probeReply
		f.probeReply = nil
	})
	return r
}

// revision returns the revision of the era, or "" before the era is known.
func (c *connection) revision() string {
	if e := c.era(); e != nil {
		return e.revision()
	}
	return ""
}

// request composes a request, sends it and waits for its response.
func (c *connection) request(ctx context.Context, e era, call *Call, idle time.Duration) reply {
	return c.requestWithPrevious(ctx, e, call, idle, nil)
}

// requestWithPrevious composes a request for a call, sends it and waits for its response. previousID
// is the id of the request that this one repeats, for the recorder, or nil.
func (c *connection) requestWithPrevious(ctx context.Context, e era, call *Call, idle time.Duration,
	previousID json.RawMessage,
) reply {
	out := &outgoing{
		Outgoing:       transport.Outgoing{ID: call.ID, Method: call.Method, PreviousID: previousID},
		isAcknowledged: call.isAcknowledged, hasNoTimers: call.untimed, onProgress: call.Progressed,
	}
	if out.ID == nil {
		out.ID = c.s.nextID()
	}
	out.Raw = wire.ComposeRequest(out.ID, call.Method, c.stamp(e, call, out))
	return c.exchange(ctx, e, out, idle)
}

// sendOneWay sends a message that has no response. It waits at most the idle limit until the server
// accepts the message.
func (c *connection) sendOneWay(ctx context.Context, out *transport.Outgoing) reply {
	limits := c.s.opt.Limits
	if limits.Idle > 0 {
		var stop context.CancelFunc
		timeout := limits.idleTimeout("the message was not accepted", limits.Idle)
		ctx, stop = context.WithTimeoutCause(ctx, limits.Idle, timeout)
		defer stop()
	}
	r := c.transport().Send(ctx, out)
	if r.Fault != nil && ctx.Err() != nil {
		r.Fault.EndBy(context.Cause(ctx))
	}
	return reply{Reply: r}
}

// Receive handles a message that is not the response to a pending request. It reports whether m may
// be reused afterwards, which is true for progress notifications only.
func (c *connection) Receive(m *wire.Message) bool {
	switch m.Kind {
	case wire.Request:
		checkUnasked(c, m)
		c.serveRequest(m)
	case wire.Notification:
		if slices.Contains(inputMethods, m.Method) {
			c.reportUnanswerable(m, "it has no id")
			return false
		}
		checkUnasked(c, m)
		c.handleCancelled(m)
		if e := c.era(); e == nil || e.handleNotification(c, m) {
			return c.s.deliverNotification(m)
		}
	case wire.Batch:
		if e := c.era(); e != nil && !e.allowsBatches() {
			c.addFinding(wire.Warning, "batch", "the server sent a batch, which revision "+e.revision()+" does not support")
		}
		for _, item := range m.Items {
			c.Receive(item)
		}
	case wire.Response, wire.ErrorResponse: // the transport found no request that waits for it
		c.reportOrphan(m.ID)
	default:
		text := "received an invalid JSON-RPC message: " + m.Problem()
		f := wire.Finding{Rule: "message", Severity: wire.Warning, Text: text}
		if string(m.Raw) == "{}" { // servers send it as the first event of a resumed stream
			f.Severity = wire.Info
			c.Finding(f)
			return false
		}
		c.Repeated(f, "messages received are not valid JSON-RPC")
	}
	return false
}

// serveRequest handles a request from the server.
func (c *connection) serveRequest(m *wire.Message) {
	e := c.era()
	if e == nil {
		c.addFinding(
			wire.Info,
			"server_request",
			"the server requested "+m.Method+" before the session was open; it was not answered",
		)
		return
	}
	for _, p := range m.Problems {
		if p.Rule == "id" { // an answer must repeat an id that JSON-RPC allows
			c.reportUnanswerable(m, p.Text)
			return
		}
	}
	e.handleRequest(c, m)
}

// reportUnanswerable reports a request from the server without a usable id. It also adds the
// request to the diagnostics of pending requests: the server may be waiting for the answer before
// it responds.
func (c *connection) reportUnanswerable(m *wire.Message, why string) {
	c.Diagnose(
		transport.Diagnostic{
			Text: "in the meantime the server requested " + m.Method + ", which cannot be answered: " + why,
			Hint: "a server request needs an id; waiting longer does not help",
		},
	)
	c.addFinding(wire.Warning, "id", "the server's request "+m.Method+" was not answered: "+why)
}

// maxAnswering limits the requests from the server that are answered at the same time.
const maxAnswering = 32

// An answerPool runs the functions that answer requests from the server.
type answerPool struct {
	// lifetime is canceled by stop, and ends the running functions.
	lifetime context.Context
	stop     context.CancelFunc

	mu       sync.Mutex
	running  int
	isClosed bool // start starts no function any more
	workers  sync.WaitGroup
}

// start runs f in a goroutine. It reports false if maxAnswering functions are running. After finish
// it does nothing and reports true, so that the caller does not report an overload.
func (a *answerPool) start(f func(context.Context)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isClosed || a.running >= maxAnswering {
		return a.isClosed
	}
	a.running++
	a.workers.Go(func() {
		f(a.lifetime)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running--
	})
	return true
}

// finish waits up to graceForCancel for the running functions, then cancels lifetime and waits for
// the rest.
func (a *answerPool) finish() {
	a.mu.Lock()
	a.isClosed = true
	a.mu.Unlock()
	timer := time.AfterFunc(graceForCancel, a.stop)
	defer timer.Stop()
	a.workers.Wait()
	a.stop()
}

// deliverNotification passes a notification to Options.Notified. It drops progress of requests that
// are not pending (basic/utilities/progress). It reports whether m may be reused, which is true only
// for progress that Options.Passing releases.
func (s *Session) deliverNotification(m *wire.Message) bool {
	isProgress := m.Method == "notifications/progress"
	isExpected := !isProgress || s.pending.noteProgress(m)
	if isExpected && s.opt.Notified != nil {
		s.opt.Notified(m)
	}
	return isProgress && s.opt.Passing != nil && s.opt.Passing(m)
}
