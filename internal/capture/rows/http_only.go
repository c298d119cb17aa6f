package rows

import (
	"net/http"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// An httpOnly is an HTTP request through a proxy without a JSON-RPC request: the GET that opens a
// stream, the POST of a notification, the DELETE of a session. Its messages belong to other
// exchanges of the conversation, so it is listed only if it failed.
type httpOnly struct {
	row    *Row
	status int
}

// addToHTTPOnly adds a frame to the httpOnly request on the frame's stream. m is the frame's
// message, or nil; places are the frame's places in exchanges. The request is forgotten if the
// frame makes it a part of an exchange, and listed if its end shows that it failed.
func (x *rowMaker) addToHTTPOnly(f *wire.Frame, m *wire.Message, line span, places []wire.Place) {
	request := x.httpOnly[f.Stream]
	if request == nil {
		return
	}
	for _, place := range places {
		// Roles before RoleResponse belong to requests.
		isBeginning := place.Role == wire.RoleBeginning && f.Dir == wire.Received
		if place.Role < wire.RoleResponse || place.Role == wire.RoleResumption || isBeginning {
			delete(x.httpOnly, f.Stream) // the request belongs to an exchange
			return
		}
	}
	place := wire.Place{Role: wire.RoleNonMessage}
	switch f.Kind {
	case wire.Event:
		return // a stream may have many events
	case wire.Body:
		request.row.AddSize(f.Dir, f.Bytes())
		if f.Dir == wire.Sent && m != nil && m.Method != "" {
			request.row.Method = m.Method
		}
	case wire.Head:
		place.Role = wire.RoleHead
		request.status = f.HTTP.Status
	}
	request.addFrame(x, f, line, place)
	if f.Kind != wire.Closed {
		return
	}
	delete(x.httpOnly, f.Stream)
	// A server answers 405 if it has no such stream or does not end sessions (2025-11-25 basic/transports,
	// "Listening for Messages from the Server").
	if request.row.Unanswered && request.status != http.StatusMethodNotAllowed {
		x.markChanged(x.addRow(*request.row))
	}
}

// beginHTTPOnly begins an httpOnly request with its head. Its body may show later that the request
// belongs to an exchange.
func (x *rowMaker) beginHTTPOnly(f *wire.Frame, line span) {
	if !x.head.Between() || f.HTTP == nil || f.Stream == 0 { // only a proxy sees requests that have no exchange
		return
	}
	if len(x.httpOnly) > maxPendingFrames {
		clear(x.httpOnly) // a damaged recording may never end them
	}
	c := x.conns[f.Conn]
	row := x.makeRow(f.Time)
	row.Method = f.HTTP.Method
	row.Target = c.Target
	row.IsHTTPOnly = true
	row.Era = c.Era
	row.Revision = c.Revision
	request := &httpOnly{row: &row}
	x.httpOnly[f.Stream] = request
	request.addFrame(x, f, line, wire.Place{Role: wire.RoleHead})
}

// addFrame adds a frame to the row of the request.
func (request *httpOnly) addFrame(x *rowMaker, f *wire.Frame, line span, place wire.Place) {
	c := x.conns[f.Conn]
	request.row.addPart(&placedPart{
		line:        line,
		conn:        c,
		PlacedFrame: exchange.PlacedFrame{Place: place, Frame: f, Facts: &exchange.NoFacts, Conversation: &c.Conversation},
	})
}

// httpOnlyExchange returns the exchange of an httpOnly request. The first head takes the place of
// the request.
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
			x.OtherMessages = append(x.OtherMessages, f)
		default:
			x.NonMessages = append(x.NonMessages, f)
		}
	}
	return x
}
