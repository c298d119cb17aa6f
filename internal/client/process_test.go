package client

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client/process"
	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// started opens a conversation with the helper and its bad habit. At the end of the test no process
// of its group may be left.
func started(t *testing.T, habit string, more ...func(*Options)) (*Session, wire.Outcome) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Server: Server{Command: []string{self, "helper", habit}, Name: habit}, Version: "0", Now: time.Now}
	// The race detector's runtime would sleep a second at the helper's end.
	opt.Server.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for _, change := range more {
		change(&opt)
	}
	return Open(context.Background(), opt)
}

func childOf(s *Session) *process.Process {
	return s.connection().transport().(*transport.StdioProcess).Process
}

// patience is how long a test waits for what must happen. It is spent only where
// something is broken.
const patience = 30 * time.Second

// closeAndCheck closes the session and checks how its process ended, which shows how far the
// shutdown had to go, and that nothing remains.
func closeAndCheck(t *testing.T, s *Session, ended string) {
	t.Helper()
	p := childOf(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Close(context.Background(), true)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it does not close")
	}
	if got := p.Ending().HowEnded; got != ended {
		t.Errorf("the process ended with %s, want %s", got, ended)
	}
	empty(t, p.Group)
}

// empty waits for the system to be done with processes that were ended already.
func empty(t *testing.T, group *process.Group) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		left := living(t, group)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", left)
		}
	}
}

func toolCall(ctx context.Context, s *Session) wire.Outcome {
	return s.Do(ctx, Call{Method: "tools/call", Params: []byte(`{"name":"a"}`)})
}

func TestProcessGoodServer(t *testing.T) {
	t.Parallel()
	s, o := started(t, "good", func(opt *Options) {
		opt.Server.Env = []string{"ONLY=this", "GORACE=atexit_sleep_ms=0"}
		opt.Server.Dir = t.TempDir()
	})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if o := toolCall(context.Background(), s); !o.OK() || o.Took <= 0 {
		t.Errorf("got %q %q after %s", o.Kind, o.Text, o.Took)
	}
	o = s.Do(context.Background(), Call{Method: "env"})
	if got := string(o.Result); !strings.Contains(got, "ONLY=this") || strings.Contains(got, "PATH=") {
		t.Errorf("the server's environment is %s", got)
	}
	closeAndCheck(t, s, "exit status 0")
}

func TestProcessCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"no-such-command-anywhere": "no such command: no-such-command-anywhere", filepath.Join(dir, "none"): "no such command: " + filepath.Join(dir, "none"),
		plain: notExecutable + plain,
	} {
		_, o := started(t, "", func(opt *Options) { opt.Server.Command = []string{command} })
		if o.Kind != wire.Transport || o.Text != want || o.Reached != wire.Unsent {
			t.Errorf("got %s %s %q, want %q", o.Kind, o.Reached, o.Text, want)
		}
	}
}

// A server that ends before it answers: how it ended, and its last words.
func TestProcessEndsAtStart(t *testing.T) {
	t.Parallel()
	for habit, want := range map[string]struct{ ended, stderr string }{
		"exits":        {"exit status 3", "usage: server FILE\n"},
		"kills-itself": {killed, "about to crash\n"},
	} {
		_, o := started(t, habit)
		if o.Kind != wire.Transport || o.Process == nil || o.Process.HowEnded != want.ended || o.Process.Stderr != want.stderr {
			t.Errorf("%s: got %s %q %+v, want %+v", habit, o.Kind, o.Text, o.Process, want)
		}
		if o.Method != "initialize" || !strings.Contains(o.Text, want.ended) {
			t.Errorf("%s: got %s: %q", habit, o.Method, o.Text)
		}
	}
}

