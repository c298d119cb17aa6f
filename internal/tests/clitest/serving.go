package clitest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/tests/program"
)

// A Started is a command of mcpc that runs in the background, in the process of the test.
type Started struct {
	// URL is the URL that the command reports. Only Serve sets it.
	URL string
	// Signals are sent to the command.
	Signals chan<- os.Signal

	t              testing.TB
	stdout, stderr *Buffer
	ended          chan struct{}
	code           int
}

// A Buffer is a buffer for concurrent writing and reading.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the written text.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Start starts a command line of mcpc with an environment. It is interrupted when the test ends.
func Start(t testing.TB, env []string, args ...string) *Started {
	t.Helper()
	return StartWith(t, Run{Args: args, Env: env})
}

// StartWith starts a run. It replaces the signals and the output of run.
func StartWith(t testing.TB, run Run) *Started {
	t.Helper()
	signals := make(chan os.Signal, 4)
	s := &Started{Signals: signals, t: t, stdout: &Buffer{}, stderr: &Buffer{}, ended: make(chan struct{})}
	run.Stdout = s.stdout
	run.Stderr = s.stderr
	run.Signals = signals
	go func() {
		defer close(s.ended)
		s.code = run.Do()
	}()
	t.Cleanup(func() { s.Stop() })
	return s
}

var listening = regexp.MustCompile(`listening on (http://[^ ;]+)`)

// Serve starts a command that serves, with a separate state and further variables, and waits until
// it listens.
func Serve(t testing.TB, env []string, args ...string) *Started {
	t.Helper()
	s := Start(t, append(Env(t.TempDir()), env...), args...)
	s.AwaitStderr(`(?s)listening on http://.*Ctrl-C`)
	s.URL = listening.FindStringSubmatch(s.Stderr())[1]
	return s
}

// Stdout returns what the command has written to its standard output.
func (s *Started) Stdout() string { return s.stdout.String() }

// Stderr returns what the command has written to its standard error.
func (s *Started) Stderr() string { return s.stderr.String() }

// AwaitStderr waits until standard error matches the pattern.
func (s *Started) AwaitStderr(pattern string) { s.await(s.stderr, pattern) }

// AwaitStdout waits until standard output matches the pattern.
func (s *Started) AwaitStdout(pattern string) { s.await(s.stdout, pattern) }

// await waits until the output of the command matches the pattern. The test fails after
// program.Patience.
func (s *Started) await(b *Buffer, pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(program.Patience); !want.MatchString(b.String()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("never matched %s:\n%s%s", pattern, s.Stdout(), s.Stderr())
		}
		select {
		case <-s.ended:
			if !want.MatchString(b.String()) {
				s.t.Fatalf("it ended with %d and never matched %s:\n%s%s", s.code, pattern, s.Stdout(), s.Stderr())
			}
		default:
		}
	}
}

// Stop interrupts the command unless it has ended, and returns its standard error and its exit code.
func (s *Started) Stop() (string, int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case s.Signals <- os.Interrupt:
	}
	return s.Wait()
}

// Wait waits for the end of the command, and returns its standard error and its exit code.
func (s *Started) Wait() (string, int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(program.Patience):
		s.t.Errorf("the command did not end: %s", strings.TrimSpace(s.Stderr()))
	}
	return s.Stderr(), s.code
}
