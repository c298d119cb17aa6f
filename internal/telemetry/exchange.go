package telemetry

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// An exchange is a request that has not ended.
type exchange struct {
	number int
	// again tells apart the spans of a request that is sent again after its first ones were
	// emitted; 0 is the first time.
	again uint64
	ref   int64
	// dir is Received where the server asked.
	dir  wire.Direction
	conn *conn
	op   operation
	http response

	round round
	// root is the span over all rounds, nil where there was one only. waits is set while the
	// client has to go on, and ended is when it was asked to.
	root  *root
	waits bool
	ended time.Time

	// ending is how it ended without an answer, which may still come until a time; queued says
	// that it is in settling.
	ending *ending
	until  time.Time
	queued bool
}

// A response is what HTTP says of the answer.
type response struct {
	status int
	// streamed is set where it is one of events, resumable where that can be taken up again.
	streamed, resumable bool
}

// An ending is how a request ended: well where kind is "".
type ending struct {
	at time.Time
	// kind is the error.type, code the code of a JSON-RPC error and status that of HTTP where
	// they are the reason.
	kind, code string
	status     int
	// callers is set where the error is one of the side that asked alone.
	callers bool
	message string
	result  string
	// incomplete is set where neither an answer nor a reason was seen.
	incomplete bool
}

// A placed is a frame that belongs to an exchange.
type placed struct {
	wire.Place
	ref     int64
	frame   *wire.Frame
	message *wire.Message
	traits  wire.Traits
	conn    *conn
}

// apply gives a frame to its exchange, and returns that, nil where there is none.
func (b *Builder) apply(p placed) *exchange {
	e := b.open[p.Exchange]
	switch p.Role {
	case wire.Begins:
		b.apart.put(p.Exchange, true)
		return nil
	case wire.Asks, wire.Repeats, wire.Continues:
		return b.asked(e, p)
	case wire.Accompanies, wire.Cancels:
		b.told(e, p)
	}
	if e == nil {
		return nil
	}
	if p.frame.SSE != nil && p.frame.SSE.ID != nil {
		e.http.resumable = true
	}
	switch p.Role {
	case wire.Answers:
		b.answered(e, p)
	case wire.Cancels:
		b.cancelled(e, p.frame.Time, p.frame.Dir)
	case wire.Heads:
		if p.frame.Dir == wire.Received && p.frame.HTTP != nil {
			b.status(e, p.frame)
		}
	case wire.Resumes:
		b.event(e, p.frame.Time, eventResume)
		e.ending = nil
	case wire.Ends:
		b.connectionEnded(e, p.frame)
	case wire.Surrounds:
		b.beside(e, p.frame)
	}
	return e
}

// asked is for a request: a new one, the same again, or that of the next round.
func (b *Builder) asked(e *exchange, p placed) *exchange {
	switch {
	case e == nil || p.Role == wire.Asks: // the latter has no number twice
		return b.begin(p)
	case p.Role == wire.Continues:
		e.waits, e.ending, e.http = false, nil, response{}
		e.op.id = idText(p.message.ID)
		e.round = round{number: e.round.number + 1}
		b.beginRound(e, p)
	default:
		var why []otlp.Attribute
		if e.ending != nil {
			why = textIfAny(errorType, e.ending.kind)
		}
		b.event(e, p.frame.Time, eventRetry, why...)
		e.ending, e.http = nil, response{}
		e.op.id = idText(p.message.ID)
	}
	return e
}

// told is for a notification, or what is in its place: an event of its request, or a span.
func (b *Builder) told(e *exchange, p placed) {
	switch {
	case p.traits.Kind == wire.Invalid && p.frame.Dir == wire.Received && e != nil:
		b.fails(e, ending{at: p.frame.Time, kind: string(wire.BadResponse), message: "received invalid JSON-RPC message"}, 0)
	case p.traits.Kind != wire.Notification:
	case e == nil:
		b.notified(p)
	default:
		b.event(e, p.frame.Time, bounded(p.message.Method, longestName), notice(p.message)...)
	}
}

// notice is what the event of a notification says.
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

// concerns is for what the server asked on the stream of another request, whose span is its
// parent unless its message names one.
func (b *Builder) concerns(own *exchange, p placed) {
	of := b.open[p.Exchange]
	if own == nil || of == nil || of == own || p.Guess || p.traits.Kind != wire.Request || p.frame.Dir != wire.Received {
		return
	}
	if own.round.named || own.round.number > 0 {
		return
	}
	own.round.parent = b.contextOf(of)
}

// answered ends the request, or its round where the answer asks for more.
func (b *Builder) answered(e *exchange, p placed) {
	if e.ending != nil && e.ending.kind == cancelled {
		if b.event(e, p.frame.Time, eventLate); b.o.Between || e.dir == wire.Received {
			b.finish(e, *e.ending)
		}
		return // why mcpc cancelled it is still to be told
	}
	end := b.answer(e, p.message)
	end.at = p.frame.Time
	if p.traits.More {
		b.endRound(e, end, true)
		e.waits, e.ended, e.ending = true, p.frame.Time, nil
		return
	}
	b.finish(e, end)
}

