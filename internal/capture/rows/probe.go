package rows

import (
	"net/http"
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A client that speaks several revisions finds out which one the server does: it asks
// for what an older server does not know, and the error is the answer that it wanted
// (2026-07-28 basic/transports/streamable-http, "Backward Compatibility"; 2025-11-25
// basic/transports, "Backwards Compatibility").

// newerCodes are the errors with which no older server answers a request of a newer revision:
// what a server that knows it says of a faulty request, and of itself.
var newerCodes = []int64{-32020, -32021, -32603}

// probes are what a rowMaker keeps to tell a probe from a failure.
type probes struct {
	// refused are the requests that an older server may have refused because they were of
	// a newer revision, or came by a POST.
	refused []int32
	// newer are the targets that have answered a request of a newer revision.
	newer map[string]bool
}

// probed settles a row as a probe where the frame that it took makes it one, and those
// before it of which that says that they were.
func (x *rowMaker) detectProbe(r *Row, frame *placed) {
	if frame.Role != wire.Answers && frame.Role != wire.Heads && frame.Role != wire.Ends || r.Reported {
		return
	}
	opens := r.Method == "initialize"
	if r.Channel == exchange.ChannelOK && r.Era == "modern" && len(x.probes.newer) < maxRemembered {
		x.probes.newer[r.Target] = true
	}
	switch {
	case r.Channel == exchange.ChannelOK && (opens || r.Era == "modern"):
		x.resolveRefused(opens, func(tried *Row) bool { return tried.Era == "modern" && x.sameConversation(tried, frame.conn) })
	case frame.Role == wire.Ends && r.Method == "server/discover" && r.Failed():
		x.probes.refused = append(x.probes.refused, int32(r.nth)) // the server exited: the handshake with the next one tells
	case frame.Role == wire.Ends || !r.Failed() || !r.isRefusal():
		if frame.Role == wire.Answers { // the status alone looked like a refusal
			x.resolveRefused(false, func(tried *Row) bool { return tried.nth == r.nth })
		}
	case r.Method == "server/discover":
		r.becomeProbe()
	case r.Era == "modern" && x.probes.newer[r.Target]: // it is no older server
	case (r.Era == "modern" || opens && r.Channel == string(wire.Transport)) && len(x.probes.refused) < maxRemembered:
		x.probes.refused = append(x.probes.refused, int32(r.nth))
	}
}

// together reports a row of the conversation or, where nothing tells conversations apart,
// of a client of the same name.
func (x *rowMaker) sameConversation(r *Row, c *conn) bool {
	return r.conn == c ||
		x.head.Between() && r.Target == c.Target && c.Client != (exchange.Implementation{}) && r.conn.Client == c.Client
}

// refused reports an error as an older server answers with.
func (r *Row) isRefusal() bool {
	if r.Channel == string(wire.RPCFailed) {
		return !slices.Contains(newerCodes, r.Code) && r.Status < 500
	}
	return r.Channel == string(wire.Transport) && r.Status/100 == 4 &&
		r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests && r.Status != http.StatusProxyAuthRequired
}

func (r *Row) becomeProbe() {
	r.Exit = -1
	if r.Channel != string(wire.Transport) || r.Status > 0 { // else the text says that the server exited
		r.Text = "answered like a server of an older revision"
	}
	r.Channel = exchange.ChannelProbe
}

// endpoint is for the event with which the stream of HTTP+SSE begins: a server that has
// that refuses requests to open a conversation elsewhere.
func (x *rowMaker) resolveSSEProbes(c *conn) {
	x.resolveRefused(true, func(r *Row) bool {
		return r.Method == "initialize" && (!x.head.Between() || r.Target == c.Target)
	})
}

// settle ends the doubt about those of the refused that which names: they were probes, or
// were not.
func (x *rowMaker) resolveRefused(areProbes bool, concerns func(*Row) bool) {
	x.probes.refused = slices.DeleteFunc(x.probes.refused, func(nth int32) bool {
		r := x.capture.at(int(nth))
		if !concerns(r) {
			return false
		}
		if areProbes && !r.Reported && r.Failed() {
			r.becomeProbe()
			x.markChanged(r)
		}
		return true
	})
}
