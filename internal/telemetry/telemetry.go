// Package telemetry makes spans and metrics of MCP traffic, by the semantic conventions of
// OpenTelemetry for MCP: frames in, spans and histograms out.
package telemetry

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"mcpc/internal/exchange"
	"mcpc/internal/otlp"
	"mcpc/internal/recent"
	"mcpc/internal/wire"
)

// Options say what a Builder makes of frames. All but Seed may be zero.
type Options struct {
	// Between is set for a tap or a proxy, which sees both sides: each request gives a SERVER
	// span for its arrival and a CLIENT span below it for its way on. Otherwise mcpc is the
	// client: what it sends gives a CLIENT span, what it receives a SERVER span.
	Between bool
	// Own is set where the context in a request that is sent is that of its own span, as mcpc
	// writes it when it exports; otherwise it is the parent, passed on from the environment.
	Own bool
	// Parent is the parent of spans whose message names none; where it is zero as well, each
	// begins a trace.
	Parent Context
	// Seed is what ids are derived from, with the number of the exchange: the same frames give
	// the same ids. Two conversations that are exported need two seeds.
	Seed string
	// Content adds arguments, results and the variables of prompts to spans, URINames the URI
	// of a resource to their names.
	Content, URINames bool
	// Target is the URL or the command of the server. The URLs of HTTP heads replace it.
	Target string
	// Hide takes the secrets out of each frame first. It may be nil.
	Hide func(wire.Frame) wire.Frame
	// Sample decides whether the spans of a request are emitted; metrics count all. The parent is
	// zero where there is none. A nil Sample takes all, also what its sender did not sample.
	Sample func(trace otlp.TraceID, parent Context) bool
	// Emit is given each span when it has ended. The ref is that of the frame with the request
	// or notification. It may be nil.
	Emit func(ref int64, s otlp.Span)
	// Metrics are given the durations. They may be nil.
	Metrics *Metrics
}

const (
	// mostOpen is how many exchanges may be without an end; the oldest ones are ended.
	mostOpen = 10_000
	// mostEvents is how many events a span has, mostEventsInAll how many wait with the
	// exchanges that have not ended.
	mostEvents      = 128
	mostEventsInAll = 100_000
	// grace is how long a request that failed or was cancelled may be sent again, or its
	// stream taken up again, before its span is emitted. A server may ask for mostRetryAfter
	// more.
	grace          = 10 * time.Second
	mostRetryAfter = time.Minute
)

// A Builder makes spans and metrics of the frames of one run. Its methods are called by one
// goroutine. What it remembers is bounded.
type Builder struct {
	o          Options
	correlator wire.Correlator
	target     endpoint
	// headed are the contexts in the heads of POSTs whose body is still to come.
	headed recent.Map[stream, Context]
	// taken are the ids of spans that their message named.
	taken recent.Map[otlp.SpanID, bool]
	// extra counts the requests and notifications that have spans beside the first ones of exchanges.
	extra uint64
	// events counts the events that wait with the exchanges that have not ended.
	events int

	conns recent.Map[int, *conn]
	// apart are the exchanges of the Correlator that are none: streams and pipes.
	apart recent.Map[int, bool]

	open map[int]*request
	// begun are the numbers of the open exchanges in the order in which they began, settling
	// those that ended without an answer; both also have some that are open no more.
	begun, settling []int
	evicted         int
	now             time.Time
}

// A stream is one of a conversation.
type stream struct{ conn, stream int }

// New makes a Builder for one run.
func New(o Options) *Builder {
	b := &Builder{o: o, target: endpointOf(o.Target), open: map[int]*request{}}
	b.correlator.Remember(mostOpen / 2)
	return b
}

