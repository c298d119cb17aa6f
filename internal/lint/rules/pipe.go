package rules

import (
	"time"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

var stdioChecks = []Check{
	// A check that does nothing counts its events as judged, so that the rule passes without noise.
	{ID: "L019", Kind: conv.OnMessage, Do: func(*conv.Event) {}},
	{
		ID:   "L019",
		Kind: conv.OnNoise,
		When: func(e *conv.Event) bool { return !e.IsJoined && !isBrokenMessage(e) },
		Do: func(e *conv.Event) {
			e.Hit(conv.Hit{Subject: "stdout", Got: e.Show(e.Value), Want: "a JSON-RPC message"})
		},
	},
	{ID: "L020", Kind: conv.OnMessage, Do: func(*conv.Event) {}},
	{ID: "L020", Kind: conv.OnNoise, When: func(e *conv.Event) bool { return e.IsJoined }, Do: func(e *conv.Event) {
		e.Hit(conv.Hit{
			Subject: "stdout", Got: e.Show(e.Value) + ", continued on the next lines",
			Want: "a message on one line",
		})
	}},
	{ID: "L021", Kind: conv.OnMessage, Do: checkNoRequest},
	{ID: "L023", Kind: conv.OnMessage, Do: func(e *conv.Event) {
		// The server works: a process that ended before the first message is a finding.
		*conv.State[bool](e.Conversation, "answered first") = true
		if died := conv.State[*conv.Hit](e.Conversation, "died at first"); *died != nil {
			e.Hit(**died)
			*died = nil
		}
	}},
	{ID: "L023", Kind: conv.OnClose, Do: recordEarlyExit},
	{ID: "L024", Kind: conv.OnReply, When: isCancelled, Do: checkAfterCancel},
	{
		ID: "L024", Kind: conv.OnNotice, Methods: []string{"notifications/progress"}, When: isCancelled,
		Do: checkAfterCancel,
	},
	{ID: "L025", Kind: conv.OnClose, Do: func(e *conv.Event) {
		if e.Frame.Close != nil && e.Frame.Close.By == wire.Sent {
			*conv.State[time.Time](e.Conversation, "stdin closed") = e.Frame.Time
		}
	}},
	{ID: "L025", Kind: conv.OnReply, When: func(e *conv.Event) bool { return e.Call != nil }, Do: checkBuffered},
}

// checkNoRequest reports a request of the server.
func checkNoRequest(e *conv.Event) {
	if e.Message.Kind == wire.Request {
		e.FindMessage(e.Message.Method, e.Show(e.Message.Raw), "a response or a notification")
	}
}

// recordEarlyExit records that the process ended while the first request was open, before it sent a
// message. It becomes a finding when another process of the server answers: a server that never
// answers was probably started the wrong way.
func recordEarlyExit(e *conv.Event) {
	end := e.Frame.Close
	hasAnswered := *conv.State[bool](e.Conversation, "answered first")
	if end == nil || end.By != wire.Received || hasAnswered || e.OpenCalls() == 0 {
		return
	}
	*conv.State[*conv.Hit](e.Conversation, "died at first") = &conv.Hit{
		Root: true, Subject: "process", Spot: conv.Spot{Conn: e.Frame.Conn, Seq: e.Frame.Seq},
		Got: "ended (" + end.How + ") before it answered the first request", Want: "an error response",
	}
}

// maxInFlight is the time after a cancellation while messages that were sent before it may still
// arrive.
const maxInFlight = 250 * time.Millisecond

// isCancelled reports whether the client has cancelled the request of an event, and got no response.
func isCancelled(e *conv.Event) bool {
	call := e.Call
	if call == nil || call.Method == listenMethod { // the end of a subscription gets a result
		return false
	}
	return call.CancelledAt > 0 && call.Answers == 0
}

// checkAfterCancel reports a message for a cancelled request, unless it was sent before the
// cancellation arrived.
func checkAfterCancel(e *conv.Event) {
	if e.Frame.Time.Sub(e.Call.Cancelled) < maxInFlight {
		return
	}
	severity := conv.Error
	if e.Rev < conv.Rev20260728 {
		severity = conv.Warn
	}
	e.Hit(conv.Hit{
		Root: true, Severity: severity, Subject: e.Call.Method, Got: e.Show(e.Message.Raw),
		Want: "nothing more for the request with id " + string(e.Call.ID),
	})
}

// maxUnbuffered is the minimum time of an open request that shows that the server buffers its
// output.
const maxUnbuffered = 2 * time.Second

// checkBuffered reports a server that answered two old requests only when its stdin was closed.
func checkBuffered(e *conv.Event) {
	closed := *conv.State[time.Time](e.Conversation, "stdin closed")
	if closed.IsZero() || closed.Sub(e.Call.Sent) < maxUnbuffered || e.Frame.Time.Sub(closed) > maxUnbuffered {
		return
	}
	late := conv.State[int](e.Conversation, "late")
	*late++
	if *late == 2 { // the first may be late by chance, and more than two are one finding
		e.FindMessage("stdout", "responses when stdin was closed, and none before", "each response as soon as it is known")
	}
}
