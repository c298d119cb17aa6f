package capture

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// end gives the command's ending to the row that it is about: the last exchange of its
// method, or a row of its own where it came to none. One that is about many settles only
// the client's unanswered requests, after a signal or a timeout.
func (x *index) end(e *End, at span) {
	if e.ID != nil {
		x.givenUp(e, at)
		return
	}
	x.capture.ends[x.at], x.capture.over[x.at] = at, true
	defer x.finishOld()
	for r := range x.open() {
		if r.Apart {
			r.over()
			x.touch(r)
		}
	}
	if e.Many && len(x.rows) > 0 {
		if e.Kind == wire.Signal || e.Kind == wire.Timeout {
			for r := range x.open() {
				if r.Dir == wire.Sent {
					r.settleOpen(e.Kind, "")
					x.touch(r)
				}
			}
		}
		return
	}
	if x.head.By == ByTap && (x.gone || e.Exit != 0) {
		for r := range x.open() { // a dead server answers no more requests
			if r.Dir == wire.Sent {
				r.settleOpen(wire.Transport, fmt.Sprintf("the server ended (exit code %d)", e.Exit))
				x.touch(r)
			}
		}
	}
	if x.head.By != ByCommand {
		return // it speaks of no exchange
	}
	own := x.own(e)
	if own == nil && (e.Method != "" || e.Kind != wire.OK) {
		own = x.newRow(e.Time)
		own.Method, own.Name = e.Method, e.Name
	}
	if own == nil {
		return
	}
	own.Own, own.Again = true, x.head.Of
	if own.Channel == ChannelOK && (e.Kind == wire.Usage || e.Kind == wire.InvalidArguments) {
		own.Text, own.Hint = e.Text, e.Hint // the error is the command's own, and the exchange was good
	} else {
		own.endAs(e)
		own.Name = cmp.Or(own.Name, e.Name)
	}
	x.touch(own)
}

// givenUp gives an exchange the ending that its caller reported.
func (x *index) givenUp(e *End, at span) {
	exchange, there := x.folder.Sent(e.ID)
	if !there {
		return
	}
	row := x.capture.at(int(x.exchanges[exchange]))
	row.endAs(e)
	row.lines.add(newRowLine(at, wire.Place{Item: -1})) // so that it is copied with the frames
	x.touch(row)
}

// endAs is an ending that is told, which no later answer changes.
func (r *Row) endAs(e *End) {
	r.settle(e.Kind)
	r.told, r.Exit, r.Text, r.Hint = true, e.Exit, e.Text, e.Hint
	r.Findings = append(r.Findings, e.Findings...)
	if e.Took > 0 { // not also until the server's process was ended
		r.Duration = min(r.Duration, e.Took)
	}
}

// own is the exchange that a command's ending speaks of.
func (x *index) own(e *End) *Row {
	last := -1
	for _, nth := range slices.Backward(x.rows) {
		r := x.capture.at(int(nth))
		switch {
		case r.Apart || r.Dir == wire.Received:
			continue
		case e.Method == r.Method || e.Method == "" && !handshake[r.Method]:
			return r
		case last < 0:
			last = r.nth
		}
	}
	if last < 0 || e.Method != "" && x.capture.at(last).Channel == ChannelOK {
		return nil
	}
	return x.capture.at(last)
}

// handshake are the methods that open a conversation.
var handshake = map[string]bool{"initialize": true, "server/discover": true, "logging/setLevel": true}

// Opens reports a request that opens a conversation, as clients send it by themselves.
func (r *Row) Opens() bool { return handshake[r.Method] }

