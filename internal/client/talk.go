package client

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A talk is one conversation: a line to the server, the era that was found on
// it, and what the server said of itself. Where the server loses it, the session
// opens another; none is opened twice.
type talk struct {
	s *Session

	findings
	// questions are the server's requests that the user is being asked.
	questions questions
	errands   errands

	guarded[facts]
	// What is below belongs to its mutex, too.
	// asked are the ids of the requests, marked where one was given up.
	asked *recent
	// probe is the id of a probe that was given up.
	probe string
}

// facts are what is known of a conversation.
type facts struct {
	// The line and the era are replaced only while the conversation is being opened,
	// when the server may send already; the era is nil until it is found.
	line transport
	era  era
	info Info
	// why says how the revision was found.
	why string
	// untried is set while the conversation rests on an earlier run's word.
	untried bool
	// reversed is set once another revision was taken from a -32022.
	reversed bool
	// lost is set when the server said that it no longer knows the session.
	lost bool
	// listening is the GET stream for what the server sends unasked; nil until openGetStream
	// opens it, and where there is none.
	listening *ear
	// takingRoots is closed when the roots that the server asked for last can be taken
	// in; nil where it asked for none.
	takingRoots chan struct{}
	// probed is the answer to a probe that refuted an earlier run's word: the next
	// conversation begins with it. It is nil elsewhere.
	probed *reply
	// sent is when the last request was sent.
	sent time.Time
}

// begin opens a conversation. What it opened before it failed is closed, which is
// no part of the time that it took.
func (s *Session) begin(ctx context.Context, known string, resume *Memory, probed *reply) (*talk, wire.Outcome) {
	c := &talk{s: s, asked: newRecent(), guarded: guarded[facts]{is: facts{probed: probed}}, findings: findings{report: s.opt.Found, once: &s.reported}}
	began := s.opt.Now()
	o := negotiation{c}.open(ctx, known, resume)
	if !o.Good() && o.ID != nil {
		began = c.now().sent // of the request that failed, not of a probe before it
	}
	o.Took = s.opt.Now().Sub(began)
	if !o.Good() {
		c.close(context.WithoutCancel(ctx), true)
		return nil, o
	}
	if s.opt.Standing {
		c.stand(ctx)
	}
	return c, o
}

// stand opens the stream for what the server says unasked, once, where the era
// and the transport have one, and waits a moment for it, so that what the server
// asks during the next request has a way to come. It gives nil where there is none.
func (c *talk) stand(ctx context.Context) *ear {
	line, ok := c.line().(*httpTransport)
	fields := c.era().ear()
	if !ok || fields == nil {
		return nil
	}
	var g *ear
	c.update(func(f *facts) {
		if f.listening == nil {
			f.listening = line.listenBeside(c.s.life, fields, &c.s.subscriptions)
		}
		g = f.listening
	})
	g.settle(ctx)
	return g
}

func (c *talk) close(ctx context.Context, end bool) {
	now := c.now()
	if now.line == nil {
		return
	}
	now.listening.end()
	if end && now.era != nil && !c.now().lost {
		now.era.end(ctx, c)
	}
	now.line.close()
	c.finish()
}

// A guarded value is read as a whole and changed under its mutex.
type guarded[T any] struct {
	mu sync.Mutex
	is T
}

// now gives the value as it is.
func (g *guarded[T]) now() T { return g.update(func(*T) {}) }

// update changes the value, and gives what it was before.
func (g *guarded[T]) update(change func(*T)) (before T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before = g.is
	change(&g.is)
	return before
}

func (c *talk) line() transport { return c.now().line }

func (c *talk) era() era { return c.now().era }

func (c *talk) takeProbed() (r *reply) {
	c.update(func(f *facts) { r, f.probed = f.probed, nil })
	return r
}

func (c *talk) revision() string {
	if e := c.era(); e != nil {
		return e.revision()
	}
	return ""
}

// request composes a request, sends it and waits for its response.
func (c *talk) request(ctx context.Context, e era, call *Call, idle time.Duration) reply {
	out := &outgoing{Outgoing: Outgoing{id: call.ID, method: call.Method}, begun: call.begun, patient: call.patient}
	if out.id == nil {
		out.id = c.s.nextID()
	}
	stamped := *call
	c.stamp(e, &stamped, out)
	out.raw = wire.ComposeRequest(out.id, call.Method, stamped.Params)
	if out.token == nil {
		out.token = progressToken(stamped.Params)
	}
	return c.exchange(ctx, e, out, idle)
}

