package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// A server may close an idle connection at any time (RFC 9112, section 9.5). A request that
// is written to it afterwards is lost. The client cannot distinguish this from a request that
// the server received without responding: a tool call must not be sent again then.
//
// So the rule is: a request is sent again, on another connection, if not a byte of it was
// written to the first, or if its method only reads. To detect the first case, a connection
// that is reused is examined before a request is written to it. A Transport does that when it
// takes the connection; for an http.Transport the next write does, and fails.

// checkedDial makes the connections of dial examinable.
func checkedDial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if raw, ok := conn.(syscall.Conn); ok && err == nil {
			if socket, bad := raw.SyscallConn(); bad == nil {
				conn = &checkedConn{Conn: conn, socket: socket}
			}
		}
		return conn, err
	}
}

type checkedConn struct {
	net.Conn
	socket syscall.RawConn
	// reused is set when the http.Transport chose the connection for another request.
	reused atomic.Bool
}

var errClosedIdle = errors.New("the server closed the connection while it was idle")

// checked makes the http.Transport examine the connection of req. One that was opened for the
// request is not examined: what the server says on it, as a TLS alert, belongs to this request.
func checked(req *http.Request) *http.Request {
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			checkBeforeReuse(info.Conn)
		}
	}}))
}

// checkBeforeReuse makes the next write to conn fail if the server has closed it. conn may be a
// *tls.Conn.
func checkBeforeReuse(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if c, ok := conn.(*checkedConn); ok {
		c.reused.Store(true)
	}
}

func (c *checkedConn) Write(b []byte) (int, error) {
	if c.reused.Swap(false) {
		if unread, closed := examine(c.socket); closed && !unread {
			return 0, errClosedIdle
		}
	}
	return c.Conn.Write(b)
}
