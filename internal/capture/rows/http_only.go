package rows

import (
	"net/http"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A httpOnly is an HTTP request through a proxy that carries no request of JSON-RPC: the
// GET that opens a stream, the POST of a notification, the DELETE of a session. What
// crosses in it belongs to the exchanges of its conversation, so it is listed only
// where it failed itself.
type httpOnly struct {
	row    *Row
	status int
}

// addToHTTPOnly gives a frame to the request without a request of JSON-RPC on whose stream it
// crossed; placed is what the frame was to exchanges.
func (x *rowMaker) addToHTTPOnly(f *wire.Frame, m *wire.Message, at span, places []wire.Place) {
	request := x.httpOnly[f.Stream]
	if request == nil {
		return
	}
	for _, place := range places {
		if place.Role < wire.Answers || place.Role == wire.Resumes || place.Role == wire.Begins && f.Dir == wire.Received {
			delete(x.httpOnly, f.Stream) // it is an exchange's
			return
		}
	}
	place := wire.Place{Role: wire.Surrounds}
	switch f.Kind {
	case wire.Event:
		return // of which there may be many
	case wire.Body:
		request.row.Count(f.Dir, f.Bytes())
		if f.Dir == wire.Sent && m != nil && m.Method != "" {
			request.row.Method = m.Method
		}
	case wire.Head:
		place.Role = wire.Heads
		request.status = f.HTTP.Status
	}
	request.addFrame(x, f, at, place)
	if f.Kind != wire.Closed {
		return
	}
	delete(x.httpOnly, f.Stream)
	// 405 is how a server says that it has no such stream, or ends no session (2025-11-25
	// basic/transports, "Listening for Messages from the Server").
	if request.row.Unanswered && request.status != http.StatusMethodNotAllowed {
		x.markChanged(x.addRow(*request.row))
	}
}

// beginHTTPOnly begins such a request: what its body is comes later, if at all.
func (x *rowMaker) beginHTTPOnly(f *wire.Frame, at span) {
	if !x.head.Between() || f.HTTP == nil || f.Stream == 0 {
		return
	}
	if len(x.httpOnly) > maxPendingFrames {
		clear(x.httpOnly)
	}
	c := x.conns[f.Conn]
	row := x.rowAt(f.Time)
	row.Method = f.HTTP.Method
	row.Target = c.Target
	row.HTTPOnly = true
	row.Era = c.Era
	row.Revision = c.Revision
	request := &httpOnly{row: &row}
	x.httpOnly[f.Stream] = request
	request.addFrame(x, f, at, wire.Place{Role: wire.Heads})
}

// apply adds a frame to the row.
func (request *httpOnly) addFrame(x *rowMaker, f *wire.Frame, at span, place wire.Place) {
	c := x.conns[f.Conn]
	request.row.apply(&placed{
		line: at,
		conn: c,
		Part: exchange.Part{Place: place, Frame: f, Facts: &exchange.NoFacts, Conversation: &c.Conversation},
	})
}

// httpOnlyExchange is what wire.Fold makes of other frames: the head takes the place of the
// request.
func httpOnlyExchange(frames []wire.Frame) *wire.Exchange {
	x := &wire.Exchange{}
	for i, f := range frames {
		switch {
		case i == 0:
			x.Request = f
			x.Heads = append(x.Heads, f)
		case f.Kind == wire.Head:
			x.Heads = append(x.Heads, f)
		case f.Kind == wire.Body:
			x.Between = append(x.Between, f)
		default:
			x.Beside = append(x.Beside, f)
		}
	}
	return x
}