// stamp puts the era's marks on a request, in its params and in its header
// fields. A bare one gets neither.
func (c *talk) stamp(e era, call *Call, out *outgoing) {
	if !call.Bare {
		e.stamp(c, call, out)
	}
}

// progressToken is the token that a request carries, its own or the caller's.
func progressToken(params json.RawMessage) json.RawMessage {
	return jsonraw.First(jsonraw.First(params, "_meta"), "progressToken")
}

// post sends a message to which no response belongs. A server that does not
// take it is waited for no longer than for an answer.
func (c *talk) post(ctx context.Context, out *Outgoing) reply {
	ctx, stop := limited(ctx, timeoutError{"--timeout", "the message was not accepted", c.s.opt.Limits.Idle}, 0)
	defer stop()
	r := c.line().send(ctx, out)
	if r.fault != nil && ctx.Err() != nil {
		r.fault.endBy(context.Cause(ctx))
	}
	return reply{Reply: r}
}

// receive takes what came and answers nothing.
func (c *talk) receive(m *wire.Message) {
	switch m.Kind {
	case wire.Request:
		checkUnasked(c, m)
		c.serve(m)
	case wire.Notification:
		if slices.Contains(mayBeAsked, m.Method) {
			c.unanswerable(m, "it has no id")
			return
		}
		checkUnasked(c, m)
		responder{c}.withdrawn(m)
		if e := c.era(); e == nil || e.heard(c, m) {
			c.s.notified(m)
		}
	case wire.Batch:
		if e := c.era(); e != nil && !e.batches() {
			c.found(wire.Warning, "batch", "the server sent a batch, which revision "+e.revision()+" does not support")
		}
		for _, item := range m.Items {
			c.receive(item)
		}
	case wire.Response, wire.ErrorResponse:
		c.orphan(m.ID)
	default:
		f := wire.Finding{Rule: "message", Level: wire.Warning, Text: "received an invalid JSON-RPC message: " + m.Problem()}
		if string(m.Raw) == "{}" { // as resumed streams bring back the priming events of real servers
			f.Level = wire.Info
		}
		c.finding(f)
	}
}

// serve deals with a request of the server's own.
func (c *talk) serve(m *wire.Message) {
	e := c.era()
	if e == nil {
		c.found(wire.Info, "server_request", "the server requested "+m.Method+" before the session was open; it was not answered")
		return
	}
	for _, p := range m.Problems {
		if p.Rule == "id" {
			c.unanswerable(m, p.Text)
			return
		}
	}
	e.asked(c, m)
}

// unanswerable reports a request that has no id to answer to. A client that waits for
// the server then waits for one that waits for the answer.
func (c *talk) unanswerable(m *wire.Message, why string) {
	c.came(meanwhile{"in the meantime the server requested " + m.Method + ", which cannot be answered: " + why,
		"a server request needs an id; waiting longer does not help"})
	c.found(wire.Warning, "id", "the server's request "+m.Method+" was not answered: "+why)
}

// maxAnswering is how many requests of a server are answered at a time.
const maxAnswering = 32

// answering are the answers under way.
type answering struct {
	// life ends with stop, and with it what is under way.
	life context.Context
	stop context.CancelFunc

	mu     sync.Mutex
	n      int
	closed bool // none begins any more
	all    sync.WaitGroup
}

// start runs f away from the line that a request came on; false where too many
// run already.
func (a *answering) start(f func(context.Context)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.n >= maxAnswering {
		return a.closed
	}
	a.n++
	a.all.Go(func() {
		f(a.life)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.n--
	})
	return true
}

// finish waits a moment for the answers under way, and ends life.
func (a *answering) finish() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	timer := time.AfterFunc(graceForCancel, a.stop)
	defer timer.Stop()
	a.all.Wait()
	a.stop()
}

func (s *Session) notified(m *wire.Message) {
	// Progress of no open request is dropped (basic/utilities/progress).
	if m.Method == "notifications/progress" && !s.open.progressed(m) {
		return
	}
	if s.opt.Notified != nil {
		s.opt.Notified(m)
	}
}
