package telemetry

import (
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
	// repeat makes the span ids of a request unique that is sent again after its spans were
	// emitted. It is 0 the first time.
	repeat uint64
	ref    int64
	// dir is Received if the server sent the request.
	dir       wire.Direction
	conn      *conn
	operation operation
	state     exchange.State

	round round
	// root is the span over all rounds, or nil if there is only one round. awaitsRound is set while
	// the client must send the next round, and roundRequired is the time of the response that requires it.
	root          *root
	awaitsRound   bool
	roundRequired time.Time

	// hasFailed is set if the request ended without a response, at failedAt. A response may still come
	// before graceEnd. isSettling is set while the request is in Builder.settling.
	hasFailed  bool
	failedAt   time.Time
	graceEnd   time.Time
	isSettling bool
}

// A part is a frame that belongs to a request.
type part struct {
	exchange.PlacedFrame
	ref  int64
	conn *conn
}

// apply adds a frame to its request and returns the request, or nil without a request. The request
// may have ended with the frame.
func (b *Builder) apply(p part) *request {
	r := b.open[p.Exchange]
	switch p.Role {
	case wire.RoleBeginning:
		b.streams.Put(p.Exchange, true) // not a request
		return nil
	case wire.RoleRequest, wire.RoleRepeat, wire.RoleContinuation:
		return b.addRequest(r, p)
	case wire.RoleOtherMessage, wire.RoleCancellation:
		if p.Facts.Traits.Kind == wire.Notification {
			b.addNotification(r, p)
		}
	}
	if r == nil {
		return nil
	}
	wasCancelled := r.state.Cancel != nil
	r.addToState(p)
	switch p.Role {
	case wire.RoleResponse:
		b.addResponse(r, p, wasCancelled)
	case wire.RoleResumption:
		b.addEvent(r, p.Frame.Time, eventResume)
		r.hasFailed = false
	case wire.RoleNonMessage:
		b.addFrameEvent(r, p.Frame)
		b.markFailed(r, p.Frame)
	case wire.RoleStreamEnd, wire.RoleCancellation, wire.RoleOtherMessage, wire.RoleHead:
		b.markFailed(r, p.Frame)
	}
	return r
}

// addToState updates the state with a frame. It clears the parts of the state that spans do not need.
func (r *request) addToState(p part) {
	r.state.Add(&p.PlacedFrame)
	r.state.Findings = nil
	r.state.Notified = nil
	r.state.Name = ""
	r.state.ID = ""
}

// addRequest adds a request: a new one, a repeated one, or the request of the next round. r is the
// exchange's open request, or nil. It returns the request that the message belongs to.
func (b *Builder) addRequest(r *request, p part) *request {
	// The spans of a repeated request may have been emitted already: then it is a new one.
	if r == nil || p.Role == wire.RoleRequest { // exchange numbers are unique
		return b.openRequest(p)
	}
	if p.Role == wire.RoleRepeat {
		var reason []otlp.Attribute
		if r.hasFailed {
			end := b.outcomeOf(r)
			reason = textIfAny(errorType, end.kind)
		}
		b.addEvent(r, p.Frame.Time, eventRetry, reason...)
	}
	r.addToState(p)
	r.hasFailed = false
	r.operation.id = idText(p.Message.ID)
	if p.Role == wire.RoleContinuation {
		r.awaitsRound = false
		r.round = round{number: r.round.number + 1}
		b.beginRound(r, p)
	}
	return r
}

// addNotification adds a notification as an event of its request. If r is nil, it emits a separate span.
func (b *Builder) addNotification(r *request, p part) {
	if r == nil {
		b.repeats++
		span := &request{
			number:    p.Exchange,
			repeat:    b.repeats,
			ref:       p.ref,
			dir:       p.Frame.Dir,
			conn:      p.conn,
			operation: b.readOperation(p),
		}
		b.beginRound(span, p)
		b.endRound(span, outcome{at: p.Frame.Time}, lastRound)
		return
	}
	b.addEvent(r, p.Frame.Time, cutText(p.Message.Method, maxName), notificationAttributes(p.Message)...)
}

// notificationAttributes returns the attributes of a notification's event.
func notificationAttributes(m *wire.Message) []otlp.Attribute {
	all := []otlp.Attribute{text(methodName, cutText(m.Method, maxName))}
	params, _ := m.ParamMembers()
	switch m.Method {
	case "notifications/progress":
		for _, pair := range [][2]string{{progressValue, "progress"}, {progressTotal, "total"}} {
			if n, ok := jsonraw.Float(params.Value(pair[1])); ok {
				all = append(all, otlp.Attribute{Key: pair[0], Value: n})
			}
		}
	case "notifications/message":
		all = append(all, textIfAny(logLevel, cutText(params.Text("level"), 32))...)
	}
	return all
}

// setParent sets the parent of a server's request on the stream of a client's request to the span of
// that request, unless the message names a parent.
func (b *Builder) setParent(serverRequest *request, p part) {
	clientRequest := b.open[p.Exchange]
	if serverRequest == nil || clientRequest == nil || clientRequest == serverRequest {
		return
	}
	isServerRequest := p.Facts.Traits.Kind == wire.Request && p.Frame.Dir == wire.Received
	if !isServerRequest || p.IsGuess { // a guessed place must not decide the parent
		return
	}
	if serverRequest.round.hasContext || serverRequest.round.number > 0 { // later rounds have the root as parent
		return
	}
	serverRequest.round.parent = b.innermostContext(clientRequest)
}

