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
	// IsRelay is set for a tap or a proxy, which receives the frames of both sides. Each request has a
	// SERVER span for its arrival and a CLIENT span below it for its forwarding. Otherwise mcpc is the
	// client: sent requests have a CLIENT span, received requests a SERVER span.
	IsRelay bool
	// ContextIsOwnSpan is set if the trace context in a sent request is the context of its own span, as mcpc writes
	// it when it exports. Otherwise the context is the parent, from the environment.
	ContextIsOwnSpan bool
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
	// maxOpen is the maximum number of open exchanges. Above it the oldest exchange is ended.
	maxOpen = 10_000
	// maxEvents is the maximum number of events of a span, maxEventsInAll of all open exchanges.
	maxEvents      = 128
	maxEventsInAll = 100_000
	// grace is how long the spans of a failed or cancelled request wait for a repetition of the
	// request or a resumed stream. A Retry-After extends this time by at most maxRetryAfter.
	grace         = 10 * time.Second
	maxRetryAfter = time.Minute
)

// A Builder converts the frames of one run to spans and metrics. Its methods must be called from
// one goroutine. Its memory is limited.
type Builder struct {
	options    Options
	correlator wire.Correlator
	target     endpoint
	// headContexts are the trace contexts in the heads of POST requests until their bodies.
	headContexts recent.Map[stream, Context]
	// ownSpans are the span ids that messages named as their own.
	ownSpans recent.Map[otlp.SpanID, bool]
	// repeats counts the requests and notifications that have spans in addition to the first spans of an
	// exchange.
	repeats uint64
	// eventCount counts the events of the open exchanges.
	eventCount int

	conns recent.Map[int, *conn]
	// streams are the Correlator's exchanges that are streams and pipes.
	streams recent.Map[int, bool]

	open map[int]*request
	// openOrder are the numbers of the open exchanges, oldest first. settling are the numbers of the
	// exchanges that ended without a response. Both may contain exchanges that were finished since.
	openOrder, settling []int
	evicted             int
	now                 time.Time
}

// A stream identifies a stream of a conversation.
type stream struct{ conn, stream int }

// New returns a Builder for one run.
func New(o Options) *Builder {
	b := &Builder{options: o, target: parseEndpoint(o.Target), open: map[int]*request{}}
	b.correlator.Remember(maxOpen / 2)
	return b
}

// Add processes the next frame of the run. Emit receives ref with the spans of a request in the
// frame.
func (b *Builder) Add(ref int64, f wire.Frame) {
	if b.options.Hide != nil {
		f = b.options.Hide(f)
	}
	b.Settle(f.Time)
	c := b.connFor(f.Conn)
	var m *wire.Message
	facts := &exchange.Facts{}
	switch {
	case f.Kind == wire.Head && f.HTTP != nil:
		b.addHead(c, &f)
	case f.Kind == wire.Body, f.Kind == wire.Event && f.SSE.MayCarryMessage():
		m = wire.ParseMessage(f.Raw)
		*facts = exchange.FactsOf(m)
	case f.Kind == wire.Event && f.SSE.Event == "endpoint":
		c.session = firstHash(string(f.Raw), c.session)
	}
	var previous *request
	for _, place := range b.correlator.Add(ref, &f, &facts.Traits) {
		p := part{
			ref:  ref,
			conn: c,
			PlacedFrame: exchange.PlacedFrame{
				Place: place, Frame: &f, Message: m, Facts: facts, Conversation: &c.conversation,
			},
		}
		if place.Item >= 0 {
			p.Message = m.Items[place.Item]
			p.BatchSize = len(m.Items)
			item := exchange.FactsOf(p.Message)
			p.Facts = &item
		}
		// The place before has the message in its own exchange.
		if place.Role == wire.RoleRelated {
			b.setParent(previous, p)
		} else {
			previous = b.apply(p)
		}
	}
	if f.Kind == wire.Closed && f.Stream == 0 {
		b.endSession(c, f.Time, f.Dir == wire.Received)
	}
	if f.Time.After(c.lastFrame) {
		c.lastFrame = f.Time
	}
}

