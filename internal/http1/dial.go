package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
)

// connection returns an idle connection, or else a new one; nil where the server speaks HTTP/2,
// which a call of overHTTP2 must follow.
func (t *Transport) connection(ctx context.Context, s *server) (*conn, error) {
	if c := t.idle.take(s); c != nil {
		c.reused = true
		return c, nil
	}
	ctx = withTrace(ctx)
	c := &conn{pool: t.idle, server: s}
	if s.secure {
		secured, err := t.dialTLS(ctx, s.addr, s.name)
		if err != nil {
			return nil, err
		}
		state := secured.ConnectionState()
		if state.NegotiatedProtocol == "h2" {
			t.keepNegotiated(s, secured)
			return nil, nil
		}
		c.Conn, c.state, c.raw = secured, &state, secured.NetConn()
	} else {
		raw, err := t.std.DialContext(ctx, "tcp", s.addr)
		if err != nil {
			return nil, err
		}
		c.Conn, c.raw = raw, raw
	}
	c.in, c.out = bufio.NewReaderSize(reader{c}, size(t.std.ReadBufferSize)), bufio.NewWriterSize(writer{c}, size(t.std.WriteBufferSize))
	return c, nil
}

// size is that of a buffer; 0 is 4 kB, as in net/http.
func size(n int) int {
	if n <= 0 {
		return 4 << 10
	}
	return n
}

// A handshakeTimeout is the error of a TLS handshake that took longer than TLSHandshakeTimeout.
type handshakeTimeout struct{}

func (handshakeTimeout) Error() string   { return "TLS handshake timeout" }
func (handshakeTimeout) Timeout() bool   { return true }
func (handshakeTimeout) Temporary() bool { return true }

func (t *Transport) dialTLS(ctx context.Context, addr, name string) (*tls.Conn, error) {
	raw, err := t.std.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	config := t.tls.Clone()
	if config.ServerName == "" {
		config.ServerName = name
	}
	conn := tls.Client(raw, config)
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	if limit := t.std.TLSHandshakeTimeout; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, handshakeTimeout{})
		defer stop()
	}
	if err = conn.HandshakeContext(ctx); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(conn.ConnectionState(), err)
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

// keepNegotiated keeps a connection for overHTTP2, and leaves the server to the http.Transport.
func (t *Transport) keepNegotiated(s *server, conn *tls.Conn) {
	s.std.Store(true)
	t.mu.Lock()
	before := t.negotiated[s.addr]
	t.negotiated[s.addr] = conn
	t.mu.Unlock()
	if before != nil {
		before.Close()
	}
}

func (t *Transport) takeNegotiated(addr string) *tls.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	conn := t.negotiated[addr]
	delete(t.negotiated, addr)
	return conn
}

// negotiatedOrNew is the DialTLSContext of the http.Transport.
func (t *Transport) negotiatedOrNew(ctx context.Context, _, addr string) (net.Conn, error) {
	if conn := t.takeNegotiated(addr); conn != nil {
		return conn, nil
	}
	name, _, _ := net.SplitHostPort(addr)
	conn, err := t.dialTLS(ctx, addr, name)
	if err != nil {
		return nil, err // of no type, so that it compares with nil
	}
	return conn, nil
}

// overHTTP2 sends a request over the connection that was just negotiated.
func (t *Transport) overHTTP2(req *http.Request, s *server) (*http.Response, error) {
	defer func() {
		if unused := t.takeNegotiated(s.addr); unused != nil {
			unused.Close()
		}
	}()
	return t.std.RoundTrip(checked(observed(forStd(req))))
}