func (r *Row) answered(p *placed) {
	m, fault := p.message, r.resultFault(p)
	r.unanswered = false
	switch {
	case m != nil && (r.Status == 401 || r.Status == 403):
		r.settle(wire.Auth)
	case fault != "":
		r.settle(wire.BadResponse)
		r.Text = fault
	case p.peeked.toolError:
		r.settle(wire.ToolError)
	case m == nil:
		r.settle(wire.OK)
	case m.Kind == wire.ErrorResponse:
		r.Code = m.Error.Code
		r.settle(wire.RPCFailed)
	case m.Kind == wire.Invalid && r.Status >= 300:
		r.settle(wire.Transport)
	case m.Kind == wire.Invalid:
		r.settle(wire.BadResponse)
	case p.peeked.traits.More:
		r.settle(wire.InputRequired)
		r.Notes.Questions += inputRequestsIn(m)
	default:
		r.settle(wire.OK)
	}
	if r.Channel == ChannelOK && r.Dir == wire.Sent && p.conn.server == (implementation{}) {
		p.conn.server = r.serverIn(p)
	}
	if m != nil && r.Method == "initialize" && r.Channel == ChannelOK {
		result, _ := m.ResultMembers()
		p.conn.revision = cmp.Or(result.Text("protocolVersion"), p.conn.revision)
		r.Revision = p.conn.revision
	}
}

// inputRequestsIn counts what the server asks in a result that requires input.
func inputRequestsIn(m *wire.Message) int {
	result, _ := m.ResultMembers()
	requests, _ := jsonraw.Object(result.Value("inputRequests"))
	return len(requests)
}

// accompanied counts what came on the way. Bytes that are no message end an
// exchange that has no better ending.
func (r *Row) accompanied(p *placed) {
	if p.frame.Dir == wire.Sent {
		return
	}
	if p.peeked.traits.Reply {
		r.Orphan = true
		r.strayed = r.strayed || r.Open()
	}
	switch p.peeked.traits.Kind {
	case wire.Notification:
		r.Notes.Notifications++
	case wire.Invalid:
		r.settleOpen(wire.BadResponse, "")
	}
}

// closed is for the end of a stream. That of a response with status 200 had to bring
// the answer, unless it can be taken up again. Over HTTP+SSE a request is only accepted
// (202), and the answer comes elsewhere.
func (r *Row) closed(f *wire.Frame, c *conn) {
	switch {
	case f.Close.How == "cut":
		r.Notes.Cuts++
		if strings.HasPrefix(f.Close.Text, "dial ") { // no byte of the request was sent
			r.Sent -= r.lastSent
			r.lastSent = 0
		}
		r.settleOpen(wire.Transport, f.Close.Text)
	case r.Apart:
		r.over()
	case f.Close.By == wire.Sent && f.Close.How == "cancelled":
		if r.Status != http.StatusAccepted { // whose answer comes elsewhere
			r.cancelled(Cancel{Why: "the client closed the stream", closed: true}, f.Time)
		}
	case r.httpOnly || f.Stream == 0 || f.Close.How != "end" || r.resumable:
	case c.streamable && (r.Status == http.StatusAccepted || r.Status == http.StatusNoContent):
		r.settleOpen(wire.BadResponse, fmt.Sprintf("HTTP %d instead of the response", r.Status))
	case r.Status != http.StatusOK:
	case r.strayed:
		r.settleOpen(wire.BadResponse, "the response has another id than the request")
	case r.Kinds.Has(wire.Event) || r.Kinds.Has(wire.Noise) || r.streamed:
		r.settleOpen(wire.Transport, "the stream ended before the response")
	default:
		r.settleOpen(wire.BadResponse, "the HTTP response ended without a JSON-RPC response")
	}
}

func (r *Row) status(f *wire.Frame) {
	if f.HTTP == nil {
		return
	}
	if r.foreign, r.streamed = "", false; len(f.HTTP.Fields) > 0 {
		kind := f.HTTP.Field("Content-Type")
		r.foreign, r.streamed = foreignType(kind), isEventStream(kind)
	}
	switch r.Status = f.HTTP.Status; {
	case r.Status == 401 || r.Status == 403:
		r.settleOpen(wire.Auth, "")
	case r.Status >= 300:
		r.settleOpen(wire.Transport, "")
	}
}

