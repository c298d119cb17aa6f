package telemetry

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// A round is one request and its response. Most exchanges have one.
type round struct {
	number int
	start  time.Time
	// heldBefore is how long the request was held for a user, heldAfter how long the response was
	// held.
	heldBefore, heldAfter time.Duration
	// parent is the parent of the span. The span begins a trace if parent is zero. named is set if the
	// message named a context. own is not nil if that context is the span itself.
	parent  Context
	named   bool
	own     *Context
	links   []otlp.Link
	events  []otlp.Event
	dropped int
}

// A root is the span over the rounds of a request.
type root struct {
	context Context
	parent  Context
	start   time.Time
}

// beginRound starts a round and determines its parent. With Options.Own, the context in a sent
// request is its own span.
func (b *Builder) beginRound(e *request, p placed) {
	r := &e.round
	r.start = p.Frame.Time
	r.parent = b.o.Parent
	context, header := b.contextIn(p)
	own := context.Valid() && b.o.Own && !b.o.Between && e.dir == wire.Sent && !b.taken.Get(context.Span)
	if own {
		b.taken.Put(context.Span, true)
		r.named = true
		r.own = &context
	} else if context.Valid() {
		r.named = true
		r.parent = context
	}
	if header.Valid() {
		r.links = append(r.links, link(header))
	}
	if e.root == nil {
		r.sameTrace(b.o.Parent)
		return
	}
	if outer := r.parent; r.named && !own && outer.Span != e.root.parent.Span {
		r.links = append(r.links, link(outer))
	}
	r.parent = e.root.context
	r.sameTrace(e.root.context)
}

// sameTrace replaces a parent in a different trace than the span itself by a link. It does nothing
// unless the message named the span itself.
func (r *round) sameTrace(parent Context) {
	if r.own == nil || !parent.Valid() || parent.Trace == r.own.Trace {
		return
	}
	r.links = append(r.links, link(parent))
	r.parent = Context{}
}

func link(to Context) otlp.Link {
	return otlp.Link{Trace: to.Trace, Span: to.Span, TraceState: to.State}
}

// digest returns the hash from which the ids of an exchange derive. Neither of its halves is zero.
func (b *Builder) digest(e *request, round int, side string) (sum [sha256.Size]byte) {
	h := sha256.New()
	var n [24]byte
	binary.BigEndian.PutUint64(n[:], uint64(e.number))
	binary.BigEndian.PutUint64(n[8:], uint64(round))
	binary.BigEndian.PutUint64(n[16:], e.again)
	_, _ = h.Write(n[:])
	_, _ = h.Write([]byte(side + "\n" + b.o.Seed))
	h.Sum(sum[:0])
	sum[7], sum[15] = sum[7]|1, sum[15]|1
	return sum
}

func (b *Builder) spanID(e *request, round int, side string) otlp.SpanID {
	sum := b.digest(e, round, side)
	return otlp.SpanID(sum[:8])
}

// trace returns the trace of the exchange's current round, and whether its spans are emitted.
func (b *Builder) trace(e *request) (trace otlp.TraceID, sampled bool) {
	r := &e.round
	of := r.parent
	switch {
	case r.own != nil:
		of = *r.own
		trace = of.Trace
	case of.Valid():
		trace = of.Trace
	default:
		sum := b.digest(e, 0, "trace")
		trace = otlp.TraceID(sum[:16])
		of = Context{}
	}
	return trace, b.o.Sample == nil || b.o.Sample(trace, of)
}

// The sides of a request that have a span. The ids of the spans derive from these names.
const (
	serverSide = "server"
	clientSide = "client"
	rootSide   = "root"
)

// sides returns the kinds of the spans of a request in the direction, outer span first.
func (b *Builder) sides(dir wire.Direction) []otlp.Kind {
	if b.o.Between {
		return []otlp.Kind{otlp.Server, otlp.Client}
	}
	if dir == wire.Sent {
		return []otlp.Kind{otlp.Client}
	}
	return []otlp.Kind{otlp.Server}
}

// idOf returns the id of the span of the given kind in the current round.
func (b *Builder) idOf(e *request, kind otlp.Kind) otlp.SpanID {
	if e.round.own != nil {
		return e.round.own.Span
	}
	if kind == otlp.Client {
		return b.spanID(e, e.round.number, clientSide)
	}
	return b.spanID(e, e.round.number, serverSide)
}

// contextOf returns the context of a request's innermost span. The server's requests during it have
// this span as parent.
func (b *Builder) contextOf(e *request) Context {
	sides := b.sides(e.dir)
	trace, sampled := b.trace(e)
	return Context{Trace: trace, Span: b.idOf(e, sides[len(sides)-1]), Sampled: sampled, State: e.round.state()}
}

// state returns the tracestate of the round's spans.
func (r *round) state() string {
	if r.own != nil {
		return r.own.State
	}
	return r.parent.State
}

// event adds an event to the current round of a request. Above the limits it only counts the event
// as dropped.
func (b *Builder) event(e *request, at time.Time, name string, attributes ...otlp.Attribute) {
	if len(e.round.events) >= mostEvents || b.events >= mostEventsInAll {
		e.round.dropped++
		return
	}
	b.events++
	e.round.events = append(e.round.events, otlp.Event{Time: at, Name: name, Attributes: attributes})
}