// Settle emits the spans of failed requests after their grace period. Add calls it with the time of
// each frame. If there are no frames for a while, the caller must call it. Requests end in the
// order they failed in: a request with a longer period delays the later requests.
func (b *Builder) Settle(now time.Time) {
	if now.After(b.now) {
		b.now = now
	}
	for len(b.settling) > 0 {
		req := b.open[b.settling[0]]
		if req != nil && req.hasFailed && b.now.Before(req.graceEnd) && len(b.settling) <= maxOpen {
			return
		}
		b.settling = b.settling[1:]
		if req == nil {
			continue
		}
		req.isSettling = false
		if req.hasFailed {
			b.finish(req, b.outcomeOf(req))
		}
	}
}

// Fail ends requests of the client that failed without a response, as reported by their sender. It
// ends the request with the id, or all requests if id is nil.
func (b *Builder) Fail(id json.RawMessage, kind wire.Kind, text string, at time.Time) {
	for _, number := range slices.Sorted(maps.Keys(b.open)) {
		req := b.open[number]
		if req.dir != wire.Sent || id != nil && req.operation.id != idText(id) {
			continue
		}
		failed := outcome{at: at, kind: string(kind), message: safeText(text)}
		if req.hasFailed && req.failedAt.Before(at) {
			failed.at = req.failedAt // the frames know the time better
		}
		b.finish(req, failed)
	}
}

// Forget drops the requests without a response and returns their number. A caller that lost frames
// calls it, because the lost frames may contain the responses.
func (b *Builder) Forget() int {
	n := 0
	for _, req := range b.open {
		if !req.hasFailed {
			b.eventCount -= len(req.round.events)
			delete(b.open, req.number)
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
		b.finishUnanswered(b.open[n])
	}
	for _, c := range b.conns.All() {
		b.endSession(c, c.lastFrame, false)
	}
}

// Evicted returns the number of exchanges that were ended because too many had no response.
func (b *Builder) Evicted() int { return b.evicted }

// finishUnanswered ends an exchange that has no further frames.
func (b *Builder) finishUnanswered(req *request) {
	if req.hasFailed {
		b.finish(req, b.outcomeOf(req))
	} else if req.awaitsRound { // the client did not send the next round
		b.finish(req, outcome{at: req.roundRequired, kind: string(wire.InputRequired)})
	} else {
		b.finish(req, outcome{at: b.now, incomplete: true})
	}
}

// openRequest adds the exchange of a request. At the limit maxOpen it ends the oldest exchange first.
func (b *Builder) openRequest(p part) *request {
	for len(b.open) >= maxOpen {
		if req := b.open[b.openOrder[0]]; req != nil {
			b.evicted++
			b.finishUnanswered(req)
		}
		b.openOrder = b.openOrder[1:]
	}
	// Remove exchanges that have ended, so that the list does not grow.
	if len(b.openOrder) > 2*maxOpen {
		seen := map[int]bool{}
		b.openOrder = slices.DeleteFunc(b.openOrder, func(n int) bool {
			isRepeated := seen[n]
			seen[n] = true
			return isRepeated || b.open[n] == nil
		})
	}
	req := &request{
		number: p.Exchange, ref: p.ref, dir: p.Frame.Dir, conn: p.conn, operation: b.readOperation(p),
		state: exchange.State{Time: p.Frame.Time, Dir: p.Frame.Dir, Channel: exchange.ChannelOpen},
	}
	if p.Role != wire.RoleRequest { // the earlier spans of the exchange were already emitted
		b.repeats++
		req.repeat = b.repeats
	}
	p.Role = wire.RoleRequest
	req.addToState(p)
	b.open[req.number] = req
	b.openOrder = append(b.openOrder, req.number)
	b.beginRound(req, p)
	return req
}
