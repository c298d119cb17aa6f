package transport

import (
	"context"
	"io"
	"net/http"

	"mcpc/internal/wire"
)

// Exchange sends an HTTP request of any method and gives what came back. Edits come after all
// other header fields: one without a value is removed, and the name crosses as it is written.
// A POST is read as far as the first message; of any other request the head is read, and a
// short body that is no event stream.
func (t *HTTP) Exchange(ctx context.Context, method string, out *Outgoing, edits []wire.Field) Reply {
	with := *t
	with.edits = edits
	rt, f := with.roundTrip(ctx, method, out)
	if f != nil {
		return headless(rt, f)
	}
	defer rt.resp.Body.Close()
	if method == http.MethodPost {
		r := with.read(ctx, rt, out)
		if r.HTTP == nil {
			r.HTTP = rt.facts(nil)
		}
		return r
	}
	r := Reply{HTTP: rt.facts(nil)}
	if mediaType(rt.resp) != "text/event-stream" {
		r.HTTP.Body, _ = io.ReadAll(io.LimitReader(rt.resp.Body, shortBody))
		rt.record(wire.Body, r.HTTP.Body)
	} else {
		t.rec.closed(rt.stream, wire.Sent, "cancelled", "")
	}
	return r
}
