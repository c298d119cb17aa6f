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

// accepted plays the rule for a connection of which nothing was read yet, below
// TLS; false ends it.
func (h *httpServer) accepted(ctx context.Context, conn net.Conn) bool {
	h.mu.Lock()
	r := h.script.ruleFor(h.counts, "accept")
	h.mu.Unlock()
	if r == nil || r.on != "accept" {
		return true
	}
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	x := &exchange{conn: conn, in: bufio.NewReader(conn), message: &wire.Message{}, await: h.waiter(&wire.Message{})}
	for _, a := range r.actions {
		if !x.play(ctx, a) {
			return false
		}
	}
	return true
}

// misunderstood answers what is no HTTP as servers do, also where TLS was
// expected and HTTP came.
func misunderstood(conn net.Conn, err error) {
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record) && record.Conn != nil:
		_, _ = io.WriteString(record.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	case !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request")
	}
}

// waiter notes that m came and gives the function that waits for the requests
// of a method that come after it.
func (h *httpServer) waiter(m *wire.Message) func(ctx context.Context, method string) *wire.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.came = append(h.came, m)
	seen := len(h.came)
	return func(ctx context.Context, method string) *wire.Message {
		for ctx.Err() == nil {
			h.mu.Lock()
			for ; seen < len(h.came); seen++ {
				if h.came[seen].Method == method {
					defer h.mu.Unlock()
					seen++
					return h.came[seen-1]
				}
			}
			h.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		return nil
	}
}