// addResponse ends the request, or its round if the response requires another round.
func (b *Builder) addResponse(r *request, p part, wasCancelled bool) {
	if wasCancelled {
		b.addEvent(r, p.Frame.Time, eventLate)
		if b.options.IsRelay || r.dir == wire.Received {
			b.finish(r, b.outcomeOf(r))
		}
		return // Fail reports why mcpc cancelled the request
	}
	r.hasFailed = false
	// outcomeOf takes the end from failedAt.
	r.failedAt = p.Frame.Time
	end := b.outcomeOf(r)
	b.readResponse(r, p.Message, &end)
	if p.Facts.Traits.RequiresInput {
		b.endRound(r, end, moreRounds)
		r.awaitsRound = true
		r.roundRequired = p.Frame.Time
		return
	}
	b.finish(r, end)
}

// readResponse sets the fields of end and the attributes of r that only the response has. The
// response to initialize starts a session.
func (b *Builder) readResponse(r *request, m *wire.Message, end *outcome) {
	if version, ok := jsonraw.Text(jsonraw.First(m.Raw, "jsonrpc")); ok && version != "2.0" {
		r.operation.jsonrpc = cutText(version, 32)
	}
	if m.Kind == wire.ErrorResponse && m.Error != nil {
		end.kind = strconv.FormatInt(m.Error.Code, 10)
		end.code = end.kind
		end.isCallersFault = isCallersError[m.Error.Code]
		end.message = safeText(m.Error.Message)
		return
	}
	if m.Kind != wire.Response {
		end.message = safeText(m.Problem())
		return
	}
	result, err := m.ResultMembers()
	if r.operation.method == "initialize" && r.dir == wire.Sent && err == nil {
		if version := result.Text("protocolVersion"); version != "" {
			r.conn.version = cutText(version, maxName)
		}
		r.conn.sessionStart = r.round.start
		if r.conn.version != "" {
			r.operation.version = r.conn.version
		}
		r.operation.session = r.conn.session
	}
	if b.options.Content && r.operation.method == "tools/call" && end.kind == "" {
		end.result = safeContent(m.Result)
	}
}

const cancelled = "cancelled"

// An outcome is the result of a request as its spans show it. It is a success if kind is "".
type outcome struct {
	at time.Time
	// kind is the error.type. code is the JSON-RPC error code and status the HTTP status, if that is
	// the reason.
	kind, code string
	status     int
	// isCallersFault is set if the sender of the request made the error.
	isCallersFault bool
	message        string
	result         string
	// incomplete is set if neither a response nor a reason was received.
	incomplete bool
}

// outcomeOf returns how a request ended. It is incomplete if the request is still open, or if its response
// could not be read.
func (b *Builder) outcomeOf(r *request) outcome {
	s := &r.state
	end := outcome{at: r.failedAt, message: safeText(s.Text)}
	switch {
	case s.Channel == exchange.ChannelCancelled && r.operation.method == "subscriptions/listen":
		end.message = "" // a subscription always ends by cancellation
	case s.Channel == exchange.ChannelCancelled:
		end.kind = cancelled
		end.message = "cancelled by the " + s.Cancel.Side()
	case s.IsOpen(), s.Channel == exchange.ChannelUnreadable:
		end = outcome{at: r.failedAt, incomplete: true}
	case s.Channel == exchange.ChannelOK, s.Channel == string(wire.InputRequired):
	// Without a JSON-RPC response the HTTP status is the reason.
	case s.Unanswered && s.Status >= 300 && s.Text == "":
		end.kind = strconv.Itoa(s.Status)
		end.status = s.Status
		end.message = fmt.Sprintf("HTTP status %d", s.Status)
	// Only a message that cannot be read as a response leaves no text.
	case s.Unanswered && s.Text == "":
		end.kind = s.Channel
		end.message = "received invalid JSON-RPC message"
	default:
		end.kind = s.Channel
	}
	return end
}

// markFailed marks r as failed if the frame ended it without a response. The spans are emitted later,
// because a response may follow or the request may be sent again.
func (b *Builder) markFailed(r *request, f *wire.Frame) {
	hasEnded := !r.state.IsOpen() && (r.state.Unanswered || r.state.Cancel != nil)
	if r.hasFailed || r.awaitsRound || !hasEnded {
		return
	}
	r.hasFailed = true
	r.failedAt = f.Time
	r.graceEnd = b.now.Add(grace)
	if f.HTTP != nil && f.HTTP.Status >= 300 {
		after, _ := httpconn.RetryAfter(f.HTTP.Field("Retry-After"), b.now)
		r.graceEnd = r.graceEnd.Add(min(after, maxRetryAfter))
	}
	if !r.isSettling {
		r.isSettling = true
		b.settling = append(b.settling, r.number)
	}
}

// addFrameEvent adds the events of frames without a message: broken streams, faults and holds.
func (b *Builder) addFrameEvent(r *request, f *wire.Frame) {
	switch {
	case f.Close != nil && f.Close.How == "cut":
		b.addEvent(r, f.Time, eventCut)
	case f.Fault != nil:
		b.addEvent(
			r,
			f.Time,
			eventFault,
			append(textIfAny(faultAction, safeText(f.Fault.Action)), textIfAny(faultRule, safeText(f.Fault.Rule))...)...)
	case f.Held != nil:
		b.addHold(r, f)
	}
}

// addHold adds the event and the duration of a hold that ended.
func (b *Builder) addHold(r *request, f *wire.Frame) {
	h := f.Held
	if h.How == "waiting" { // the hold begins
		return
	}
	duration := exchange.HeldFor(h)
	b.addEvent(r, f.Time, eventHeld, text(heldHow, cutText(h.How, 32)), text(heldKind, cutText(h.Kind, 32)),
		otlp.Attribute{Key: heldFor, Value: duration.Seconds()})
	switch h.Kind {
	case "request":
		r.round.heldBefore += duration
	case "response":
		r.round.heldAfter += duration
	}
}
