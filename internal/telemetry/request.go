package telemetry

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"mcpc/internal/exchange"
	"mcpc/internal/httpconn"
	"mcpc/internal/jsonraw"
	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// A request is an exchange that still has spans to emit.
type request struct {
	number int
	// again makes the span ids of a request unique that is sent again after its spans were emitted. It
	// is 0 for the first time.
	again uint64
	ref   int64
	// dir is Received if the server sent the request.
	dir   wire.Direction
	conn  *conn
	op    operation
	state exchange.State

	round round
	// root is the span over all rounds, or nil if there is only one round. waits is set while the
	// client must send the next round, and asked is the time of the response that requires it.
	root  *root
	waits bool
	asked time.Time

	// failed is set if the request ended without a response, at ended. A response may still come
	// before until. queued is set while the request is in Builder.settling.
	failed bool
	ended  time.Time
	until  time.Time
	queued bool
}

// A placed is a frame that belongs to a request.
type placed struct {
	exchange.Part
	ref  int64
	conn *conn
}

// apply adds a frame to its request and returns the request, or nil if there is none.
func (b *Builder) apply(p placed) *request {
	r := b.open[p.Exchange]
	switch p.Role {
	case wire.RoleBeginning:
		b.apart.Put(p.Exchange, true)
		return nil
	case wire.RoleRequest, wire.RoleRepeat, wire.RoleContinuation:
		return b.ask(r, p)
	case wire.RoleOtherMessage, wire.RoleCancellation:
		if p.Facts.Traits.Kind == wire.Notification {
			b.notify(r, p)
		}
	}
	if r == nil {
		return nil
	}
	wasCancelled := r.state.Cancel != nil
	r.add(p)
	switch p.Role {
	case wire.RoleResponse:
		b.answer(r, p, wasCancelled)
	case wire.RoleResumption:
		b.event(r, p.Frame.Time, eventResume)
		r.failed = false
	case wire.RoleNonMessage:
		b.beside(r, p.Frame)
		b.fails(r, p.Frame)
	case wire.RoleStreamEnd, wire.RoleCancellation, wire.RoleOtherMessage, wire.RoleHead:
		b.fails(r, p.Frame)
	}
	return r
}

// add updates the state with a frame. It clears the parts of the state that spans do not need.
func (r *request) add(p placed) {
	r.state.Add(&p.Part)
	r.state.Findings = nil
	r.state.Notified = nil
	r.state.Name = ""
	r.state.ID = ""
}

// ask adds a request: a new one, a repeated one, or the request of the next round. It returns the
// request that the message belongs to.
func (b *Builder) ask(r *request, p placed) *request {
	if r == nil || p.Role == wire.RoleRequest { // exchange numbers are unique
		return b.begin(p)
	}
	if p.Role == wire.RoleRepeat {
		var why []otlp.Attribute
		if r.failed {
			end := b.ending(r)
			why = textIfAny(errorType, end.kind)
		}
		b.event(r, p.Frame.Time, eventRetry, why...)
	}
	r.add(p)
	r.failed = false
	r.op.id = idText(p.Message.ID)
	if p.Role == wire.RoleContinuation {
		r.waits = false
		r.round = round{number: r.round.number + 1}
		b.beginRound(r, p)
	}
	return r
}

// notify adds a notification as an event of its request. If r is nil, it emits a separate span.
func (b *Builder) notify(r *request, p placed) {
	if r == nil {
		b.extra++
		e := &request{number: p.Exchange, again: b.extra, ref: p.ref, dir: p.Frame.Dir, conn: p.conn, op: b.operation(p)}
		b.beginRound(e, p)
		b.endRound(e, ending{at: p.Frame.Time}, false)
		return
	}
	b.event(r, p.Frame.Time, bounded(p.Message.Method, longestName), notice(p.Message)...)
}

// notice returns the attributes of a notification's event.
func notice(m *wire.Message) []otlp.Attribute {
	all := []otlp.Attribute{text(methodName, bounded(m.Method, longestName))}
	params, _ := m.ParamMembers()
	switch m.Method {
	case "notifications/progress":
		for _, of := range [][2]string{{progressValue, "progress"}, {progressTotal, "total"}} {
			if n, ok := jsonraw.Float(params.Value(of[1])); ok {
				all = append(all, otlp.Attribute{Key: of[0], Value: n})
			}
		}
	case "notifications/message":
		all = append(all, textIfAny(logLevel, bounded(params.Text("level"), 32))...)
	}
	return all
}

// concerns sets the parent of a server's request on the stream of a client's request to the span of
// that request, unless the message names a parent.
func (b *Builder) concerns(own *request, p placed) {
	of := b.open[p.Exchange]
	if own == nil || of == nil || of == own || p.IsGuess || p.Facts.Traits.Kind != wire.Request ||
		p.Frame.Dir != wire.Received {
		return
	}
	if own.round.named || own.round.number > 0 {
		return
	}
	own.round.parent = b.contextOf(of)
}

