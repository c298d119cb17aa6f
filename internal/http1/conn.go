package http1

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"time"
)

// A conn is one connection to a server. One exchange at a time uses it.
type conn struct {
	net.Conn
	// raw is the connection below TLS, or the same; state is that of TLS.
	raw    net.Conn
	state  *tls.ConnectionState
	in     *bufio.Reader
	out    *bufio.Writer
	pool   *pool
	server *server
	reused bool
	since  time.Time // idle

	// limit is how many bytes may still be read, most that of a head. read and wrote are set
	// when a byte of the exchange was, failed when a write failed.
	limit, most         int64
	read, wrote, failed bool
}

// begin prepares for an exchange.
func (c *conn) begin(limit int64) {
	c.limit, c.most = limit, limit
	c.read, c.wrote = false, false
}

// unlimited lets a body follow.
func (c *conn) unlimited() { c.limit = math.MaxInt64 }

// close closes the connection at once, without the alert that TLS would wait for.
func (c *conn) close() { _ = c.raw.Close() }

// isQuiet reports that a connection may carry another exchange: the server has neither closed it
// nor sent anything that belongs to no request. What it reads is not kept, because the
// connection is closed then.
func (c *conn) isQuiet() bool {
	checked, ok := c.raw.(*checkedConn)
	if !ok {
		return false
	}
	if unread, closed := examine(checked.socket); unread || closed {
		return false
	}
	if c.state == nil {
		return true
	}
	// TLS may have read more than it gave.
	_ = c.SetReadDeadline(time.Unix(1, 0))
	_, err := c.in.Peek(1)
	_ = c.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// A reader reads a connection within the limit.
type reader struct{ *conn }

func (r reader) Read(p []byte) (int, error) {
	c := r.conn
	if c.limit <= 0 {
		return 0, fmt.Errorf("the server's response headers exceeded %d bytes", c.most)
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.limit)])
	c.limit -= int64(n)
	c.read = c.read || n > 0
	return n, err
}

// A writer notes whether anything was written.
type writer struct{ *conn }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.wrote = w.wrote || n > 0
	w.failed = w.failed || err != nil
	return n, err
}
