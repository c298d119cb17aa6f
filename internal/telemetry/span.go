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
	// parent is the parent of the span. The span begins a trace if parent is zero. hasContext is set if
	// the message has a trace context; ownContext is that context if it is the context of the span
	// itself, else nil.
	parent        Context
	hasContext    bool
	ownContext    *Context
	links         []otlp.Link
	events        []otlp.Event
	droppedEvents int
}

// A root is the span over the rounds of a request.
type root struct {
	context Context
	parent  Context
	start   time.Time
}

// beginRound starts a round and determines the parent of its span: the context in the message, else
// Options.Parent. With Options.ContextIsOwnSpan, the context in a sent request names the span itself,
// unless an earlier request had the same one. A later round has the span over all rounds, req.root,
// as parent.
func (b *Builder) beginRound(req *request, p part) {
	r := &req.round
	r.start = p.Frame.Time
	r.parent = b.options.Parent
	context, header := b.readContexts(p)
	isSentByMcpc := !b.options.IsRelay && req.dir == wire.Sent
	isOwn := b.options.ContextIsOwnSpan && isSentByMcpc && context.IsValid() && !b.ownSpans.Get(context.Span)
	if isOwn {
		b.ownSpans.Put(context.Span, true)
		r.hasContext = true
		r.ownContext = &context
	} else if context.IsValid() {
		r.hasContext = true
		r.parent = context
	}
	if header.IsValid() { // the HTTP head has a different context than the message
		r.links = append(r.links, linkTo(header))
	}
	if req.root == nil { // the first round
		r.linkOtherTrace(b.options.Parent)
		return
	}
	// The parent that the message names is replaced by the root: link to it, unless it is the root's
	// parent.
	hasParent := r.hasContext && !isOwn
	if hasParent && r.parent.Span != req.root.parent.Span {
		r.links = append(r.links, linkTo(r.parent))
	}
	r.parent = req.root.context
	r.linkOtherTrace(req.root.context)
}

// linkOtherTrace replaces the parent of the round's span by a link if the message names the span
// itself, and the span is in a different trace than its parent.
func (r *round) linkOtherTrace(parent Context) {
	if r.ownContext == nil || !parent.IsValid() || parent.Trace == r.ownContext.Trace {
		return
	}
	r.links = append(r.links, linkTo(parent))
	r.parent = Context{}
}

// linkTo returns a link to the span of a context.
func linkTo(to Context) otlp.Link {
	return otlp.Link{Trace: to.Trace, Span: to.Span, TraceState: to.State}
}

// digest returns the hash that the ids of an exchange derive from. Neither of its halves is zero,
// because an id of zeros is invalid.
func (b *Builder) digest(req *request, round int, side string) [sha256.Size]byte {
	h := sha256.New()
	var n [24]byte
	binary.BigEndian.PutUint64(n[:], uint64(req.number))
	binary.BigEndian.PutUint64(n[8:], uint64(round))
	binary.BigEndian.PutUint64(n[16:], req.repeat)
	_, _ = h.Write(n[:])
	_, _ = h.Write([]byte(side + "\n" + b.options.Seed))
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	sum[7] |= 1
	sum[15] |= 1
	return sum
}

// deriveSpanID returns the id of a span: the same exchange, round and side give the same id.
func (b *Builder) deriveSpanID(req *request, round int, side string) otlp.SpanID {
	sum := b.digest(req, round, side)
	return otlp.SpanID(sum[:8])
}

// traceOf returns the trace of the exchange's current round, and whether its spans are emitted.
func (b *Builder) traceOf(req *request) (trace otlp.TraceID, sampled bool) {
	r := &req.round
	parent := r.parent
	if r.ownContext != nil {
		parent = *r.ownContext
		trace = parent.Trace
	} else if parent.IsValid() {
		trace = parent.Trace
	} else {
		sum := b.digest(req, 0, "trace") // the span begins a trace
		trace = otlp.TraceID(sum[:16])
		parent = Context{}
	}
	return trace, b.options.Sample == nil || b.options.Sample(trace, parent)
}

