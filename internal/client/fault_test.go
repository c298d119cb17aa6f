package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// A raw server does what it likes with each connection of a real socket.
func rawServer(t *testing.T, serve func(conn *net.TCPConn, in *bufio.Reader)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn), bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String() + "/mcp"
}

// readRequest reads one request whole.
func readRequest(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// called opens a connection of the stateless era, which sends nothing, and calls a tool once.
func called(t *testing.T, url string, more ...func(*Options)) wire.Outcome {
	t.Helper()
	opt := Options{Server: Server{URL: url}, Protocol: rev20260728, SkipDiscover: true, Now: time.Now}
	for _, change := range more {
		change(&opt)
	}
	s, o := Open(context.Background(), opt)
	if !o.OK() {
		t.Fatal(o.Text)
	}
	defer s.Close(context.Background(), true)
	return s.Do(context.Background(), Call{Method: "tools/call", Params: json.RawMessage(`{"name":"a"}`)})
}

// A request whose bytes left the machine may have been acted upon. It is never
// called unsent.
func TestFailureAfterSendingIsNotUnsent(t *testing.T) {
	huge := strings.Repeat("x", 1000)
	for _, c := range []struct {
		name    string
		serve   func(conn *net.TCPConn, in *bufio.Reader)
		kind    wire.Kind
		reached wire.Reached
		phase   string
		text    string
	}{
		{
			"read and closed", func(_ *net.TCPConn, in *bufio.Reader) { readRequest(in) },
			wire.Transport, wire.Unknown, "wait", "was lost before a response",
		},
		{
			"read and reset", func(conn *net.TCPConn, in *bufio.Reader) { readRequest(in); conn.SetLinger(0) },
			wire.Transport, wire.Unknown, "wait", "was lost before a response",
		},
		{
			"half a status line", func(conn *net.TCPConn, in *bufio.Reader) { readRequest(in); io.WriteString(conn, "HTTP/1.1 2") },
			wire.Transport, wire.Unknown, "wait", "malformed HTTP status code",
		},
		{"no HTTP", func(conn *net.TCPConn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n\r\n")
		}, wire.Transport, wire.Unknown, "wait", "malformed HTTP response"},
		{"a body that breaks off", func(conn *net.TCPConn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"")
		}, wire.Transport, wire.Unknown, "read", "the response was cut off after 10 bytes"},
		{"a chunk that breaks off", func(conn *net.TCPConn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"jsonrpc\"")
		}, wire.Transport, wire.Unknown, "read", "the response was cut off after 10 bytes"},
		{"a large header", func(conn *net.TCPConn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for i := range 300 {
				fmt.Fprintf(conn, "X-%d: %s\r\n", i, huge)
			}
			io.WriteString(conn, "\r\n")
		}, wire.BadResponse, wire.Answered, "read", "header is larger than 256 KiB"},
		{"a header without an end", func(conn *net.TCPConn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(conn, "X-%d: %s\r\n", i, huge); err != nil {
					return
				}
			}
		}, wire.Transport, wire.Unknown, "wait", "no response from"},
		{"a length beyond all bounds", func(conn *net.TCPConn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000000000000000000\r\n\r\n{}")
		}, wire.BadResponse, wire.Answered, "read", "a message is larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := called(t, rawServer(t, c.serve))
			if o.Kind != c.kind || o.Reached != c.reached || o.Phase != c.phase || !strings.Contains(o.Text, c.text) || o.Retryable {
				t.Errorf("got %s %s %s %q retryable=%t, want %s %s %s %q", o.Kind, o.Reached, o.Phase, o.Text, o.Retryable, c.kind, c.reached, c.phase, c.text)
			}
			if o.Took <= 0 {
				t.Error("nobody knows how long it took")
			}
		})
	}
}