func TestProcessEndsMidCall(t *testing.T) {
	t.Parallel()
	s, o := started(t, "exits-mid-call")
	if !o.OK() {
		t.Fatal(o.Text)
	}
	o = toolCall(context.Background(), s)
	if o.Kind != wire.Transport || o.Reached != wire.Unknown || o.Retryable {
		t.Errorf("got %s %s %t", o.Kind, o.Reached, o.Retryable)
	}
	if o.Process == nil || o.Process.HowEnded != "exit status 2" || o.Process.Stderr != "panic: boom\n" {
		t.Errorf("got %+v", o.Process)
	}
	closeAndCheck(t, s, "exit status 2")
}

// A response before the server's end is the response.
func TestProcessEndsAfterCall(t *testing.T) {
	t.Parallel()
	s, o := started(t, "exits-after-call")
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if o := toolCall(context.Background(), s); !o.OK() || string(o.Result) != `{"content":[]}` {
		t.Errorf("got %s %q %s", o.Kind, o.Text, o.Result)
	}
	closeAndCheck(t, s, "exit status 0")
}

// The staged shutdown: the end of input, SIGTERM after 2 s, SIGKILL after 4 s.
//
// rules 49
func TestProcessShutdown(t *testing.T) {
	for habit, ended := range map[string]string{
		"good": "exit status 0", "ignores-eof": terminated, "ignores-term": killed,
		"never-reads": terminated, "forks": "exit status 0",
	} {
		t.Run(habit, func(t *testing.T) {
			t.Parallel()
			s, o := started(t, habit, func(opt *Options) { opt.Protocol, opt.SkipDiscover = rev20260728, true })
			if !o.OK() {
				t.Fatal(o.Text)
			}
			if habit != "never-reads" {
				if o := toolCall(context.Background(), s); !o.OK() {
					t.Error(o.Text)
				}
			}
			closeAndCheck(t, s, ended)
		})
	}
}

// A child that ends and leaves a process with open streams is not waited for, and the process that
// it left is ended.
func TestProcessLeavesADaemon(t *testing.T) {
	t.Parallel()
	s, o := started(t, "forks-and-exits", func(opt *Options) { opt.Protocol, opt.SkipDiscover = rev20260728, true })
	if !o.OK() {
		t.Fatal(o.Text)
	}
	group := childOf(s).Group
	o = toolCall(context.Background(), s)
	if o.Kind != wire.Transport || o.Process == nil || o.Process.HowEnded != "exit status 0" || o.Process.Stderr != "the daemon goes on\n" {
		t.Errorf("got %s %q %+v", o.Kind, o.Text, o.Process)
	}
	empty(t, group)
	closeAndCheck(t, s, "exit status 0")
}

func TestProcessFloodsAndLongLines(t *testing.T) {
	t.Parallel()
	for habit, size := range map[string]int{"floods-stderr": 0, "writes-long-lines": 15 << 20} {
		s, o := started(t, habit)
		if !o.OK() {
			t.Fatal(habit, o.Text)
		}
		if o := toolCall(context.Background(), s); !o.OK() || len(o.Result) < size {
			t.Errorf("%s: got %s %q and %d bytes", habit, o.Kind, o.Text, len(o.Result))
		}
		closeAndCheck(t, s, "exit status 0")
	}
}

