package trace

import (
	"net/http"
	"slices"

	"mcpc/internal/wire"
)

// A client that speaks several revisions finds out which one the server does: it asks
// for what an older server does not know, and the error is the answer that it wanted
// (2026-07-28 basic/transports/streamable-http, "Backward Compatibility"; 2025-11-25
// basic/transports, "Backwards Compatibility").

// newerCodes are the errors with which no older server answers server/discover: what a
// server that knows it says of a faulty request, and of itself.
var newerCodes = []int64{-32020, -32021, -32603}

// probed settles a row as a probe where the frame that it took makes it one.
func (x *index) probed(r *Row, p placed) {
	if p.Role != wire.Answers && p.Role != wire.Heads || r.told || !r.Failed() {
		return
	}
	switch {
	case r.Method == "server/discover" && r.refused():
		r.settleProbe()
	case r.Method == "initialize" && r.Channel == string(wire.Transport) && r.refused() && len(x.refused) < mostMarked:
		x.refused = append(x.refused, r)
	}
}

// refused reports an error as an older server answers with.
func (r *Row) refused() bool {
	if r.Channel == string(wire.RPCFailed) {
		return !slices.Contains(newerCodes, r.Code) && r.Status < 500
	}
	return r.Channel == string(wire.Transport) && r.Status/100 == 4 &&
		r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests && r.Status != http.StatusProxyAuthRequired
}

func (r *Row) settleProbe() {
	r.Channel, r.Exit, r.Text = ChannelProbe, -1, "answered like a server of an older revision"
}

// endpoint is for the event with which the stream of HTTP+SSE begins: a server that has
// that refuses requests to open a conversation elsewhere.
func (x *index) endpoint(c *conn) {
	x.refused = slices.DeleteFunc(x.refused, func(r *Row) bool {
		if x.head.By == ByProxy && r.Target != c.target {
			return false
		}
		if !r.told && r.Failed() {
			r.settleProbe()
			x.touch(r)
		}
		return true
	})
}