// answer ends the request, or its round if the response requires another round.
func (b *Builder) answer(r *request, p placed, wasCancelled bool) {
	if wasCancelled {
		b.event(r, p.Frame.Time, eventLate)
		if b.o.Between || r.dir == wire.Received {
			b.finish(r, b.ending(r))
		}
		return // Fail reports why mcpc cancelled the request
	}
	r.failed = false
	r.ended = p.Frame.Time
	end := b.ending(r)
	b.readResponse(r, p.Message, &end)
	if p.Facts.Traits.RequiresInput {
		b.endRound(r, end, true)
		r.waits = true
		r.asked = p.Frame.Time
		return
	}
	b.finish(r, end)
}

// readResponse sets the fields of end and the attributes of r that only the response has. The
// response to initialize starts a session.
func (b *Builder) readResponse(r *request, m *wire.Message, end *ending) {
	if version, ok := jsonraw.Text(jsonraw.First(m.Raw, "jsonrpc")); ok && version != "2.0" {
		r.op.jsonrpc = bounded(version, 32)
	}
	if m.Kind == wire.ErrorResponse && m.Error != nil {
		end.kind = strconv.FormatInt(m.Error.Code, 10)
		end.code = end.kind
		end.callers = callersFault[m.Error.Code]
		end.message = shown(m.Error.Message)
		return
	}
	if m.Kind != wire.Response {
		end.message = shown(m.Problem())
		return
	}
	result, err := m.ResultMembers()
	if r.op.method == "initialize" && r.dir == wire.Sent && err == nil {
		if version := result.Text("protocolVersion"); version != "" {
			r.conn.version = bounded(version, longestName)
		}
		r.conn.started = r.round.start
		r.op.version = cmp.Or(r.conn.version, r.op.version)
		r.op.session = r.conn.session
	}
	if b.o.Content && r.op.method == "tools/call" && end.kind == "" {
		end.result = content(m.Result)
	}
}

const cancelled = "cancelled"

// An ending is the outcome of a request as its spans show it. It is a success if kind is "".
type ending struct {
	at time.Time
	// kind is the error.type. code is the JSON-RPC error code and status the HTTP status, if that is
	// the reason.
	kind, code string
	status     int
	// callers is set if the sender of the request made the error.
	callers bool
	message string
	result  string
	// incomplete is set if neither a response nor a reason was received.
	incomplete bool
}

// ending returns how a request ended. It is incomplete if the request is still open, or if its response
// could not be read.
func (b *Builder) ending(r *request) ending {
	s := &r.state
	end := ending{at: r.ended, message: shown(s.Text)}
	switch {
	case s.Channel == exchange.ChannelCancelled && r.op.method == "subscriptions/listen":
		end.message = "" // a subscription always ends by cancellation
	case s.Channel == exchange.ChannelCancelled:
		end.kind = cancelled
		end.message = "cancelled by the " + s.Cancel.Who()
	case s.Open(), s.Channel == exchange.ChannelUnreadable:
		end = ending{at: r.ended, incomplete: true}
	case s.Channel == exchange.ChannelOK, s.Channel == string(wire.InputRequired):
	case s.Unanswered && s.Status >= 300 && s.Text == "":
		end.kind = strconv.Itoa(s.Status)
		end.status = s.Status
		end.message = fmt.Sprintf("HTTP status %d", s.Status)
	case s.Unanswered && s.Text == "":
		end.kind = s.Channel
		end.message = "received invalid JSON-RPC message"
	default:
		end.kind = s.Channel
	}
	return end
}

// fails marks r as failed if the frame ended it without a response. The spans are emitted later,
// because a response may follow or the request may be sent again.
func (b *Builder) fails(r *request, f *wire.Frame) {
	if r.failed || r.waits || r.state.Open() || !r.state.Unanswered && r.state.Cancel == nil {
		return
	}
	r.failed, r.ended, r.until = true, f.Time, b.now.Add(grace)
	if f.HTTP != nil && f.HTTP.Status >= 300 {
		after, _ := httpconn.RetryAfter(f.HTTP.Field("Retry-After"), b.now)
		r.until = r.until.Add(min(after, mostRetryAfter))
	}
	if !r.queued {
		r.queued = true
		b.settling = append(b.settling, r.number)
	}
}

// beside adds the events of frames without a message: broken streams, faults and holds.
func (b *Builder) beside(r *request, f *wire.Frame) {
	switch {
	case f.Close != nil && f.Close.How == "cut":
		b.event(r, f.Time, eventCut)
	case f.Fault != nil:
		b.event(
			r,
			f.Time,
			eventFault,
			append(textIfAny(faultAction, shown(f.Fault.Action)), textIfAny(faultRule, shown(f.Fault.Rule))...)...)
	case f.Held != nil:
		b.held(r, f)
	}
}

// held adds the event and the duration of a hold that ended.
func (b *Builder) held(r *request, f *wire.Frame) {
	h := f.Held
	if h.How == "waiting" {
		return
	}
	took := exchange.HeldFor(h)
	b.event(r, f.Time, eventHeld, text(heldHow, bounded(h.How, 32)), text(heldKind, bounded(h.Kind, 32)),
		otlp.Attribute{Key: heldFor, Value: took.Seconds()})
	switch h.Kind {
	case "request":
		r.round.heldBefore += took
	case "response":
		r.round.heldAfter += took
	}
}
