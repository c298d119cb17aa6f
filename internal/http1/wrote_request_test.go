package http1

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A tally counts the bytes that were written to a connection.
type tally struct {
	net.Conn
	written *atomic.Int64
}

func (c tally) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// WroteRequest is called when the whole request is written to the connection, and not before: a caller
// may end the process then.
func TestWroteRequestFollowsTheLastWrite(t *testing.T) {
	t.Parallel()
	var received atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Store(n)
	}))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		method string
		body   io.Reader
		length int64
	}{
		"no body":                        {http.MethodDelete, nil, 0},
		"body in memory":                 {http.MethodPost, NewBytes([]byte("abc")), 3},
		"body of net/http":               {http.MethodPost, strings.NewReader("abc"), 3},
		"body that is written beside it": {http.MethodPost, io.LimitReader(strings.NewReader(strings.Repeat("x", 9_000)), 9_000), 9_000},
	} {
		var written, before atomic.Int64
		called := make(chan struct{}, 2)
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return tally{conn, &written}, err
		}
		transport := New(&http.Transport{IdleConnTimeout: time.Minute, DialContext: dial}, time.Now)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
			before.Store(written.Load())
			called <- struct{}{}
		}})
		req, err := http.NewRequestWithContext(ctx, c.method, server.URL, c.body)
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = c.length
		req.Header.Set("User-Agent", "test")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		resp.Body.Close()
		select {
		case <-called:
		case <-ctx.Done():
			t.Fatalf("%s: WroteRequest was not called", name)
		}
		if before.Load() == 0 || before.Load() != written.Load() || received.Load() != c.length || len(called) > 0 {
			t.Errorf("%s: called after %d of %d bytes, and %d times more; the server received a body of %d bytes",
				name, before.Load(), written.Load(), len(called), received.Load())
		}
		stop()
		transport.CloseIdleConnections()
	}
}
