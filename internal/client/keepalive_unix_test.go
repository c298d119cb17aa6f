//go:build unix

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/client/keepalive"
	"mcpc/internal/client/process"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A heldServer is a helper in the hands of a supervisor that runs inside the test, and the
// session that it was started for.
type heldServer struct {
	t      *testing.T
	socket string
	// opener is the opener's connection, which opened gives out once.
	opener net.Conn
	opened chan net.Conn
	over   chan struct{}
	ids    atomic.Int64
	memory Memory
	first  *Session
}

// holdServer starts a supervisor and opens the session.
func holdServer(t *testing.T, habit string, change func(*keepalive.Options), more ...func(*Options)) *heldServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "held") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hs := &heldServer{t: t, socket: filepath.Join(dir, "a.sock"), opened: make(chan net.Conn, 1), over: make(chan struct{})}
	ours, theirs := net.Pipe()
	hs.opener = ours
	hs.opened <- ours
	h := keepalive.Options{
		Command: process.Command{Args: []string{self, "helper", habit}, Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0")},
		Socket:  hs.socket, Opener: theirs, Now: time.Now,
	}
	if change != nil {
		change(&h)
	}
	go func() {
		defer close(hs.over)
		keepalive.Run(context.Background(), h)
	}()
	t.Cleanup(func() {
		_, _ = keepalive.Stop(context.Background(), hs.socket)
		hs.ended()
	})
	s, o := Open(context.Background(), hs.options(true, more))
	if !o.OK() {
		t.Fatal(o.Text)
	}
	hs.memory, hs.first = s.Memory(), s
	return hs
}

// ended waits for the end of the supervisor and checks that nothing of it remains.
func (hs *heldServer) ended() {
	hs.t.Helper()
	select {
	case <-hs.over:
	case <-time.After(patience):
		hs.t.Fatal("the supervisor does not end")
	}
	if _, err := os.Lstat(hs.socket); err == nil {
		hs.t.Error("the socket is left")
	}
}

func (hs *heldServer) options(opener bool, more []func(*Options)) Options {
	by := &keepalive.Dialer{Starts: opener, Dial: func(ctx context.Context) (net.Conn, error) {
		if opener {
			return <-hs.opened, nil
		}
		return keepalive.Dial(ctx, hs.socket)
	}}
	opt := Options{
		Server: Server{Keepalive: by, Name: "held"}, Version: "0", Now: time.Now, KnownRevision: "2025-11-25",
		NextID: func() int64 { return hs.ids.Add(1) },
	}
	if !opener {
		opt.Resume = &hs.memory
	}
	for _, change := range more {
		change(&opt)
	}
	return opt
}

// another returns another command that continues the session.
func (hs *heldServer) another(more ...func(*Options)) *Session {
	hs.t.Helper()
	s, o := Open(context.Background(), hs.options(false, more))
	if !o.OK() {
		hs.t.Fatal(o.Text)
	}
	return s
}

// keep lets the supervisor live on without the first one.
func (hs *heldServer) keep() {
	if err := hs.first.Keep(); err != nil {
		hs.t.Fatal(err)
	}
	hs.first.Close(context.Background(), false)
}

func ask(t *testing.T, s *Session, method, want string) {
	t.Helper()
	if o := s.Do(context.Background(), Call{Method: method}); !o.OK() || string(o.Result) != want {
		t.Errorf("%s: got %s %q %s, want %s", method, o.Kind, o.Text, o.Result, want)
	}
}