// Add takes the next frame of the run. Emit is given the ref of a request with its spans.
func (b *Builder) Add(ref int64, f wire.Frame) {
	if b.o.Hide != nil {
		f = b.o.Hide(f)
	}
	b.Settle(f.Time)
	c := b.conn(f.Conn)
	var m *wire.Message
	facts := &exchange.Facts{}
	switch {
	case f.Kind == wire.Head && f.HTTP != nil:
		b.head(c, &f)
	case f.Kind == wire.Body, f.Kind == wire.Event && f.SSE.MayCarry():
		m = wire.ParseMessage(f.Raw)
		*facts = exchange.FactsOf(m)
	case f.Kind == wire.Event && f.SSE.Event == "endpoint":
		c.session = hashIn(string(f.Raw), c.session)
	}
	var own *request
	for _, place := range b.correlator.Add(ref, &f, &facts.Traits) {
		p := placed{
			ref:  ref,
			conn: c,
			Part: exchange.Part{Place: place, Frame: &f, Message: m, Facts: facts, Conversation: &c.conversation},
		}
		if place.Item >= 0 {
			p.Message = m.Items[place.Item]
			p.BatchSize = len(m.Items)
			item := exchange.FactsOf(p.Message)
			p.Facts = &item
		}
		if place.Role == wire.Concerns {
			b.concerns(own, p)
		} else {
			own = b.apply(p)
		}
	}
	if f.Kind == wire.Closed && f.Stream == 0 {
		b.endSession(c, f.Time, f.Dir == wire.Received)
	}
	if f.Time.After(c.last) {
		c.last = f.Time
	}
}

// Settle ends what failed so long before now that it will not be sent again. Add does so by the
// times of the frames; where none come for a while, the caller does.
func (b *Builder) Settle(now time.Time) {
	if now.After(b.now) {
		b.now = now
	}
	for len(b.settling) > 0 {
		e := b.open[b.settling[0]]
		if e != nil && e.failed && b.now.Before(e.until) && len(b.settling) <= mostOpen {
			return
		}
		b.settling = b.settling[1:]
		if e == nil {
			continue
		}
		e.queued = false
		if e.failed {
			b.finish(e, b.ending(e))
		}
	}
}

// Fail ends requests of the client that have no answer, as their caller reported: the one with an
// id as it was sent, or all where id is nil.
func (b *Builder) Fail(id json.RawMessage, kind wire.Kind, text string, at time.Time) {
	for _, n := range slices.Sorted(maps.Keys(b.open)) {
		e := b.open[n]
		if e.dir != wire.Sent || id != nil && e.op.id != idText(id) {
			continue
		}
		failed := ending{at: at, kind: string(kind), message: shown(text)}
		if e.failed && e.ended.Before(at) {
			failed.at = e.ended
		}
		b.finish(e, failed)
	}
}

// Forget drops the requests that have no answer, and returns how many those were. It is for a
// caller that lost frames: an answer may have been among them.
func (b *Builder) Forget() (n int) {
	for _, e := range b.open {
		if !e.failed {
			b.events -= len(e.round.events)
			delete(b.open, e.number)
			n++
		}
	}
	return n
}

// Close ends what has no answer, and the sessions that have no end. Nothing may be added after it.
func (b *Builder) Close(at time.Time) {
	if at.After(b.now) {
		b.now = at
	}
	for _, n := range slices.Sorted(maps.Keys(b.open)) {
		b.giveUp(b.open[n])
	}
	for _, c := range b.conns.All() {
		b.endSession(c, c.last, false)
	}
}

// Evicted is how many exchanges were ended because too many had no answer.
func (b *Builder) Evicted() int { return b.evicted }

// giveUp ends an exchange of which no more will come.
func (b *Builder) giveUp(e *request) {
	switch {
	case e.failed:
		b.finish(e, b.ending(e))
	case e.waits: // the client did not go on
		b.finish(e, ending{at: e.asked, kind: string(wire.InputRequired)})
	default:
		b.finish(e, ending{at: b.now, incomplete: true})
	}
}

// begin makes the exchange of a request.
func (b *Builder) begin(p placed) *request {
	for len(b.open) >= mostOpen {
		if e := b.open[b.begun[0]]; e != nil {
			b.evicted++
			b.giveUp(e)
		}
		b.begun = b.begun[1:]
	}
	if len(b.begun) > 2*mostOpen {
		seen := map[int]bool{}
		b.begun = slices.DeleteFunc(b.begun, func(n int) bool {
			again := seen[n]
			seen[n] = true
			return again || b.open[n] == nil
		})
	}
	e := &request{
		number: p.Exchange, ref: p.ref, dir: p.Frame.Dir, conn: p.conn, op: b.operation(p),
		state: exchange.State{Time: p.Frame.Time, Dir: p.Frame.Dir, Channel: exchange.ChannelOpen},
	}
	if p.Role != wire.Asks { // the spans of the first time have been emitted
		b.extra++
		e.again = b.extra
	}
	p.Role = wire.Asks
	e.add(p)
	b.open[e.number] = e
	b.begun = append(b.begun, e.number)
	b.beginRound(e, p)
	return e
}
