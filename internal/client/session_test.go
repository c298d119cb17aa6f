package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// A fake is a server with sessions, over a real socket. It knows the sessions that it opened and
// forgets them when the test asks.
type fake struct {
	*httptest.Server
	requests, opened atomic.Int64

	mu       sync.Mutex
	sessions map[string]bool
	// asks makes it send a ping and progress before every response.
	asks bool
}

func newFake(t *testing.T) *fake {
	f := &fake{sessions: map[string]bool{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Server.Close)
	return f
}

func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = map[string]bool{}
}

func (f *fake) knows(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[id]
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	body, _ := io.ReadAll(r.Body)
	m := wire.ParseMessage(body)
	session := r.Header.Get("Mcp-Session-Id")
	switch {
	case r.Method == http.MethodDelete:
	case m.Method == "initialize":
		id := fmt.Sprintf("S-%d", f.opened.Add(1))
		f.mu.Lock()
		f.sessions[id] = true
		f.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
		f.answer(w, m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)
	case session == "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`)
	case !f.knows(session):
		http.Error(w, "session not found", http.StatusNotFound)
	case m.Kind != wire.Request:
		w.WriteHeader(http.StatusAccepted)
	default:
		f.answer(w, m, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"content":[]}`)
	}
}

func (f *fake) answer(w http.ResponseWriter, m *wire.Message, result string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if f.asks {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n\n", m.ID)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n\n", m.ID)
	}
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, result)
}

func (f *fake) options() Options {
	return Options{Server: Server{URL: f.URL, Name: "fake"}, Version: "0", Now: time.Now}
}

// A cold list is five requests: the probe, initialize, initialized, the list,
// and DELETE. A call in a session that an earlier run opened is one.
func TestRequestCounts(t *testing.T) {
	f := newFake(t)
	s, o := Open(context.Background(), f.options())
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if l, o := s.ListUntil(context.Background(), "tools/list", WalkOptions{}, nil); !o.OK() || len(l.Items) != 1 {
		t.Fatal(o.Text, l.Items)
	}
	memory := s.Memory()
	s.Close(context.Background(), true)
	if got := f.requests.Load(); got > 5 {
		t.Errorf("a cold list took %d requests, want at most 5", got)
	}

	f.requests.Store(0)
	opt := f.options()
	opt.Resume, opt.KnownRevision = &memory, memory.Revision
	s, o = Open(context.Background(), opt)
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if o := s.Do(context.Background(), Call{Method: "tools/call", Params: json.RawMessage(`{"name":"a"}`)}); !o.OK() {
		t.Error(o.Text)
	}
	s.Close(context.Background(), false)
	if got := f.requests.Load(); got != 1 {
		t.Errorf("a resumed call took %d requests, want 1", got)
	}
}

// Many calls find at the same time that the session is lost. One call opens a new session, and all
// calls continue in it. Everything else may be read in the meantime.
func TestConcurrentCallsReopenLostSessionOnce(t *testing.T) {
	f := newFake(t)
	f.asks = true
	opt := f.options()
	var renewed atomic.Int64
	opt.Reconnected = func(Renewal) { renewed.Add(1) }
	opt.Found, opt.Notified = func(wire.Finding) {}, func(*wire.Message) {}
	opt.Tap = func(wire.Frame) {}
	s, o := Open(context.Background(), opt)
	if !o.OK() {
		t.Fatal(o.Text)
	}
	for round := range 3 {
		f.forget()
		opened := f.opened.Load()
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if o := s.Do(context.Background(), Call{Method: "tools/list", Progress: true}); !o.OK() {
					t.Errorf("round %d: %s", round, o.Text)
				}
				_, _, _, _, _ = s.Revision(), s.Why(), s.Info(), s.Memory(), s.Transport()
			})
		}
		wg.Wait()
		if got := f.opened.Load() - opened; got != 1 {
			t.Errorf("round %d: %d new sessions, want 1", round, got)
		}
	}
	if got := renewed.Load(); got != 3 {
		t.Errorf("told %d times, want 3", got)
	}
	s.Close(context.Background(), true)
}

// The first calls of a resumed session all meet the 404: each is sent again, because the server
// read no call, and one session is opened.
func TestManyResumeALostSession(t *testing.T) {
	f := newFake(t)
	opt := f.options()
	opt.Resume = &Memory{Revision: rev20251125, SessionID: "old", Transport: transport.StreamableHTTP}
	s, o := Open(context.Background(), opt)
	if !o.OK() {
		t.Fatal(o.Text)
	}
	start := make(chan struct{})
	var wg sync.WaitGroup
	var good, unsent atomic.Int64
	for range 8 {
		wg.Go(func() {
			<-start
			switch o := s.Do(context.Background(), Call{Method: "tools/call", Params: json.RawMessage(`{"name":"a"}`)}); {
			case o.OK():
				good.Add(1)
			case o.Kind == wire.Transport && o.Reached == wire.Unsent:
				unsent.Add(1)
			default:
				t.Error(o.Kind, o.Text)
			}
		})
	}
	close(start)
	wg.Wait()
	s.Close(context.Background(), true)
	if got := f.opened.Load(); got != 1 {
		t.Errorf("%d new sessions, want 1", got)
	}
	if good.Load()+unsent.Load() != 8 || good.Load() == 0 {
		t.Errorf("%d good, %d not sent", good.Load(), unsent.Load())
	}
}

// Closing while requests run ends them completely.
func TestCloseWhileCalling(t *testing.T) {
	f := newFake(t)
	s, o := Open(context.Background(), f.options())
	if !o.OK() {
		t.Fatal(o.Text)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { s.Do(context.Background(), Call{Method: "tools/list"}) })
	}
	s.Close(context.Background(), true)
	s.Close(context.Background(), true)
	wg.Wait()
}

// A request without a response ends with its session: the server is notified, and the outcome
// differs from Ctrl-C and a timer.
func TestCloseEndsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan string, 8)
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		go func() {
			in := bufio.NewScanner(serverIn)
			for in.Scan() {
				requests <- wire.ParseMessage(in.Bytes()).Method
			}
			serverOut.Close()
		}()
		s, o := Open(context.Background(), Options{
			Protocol: rev20260728, SkipDiscover: true,
			Server: Server{Pipe: func() (io.Reader, io.WriteCloser) { return clientIn, clientOut }},
		})
		if !o.OK() {
			t.Fatal(o.Text)
		}
		ended := make(chan wire.Outcome)
		go func() { ended <- s.Do(context.Background(), Call{Method: "tools/call"}) }()
		synctest.Wait()
		go s.Close(context.Background(), true)
		if o := <-ended; o.Kind != wire.Transport || o.Reached != wire.Unknown {
			t.Errorf("got %s %s %q", o.Kind, o.Reached, o.Text)
		}
		synctest.Wait()
		if o := s.Do(context.Background(), Call{Method: "tools/list"}); o.Kind != wire.Transport || o.Text != "the session was closed" {
			t.Errorf("after closing: got %s %q", o.Kind, o.Text)
		}
		if got := <-requests; got != "tools/call" {
			t.Errorf("the server saw %s", got)
		}
	})
}

// deafPipe returns a server that writes the given lines and never reads.
func deafPipe(lines string, said chan<- struct{}) func() (io.Reader, io.WriteCloser) {
	return func() (io.Reader, io.WriteCloser) {
		_, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		go func() {
			_, _ = io.WriteString(serverOut, lines)
			close(said)
		}()
		return clientIn, clientOut
	}
}

// A server that asks and does not read the answers blocks nothing: maxAnswering are
// tried, the rest become findings, and closing ends them within its time.
func TestServerThatReadsNoAnswersBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(chan struct{})
		var mu sync.Mutex
		found := map[string]int{}
		opt := Options{
			Server: Server{Pipe: deafPipe(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", 1000), said)},
			Resume: nil, Protocol: rev20251125, Now: time.Now,
		}
		opt.Found = func(f wire.Finding) {
			mu.Lock()
			defer mu.Unlock()
			found[f.Rule]++
		}
		opt.Limits.Idle = 5 * time.Second
		began := time.Now()
		_, o := Open(context.Background(), opt)
		<-said
		if o.Kind != wire.Timeout {
			t.Errorf("got %s %q", o.Kind, o.Text)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		mu.Lock()
		defer mu.Unlock()
		if found["server_request"] != 1000-maxAnswering {
			t.Errorf("found %v", found)
		}
	})
}

// LastID and NextID: ids count on over sessions, and may come from elsewhere.
func TestRequestIDsContinueOverSessions(t *testing.T) {
	f := newFake(t)
	opt := f.options()
	next := int64(100)
	opt.NextID = func() int64 { next++; return next }
	s, o := Open(context.Background(), opt)
	if !o.OK() {
		t.Fatal(o.Text)
	}
	defer s.Close(context.Background(), true)
	if o := s.Do(context.Background(), Call{Method: "ping"}); string(o.Message.ID) != "103" || s.LastID() != 0 {
		t.Errorf("got id %s and last id %d", o.Message.ID, s.LastID())
	}
	if o := s.Do(context.Background(), Call{Method: "ping", ID: json.RawMessage(`"mine"`)}); string(o.Message.ID) != `"mine"` {
		t.Errorf("got id %s", o.Message.ID)
	}
}

// The clock and the callbacks may be nil.
func TestOpenWithoutClockAndCallbacks(t *testing.T) {
	f := newFake(t)
	f.asks = true
	s, o := Open(context.Background(), Options{Server: Server{URL: f.URL}, Resume: &Memory{Revision: rev20251125, SessionID: "old", Transport: transport.StreamableHTTP}})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if o := s.Do(context.Background(), Call{Method: "tools/list", Progress: true}); !o.OK() || o.Took != 0 {
		t.Errorf("got %s %q after %s", o.Kind, o.Text, o.Took)
	}
	s.Close(context.Background(), true)
}

// The memory of an earlier run is checked before it is used.
func TestInvalidMemoryIsNotResumed(t *testing.T) {
	f := newFake(t)
	for _, m := range []Memory{
		{Revision: rev20251125, SessionID: "a\r\nX-Evil: 1", Transport: transport.StreamableHTTP},
		{Revision: "2031-01-01", SessionID: "a", Transport: transport.StreamableHTTP},
		{Revision: rev20251125, SessionID: "a", Transport: transport.Stdio},
	} {
		opt := f.options()
		opt.Resume = &m
		s, o := Open(context.Background(), opt)
		if !o.OK() || s.Memory().SessionID == m.SessionID {
			t.Errorf("%+v: got %s %q", m, o.Kind, o.Text)
		}
		s.Close(context.Background(), true)
	}
}