// Many commands at a time speak with one server: each gets its own answers, and the
// server is one all the time.
func TestKeptServerServesManyCommands(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	hs.keep()
	const users, calls = 8, 25
	var mu sync.Mutex
	var numbers []int
	var all sync.WaitGroup
	for range users {
		all.Go(func() {
			for range calls {
				s := hs.another()
				o := s.Do(context.Background(), Call{Method: "add"})
				s.Close(context.Background(), false)
				var got struct{ N int }
				_ = json.Unmarshal(o.Result, &got)
				mu.Lock()
				numbers = append(numbers, got.N)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != i+1 {
			t.Fatalf("the %d. answer is %d", i+1, n)
		}
	}
	if facts := unused(t, hs); facts.PID != os.Getpid() {
		t.Errorf("the supervisor is process %d, want %d", facts.PID, os.Getpid())
	}
}

// unused waits until no command speaks with the server any more: the supervisor notices a moment
// later that a command has disconnected.
func unused(t *testing.T, hs *heldServer) keepalive.Status {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		facts, err := keepalive.ReadStatus(context.Background(), hs.socket)
		if err != nil {
			t.Fatal(err)
		}
		if facts.Users == 0 {
			return facts
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s after all sessions were closed the supervisor still counts %d users", patience, facts.Users)
		}
	}
}

// hanging sends a request that is not answered, and waits for its progress.
func hanging(hs *heldServer, s *Session) (ctx context.Context, stop func(), end <-chan wire.Outcome) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan wire.Outcome, 1)
	go func() { ended <- s.Do(ctx, Call{Method: "hang", Progress: true}) }()
	return ctx, cancel, ended
}

// While one command waits others are answered; progress goes to the requesting command.
func TestKeptServerRoutesResponses(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	hs.keep()
	heard := make(chan string, 10)
	hear := func(name string) func(*Options) {
		return func(o *Options) { o.Notified = func(m *wire.Message) { heard <- name + " " + m.Method } }
	}
	a, b := hs.another(hear("a")), hs.another(hear("b"))
	_, stop, ended := hanging(hs, a)
	defer stop()
	if got := <-heard; got != "a notifications/progress" {
		t.Errorf("heard: %s", got)
	}
	ask(t, b, "add", `{"n":1}`)
	ask(t, b, "release", `{}`)
	if o := <-ended; string(o.Result) != `{"released":true}` {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
	ask(t, b, "add", `{"n":2}`)
	if len(heard) > 0 {
		t.Errorf("heard as well: %s", <-heard)
	}
	a.Close(context.Background(), false)
	b.Close(context.Background(), false)
}

// A response beside text on its line goes to the command that made the request, and ends it.
func TestKeptServerRoutesResponsesBesideText(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	hs.keep()
	var found []string
	other := hs.another(func(o *Options) { o.Found = func(f wire.Finding) { found = append(found, f.Text) } })
	s := hs.another()
	ask(t, s, "beside-text", "{}")
	s.Close(context.Background(), false)
	ask(t, other, "add", `{"n":1}`)
	other.Close(context.Background(), false)
	if len(found) > 0 {
		t.Errorf("another command was told: %q", found)
	}
	unused(t, hs)
	cancelledAt(t, hs.another(), "")
}

// cancelledAt waits until the server was notified that all of these requests were cancelled or
// answered, in any order.
func cancelledAt(t *testing.T, s *Session, want string) {
	t.Helper()
	sorted := func(ids string) []string { return slices.Sorted(strings.FieldsSeq(ids)) }
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		o := s.Do(context.Background(), Call{Method: "cancelled"})
		var got struct{ IDs string }
		_ = json.Unmarshal(o.Result, &got)
		if slices.Equal(sorted(got.IDs), sorted(want)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("cancelled was %q, want %q", got.IDs, want)
		}
	}
}

