package trace

import (
	"fmt"
	"net/http"
	"slices"

	"mcpc/internal/wire"
)

func (r *Row) answered(p placed) {
	m, fault := p.message, r.unusable(p)
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
	default:
		r.settle(wire.OK)
	}
	if m != nil && r.Method == "initialize" && r.Channel == ChannelOK {
		result, _ := m.ResultMembers()
		p.conn.revision = or(result.Text("protocolVersion"), p.conn.revision)
		r.Revision = p.conn.revision
	}
}

// accompanied counts what came on the way. Bytes that are no message end an
// exchange that has no better ending.
func (r *Row) accompanied(p placed) {
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
		r.settleOpen(wire.Transport, f.Close.Text)
	case r.Apart:
		r.over()
	case r.bare || f.Stream == 0 || f.Close.How != "end" || r.resumable:
	case c.streamable && (r.Status == http.StatusAccepted || r.Status == http.StatusNoContent):
		r.settleOpen(wire.BadResponse, fmt.Sprintf("HTTP %d in the place of the answer", r.Status))
	case r.Status != http.StatusOK:
	case r.strayed:
		r.settleOpen(wire.BadResponse, "the response has another id than the request")
	case r.Kinds.Has(wire.Event) || r.Kinds.Has(wire.Noise):
		r.settleOpen(wire.Transport, "the stream ended before the response")
	default:
		r.settleOpen(wire.BadResponse, "the HTTP response ended without the answer")
	}
}

func (r *Row) status(f *wire.Frame) {
	if f.HTTP == nil {
		return
	}
	if r.foreign = ""; len(f.HTTP.Fields) > 0 {
		r.foreign = foreignType(f.HTTP.Field("Content-Type"))
	}
	switch r.Status = f.HTTP.Status; {
	case r.Status == 401 || r.Status == 403:
		r.settleOpen(wire.Auth, "")
	case r.Status >= 300:
		r.settleOpen(wire.Transport, "")
	}
}

// concerned counts what the server asked on the way, and what may belong to the request.
func (r *Row) concerned(p placed) {
	switch kind := p.peeked.traits.Kind; {
	case p.frame.Dir == wire.Sent:
	case p.Guess:
		r.Notes.Guessed++
	case kind == wire.Request:
		r.Notes.Questions++
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
	switch {
	case r.Apart:
		if !slices.Contains(r.Guesses, other) && len(r.Guesses) < mostGuesses {
			r.Guesses = append(r.Guesses, other)
		}
	default:
		r.Within, r.Guess = other, p.Guess
	}
}

// mostGuesses is how many requests are named to which messages of a stream may belong.
const mostGuesses = 100