// The sides of a request that have a span. The ids of the spans derive from these names.
const (
	serverSide = "server"
	clientSide = "client"
	rootSide   = "root"
)

// spanKinds returns the kinds of the spans of a request in the direction, outer span first.
func (b *Builder) spanKinds(dir wire.Direction) []otlp.Kind {
	if b.options.IsRelay {
		return []otlp.Kind{otlp.Server, otlp.Client}
	}
	if dir == wire.Sent {
		return []otlp.Kind{otlp.Client}
	}
	return []otlp.Kind{otlp.Server}
}

// spanIDFor returns the id of the span of the given kind in the current round.
func (b *Builder) spanIDFor(req *request, kind otlp.Kind) otlp.SpanID {
	if req.round.ownContext != nil {
		return req.round.ownContext.Span
	}
	if kind == otlp.Client {
		return b.deriveSpanID(req, req.round.number, clientSide)
	}
	return b.deriveSpanID(req, req.round.number, serverSide)
}

// innermostContext returns the context of a request's innermost span. The server's requests during it have
// this span as parent.
func (b *Builder) innermostContext(req *request) Context {
	kinds := b.spanKinds(req.dir)
	innermost := b.spanIDFor(req, kinds[len(kinds)-1])
	trace, sampled := b.traceOf(req)
	return Context{Trace: trace, Span: innermost, Sampled: sampled, State: req.round.traceState()}
}

// traceState returns the tracestate of the round's spans.
func (r *round) traceState() string {
	if r.ownContext != nil {
		return r.ownContext.State
	}
	return r.parent.State
}

// addEvent adds an event to the current round of a request. Above the limits it only counts the event
// as dropped.
func (b *Builder) addEvent(req *request, at time.Time, name string, attributes ...otlp.Attribute) {
	if len(req.round.events) >= maxEvents || b.eventCount >= maxEventsInAll {
		req.round.droppedEvents++
		return
	}
	b.eventCount++
	req.round.events = append(req.round.events, otlp.Event{Time: at, Name: name, Attributes: attributes})
}

// finish emits the remaining spans of an exchange and removes it.
func (b *Builder) finish(req *request, end outcome) {
	if !req.awaitsRound { // else the last round has ended already
		b.endRound(req, end, lastRound)
	}
	if req.root != nil {
		b.endRoot(req, end)
	}
	b.eventCount -= len(req.round.events)
	delete(b.open, req.number)
}

// Whether a further round follows a round.
const (
	moreRounds = true
	lastRound  = false
)

// endRound emits the spans of the current round, which share its events in the outer one. hasMore
// is set if the response requires another round. Metrics leave out a round whose outcome is
// unknown.
func (b *Builder) endRound(req *request, end outcome, hasMore bool) {
	r := &req.round
	trace, sampled := b.traceOf(req)
	if req.root == nil && hasMore { // the span over all rounds becomes the parent of the first round
		req.root = &root{
			parent: r.parent, start: r.start,
			context: Context{Trace: trace, Span: b.deriveSpanID(req, 0, rootSide), Sampled: sampled, State: r.traceState()},
		}
		r.parent = req.root.context
		trace, sampled = b.traceOf(req)
	}
	parent := r.parent
	for i, kind := range b.spanKinds(req.dir) {
		s := otlp.Span{
			Trace: trace, ID: b.spanIDFor(req, kind), Parent: parent.Span, Remote: i == 0 && parent.Remote,
			TraceState: r.traceState(), Sampled: sampled,
			Name: req.operation.spanName(b.options.URINames), Kind: kind,
			Start: r.start, End: end.at,
		}
		if b.options.IsRelay {
			r.subtractHolds(&s, req.dir)
		}
		if s.End.Before(s.Start) {
			s.End = s.Start
		}
		if i == 0 {
			s.Events = r.events
			s.Links = r.links
			s.DroppedEvents = uint32(min(r.droppedEvents, 1<<30))
		}
		shared := append(req.operation.sharedAttributes(req.conn, kind, req.dir), end.sharedAttributes(kind)...)
		if b.options.Metrics != nil && !end.incomplete {
			operation := clientOperation
			if kind == otlp.Server {
				operation = serverOperation
			}
			b.options.Metrics.observe(operation, shared[:len(shared):len(shared)], s.End, s.End.Sub(s.Start))
		}
		s.Attributes = append(append(shared, req.operation.spanAttributes(kind)...), end.spanAttributes()...)
		if req.root != nil {
			s.Attributes = append(s.Attributes, number(roundNumber, r.number+1))
		}
		end.setStatus(&s)
		b.emit(req.ref, s)
		parent = Context{Trace: trace, Span: s.ID}
	}
	b.eventCount -= len(r.events)
	r.events = nil
	r.droppedEvents = 0
	r.links = nil
}