// heldBack counts a message that was held for a user. What is held behind the answer takes none of
// the time that the answer took.
func (r *Row) heldBack(f *wire.Frame) {
	h := f.Held
	if h.How == "waiting" {
		r.Waiting++
		return
	}
	r.Waiting = max(r.Waiting-1, 0)
	r.Edited = r.Edited || h.How != "released"
	if (r.Open() || r.Apart) && !(r.Dir == wire.Received && h.Kind == "request") { // which began behind it
		r.Held += time.Duration(min(max(h.Milliseconds, 0), 1e9)) * time.Millisecond
	}
	if f.Drops(r.Dir) && !r.Apart {
		r.settleOpen(wire.Transport, "the user dropped the "+h.Kind)
	}
}

// concerned counts what the server asked on the way, and what may belong to the request.
func (r *Row) concerned(p *placed) {
	switch kind := p.peeked.traits.Kind; {
	case p.frame.Dir == wire.Sent:
	case p.Guess:
		r.Notes.Guessed++
	case kind == wire.Request:
		r.Notes.Questions++
	}
}

// connectionEnded is for the end of the pipe or the stream on which the answer was to come. Of
// a server that is dead the end of the run tells.
func (r *Row) connectionEnded(f *wire.Frame) {
	switch {
	case f.Close == nil:
	case f.Close.By == wire.Sent && f.Stream == 0:
		r.cancelled(Cancel{Why: "the client ended the connection"}, f.Time)
	case f.Close.By == wire.Sent:
		r.cancelled(Cancel{Why: "the client closed the stream", closed: true}, f.Time)
	case f.Stream > 0 || r.By == ByCommand: // of tap and proxy the end of the run says more
		r.settleOpen(wire.Transport, cmp.Or(f.Close.Text, "the stream ended before the response"))
	}
}

// cancelled ends a row whose answer is no longer awaited. The client that closes a stream
// may also say why.
func (r *Row) cancelled(c Cancel, at time.Time) {
	switch before := r.Cancel; {
	case before != nil && before.closed && !c.closed:
		before.Why, before.closed = cmp.Or(c.Why, before.Why), false
	case !r.Open():
		return
	default:
		c.After = max(at.Sub(r.Time), 0)
		r.Channel, r.Duration, r.Cancel = ChannelCancelled, c.After, &c
	}
	r.Text = "cancelled by the " + r.Cancel.Who()
	if r.Cancel.Why != "" {
		r.Text += ": " + r.Cancel.Why
	}
}

// reasonIn is the reason that a cancellation gives, "" where it gives none.
func reasonIn(m *wire.Message) string {
	if m == nil {
		return ""
	}
	params, _ := m.ParamMembers()
	return params.Text("reason")
}

// unreadable ends a row whose response could not be decoded, unless HTTP said already that it failed. An answer may
// still come, on another stream.
func (r *Row) unreadable(f *wire.Frame) {
	if r.Open() && f.Dir != r.Dir || r.Open() && r.httpOnly {
		r.Channel, r.Exit, r.Text, r.unanswered = ChannelUnreadable, -1, f.Unread, true
	}
}

// over ends the row of a stream or pipe on which nothing comes any more.
func (r *Row) over() {
	if r.Apart && r.Open() {
		r.settle(wire.OK)
	}
}

// within notes to which request a message of the row belongs too, or may.
func (r *Row) within(other *Row, p wire.Place) {
	other.capture.keep(other)
	switch {
	case r.Apart:
		if len(r.Guesses) < mostGuesses && !slices.ContainsFunc(r.Guesses, func(g *Row) bool { return g.nth == other.nth }) {
			r.Guesses = append(r.Guesses, other)
		}
	default:
		r.Within, r.Guess = other, p.Guess
	}
}

// mostGuesses is how many requests are named to which messages of a stream may belong.
const mostGuesses = 100
