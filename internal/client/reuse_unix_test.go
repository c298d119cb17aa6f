//go:build unix

package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// lateReader is a connection whose reader does not hear of its end, as on a machine that
// has better to do.
type lateReader struct {
	*net.TCPConn
	ended func()
	hold  chan struct{}
}

func (c *lateReader) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if err != nil {
		c.ended()
		<-c.hold
	}
	return n, err
}

// A connection that a proxy closed while it was idle is not used for a call, which
// would be lost on it and could not be sent again.
func TestClosedWhileIdle(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var calls atomic.Int64
	go serveOnceEach(l, &calls)
	hold, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	defer close(hold)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &lateReader{conn.(*net.TCPConn), func() { once.Do(func() { close(ended) }) }, hold}, nil
	}
	s, o := Open(t.Context(), Options{
		Server: Server{URL: "http://server.example/"}, Protocol: rev20260728, SkipDiscover: true, Dial: dial,
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
	})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	defer s.Close(context.Background(), false)
	for n := 1; n <= 2; n++ {
		if o = s.Do(t.Context(), Call{Method: "tools/call", Params: []byte(`{"name":"a"}`)}); !o.OK() {
			t.Fatalf("call %d: %s %s", n, o.Kind, o.Text)
		}
		select {
		case <-ended: // the server's goodbye to the first connection is there
		case <-time.After(patience):
			t.Fatal("the server did not close the connection")
		}
	}
	if calls.Load() != 2 {
		t.Errorf("the server got %d calls, want 2", calls.Load())
	}
}

// serveOnceEach answers one request on each connection and closes it without notice.
func serveOnceEach(l net.Listener, calls *atomic.Int64) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			calls.Add(1)
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"resultType":"complete"}}`, wire.ParseMessage(body).ID)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
		}()
	}
}

// releasedReader is a connection whose Read returns errors only once hold is closed.
type releasedReader struct {
	*net.TCPConn
	hold    chan struct{}
	release func() // closes hold
	closed  chan struct{}
	once    sync.Once
}

func (c *releasedReader) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if err != nil {
		<-c.hold
	}
	return n, err
}

func (c *releasedReader) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.TCPConn.Close()
}

// A call whose connection a proxy closed after it was chosen, and before anything was written, is
// sent on another connection, and later calls reuse no connection.
func TestCallOnClosedConnectionIsSentAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var calls atomic.Int64
	go serveOnceEach(l, &calls)
	var mu sync.Mutex
	var last *releasedReader
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		last = &releasedReader{TCPConn: conn.(*net.TCPConn), hold: make(chan struct{}), closed: make(chan struct{})}
		hold := last.hold
		last.release = sync.OnceFunc(func() { close(hold) })
		t.Cleanup(last.release)
		return last, nil
	}
	s, o := Open(t.Context(), Options{
		Server: Server{URL: "http://server.example/"}, Protocol: rev20260728, SkipDiscover: true, Dial: dial,
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
	})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	defer s.Close(context.Background(), false)
	reused := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			return
		}
		reused++
		mu.Lock()
		conn := last
		mu.Unlock()
		conn.release()
		select {
		case <-conn.closed: // net/http has seen the end
		case <-time.After(patience):
			t.Error("the connection was not closed")
		}
	}})
	for n := 1; n <= 3; n++ {
		if o = s.Do(ctx, Call{Method: "tools/call", Params: []byte(`{"name":"a"}`)}); !o.OK() {
			t.Fatalf("call %d: %s %s", n, o.Kind, o.Text)
		}
	}
	if calls.Load() != 3 || reused != 1 {
		t.Errorf("the server got %d calls, and %d connections were reused; want 3 and 1", calls.Load(), reused)
	}
}