// subtractHolds subtracts from a span the time that messages were held for. The client waits during
// that time, the server does not. The time of a frame with a server request is after the hold.
func (r *round) subtractHolds(s *otlp.Span, dir wire.Direction) {
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

// endRoot emits the span over all rounds.
func (b *Builder) endRoot(req *request, end outcome) {
	c := req.root.context
	s := otlp.Span{
		Trace:         c.Trace,
		ID:            c.Span,
		Parent:        req.root.parent.Span,
		Remote:        req.root.parent.Remote,
		TraceState:    c.State,
		Sampled:       c.Sampled,
		Name:          req.operation.spanName(b.options.URINames),
		Kind:          otlp.Internal,
		Start:         req.root.start,
		End:           end.at,
		Events:        req.round.events,
		DroppedEvents: uint32(min(req.round.droppedEvents, 1<<30)),
	}
	if s.End.Before(s.Start) {
		s.End = s.Start
	}
	end.result = "" // the span of the last round has it
	s.Attributes = append(
		append(req.operation.sharedAttributes(req.conn, otlp.Internal, req.dir), end.sharedAttributes(otlp.Internal)...),
		req.operation.spanAttributes(otlp.Internal)...)
	s.Attributes = append(append(s.Attributes, end.spanAttributes()...), number(roundCount, req.round.number+1))
	end.setStatus(&s)
	b.emit(req.ref, s)
}

// errorTypeOn returns the error.type for one side. It returns "" after a success, and on the
// server's side if the client made the error.
func (end *outcome) errorTypeOn(kind otlp.Kind) string {
	if end.isCallersFault && kind == otlp.Server {
		return ""
	}
	return end.kind
}

// sharedAttributes returns the attributes that spans and metrics share.
func (end *outcome) sharedAttributes(kind otlp.Kind) []otlp.Attribute {
	return append(textIfAny(errorType, end.errorTypeOn(kind)), textIfAny(statusCode, end.code)...)
}

// spanAttributes returns the attributes that only spans have.
func (end *outcome) spanAttributes() []otlp.Attribute {
	all := textIfAny(toolResult, end.result)
	if end.status > 0 {
		all = append(all, number(httpStatus, end.status))
	}
	if end.incomplete {
		all = append(all, otlp.Attribute{Key: incomplete, Value: true})
	}
	return all
}

// setStatus sets the status of a span to failed if its side has an error.
func (end *outcome) setStatus(s *otlp.Span) {
	if end.errorTypeOn(s.Kind) != "" {
		s.Failed = true
		s.Message = end.message
	}
}

// emit passes a sampled span to Options.Emit.
func (b *Builder) emit(ref int64, s otlp.Span) {
	if s.Sampled && b.options.Emit != nil {
		b.options.Emit(ref, s)
	}
}
