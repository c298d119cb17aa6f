package mock

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"mcpc/internal/wire"
)

// playAccept plays the "accept" rule for a new connection, below TLS. It reports false if the
// connection must be closed.
func (h *httpServer) playAccept(ctx context.Context, conn net.Conn) bool {
	h.mu.Lock()
	r := h.script.countEvent(h.counts, "accept")
	h.mu.Unlock()
	if r == nil || r.event != "accept" { // a rule for "*" is for messages
		return true
	}
	if tlsConn, ok := conn.(*tls.Conn); ok {
		conn = tlsConn.NetConn()
	}
	x := &exchange{
		conn:    conn,
		in:      bufio.NewReader(conn),
		message: &wire.Message{},
		await:   h.addReceived(&wire.Message{}),
	}
	for _, a := range r.actions {
		if !x.play(ctx, a) {
			return false
		}
	}
	return true
}

// rejectBytes answers bytes that are not HTTP with status 400, as servers do, also if a client
// speaks plain HTTP to a TLS port.
func rejectBytes(conn net.Conn, err error) {
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil { // the connection below TLS
		_, _ = io.WriteString(record.Conn,
			"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request")
	}
}

// addReceived adds m to the received messages. It returns a function that waits for a later message
// of a method, on any connection, and returns nil if ctx ends first. Each call of that function
// looks for a message after the message that it returned last.
func (h *httpServer) addReceived(m *wire.Message) func(ctx context.Context, method string) *wire.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received = append(h.received, m)
	seen := len(h.received)
	return func(ctx context.Context, method string) *wire.Message {
		for ctx.Err() == nil {
			h.mu.Lock()
			for ; seen < len(h.received); seen++ {
				if h.received[seen].Method == method {
					defer h.mu.Unlock()
					seen++
					return h.received[seen-1]
				}
			}
			h.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		return nil
	}
}
