package network

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// A server may close an idle connection at any time (RFC 9112, section 9.5). A request that
// is written to it afterwards is lost. The client cannot distinguish this from a request that
// the server received without responding: a tool call must not be sent again then.
//
// So the rule is: a request is sent again, on another connection, if not a byte of it was
// written to the first (net/http does that, whatever the method), or if it only reads
// (repeatable). To detect the first case, a connection that is reused is checked before a
// request is written to it: if the server's close has arrived, nothing is written.

// CheckedDial makes the connections of dial checkable by CheckBeforeReuse.
func CheckedDial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if raw, ok := conn.(syscall.Conn); ok && err == nil {
			if socket, bad := raw.SyscallConn(); bad == nil {
				conn = &reusedConn{Conn: conn, socket: socket}
			}
		}
		return conn, err
	}
}

type reusedConn struct {
	net.Conn
	socket syscall.RawConn
	// reused is set when the connection was chosen for another request.
	reused atomic.Bool
}

var errClosedIdle = errors.New("the server closed the connection while it was idle")

// CheckBeforeReuse makes the next write to conn fail if the server has closed it. conn may
// be a *tls.Conn over a connection of watched. A connection that was opened for the request
// is not checked: what the server says on it, as a TLS alert, belongs to this request.
func CheckBeforeReuse(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if c, ok := conn.(*reusedConn); ok {
		c.reused.Store(true)
	}
}

func (c *reusedConn) Write(b []byte) (int, error) {
	if c.reused.Swap(false) && isClosedThere(c.socket) {
		return 0, errClosedIdle
	}
	return c.Conn.Write(b)
}
