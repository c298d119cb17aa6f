package transport

import (
	"context"
	"io"
	"net/http"

	"mcpc/internal/wire"
)

// Exchange sends an HTTP request with any method and returns the response. It applies edits after
// all other header fields: an empty value removes a field, and the name is sent as written. For a
// POST it reads up to the first message; for other methods it reads the header, and a short body
// that is not a stream of events.
func (t *HTTP) Exchange(ctx context.Context, method string, out *Outgoing, edits []wire.Field) Reply {
	edited := *t
	edited.edits = edits
	rt, f := edited.roundTrip(ctx, method, out)
	if f != nil {
		return faultReply(rt, f)
	}
	defer rt.resp.Body.Close()
	if method == http.MethodPost {
		r := edited.readResponse(ctx, rt, out)
		if r.HTTP == nil {
			r.HTTP = rt.facts(nil)
		}
		return r
	}
	r := Reply{HTTP: rt.facts(nil)}
	if mediaType(rt.resp) != "text/event-stream" {
		r.HTTP.Body, _ = io.ReadAll(io.LimitReader(rt.resp.Body, shortBody))
		rt.record(wire.Body, r.HTTP.Body)
	} else { // a stream may never end, and its header is enough
		t.rec.recordClosed(rt.stream, wire.Sent, "cancelled", "")
	}
	return r
}
