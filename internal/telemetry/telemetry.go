// Package telemetry converts MCP traffic into spans and metrics by the OpenTelemetry semantic
// conventions for MCP: it reads frames and emits spans and histograms.
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

// Options configure a Builder. All fields but Seed may be zero.
type Options struct {
	// Between is set for a tap or a proxy, which receives the frames of both sides. Each request has a
	// SERVER span for its arrival and a CLIENT span below it for its forwarding. Otherwise mcpc is the
	// client: sent requests have a CLIENT span, received requests a SERVER span.
	Between bool
	// Own is set if the trace context in a sent request is the context of its own span, as mcpc writes
	// it when it exports. Otherwise the context is the parent, from the environment.
	Own bool
	// Parent is the parent of spans whose message has no trace context. If Parent is zero too, each
	// span begins a trace.
	Parent Context
	// Seed and the number of an exchange determine its ids: the same frames have the same ids. Each
	// exported conversation needs a different seed.
	Seed string
	// Content adds arguments, results and the variables of prompts to spans. URINames adds the URI of
	// a resource to span names.
	Content, URINames bool
	// Target is the URL or the command of the server. The URLs in HTTP heads replace it.
	Target string
	// Hide redacts the secrets of each frame before it is used. It may be nil.
	Hide func(wire.Frame) wire.Frame
	// Sample reports whether the spans of a request are emitted. Metrics count every request. The
	// parent is zero if the span begins a trace. A nil Sample emits all spans, even if the parent is
	// not sampled.
	Sample func(trace otlp.TraceID, parent Context) bool
	// Emit receives each span at its end. ref is the reference of the frame with the request or
	// notification. Emit may be nil.
	Emit func(ref int64, s otlp.Span)
	// Metrics collect the durations. It may be nil.
	Metrics *Metrics
}

const (
	// mostOpen is the maximum number of open exchanges. Above it the oldest exchange is ended.
	mostOpen = 10_000
	// mostEvents is the maximum number of events of a span, mostEventsInAll of all open exchanges.
	mostEvents      = 128
	mostEventsInAll = 100_000
	// grace is how long the spans of a failed or cancelled request wait for a repetition of the
	// request or a resumed stream. A Retry-After extends this time by at most mostRetryAfter.
	grace          = 10 * time.Second
	mostRetryAfter = time.Minute
)

// A Builder converts the frames of one run to spans and metrics. Its methods must be called from
// one goroutine. Its memory is limited.
type Builder struct {
	o          Options
	correlator wire.Correlator
	target     endpoint
	// headed are the trace contexts in the heads of POST requests until their bodies.
	headed recent.Map[stream, Context]
	// taken are the span ids that messages named as their own.
	taken recent.Map[otlp.SpanID, bool]
	// extra counts the requests and notifications that have spans in addition to the first spans of an
	// exchange.
	extra uint64
	// events counts the events of the open exchanges.
	events int

	conns recent.Map[int, *conn]
	// apart are the Correlator's exchanges that are streams and pipes.
	apart recent.Map[int, bool]

	open map[int]*request
	// begun are the numbers of the open exchanges, oldest first. settling are the numbers of the
	// exchanges that ended without a response. Both may contain exchanges that were finished since.
	begun, settling []int
	evicted         int
	now             time.Time
}

// A stream identifies a stream of a conversation.
type stream struct{ conn, stream int }

// New returns a Builder for one run.
func New(o Options) *Builder {
	b := &Builder{o: o, target: endpointOf(o.Target), open: map[int]*request{}}
	b.correlator.Remember(mostOpen / 2)
	return b
}

// Add processes the next frame of the run. Emit receives ref with the spans of a request in the
// frame.
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
		if place.Role == wire.RoleRelated {
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

// Settle emits the spans of failed requests after their grace period. Add calls it with the time of
// each frame. If there are no frames for a while, the caller must call it.
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

// Fail ends requests of the client that failed without a response, as reported by their sender. It
// ends the request with the id, or all requests if id is nil.
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

// Forget drops the requests without a response and returns their number. A caller that lost frames
// calls it, because the lost frames may contain the responses.
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

// Close ends the open requests and sessions. Add must not be called after it.
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

// Evicted returns the number of exchanges that were ended because too many had no response.
func (b *Builder) Evicted() int { return b.evicted }

// giveUp ends an exchange that has no further frames.
func (b *Builder) giveUp(e *request) {
	switch {
	case e.failed:
		b.finish(e, b.ending(e))
	case e.waits: // the client did not send the next round
		b.finish(e, ending{at: e.asked, kind: string(wire.InputRequired)})
	default:
		b.finish(e, ending{at: b.now, incomplete: true})
	}
}

// begin adds the exchange of a request. At the limit mostOpen it ends the oldest exchange first.
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
	if p.Role != wire.RoleRequest { // the earlier spans of the exchange were already emitted
		b.extra++
		e.again = b.extra
	}
	p.Role = wire.RoleRequest
	e.add(p)
	b.open[e.number] = e
	b.begun = append(b.begun, e.number)
	b.beginRound(e, p)
	return e
}
