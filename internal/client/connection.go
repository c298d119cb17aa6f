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

// A connection is one conversation: a line to the server, the era that was found on
// it, and what the server said of itself. Where the server loses it, the session
// opens another; none is opened twice.
type connection struct {
	s *Session

	findings
	// questions are the server's requests that the user is being asked.
	questions   questions
	serverTasks serverTasks

	guarded[connectionState]
	// What is below belongs to its mutex, too.
	// asked are the ids of the requests, marked where one was given up.
	requestIDs *transport.RecentIDs
	// probe is the id of a probe that was given up.
	abandonedProbe string
}

// connectionState are what is known of a conversation.
type connectionState struct {
	// The line and the era are replaced only while the conversation is being opened,
	// when the server may send already; the era is nil until it is found.
	transport transport.Transport
	era       era
	info      Info
	// why says how the revision was found.
	revisionSource string
	// unconfirmed is set while the conversation rests on an earlier run's word.
	unconfirmed bool
	// reversed is set once another revision was taken from a -32022.
	switchedVersion bool
	// lost is set when the server said that it no longer knows the session.
	isLost bool
	// getStream is the GET stream for what the server sends unasked; nil until openGetStream
	// opens it, and where there is none.
	getStream *transport.GetStream
	// takingRoots is closed when the roots that the server asked for last can be taken
	// in; nil where it asked for none.
	rootsSettled chan struct{}
	// probed is the answer to a probe that refuted an earlier run's word: the next
	// conversation begins with it. It is nil elsewhere.
	probeReply *reply
	// noise is what came before the responses that opened the conversation and is not a message.
	noise []byte
	// sent is when the last request was sent.
	sentAt time.Time
}

// connect opens a conversation. What it opened before it failed is closed, which is
// no part of the time that it took.
func (s *Session) connect(
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
	if o.Good() {
		rejectNoise(c, c.load().noise, &o)
	}
	if !o.Good() && o.ID != nil {
		began = c.load().sentAt // of the request that failed, not of a probe before it
	}
	o.Took = s.opt.Now().Sub(began)
	if !o.Good() {
		c.close(context.WithoutCancel(ctx), true)
		return nil, o
	}
	if s.opt.GetStream {
		c.openGetStream(ctx)
	}
	return c, o
}

// openGetStream opens the stream for what the server says unasked, once, where the era
// and the transport have one, and waits a moment for it, so that what the server
// asks during the next request has a way to come. It gives nil where there is none.
func (c *connection) openGetStream(ctx context.Context) *transport.GetStream {
	httpTransport, ok := c.transport().(*transport.HTTP)
	fields := c.era().getStream()
	if !ok || fields == nil {
		return nil
	}
	var g *transport.GetStream
	c.update(func(f *connectionState) {
		if f.getStream == nil {
			f.getStream = httpTransport.OpenGetStream(c.s.lifetime, fields, &c.s.subscriptions)
		}
		g = f.getStream
	})
	g.WaitOpen(ctx)
	return g
}

func (c *connection) close(ctx context.Context, endSession bool) {
	now := c.load()
	if now.transport == nil {
		return
	}
	now.getStream.Close()
	if endSession && now.era != nil && !c.load().isLost {
		now.era.endSession(ctx, c)
	}
	now.transport.Close()
	c.reportRepeated()
}

// A guarded value is read as a whole and changed under its mutex.
type guarded[T any] struct {
	mu    sync.Mutex
	value T
}

// now gives the value as it is.
func (g *guarded[T]) load() T { return g.update(func(*T) {}) }

// update changes the value, and gives what it was before.
func (g *guarded[T]) update(change func(*T)) (before T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before = g.value
	change(&g.value)
	return before
}

func (c *connection) transport() transport.Transport { return c.load().transport }

// era returns the era without a copy of the rest: it is asked for with every message.
func (c *connection) era() era {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value.era
}

func (c *connection) takeProbeReply() (r *reply) {
	c.update(func(f *connectionState) {
		r = f.probeReply
		f.probeReply = nil
	})
	return r
}

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

