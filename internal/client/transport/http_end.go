package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"mcpc/internal/httpconn"
	"mcpc/internal/wire"
)

// Limits of the end of a session, if nothing depends on the response. The request is always written
// before the process ends, for which it has writeLimit; the system delivers it then. After that the
// response is waited for, for leaveAfter: a proxy drops a request whose client is gone before it has
// passed it on. Of 100 requests through nginx 19 arrived with no time, 97 with 1 ms, and all with
// 5 ms. A server on this machine has responded by then, so that its response is recorded.
const (
	writeLimit = time.Second
	leaveAfter = 5 * time.Millisecond
)

// errLeft is the cause of a context whose request was written, and its response not waited for.
var errLeft = errors.New("the response was not waited for")

// DeleteSession asks for the end of the session that out names, with DELETE. A server may refuse (405), or know
// the session no more (404, and 400 by some); after any other answer it may keep it. With leave
// set the request is written, and the response hardly waited for.
func (t *HTTP) DeleteSession(ctx context.Context, out *Outgoing, leave bool) {
	if leave {
		var left context.CancelCauseFunc
		ctx, left = context.WithCancelCause(ctx)
		defer left(nil)
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, writeLimit,
			TimeoutError{What: "the request was not written", After: writeLimit})
		defer stop()
		var got atomic.Pointer[httpconn.Mark]
		var timer *time.Timer
		timer = time.AfterFunc(writeLimit, func() {
			if !got.Load().IsPassed() {
				timer.Reset(leaveAfter) // net/http has the request in a buffer
				return
			}
			left(errLeft)
		})
		timer.Stop()
		out.Crossing = &httptrace.ClientTrace{
			GotConn:              func(info httptrace.GotConnInfo) { got.Store(new(httpconn.MarkNow(info.Conn))) },
			WroteRequest:         func(httptrace.WroteRequestInfo) { timer.Reset(leaveAfter) },
			GotFirstResponseByte: func() { timer.Stop() },
		}
	}
	rt, f := t.roundTrip(ctx, http.MethodDelete, out)
	if f != nil {
		if context.Cause(ctx) != errLeft {
			t.inbox.Finding(wire.Finding{Rule: "session_end", Level: wire.Info,
				Text: "the session could not be deleted on the server: " + f.Text})
		}
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(rt.resp.Body, shortBody))
	rt.resp.Body.Close()
	if status := rt.resp.StatusCode; status/100 != 2 && !IsRefusal(status) {
		t.inbox.Finding(wire.Finding{Rule: "session_end", Level: wire.Info,
			Text: fmt.Sprintf(
				"the server may still have the session: it answered DELETE with HTTP %d %s",
				status,
				http.StatusText(status),
			)})
	}
}