func TestProcessLineOverTheLimit(t *testing.T) {
	t.Parallel()
	s, o := started(t, "writes-long-lines", func(opt *Options) { opt.Limits.Message = 1 << 20 })
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if o := toolCall(context.Background(), s); o.Kind != wire.BadResponse || !strings.Contains(o.Text, "larger than") {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
	closeAndCheck(t, s, brokenPipe)
}

func TestProcessNoise(t *testing.T) {
	t.Parallel()
	var found []string
	_, o := started(t, "prints-noise", func(opt *Options) {
		opt.Found = func(f wire.Finding) { found = append(found, f.Rule) }
	})
	if o.Kind != wire.BadResponse || !strings.Contains(o.Text, "more than 1000 non-JSON-RPC lines") {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
	if want := []string{"stdout_noise", "stdout_noise"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want a word about the first line and one about them all", found)
	}
}

// A server that is started once more, in another revision, repeats its output; the count is the
// count of lines of one process.
func TestProcessNoiseIsCountedForOneProcess(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"greets":       {`non-JSON-RPC line on the server's stdout, ignored: "hello"`},
		"greets-twice": {`non-JSON-RPC line on the server's stdout, ignored: "hello"`, "2 " + transport.NoiseSummary},
	} {
		var found []string
		var starts int
		_, o := started(t, name, func(opt *Options) {
			opt.Found = func(f wire.Finding) {
				if f.Rule == "stdout_noise" {
					found = append(found, f.Text)
				}
			}
			opt.Tap = func(f wire.Frame) {
				if f.Kind == wire.Body && f.Dir == wire.Sent {
					starts++
				}
			}
		})
		if o.Kind != wire.Transport || starts < 2 {
			t.Errorf("%s: %s after %d requests", name, o.Kind, starts)
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: got %q, want %q", name, found, want)
		}
	}
}

// Half-open pipes: the server lives and does not talk, or does not listen.
func TestProcessHalfOpen(t *testing.T) {
	t.Parallel()
	s, o := started(t, "closes-stdout", func(opt *Options) { opt.Protocol, opt.SkipDiscover = rev20260728, true })
	if !o.OK() {
		t.Fatal(o.Text)
	}
	if o := toolCall(context.Background(), s); o.Kind != wire.Transport || o.Text != "the server closed its standard output" {
		t.Errorf("got %s %q", o.Kind, o.Text)
	}
	closeAndCheck(t, s, "exit status 0")

	s, o = started(t, "closes-stdin", func(opt *Options) { opt.Protocol, opt.SkipDiscover = rev20260728, true })
	if !o.OK() {
		t.Fatal(o.Text)
	}
	// The child needs a moment to close its end; a line that is larger than
	// the pipe cannot be written before it did.
	call := Call{Method: "tools/call", Params: []byte(`{"name":"` + strings.Repeat("a", 1<<20) + `"}`)}
	if o := s.Do(context.Background(), call); o.Kind != wire.Transport || o.Phase != "send" || o.Text != "the server does not read its stdin" {
		t.Errorf("got %s %s %q", o.Kind, o.Phase, o.Text)
	}
	closeAndCheck(t, s, terminated)
}

// A process may take longer for its first answer than for others.
func TestProcessMayStartSlowly(t *testing.T) {
	t.Parallel()
	s, o := started(t, "answers-once", func(opt *Options) {
		opt.Protocol, opt.SkipDiscover, opt.Limits.Idle, opt.Limits.Start = rev20260728, true, time.Nanosecond, patience
	})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	for i, want := range []wire.Kind{wire.OK, wire.Timeout} {
		if o := toolCall(context.Background(), s); o.Kind != want {
			t.Errorf("request %d: got %s %q, want %s", i, o.Kind, o.Text, want)
		}
	}
	s.Close(context.Background(), true)
}

// A server that never reads: the call ends by its timer, the next call, which was not even begun,
// reports that, and Ctrl-C is not delayed.
func TestProcessNeverReads(t *testing.T) {
	t.Parallel()
	s, o := started(t, "never-reads", func(opt *Options) {
		opt.Protocol, opt.SkipDiscover, opt.Limits.Idle = rev20260728, true, 300*time.Millisecond
	})
	if !o.OK() {
		t.Fatal(o.Text)
	}
	call := Call{Method: "tools/call", Params: []byte(`{"name":"` + strings.Repeat("a", 1<<20) + `"}`)}
	if o := s.Do(context.Background(), call); o.Kind != wire.Timeout || o.Reached != wire.Unknown || o.Phase != "send" {
		t.Errorf("the first: got %s %s %s", o.Kind, o.Reached, o.Phase)
	}
	if o := toolCall(context.Background(), s); o.Kind != wire.Timeout || o.Reached != wire.Unsent {
		t.Errorf("the second: got %s %s", o.Kind, o.Reached)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o := toolCall(ctx, s); o.Kind != wire.Signal {
		t.Errorf("the third: got %s", o.Kind)
	}
	closeAndCheck(t, s, terminated)
}
