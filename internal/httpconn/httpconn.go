// Package httpconn sends HTTP requests with net/http, but not over a reused connection that the
// server has closed.
//
// A server may close an idle connection at any time (RFC 9112, section 9.5). A request that is
// written to it afterwards is lost. The client cannot distinguish this from a request that the
// server received without responding, after which a tool call must not be sent again. net/http
// sends a request again if no byte of it was written. So each reused connection is checked before
// the first write of a request, and the write fails if the server has closed the connection.
//
// Each request over a prepared Transport has a httptrace.ClientTrace whose GotConn hook calls
// GotConn.
package httpconn

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

// Prepare wraps the connections of std in a type that can check, before the first write to a reused
// connection, whether the server has closed it. GotConn turns the check on. Prepare modifies std and
// returns it.
func Prepare(std *http.Transport) *http.Transport {
	dial := std.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	std.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newCheckedConn(conn), nil
	}
	return std
}

// GotConn makes the next write to a reused connection check it, and returns the connection's mark.
// A new connection is not checked: data that the server sends first, such as a TLS alert, belongs
// to this request.
func GotConn(info httptrace.GotConnInfo) Mark {
	if c := checkedConnOf(info.Conn); c != nil && info.Reused {
		c.reused.Store(true)
	}
	return MarkNow(info.Conn)
}

// A Mark is the number of bytes written to a connection at one time. The hooks WroteHeaders and
// WroteRequest of net/http do not show this: they are called before the last bytes of an HTTP/1.1
// request leave a buffer.
type Mark struct {
	conn    *checkedConn
	written int64
}

// MarkNow returns the current mark of the connection in a httptrace.GotConnInfo.
func MarkNow(conn net.Conn) Mark {
	c := checkedConnOf(conn)
	if c == nil {
		return Mark{}
	}
	return Mark{c, c.written.Load()}
}

// IsPassed reports whether anything may have been written to the connection after the mark.
func (m Mark) IsPassed() bool { return m.conn == nil || m.conn.written.Load() > m.written }

// A checkedConn checks before a write whether the server has closed the connection, if GotConn
// reported that it is reused.
type checkedConn struct {
	net.Conn
	// socket is nil if the connection has no socket.
	socket syscall.RawConn
	// reused is set by GotConn and reset by the next write.
	reused atomic.Bool
	// written is the number of written bytes. Write adds to it; any goroutine may read it.
	written atomic.Int64
}

// newCheckedConn wraps conn.
func newCheckedConn(conn net.Conn) *checkedConn {
	c := &checkedConn{Conn: conn}
	if raw, ok := conn.(syscall.Conn); ok {
		if socket, err := raw.SyscallConn(); err == nil {
			c.socket = socket
		}
	}
	return c
}

// checkedConnOf returns the checkedConn of a connection, also below TLS, or nil.
func checkedConnOf(conn net.Conn) *checkedConn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*checkedConn)
	return c
}

var errClosedIdle = errors.New("the server closed the connection while it was idle")

// Write writes b, after the check of a reused connection.
func (c *checkedConn) Write(b []byte) (int, error) {
	if c.reused.Swap(false) && c.socket != nil && isClosed(c.socket) {
		return 0, errClosedIdle
	}
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}