// finish emits the remaining spans of an exchange and removes it.
func (b *Builder) finish(e *request, end ending) {
	if !e.waits {
		b.endRound(e, end, false)
	}
	if e.root != nil {
		b.endRoot(e, end)
	}
	b.events -= len(e.round.events)
	delete(b.open, e.number)
}

// endRound emits the spans of the current round. more is set if the response requires another
// round.
func (b *Builder) endRound(e *request, end ending, more bool) {
	r := &e.round
	trace, sampled := b.trace(e)
	if e.root == nil && more { // the span over all rounds becomes the parent of the first round
		e.root = &root{
			parent: r.parent, start: r.start,
			context: Context{Trace: trace, Span: b.spanID(e, 0, rootSide), Sampled: sampled, State: r.state()},
		}
		r.parent = e.root.context
		trace, sampled = b.trace(e)
	}
	parent := r.parent
	for i, kind := range b.sides(e.dir) {
		s := otlp.Span{
			Trace: trace, ID: b.idOf(e, kind), Parent: parent.Span, Remote: i == 0 && parent.Remote,
			TraceState: r.state(), Sampled: sampled, Name: e.op.name(b.o.URINames), Kind: kind, Start: r.start, End: end.at,
		}
		if b.o.Between {
			r.leaveOut(&s, e.dir)
		}
		if s.End.Before(s.Start) {
			s.End = s.Start
		}
		if i == 0 {
			s.Events = r.events
			s.Links = r.links
			s.DroppedEvents = uint32(min(r.dropped, 1<<30))
		}
		shared := append(e.op.attributes(e.conn, kind, e.dir), end.attributes(kind)...)
		if b.o.Metrics != nil && !end.incomplete {
			of := clientOperation
			if kind == otlp.Server {
				of = serverOperation
			}
			b.o.Metrics.observe(of, shared[:len(shared):len(shared)], s.End, s.End.Sub(s.Start))
		}
		s.Attributes = append(append(shared, e.op.details(kind)...), end.details()...)
		if e.root != nil {
			s.Attributes = append(s.Attributes, number(roundNumber, r.number+1))
		}
		end.judge(&s)
		b.emit(e.ref, s)
		parent = Context{Trace: trace, Span: s.ID}
	}
	b.events -= len(r.events)
	r.events = nil
	r.dropped = 0
	r.links = nil
}

// leaveOut subtracts the time for which messages were held from a span. The client waits during
// that time, the server does not. The time of a frame with a server request is after the hold.
func (r *round) leaveOut(s *otlp.Span, dir wire.Direction) {
	if dir == wire.Received && s.Kind == otlp.Server {
		s.Start = s.Start.Add(-r.heldBefore)
	} else if dir == wire.Sent && s.Kind == otlp.Client {
		s.End = s.End.Add(-r.heldAfter)
		s.Start = s.Start.Add(r.heldBefore)
		if s.Start.After(s.End) {
			s.Start = s.End // the user dropped or answered the request
		}
	}
}

func (b *Builder) endRoot(e *request, end ending) {
	c := e.root.context
	s := otlp.Span{
		Trace:         c.Trace,
		ID:            c.Span,
		Parent:        e.root.parent.Span,
		Remote:        e.root.parent.Remote,
		TraceState:    c.State,
		Sampled:       c.Sampled,
		Name:          e.op.name(b.o.URINames),
		Kind:          otlp.Internal,
		Start:         e.root.start,
		End:           end.at,
		Events:        e.round.events,
		DroppedEvents: uint32(min(e.round.dropped, 1<<30)),
	}
	if s.End.Before(s.Start) {
		s.End = s.Start
	}
	end.result = ""
	s.Attributes = append(
		append(e.op.attributes(e.conn, otlp.Internal, e.dir), end.attributes(otlp.Internal)...),
		e.op.details(otlp.Internal)...)
	s.Attributes = append(append(s.Attributes, end.details()...), number(roundCount, e.round.number+1))
	end.judge(&s)
	b.emit(e.ref, s)
}

// errorOn returns the error.type for one side. It returns "" for a success, and for the server if
// the client made the error.
func (end *ending) errorOn(kind otlp.Kind) string {
	if end.callers && kind == otlp.Server {
		return ""
	}
	return end.kind
}

// attributes returns the attributes that spans and metrics share.
func (end *ending) attributes(kind otlp.Kind) []otlp.Attribute {
	return append(textIfAny(errorType, end.errorOn(kind)), textIfAny(statusCode, end.code)...)
}

// details returns the attributes that only spans have.
func (end *ending) details() []otlp.Attribute {
	all := textIfAny(toolResult, end.result)
	if end.status > 0 {
		all = append(all, number(httpStatus, end.status))
	}
	if end.incomplete {
		all = append(all, otlp.Attribute{Key: incomplete, Value: true})
	}
	return all
}

// judge sets the status of a span to failed if its side has an error.
func (end *ending) judge(s *otlp.Span) {
	if end.errorOn(s.Kind) != "" {
		s.Failed = true
		s.Message = end.message
	}
}

func (b *Builder) emit(ref int64, s otlp.Span) {
	if s.Sampled && b.o.Emit != nil {
		b.o.Emit(ref, s)
	}
}