// With no limit a length that is a lie must not be believed.
func TestForgedContentLengthIsNotAllocated(t *testing.T) {
	url := rawServer(t, func(conn *net.TCPConn, in *bufio.Reader) {
		readRequest(in)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000000000000000000\r\n\r\n{}")
	})
	o := called(t, url, func(opt *Options) { opt.Limits.Message = -1 })
	if o.Kind != wire.Transport || o.Text != "the response ended before its Content-Length of 9000000000000000000 bytes, although its JSON is complete" {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
}

// The failures that prevent a request from being sent.
func TestFailuresBeforeSendingAreUnsent(t *testing.T) {
	dialing := func(err error) func(*Options) {
		return func(opt *Options) {
			opt.Dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
			}
		}
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, c := range []struct {
		name, url   string
		more        func(*Options)
		kind        wire.Kind
		phase, text string
	}{
		{"refused", "http://127.0.0.1:1", nil, wire.Transport, "connect", "connection refused by"},
		{"no such host", "http://h.invalid", dialing(&net.DNSError{Name: "h.invalid", IsNotFound: true}), wire.Transport, "dns", "no such host: h.invalid"},
		{"no name server", "http://h.invalid", dialing(&net.DNSError{Name: "h.invalid", IsTemporary: true}), wire.Transport, "dns", "could not be resolved"},
		{"no route", "http://h.invalid", dialing(fmt.Errorf("no route to host")), wire.Transport, "connect", "no route to host"},
		{"too slow", "http://h.invalid", dialing(context.DeadlineExceeded), wire.Timeout, "connect", "no connection to h.invalid in time"},
		{"given up by the system", "http://h.invalid", dialing(os.NewSyscallError("connect", network.ConnTimedOut)), wire.Timeout, "connect", "no connection to h.invalid in time"},
		{"unknown authority", secure.URL, nil, wire.Transport, "tls", "signed by an unknown authority"},
		{"TLS to a plain port", "https" + strings.TrimPrefix(plain.URL, "http"), nil, wire.Transport, "tls", "does not speak TLS"},
		{"no URL", "http://[::1", nil, wire.Usage, "connect", "not a URL"},
		{"a method that is no field value", plain.URL, nil, wire.Transport, "connect", "invalid header field value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := Options{Server: Server{URL: c.url}, Protocol: rev20260728, SkipDiscover: true, Now: time.Now}
			if c.more != nil {
				c.more(&opt)
			}
			s, o := Open(context.Background(), opt)
			if !o.OK() {
				t.Fatal(o.Text)
			}
			defer s.Close(context.Background(), true)
			method := "tools/call"
			if strings.HasPrefix(c.name, "a method") {
				method = "a\r\nb"
			}
			o = s.Do(context.Background(), Call{Method: method})
			if o.Kind != c.kind || o.Reached != wire.Unsent || o.Phase != c.phase || !strings.Contains(o.Text, c.text) {
				t.Errorf("got %s %s %s %q, want %s %s %q", o.Kind, o.Reached, o.Phase, o.Text, c.kind, c.phase, c.text)
			}
		})
	}
}

// A connection that was kept open and breaks under the second request: net/http
// must not send a POST twice by itself.
func TestNotSentTwice(t *testing.T) {
	var seen atomic.Int64
	url := rawServer(t, func(conn *net.TCPConn, in *bufio.Reader) {
		for n := 0; readRequest(in); n++ {
			seen.Add(1)
			if n == 1 {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 51\r\n\r\n"+
				`{"jsonrpc":"2.0","id":1,"result":{"content":[ ]}}  `)
		}
	})
	s, o := Open(context.Background(), Options{Server: Server{URL: url}, Protocol: rev20260728, SkipDiscover: true})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	defer s.Close(context.Background(), true)
	call := Call{Method: "tools/call", Params: json.RawMessage(`{"name":"a"}`)}
	if o := s.Do(context.Background(), call); !o.OK() {
		t.Fatal(o.Text)
	}
	if o := s.Do(context.Background(), call); o.Kind != wire.Transport || o.Reached != wire.Unknown {
		t.Errorf("got %s %s %q", o.Kind, o.Reached, o.Text)
	}
	if got := seen.Load(); got != 2 {
		t.Errorf("the server saw %d requests, want 2", got)
	}
}

// No redirect is followed, so that no field and no body go elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/mcp", status)
		}))
		o := called(t, server.URL, func(opt *Options) { opt.Fields = []wire.Field{{Name: "Authorization", Value: "Bearer x"}} })
		server.Close()
		if o.Kind != wire.Transport || !strings.Contains(o.Text, other.URL) || o.Hint == "" {
			t.Errorf("%d: got %s %q", status, o.Kind, o.Text)
		}
	}
	if got := elsewhere.Load(); got != 0 {
		t.Errorf("the other server saw %d requests", got)
	}
}