// A command that dies, or gives up, cancels its requests; neither is cancelled twice, and a late
// response goes to no command.
func TestKeptServerCancelsForDeadCommands(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	hs.keep()
	heard := make(chan string, 10)
	var found []string
	hear := func(o *Options) {
		o.Notified = func(m *wire.Message) { heard <- m.Method }
		o.Found = func(f wire.Finding) { found = append(found, f.Text) }
	}
	var connection net.Conn
	seen := func(o *Options) {
		dial := o.Server.Keepalive.Dial
		o.Server.Keepalive.Dial = func(ctx context.Context) (conn net.Conn, err error) {
			connection, err = dial(ctx)
			return connection, err
		}
	}
	dies, givesUp, lives := hs.another(hear, seen), hs.another(hear), hs.another(hear)
	_, stopDying, ended := hanging(hs, dies)
	defer stopDying()
	<-heard
	first := hs.ids.Load()
	connection.Close()
	<-ended
	cancelledAt(t, lives, fmt.Sprint(first))
	_, stop, ended := hanging(hs, givesUp)
	<-heard
	second := hs.ids.Load()
	stop()
	if o := <-ended; o.Kind != wire.Signal {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
	givesUp.Close(context.Background(), false)
	cancelledAt(t, lives, fmt.Sprint(first, second))
	ask(t, lives, "release", `{}`)
	ask(t, lives, "add", `{"n":1}`)
	lives.Close(context.Background(), false)
	dies.Close(context.Background(), false)
	if len(found) > 0 {
		t.Errorf("found: %q", found)
	}
}

// Two requests with one id take turns.
func TestKeptServerSerializesEqualIDs(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	hs.keep()
	heard := make(chan string, 10)
	a := hs.another(func(o *Options) { o.Notified = func(m *wire.Message) { heard <- m.Method } })
	b, c := hs.another(), hs.another()
	ended := map[*Session]chan wire.Outcome{a: make(chan wire.Outcome, 1), b: make(chan wire.Outcome, 1)}
	go func() { ended[a] <- a.Do(context.Background(), Call{Method: "hang", ID: []byte("77"), Progress: true}) }()
	<-heard
	go func() { ended[b] <- b.Do(context.Background(), Call{Method: "add", ID: []byte("77")}) }()
	// The second one waits at the supervisor: the server has counted nothing.
	for range 20 {
		if o := c.Do(context.Background(), Call{Method: "ping"}); !o.OK() {
			t.Fatal(o.Text)
		}
	}
	ask(t, c, "add", `{"n":1}`)
	ask(t, c, "release", `{}`)
	for s, want := range map[*Session]string{a: `{"released":true}`, b: `{"n":2}`} {
		if o := <-ended[s]; string(o.Result) != want {
			t.Errorf("got %s %q %s, want %s", o.Kind, o.Text, o.Result, want)
		}
	}
	for _, s := range []*Session{a, b, c} {
		s.Close(context.Background(), false)
	}
}

// If the server may ask back, only one command at a time uses it, so that a question goes to the
// right command.
func TestKeptServerSerializesCommandsItMayAsk(t *testing.T) {
	t.Parallel()
	asking, answer := make(chan string), make(chan struct{})
	offer := func(name string) func(*Options) {
		return func(o *Options) {
			o.Capabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
			o.Asker = func(context.Context, InputRequest) Answer {
				asking <- name
				<-answer
				return Answer{Result: json.RawMessage(`{"action":"accept","content":{"by":"` + name + `"}}`)}
			}
		}
	}
	hs := holdServer(t, "remembers", nil, offer("first"))
	hs.keep()
	a, b, c := hs.another(offer("a")), hs.another(offer("b")), hs.another(offer("c"))
	ends := map[string]chan wire.Outcome{"a": make(chan wire.Outcome, 1), "b": make(chan wire.Outcome, 1)}
	go func() { ends["a"] <- a.Do(context.Background(), Call{Method: "ask"}) }()
	if got := <-asking; got != "a" {
		t.Errorf("%s was asked", got)
	}
	go func() { ends["b"] <- b.Do(context.Background(), Call{Method: "ask"}) }()
	ask(t, c, "ping", "{}") // another command's ping is answered in the meantime
	answer <- struct{}{}
	if got := <-asking; got != "b" {
		t.Errorf("%s was asked", got)
	}
	answer <- struct{}{}
	for name, end := range ends {
		if o := <-end; !strings.Contains(string(o.Result), `"by":"`+name+`"`) {
			t.Errorf("%s got %s %q %s", name, o.Kind, o.Text, o.Result)
		}
	}
	for _, s := range []*Session{a, b, c} {
		s.Close(context.Background(), false)
	}
}

// A waiting request delays the requests after it, but no ping, and a cancellation removes it: the
// server receives neither.
func TestPingOvertakesWaitingRequests(t *testing.T) {
	t.Parallel()
	asking, answer := make(chan struct{}), make(chan struct{})
	elicits := func(o *Options) {
		o.Capabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
		o.Asker = func(context.Context, InputRequest) Answer {
			asking <- struct{}{}
			<-answer
			return Answer{Result: json.RawMessage(`{"action":"accept","content":{}}`)}
		}
	}
	hs := holdServer(t, "remembers", nil, elicits)
	hs.keep()
	a := hs.another(elicits)
	ended := make(chan wire.Outcome, 1)
	go func() { ended <- a.Do(context.Background(), Call{Method: "ask"}) }()
	<-asking
	conn, err := keepalive.Dial(context.Background(), hs.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, `u
i{"jsonrpc":"2.0","id":900,"method":"ask"}
i{"jsonrpc":"2.0","id":901,"method":"add"}
i{"jsonrpc":"2.0","id":902,"method":"ping"}
i{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":900}}
i{"jsonrpc":"2.0","id":903,"method":"ping"}
i{"jsonrpc":"2.0","id":904,"method":"cancelled"}
`)
	from := bufio.NewReader(conn)
	for i, want := range []string{`"id":902,"result":{}`, `"id":903,"result":{}`, `"id":901,"result":{"n":1}`, `"id":904,"result":{"ids":""}`} {
		if i == 2 {
			answer <- struct{}{}
		}
		line := ""
		for !strings.HasPrefix(line, "o") {
			if line, err = from.ReadString('\n'); err != nil {
				t.Fatalf("want %s: %s", want, err)
			}
		}
		if got := "o{\"jsonrpc\":\"2.0\"," + want + "}\n"; line != got {
			t.Errorf("got %s, want %s", line, want)
		}
	}
	if o := <-ended; !o.OK() {
		t.Error(o.Text)
	}
	a.Close(context.Background(), false)
}

// A request from the server while no command is connected waits for the next command; a ping is
// answered.
func TestKeptServerKeepsQuestions(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	roots := func(o *Options) {
		o.Capabilities = json.RawMessage(`{"roots":{}}`)
		o.Asker = func(_ context.Context, q InputRequest) Answer {
			asked <- q.Method
			return Answer{Result: json.RawMessage(`{"roots":[]}`)}
		}
	}
	hs := holdServer(t, "remembers", nil, roots)
	sign := filepath.Join(filepath.Dir(hs.socket), "sign")
	later := Call{Method: "notifications/ask-later", Params: json.RawMessage(`{"file":` + string(jsonraw.Quote(sign)) + `}`)}
	if o := hs.first.Notify(context.Background(), later); !o.OK() {
		t.Fatal(o.Text)
	}
	hs.keep()
	unused(t, hs)
	if err := os.WriteFile(sign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	s := hs.another(roots, func(o *Options) { o.Notified = func(m *wire.Message) { heard <- m.Method } })
	cancelledAt(t, s, `"q" "q2"`)
	if got := <-asked; got != "roots/list" {
		t.Errorf("asked was %s", got)
	}
	if got := <-heard; got != "notifications/tools/list_changed" {
		t.Errorf("heard was %s", got)
	}
	s.Close(context.Background(), false)
}

// After each kind of end no process or file remains, and the end is reported.
func TestKeptServerReportsItsEnd(t *testing.T) {
	t.Parallel()
	t.Run("the opener dies", func(t *testing.T) {
		t.Parallel()
		hs := holdServer(t, "remembers", nil)
		hs.opener.Close()
		hs.ended()
	})
	t.Run("the session is not kept", func(t *testing.T) {
		t.Parallel()
		hs := holdServer(t, "remembers", nil)
		hs.first.Close(context.Background(), false)
		hs.ended()
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		hs := holdServer(t, "remembers", func(h *keepalive.Options) { h.Idle = 50 * time.Millisecond })
		hs.keep()
		hs.ended()
		_, o := Open(context.Background(), hs.options(false, nil))
		if o.Kind != wire.Transport || o.Err != keepalive.ErrGone || o.Reached != wire.Unsent {
			t.Errorf("got %s %q %v", o.Kind, o.Text, o.Err)
		}
	})
	t.Run("in use it is not idle", func(t *testing.T) {
		t.Parallel()
		hs := holdServer(t, "remembers", func(h *keepalive.Options) { h.Idle = time.Millisecond })
		if err := hs.first.Keep(); err != nil {
			t.Fatal(err)
		}
		for range 50 { // a look does not count as use, so it does not delay the end
			if _, err := keepalive.ReadStatus(context.Background(), hs.socket); err != nil {
				t.Fatal(err)
			}
		}
		ask(t, hs.first, "add", `{"n":1}`)
		hs.first.Close(context.Background(), false)
		hs.ended()
	})
	t.Run("it is ended", func(t *testing.T) {
		t.Parallel()
		hs := holdServer(t, "remembers", nil)
		hs.keep()
		s := hs.another()
		if _, err := keepalive.Stop(context.Background(), hs.socket); err != nil {
			t.Error(err)
		}
		hs.ended()
		o := s.Do(context.Background(), Call{Method: "ping"})
		if o.Kind != wire.Transport || o.Text != "the kept server was stopped: mcpc ended it" {
			t.Errorf("got %s %q", o.Kind, o.Text)
		}
		s.Close(context.Background(), false)
	})
	t.Run("the server dies", func(t *testing.T) {
		t.Parallel()
		hs := holdServer(t, "remembers", nil)
		hs.keep()
		s := hs.another()
		o := s.Do(context.Background(), Call{Method: "die"})
		if o.Kind != wire.Transport || o.Process == nil || o.Process.HowEnded != "exit status 3" || o.Process.Stderr != "last words\n" {
			t.Errorf("got %s %q %+v", o.Kind, o.Text, o.Process)
		}
		s.Close(context.Background(), false)
		hs.ended()
	})
	for _, habit := range []string{"ignores-eof", "ignores-term"} {
		t.Run("it does not go by itself, "+habit, func(t *testing.T) {
			t.Parallel()
			hs := holdServer(t, habit, nil, func(o *Options) { o.KnownRevision = "" })
			facts, _ := hs.first.Keepalive()
			hs.keep()
			if _, err := keepalive.Stop(context.Background(), hs.socket); err != nil {
				t.Error(err)
			}
			hs.ended()
			empty(t, &process.Group{ID: facts.Server})
		})
	}
}

// The server's standard error goes to the connected commands; without a command it is kept for the
// next.
func TestKeptServerStderr(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	if o := hs.first.Notify(context.Background(), Call{Method: "notifications/none"}); !o.OK() {
		t.Fatal(o.Text)
	}
	hs.keep()
	lines := make(chan string, 10)
	tap := func(o *Options) {
		o.Tap = func(f wire.Frame) {
			if f.Kind == wire.Stderr {
				lines <- string(f.Raw)
			}
		}
	}
	s := hs.another(tap)
	ask(t, s, "tell", "{}")
	if got := <-lines; got != "told" {
		t.Errorf("got %q", got)
	}
	s.Close(context.Background(), false)
}

// A line beyond the supervisor's limit is a bad response for waiting commands; the server lives on.
func TestKeptServerRefusesLongLines(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", func(h *keepalive.Options) { h.Message = 1 << 19 })
	hs.keep()
	s := hs.another()
	if o := s.Do(context.Background(), Call{Method: "long"}); o.Kind != wire.BadResponse {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
	s.Close(context.Background(), false)
	s = hs.another()
	ask(t, s, "add", `{"n":1}`)
	s.Close(context.Background(), false)
}

// A socket at which no process listens is removed, and nothing else is.
func TestSweepRemovesDeadSocketsOnly(t *testing.T) {
	t.Parallel()
	hs := holdServer(t, "remembers", nil)
	hs.keep()
	dir := filepath.Dir(hs.socket)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	unbornYet, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(unbornYet)
	if err := syscall.Bind(unbornYet, &syscall.SockaddrUnix{Name: filepath.Join(dir, "b.sock.new")}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A process that another test forks just now may still have dead open.
	n := keepalive.RemoveStaleSockets(dir)
	for deadline := time.Now().Add(patience); n == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		n = keepalive.RemoveStaleSockets(dir)
	}
	if n != 1 {
		t.Errorf("%d were removed", n)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 3 {
		t.Errorf("left are %v", entries)
	}
	s := hs.another()
	ask(t, s, "add", `{"n":1}`)
	s.Close(context.Background(), false)
}
