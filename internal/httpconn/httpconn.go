// Package httpconn sends HTTP requests with net/http, and none over a reused connection that the server has closed.
//
// A server may close an idle connection at any time (RFC 9112, section 9.5). A request that is written to it afterwards
// is lost. The client cannot distinguish this from a request that the server received without responding: a tool call
// must not be sent again then. net/http sends a request again if no byte of it was written. So each reused connection
// is examined before the first write of a request, which fails if the server has closed it.
//
// Each request over a prepared Transport has a httptrace.ClientTrace whose GotConn hook calls GotConn.
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

// Prepare wraps the DialContext of std, so that connections are examined when GotConn reports that they are reused. It
// returns std.
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
		return newExamined(conn), nil
	}
	return std
}

// GotConn has a reused connection examined before the next write, and returns its mark. A connection that was
// opened for the request is not examined: what the server sends on it first, such as a TLS alert, belongs to
// this request.
func GotConn(info httptrace.GotConnInfo) Mark {
	if c := examinedOf(info.Conn); c != nil && info.Reused {
		c.reused.Store(true)
	}
	return MarkNow(info.Conn)
}

// A Mark is how much was written to a connection at one time. The hooks WroteHeaders and WroteRequest of
// net/http do not tell: they are called before the last bytes of an HTTP/1.1 request leave a buffer.
type Mark struct {
	conn   *examined
	before int64
}

// MarkNow returns the mark of a connection that httptrace.GotConnInfo names.
func MarkNow(conn net.Conn) Mark {
	c := examinedOf(conn)
	if c == nil {
		return Mark{}
	}
	return Mark{c, c.written.Load()}
}

// IsPassed reports whether anything may have been written to the connection since.
func (m Mark) IsPassed() bool { return m.conn == nil || m.conn.written.Load() > m.before }

// An examined is a connection that is examined when it is reused.
type examined struct {
	net.Conn
	// socket is nil if the connection has none.
	socket syscall.RawConn
	// reused is set by GotConn and reset by the next write.
	reused  atomic.Bool
	written atomic.Int64
}

func newExamined(conn net.Conn) *examined {
	c := &examined{Conn: conn}
	if raw, ok := conn.(syscall.Conn); ok {
		if socket, err := raw.SyscallConn(); err == nil {
			c.socket = socket
		}
	}
	return c
}

// examinedOf returns the connection below TLS, nil if it is not an examined one.
func examinedOf(conn net.Conn) *examined {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	c, _ := conn.(*examined)
	return c
}

var errClosedIdle = errors.New("the server closed the connection while it was idle")

func (c *examined) Write(b []byte) (int, error) {
	if c.reused.Swap(false) && c.socket != nil && isClosed(c.socket) {
		return 0, errClosedIdle
	}
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}