// answer judges a response.
func (b *Builder) answer(e *exchange, m *wire.Message) ending {
	if version, ok := jsonraw.Text(jsonraw.First(m.Raw, "jsonrpc")); ok && version != "2.0" {
		e.op.jsonrpc = bounded(version, 32)
	}
	switch {
	case m.Kind == wire.ErrorResponse && m.Error != nil:
		code := strconv.FormatInt(m.Error.Code, 10)
		return ending{kind: code, code: code, callers: callersFault[m.Error.Code], message: shown(m.Error.Message)}
	case m.Kind != wire.Response:
		return ending{kind: string(wire.BadResponse), message: shown(m.Problem())}
	}
	result, err := m.ResultMembers()
	if e.op.method == "initialize" && e.dir == wire.Sent && err == nil {
		e.conn.beginSession(e.round.start, result)
		e.op.version = cmp.Or(e.conn.version, e.op.version)
		e.op.session = e.conn.session
	}
	if e.op.method != "tools/call" || err != nil {
		return ending{}
	}
	if isError, _ := wire.ParseIsError(result.Value("isError")); isError {
		return ending{kind: string(wire.ToolError)}
	}
	if b.o.Content {
		return ending{result: content(m.Result)}
	}
	return ending{}
}

const cancelled = "cancelled"

// cancelled is for a request that one side gave up. Ending a subscription is no error.
func (b *Builder) cancelled(e *exchange, at time.Time, by wire.Direction) {
	end := ending{at: at, kind: cancelled, message: "cancelled by the " + [...]string{"client", "server"}[by]}
	if e.op.method == "subscriptions/listen" {
		end.kind, end.message = "", ""
	}
	b.fails(e, end, 0)
}

// status is for the head of a response. A failure may have a JSON-RPC answer behind it, or be
// tried again.
func (b *Builder) status(e *exchange, f *wire.Frame) {
	h := f.HTTP
	e.http.status = h.Status
	e.http.streamed = strings.HasPrefix(strings.ToLower(h.Field("Content-Type")), "text/event-stream")
	if h.Status < 300 {
		return
	}
	after, _ := strconv.Atoi(h.Field("Retry-After"))
	b.fails(e, ending{at: f.Time, kind: strconv.Itoa(h.Status), status: h.Status, message: fmt.Sprintf("HTTP status %d", h.Status)},
		min(time.Duration(max(after, 0))*time.Second, mostRetryAfter))
}

// fails notes that a request ended without an answer, unless it did already.
func (b *Builder) fails(e *exchange, end ending, longer time.Duration) {
	if e.ending != nil || e.waits {
		return
	}
	e.ending, e.until = &end, b.now.Add(grace+longer)
	if !e.queued {
		e.queued = true
		b.settling = append(b.settling, e.number)
	}
}

// connectionEnded is for the end of the pipe or the stream on which the answer was to come.
func (b *Builder) connectionEnded(e *exchange, f *wire.Frame) {
	switch {
	case f.Close == nil:
	case f.Close.By == wire.Sent:
		b.cancelled(e, f.Time, wire.Sent)
	default:
		b.broke(e, f)
	}
}

// broke ends a request with the end of its stream.
func (b *Builder) broke(e *exchange, f *wire.Frame) {
	b.fails(e, ending{at: f.Time, kind: string(wire.Transport), message: shown(cmp.Or(f.Close.Text, "the stream ended before the response"))}, 0)
}

// beside is for frames that hold no message.
func (b *Builder) beside(e *exchange, f *wire.Frame) {
	switch {
	case f.Unread != "" && f.Dir != e.dir:
		b.fails(e, ending{at: f.Time, incomplete: true}, 0)
	case f.Close != nil && f.Close.How == "cut":
		b.event(e, f.Time, eventCut)
		b.broke(e, f)
	case f.Close != nil && f.Close.By == wire.Sent && f.Close.How == "cancelled":
		if e.http.status != http.StatusAccepted { // whose answer comes elsewhere
			b.cancelled(e, f.Time, wire.Sent)
		}
	case f.Close != nil:
		b.ended(e, f)
	case f.Fault != nil:
		b.event(e, f.Time, eventFault, append(textIfAny(faultAction, shown(f.Fault.Action)), textIfAny(faultRule, shown(f.Fault.Rule))...)...)
	case f.Held != nil:
		b.held(e, f)
	}
}

// ended is for the orderly end of a response, which had to bring the answer unless its stream can
// be taken up again.
func (b *Builder) ended(e *exchange, f *wire.Frame) {
	switch {
	case f.Stream == 0 || f.Close.How != "end" || e.http.resumable || e.http.status != http.StatusOK:
	case e.http.streamed:
		b.broke(e, f)
	default:
		b.fails(e, ending{at: f.Time, kind: string(wire.BadResponse), message: "the HTTP response ended without a JSON-RPC response"}, 0)
	}
}

// held counts how long a message was held for a user.
func (b *Builder) held(e *exchange, f *wire.Frame) {
	h := f.Held
	if h.How == "waiting" {
		return
	}
	took := time.Duration(min(max(h.Milliseconds, 0), 1e9)) * time.Millisecond
	b.event(e, f.Time, eventHeld, text(heldHow, bounded(h.How, 32)), text(heldKind, bounded(h.Kind, 32)),
		otlp.Attribute{Key: heldFor, Value: took.Seconds()})
	switch h.Kind {
	case "request":
		e.round.heldBefore += took
	case "response":
		e.round.heldAfter += took
	}
	if f.Drops(e.dir) {
		b.fails(e, ending{at: f.Time, kind: string(wire.Transport), message: "the user dropped the " + bounded(h.Kind, 32)}, 0)
	}
}
