package rows

import (
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A client that speaks several revisions probes for the server's: it sends a request that an older server
// does not know, and expects the error (2026-07-28 basic/transports/streamable-http, "Backward Compatibility";
// 2025-11-25 basic/transports, "Backwards Compatibility"). Such a request is listed as a probe, not as a failure.

// notRefusing are the error codes that are no refusal of a request's revision: two that only newer
// revisions define, and an internal error.
var notRefusing = []int64{-32020, -32021, -32603}

// probes is the state that a rowMaker needs to distinguish probes from failures.
type probes struct {
	// refusedRows are the numbers of the rows that may be probes: an older server may have refused their
	// requests for their revision, or because they were sent by POST.
	refusedRows []int32
	// newerTargets are the targets that have answered a request of a newer revision.
	newerTargets map[string]bool
}

// detectProbe makes the row a probe if the added frame shows that it is one. It does the same for
// earlier rows of the conversation. A row that may be a probe is kept in refusedRows until a later
// response decides.
func (x *rowMaker) detectProbe(r *Row, added *placedPart) {
	if r.Reported { // the command knows the outcome
		return
	}
	mayDecide := added.Role == wire.RoleResponse || added.Role == wire.RoleHead || added.Role == wire.RoleStreamEnd
	if !mayDecide {
		return
	}
	succeeded := r.Channel == exchange.ChannelOK
	isModern := r.Era == "modern"
	initializes := r.Method == "initialize"
	discovers := r.Method == "server/discover"
	if succeeded && isModern && len(x.probes.newerTargets) < maxRemembered {
		x.probes.newerTargets[r.Target] = true
	}
	switch {
	case succeeded && (initializes || isModern):
		// After initialize succeeds, the refused requests of a newer revision were probes.
		x.resolveRefused(initializes, func(refused *Row) bool {
			return refused.Era == "modern" && x.sameConversation(refused, added.conn)
		})
	case added.Role == wire.RoleStreamEnd && discovers && r.Failed():
		// The server exited. An initialize request to the next server process decides.
		x.probes.refusedRows = append(x.probes.refusedRows, int32(r.fileIndex))
	case added.Role == wire.RoleStreamEnd || !r.Failed() || !r.looksRefused():
		if added.Role == wire.RoleResponse { // the status looked like a refusal, the response does not
			x.resolveRefused(false, func(refused *Row) bool { return refused.fileIndex == r.fileIndex })
		}
	case discovers:
		r.markAsProbe()
	case isModern && x.probes.newerTargets[r.Target]:
		// The server knows the revision: the request failed.
	case isModern || initializes && r.Channel == string(wire.Transport):
		if len(x.probes.refusedRows) < maxRemembered {
			x.probes.refusedRows = append(x.probes.refusedRows, int32(r.fileIndex))
		}
	}
}

// sameConversation reports whether the row is of the conversation c. A proxy may not recognize a
// conversation, so between clients and servers the same client's name with the same target
// suffices.
func (x *rowMaker) sameConversation(r *Row, c *conn) bool {
	if r.conn == c {
		return true
	}
	isNamed := c.Client != exchange.Implementation{}
	return x.head.Between() && isNamed && r.Target == c.Target && r.conn.Client == c.Client
}

// looksRefused reports whether the outcome is an error that an older server may refuse a request of
// a newer revision with.
func (r *Row) looksRefused() bool {
	if r.Channel == string(wire.RPCFailed) {
		// A 5xx is a fault of the server, not a refusal.
		return !slices.Contains(notRefusing, r.Code) && r.Status < 500
	}
	return r.Channel == string(wire.Transport) && wire.IsRefusal(r.Status)
}

// markAsProbe makes the row a probe in place of a failure.
func (r *Row) markAsProbe() {
	r.Exit = -1
	if r.Channel != string(wire.Transport) || r.Status > 0 { // otherwise the text reports that the server exited
		r.Text = "answered like a server of an older revision"
	}
	r.Channel = exchange.ChannelProbe
}

// resolveSSEProbes makes the refused initialize requests probes, after the endpoint event of an
// HTTP+SSE stream: a server with such a stream refuses to open a conversation by POST.
func (x *rowMaker) resolveSSEProbes(c *conn) {
	x.resolveRefused(true, func(r *Row) bool {
		return r.Method == "initialize" && (!x.head.Between() || r.Target == c.Target)
	})
}

// resolveRefused removes the rows that match from the refused ones. If areProbes is set it makes
// them probes.
func (x *rowMaker) resolveRefused(areProbes bool, concerns func(*Row) bool) {
	x.probes.refusedRows = slices.DeleteFunc(x.probes.refusedRows, func(nth int32) bool {
		r := x.capture.rowAt(int(nth))
		if !concerns(r) {
			return false
		}
		if areProbes && !r.Reported && r.Failed() {
			r.markAsProbe()
			x.markChanged(r)
		}
		return true
	})
}