// requestAgain is request for a call that was sent before with the id again, or nil.
func (c *connection) requestWithPrevious(ctx context.Context, e era, call *Call, idle time.Duration,
	previousID json.RawMessage) reply {
	out := &outgoing{Outgoing: transport.Outgoing{ID: call.ID, Method: call.Method, Again: previousID},
		isAcknowledged: call.isAcknowledged, untimed: call.untimed, progressed: call.Progressed}
	if out.ID == nil {
		out.ID = c.s.nextID()
	}
	out.Raw = wire.ComposeRequest(out.ID, call.Method, c.stamp(e, call, out))
	return c.exchange(ctx, e, out, idle)
}

// post sends a message to which no response belongs. A server that does not
// take it is waited for no longer than for an answer.
func (c *connection) sendOneWay(ctx context.Context, out *transport.Outgoing) reply {
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--timeout", What: "the message was not accepted", After: c.s.opt.Limits.Idle},
		0,
	)
	defer stop()
	r := c.transport().Send(ctx, out)
	if r.Fault != nil && ctx.Err() != nil {
		r.Fault.EndBy(context.Cause(ctx))
	}
	return reply{Reply: r}
}

// Receive takes what came and answers nothing. Only a notification of progress is free then, of which
// there may be many.
func (c *connection) Receive(m *wire.Message) (free bool) {
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
		if e := c.era(); e != nil && !e.batches() {
			c.addFinding(wire.Warning, "batch", "the server sent a batch, which revision "+e.revision()+" does not support")
		}
		for _, item := range m.Items {
			c.Receive(item)
		}
	case wire.Response, wire.ErrorResponse:
		c.reportOrphan(m.ID)
	default:
		f := wire.Finding{Rule: "message", Level: wire.Warning, Text: "received an invalid JSON-RPC message: " + m.Problem()}
		if string(m.Raw) == "{}" { // as resumed streams bring back the priming events of real servers
			f.Level = wire.Info
			c.Finding(f)
			return false
		}
		c.Repeated(f, "messages received are not valid JSON-RPC")
	}
	return false
}

// serve deals with a request of the server's own.
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
		if p.Rule == "id" {
			c.reportUnanswerable(m, p.Text)
			return
		}
	}
	e.handleRequest(c, m)
}

// unanswerable reports a request that has no id to answer to. A client that waits for
// the server then waits for one that waits for the answer.
func (c *connection) reportUnanswerable(m *wire.Message, why string) {
	c.Diagnose(
		transport.Diagnostic{Text: "in the meantime the server requested " + m.Method + ", which cannot be answered: " + why,
			Hint: "a server request needs an id; waiting longer does not help"},
	)
	c.addFinding(wire.Warning, "id", "the server's request "+m.Method+" was not answered: "+why)
}

// maxAnswering is how many requests of a server are answered at a time.
const maxAnswering = 32

// answering are the answers under way.
type answerPool struct {
	// life ends with stop, and with it what is under way.
	lifetime context.Context
	stop     context.CancelFunc

	mu     sync.Mutex
	n      int
	closed bool // none begins any more
	all    sync.WaitGroup
}

// start runs f away from the line that a request came on; false where too many
// run already.
func (a *answerPool) start(f func(context.Context)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.n >= maxAnswering {
		return a.closed
	}
	a.n++
	a.all.Go(func() {
		f(a.lifetime)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.n--
	})
	return true
}

// finish waits a moment for the answers under way, and ends life.
func (a *answerPool) finish() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	timer := time.AfterFunc(graceForCancel, a.stop)
	defer timer.Stop()
	a.all.Wait()
	a.stop()
}

// notified hands on a notification; free is as in Receive.
func (s *Session) deliverNotification(m *wire.Message) (free bool) {
	// Progress of no open request is dropped (basic/utilities/progress).
	progress := m.Method == "notifications/progress"
	if (!progress || s.pending.noteProgress(m)) && s.opt.Notified != nil {
		s.opt.Notified(m)
	}
	return progress && s.opt.Passing != nil && s.opt.Passing(m)
}
