package client

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
)

// A server may close a connection that nobody uses, whenever it likes (RFC 9112, section
// 9.5). A request that is written to one afterwards is lost, and nobody can tell that from
// one that the server read and did not answer: a tool call must not be sent again then.
//
// So the rule is: a request goes out once more, on another connection, where not a byte of
// it was written to the first (net/http does that, whatever the method), or where it only
// reads (repeatable). To keep the first from being missed, a connection that comes to be
// used again is looked at before a request is written to it: where the server's goodbye
// has arrived, nothing is written.

// watched looks at the connections of dial before they are used again.
func watched(dial DialFunc) DialFunc {
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
	// answered is set when something came since the last write: what is written next
	// begins another request.
	answered atomic.Bool
}

var errClosedIdle = errors.New("the server closed the connection while it was idle")

func (c *reusedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.answered.Store(true)
	}
	return n, err
}

func (c *reusedConn) Write(b []byte) (int, error) {
	if c.answered.Swap(false) && isClosedThere(c.socket) {
		return 0, errClosedIdle
	}
	return c.Conn.Write(b)
}
