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

// Time limits for ending a session whose response is not needed. The request is always written
// before the process ends, which may take writeLimit. Then the response is waited for during
// responseGrace: a proxy drops a request if its client disconnects before the proxy has forwarded it.
// Of 100 requests through nginx 19 arrived without waiting, 97 after 1 ms, and all after 5 ms. A
// server on this machine has responded by then, so that the recording has its response.
const (
	writeLimit    = time.Second
	responseGrace = 5 * time.Millisecond
)

// errNotAwaited is the cause of a context whose request was written and whose response is not awaited.
var errNotAwaited = errors.New("the response was not waited for")

// DeleteSession ends a session with DELETE; out has its header fields. A server may refuse (405) or
// not know the session (404, some servers 400); after any other status it may keep the session, which
// is reported, like a failure of the request. If noWait is set, DeleteSession returns shortly after the
// request was written, and a response that is still missing is not reported.
func (t *HTTP) DeleteSession(ctx context.Context, out *Outgoing, noWait bool) {
	if noWait {
		var stop func()
		ctx, stop = endSoonAfterWriting(ctx, out)
		defer stop()
	}
	rt, f := t.roundTrip(ctx, http.MethodDelete, out)
	if f != nil {
		if context.Cause(ctx) != errNotAwaited {
			t.inbox.Finding(wire.Finding{
				Rule: "session_end", Severity: wire.Info,
				Text: "the session could not be deleted on the server: " + f.Text,
			})
		}
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(rt.resp.Body, shortBody))
	rt.resp.Body.Close()
	if status := rt.resp.StatusCode; status/100 != 2 && !wire.IsRefusal(status) {
		t.inbox.Finding(wire.Finding{
			Rule: "session_end", Severity: wire.Info,
			Text: fmt.Sprintf("the server may still have the session: it answered DELETE with HTTP %d %s",
				status, http.StatusText(status)),
		})
	}
}

// endSoonAfterWriting returns a context that ends responseGrace after the request was written, with
// the cause errNotAwaited, unless a response arrives before, and at the latest after writeLimit. It
// sets out.Trace, which observes the request. The caller calls stop after the request.
func endSoonAfterWriting(ctx context.Context, out *Outgoing) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, stopTimeout := context.WithTimeoutCause(ctx, writeLimit,
		TimeoutError{What: "the request was not written", After: writeLimit})
	var mark atomic.Pointer[httpconn.Mark] // before the request was written
	var timer *time.Timer                  // runs only from WroteRequest on
	timer = time.AfterFunc(writeLimit, func() {
		if !mark.Load().IsPassed() {
			timer.Reset(responseGrace) // the request is still in a buffer of net/http
			return
		}
		cancel(errNotAwaited)
	})
	timer.Stop()
	out.Trace = &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { mark.Store(new(httpconn.MarkNow(info.Conn))) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { timer.Reset(responseGrace) },
		GotFirstResponseByte: func() { timer.Stop() },
	}
	return ctx, func() {
		stopTimeout()
		cancel(nil)
	}
}
