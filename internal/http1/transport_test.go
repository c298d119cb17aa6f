//go:build unix

package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// eventually waits until a condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	for until := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			tb.Fatal("never: " + what)
		}
	}
}

// accept serves each connection with a function, and returns the URL.
func accept(tb testing.TB, serve func(n int, conn net.Conn, in *bufio.Reader)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return "http://" + acceptOn(tb, l, serve)
}

func acceptOn(tb testing.TB, l net.Listener, serve func(n int, conn net.Conn, in *bufio.Reader)) string {
	tb.Cleanup(func() { l.Close() })
	go func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(n, conn, bufio.NewReader(conn))
			}()
		}
	}()
	return l.Addr().String()
}

func readRequest(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

func post(tb testing.TB, via http.RoundTripper, url, body string) string {
	g := send(via, http.MethodPost, url, strings.NewReader(body))
	if g.failed || g.cut {
		tb.Fatalf("%s: %+v", url, g)
	}
	return g.body
}

// A connection that became unusable while it was idle carries no request, whatever its method:
// the server closed it, sent a response to no request, or sent one right behind another.
func TestIdleConnectionIsExamined(t *testing.T) {
	config := serverTLS(t)
	for _, what := range []string{"", "evil", "evil at once", "evil behind a full buffer"} {
		for _, secure := range []bool{false, true} {
			done := make(chan struct{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			url := "http://"
			if secure {
				l, url = tls.NewListener(l, config), "https://"
			}
			var requests atomic.Int64
			url += acceptOn(t, l, func(n int, conn net.Conn, in *bufio.Reader) {
				for first := n == 1; readRequest(in); first = false {
					requests.Add(1)
					answer := goodResponse
					if first && what == "evil behind a full buffer" { // so that the rest stays in TLS
						pad := strings.Repeat("a", size(0)-len(goodResponse)-len("X-A: \r\n"))
						answer = strings.Replace(goodResponse, "\r\n", "\r\nX-A: "+pad+"\r\n", 1)
					}
					if first && len(what) > len("evil") {
						answer += strings.Replace(goodResponse, "good", "evil", 1)
					}
					_, _ = io.WriteString(conn, answer)
					switch {
					case first && what == "":
						conn.Close()
					case first && what == "evil":
						_, _ = io.WriteString(conn, strings.Replace(goodResponse, "good", "evil", 1))
					}
					if first {
						close(done)
					}
				}
			})
			client := std()
			client.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			via := New(client, time.Now)
			if body := post(t, via, url, "{}"); body != "good" {
				t.Errorf("%q: the first response is %q", what, body)
			}
			<-done
			if body := post(t, via, url, "{}"); body != "good" || requests.Load() != 2 {
				t.Errorf("%q: the second response is %q after %d requests", what, body, requests.Load())
			}
			via.CloseIdleConnections()
		}
	}
}

func serverTLS(tb testing.TB) *tls.Config {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"http/1.1"}, DynamicRecordSizingDisabled: true}
}

// A request is not sent again if it may have been received; one that only reads is.
func TestWhatIsSentAgain(t *testing.T) {
	for method, want := range map[string]int64{http.MethodPost: 2, http.MethodDelete: 2, http.MethodGet: 3} {
		var requests atomic.Int64
		url := accept(t, func(n int, conn net.Conn, in *bufio.Reader) {
			for i := 1; readRequest(in); i++ {
				requests.Add(1)
				if n == 1 && i == 2 {
					return // without a response
				}
				_, _ = io.WriteString(conn, goodResponse)
			}
		})
		via := own()
		post(t, via, url, "{}")
		if g := send(via, method, url, nil); g.failed != (want == 2) || requests.Load() != want {
			t.Errorf("%s: %+v after %d requests", method, g, requests.Load())
		}
	}
}

// The end of a request's context closes the connection at once, whatever it waits for.
func TestCancel(t *testing.T) {
	cause := errors.New("the cause")
	for _, at := range []string{"head", "body", "writing", "dialing"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		closed := make(chan struct{})
		url := accept(t, func(_ int, conn net.Conn, in *bufio.Reader) {
			defer close(closed)
			if at == "writing" {
				_, _ = in.Peek(1)
				cancel(cause)
				<-t.Context().Done()
				return
			}
			readRequest(in)
			if at == "head" {
				cancel(cause)
			}
			if at == "body" {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
			}
			_, _ = in.ReadByte()
		})
		body := io.Reader(strings.NewReader("{}"))
		client := std()
		switch at {
		case "writing":
			body = readerFunc(func(p []byte) (int, error) { return len(p), nil }) // for ever
		case "dialing":
			client.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				cancel(cause)
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
		via := New(client, time.Now)
		resp, err := via.RoundTrip(req)
		if at == "body" && err == nil {
			start := make([]byte, 5)
			_, _ = io.ReadFull(resp.Body, start)
			go cancel(cause)
			_, err = io.ReadAll(resp.Body)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", at, err)
		}
		if at == "head" || at == "body" {
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatalf("%s: the connection stays open", at)
			}
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body that is closed before its end, also while it is read, closes the connection.
func TestBodyClosedEarly(t *testing.T) {
	closed := make(chan struct{})
	url := accept(t, func(n int, conn net.Conn, in *bufio.Reader) {
		readRequest(in)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
		_, _ = in.ReadByte()
		close(closed)
	})
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	resp, err := own().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan error)
	go func() {
		_, err := io.ReadAll(resp.Body)
		reading <- err
	}()
	resp.Body.Close()
	if err := <-reading; !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("reading: %v", err)
	}
	<-closed
}

// A response comes before the request's body is sent, whose rest the server does not read; the
// connection is not used again then.
func TestEarlyResponse(t *testing.T) {
	var conns atomic.Int64
	url := accept(t, func(n int, conn net.Conn, in *bufio.Reader) {
		conns.Store(int64(n))
		if n > 1 {
			readRequest(in)
		} else {
			_, _ = in.Peek(100)
		}
		_, _ = io.WriteString(conn, goodResponse)
		<-t.Context().Done()
	})
	via := own()
	for _, body := range []io.Reader{
		strings.NewReader(strings.Repeat("x", 64<<20)),
		io.MultiReader(strings.NewReader(strings.Repeat("x", 200)), readerFunc(func([]byte) (int, error) { <-t.Context().Done(); return 0, io.EOF })),
	} {
		if g := send(via, http.MethodPost, url, body); g.body != "good" {
			t.Errorf("got %+v", g)
		}
		if post(t, via, url, "{}"); conns.Load() < 2 {
			t.Error("the connection was used again")
		}
		url = accept(t, func(n int, conn net.Conn, in *bufio.Reader) {
			conns.Store(int64(n))
			if n > 1 {
				readRequest(in)
			}
			_, _ = io.WriteString(conn, goodResponse)
			<-t.Context().Done()
		})
		conns.Store(0)
	}
}

// A large body that the server reads does not cost the connection.
func TestLargeBody(t *testing.T) {
	var conns atomic.Int64
	url := accept(t, func(n int, conn net.Conn, in *bufio.Reader) {
		conns.Store(int64(n))
		for readRequest(in) {
			_, _ = io.WriteString(conn, goodResponse)
		}
	})
	via := own()
	for range 20 {
		post(t, via, url, strings.Repeat("x", 1<<20))
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections", conns.Load())
	}
}

// The error of a request's body is that of the request.
func TestBodyThatCannotBeRead(t *testing.T) {
	url := accept(t, func(_ int, conn net.Conn, in *bufio.Reader) { readRequest(in) })
	bad := errors.New("bad body")
	req, _ := http.NewRequest(http.MethodPost, url, io.MultiReader(strings.NewReader("x"), readerFunc(func([]byte) (int, error) { return 0, bad })))
	if _, err := own().RoundTrip(req); err == nil || err.Error() != bad.Error() { // net/http wraps it
		t.Errorf("got %v", err)
	}
}

// Idle connections are closed when they are too old, and not used by the clock.
func TestIdleTimeout(t *testing.T) {
	var conns, closed atomic.Int64
	url := accept(t, func(_ int, conn net.Conn, in *bufio.Reader) {
		conns.Add(1)
		for readRequest(in) {
			_, _ = io.WriteString(conn, goodResponse)
		}
		closed.Add(1)
	})
	var ahead atomic.Int64
	client := std()
	via := New(client, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	post(t, via, url, "{}")
	ahead.Store(int64(2 * time.Minute)) // as if the machine had slept
	post(t, via, url, "{}")
	if conns.Load() != 2 {
		t.Errorf("%d connections, want 2", conns.Load())
	}
	via.CloseIdleConnections()
	eventually(t, "both connections are closed", func() bool { return closed.Load() == 2 })
	client = std()
	client.IdleConnTimeout = 4 * time.Millisecond
	post(t, New(client, time.Now), url, "{}")
	eventually(t, "the idle connection is closed", func() bool { return closed.Load() == 3 })
}

// Requests in parallel get each its own response.
func TestParallel(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer server.Close()
	via := own()
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for j := range 50 {
				if want := fmt.Sprint(i, "-", j); post(t, via, server.URL, want) != want {
					t.Error("another response than " + want)
				}
			}
		})
	}
	all.Wait()
	via.CloseIdleConnections()
}