// The hint at a redirect holds the whole URL if the Location is a plain path of the same server.
func TestRedirectHint(t *testing.T) {
	location := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusPermanentRedirect)
	}))
	defer server.Close()
	const byText = "if you trust it, use that URL with -s"
	for _, test := range []struct{ location, hint string }{
		{"/mcp/", "if you trust it: -s " + server.URL + "/mcp/"},
		{"mcp/", "if you trust it: -s " + server.URL + "/mcp/"},
		{server.URL + "/mcp/", byText},
		{"//elsewhere.example/mcp", byText},
		{"/$(id)", byText},
		{"/a?x=1&y=2", byText},
		{"/a?token=secret-token-1", byText},
	} {
		location = test.location
		if o := called(t, server.URL); o.Hint.String() != test.hint {
			t.Errorf("%s: got %q, want %q", test.location, o.Hint, test.hint)
		}
	}
}

// Ctrl-C while nothing answers the dialing lets go at once.
func TestInterruptWhileConnecting(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Server: Server{URL: "http://127.0.0.1:1"}, Protocol: rev20260728, SkipDiscover: true, Now: time.Now}
	opt.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s, o := Open(context.Background(), opt)
	if !o.OK() {
		t.Fatal(o.Text)
	}
	defer s.Close(context.Background(), true)
	if o := s.Do(ctx, Call{Method: "tools/call"}); o.Kind != wire.Signal || o.Reached != wire.Unsent {
		t.Errorf("got %s %s %q", o.Kind, o.Reached, o.Text)
	}
}

// No message of mcpc about a fault may contain a secret of the URL or of a session.
func TestFaultsKeepSecrets(t *testing.T) {
	const canary = "canary-4711"
	var mu sync.Mutex
	var told strings.Builder
	tap := func(f wire.Frame) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&told, "%s\n", f.Raw)
		if f.HTTP != nil {
			fmt.Fprintf(&told, "%+v\n", *f.HTTP)
		}
		if f.Close != nil {
			fmt.Fprintf(&told, "%+v\n", *f.Close)
		}
	}
	say := func(o wire.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&told, "%s %s %s %v %+v\n", o.Text, o.Hint, o.ServerName, o.Err, o.HTTP)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(body)
		w.Header().Set("Mcp-Session-Id", canary)
		w.Header().Set("Location", "/x?token="+canary)
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: endpoint\ndata: /m?sessionId="+canary+"\n\n")
		case m.Method == "initialize" && r.URL.Path == "/mcp":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		case m.Method == "notifications/initialized" && r.URL.Path == "/mcp":
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusMovedPermanently)
		}
	}))
	defer server.Close()
	for _, opt := range []Options{
		{Server: Server{URL: server.URL + "/mcp?token=" + canary}, Protocol: rev20251125},
		{Server: Server{URL: server.URL + "/sse?key=" + canary, Transport: transport.HTTPSSE}},
		{Server: Server{URL: "http://127.0.0.1:1/mcp?token=" + canary}},
		{Server: Server{URL: "http://[::1/mcp?token=" + canary}},
		{Server: Server{URL: "http://user:" + canary + "@127.0.0.1:1/mcp"}},
	} {
		opt.Tap, opt.Now = tap, time.Now
		opt.Fields = []wire.Field{{Name: "Authorization", Value: "Bearer " + canary}, {Name: "X-Api-Key", Value: canary}}
		s, o := Open(context.Background(), opt)
		say(o)
		if o.OK() {
			say(s.Do(context.Background(), Call{Method: "tools/call"}))
			say(s.Do(context.Background(), Call{Method: "tools/list"}))
			s.Close(context.Background(), true)
		}
	}
	for line := range strings.Lines(told.String()) {
		if strings.Contains(line, canary) {
			t.Errorf("told: %s", line)
		}
	}
}

// Close waits for a message that is still being posted when its stream of events has
// ended: no frame is recorded after Close.
func TestNothingIsRecordedAfterClose(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: endpoint\ndata: /m\n\n")
			return
		}
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	closed := make(chan struct{})
	var late atomic.Int64
	tap := func(f wire.Frame) {
		if f.Kind != wire.Closed {
			return
		}
		select {
		case <-closed:
			late.Add(1)
		case <-time.After(50 * time.Millisecond):
		}
	}
	opt := Options{Server: Server{URL: server.URL, Transport: transport.HTTPSSE}, Protocol: rev20241105, SkipDiscover: true, Now: time.Now, Tap: tap}
	s, o := Open(context.Background(), opt)
	if o.OK() {
		s.Do(context.Background(), Call{Method: "tools/list"})
		s.Close(context.Background(), true)
	}
	close(closed)
	server.CloseClientConnections()
	if n := late.Load(); n > 0 {
		t.Errorf("%d frames came after Close", n)
	}
}
