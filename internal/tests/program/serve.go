package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Serving is a command of mcpc that serves until it is interrupted: demo, proxy, mock.
type Serving struct {
	// URL is the URL that the command reports.
	URL string
	Cmd *exec.Cmd

	t   testing.TB
	err string // the name of a file with its standard error
}

// Serve starts a command that serves, with variables added to its environment, and waits until it
// listens. It is killed when the test ends.
func Serve(t testing.TB, variables map[string]string, args ...string) *Serving {
	t.Helper()
	s := Start(t, func(cmd *exec.Cmd) {
		for name, value := range variables {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}, append(args, "--state", t.TempDir())...)
	listening := regexp.MustCompile(`listening on (http://[^ ;]+)`)
	for deadline := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		stderr := s.Stderr()
		if m := listening.FindStringSubmatch(stderr); m != nil && strings.Contains(stderr, "Ctrl-C") {
			s.URL = m[1]
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("not listening: %s", stderr)
		}
	}
}

// Start starts a command and writes its standard error to a file for Stderr. change may change the
// command before the start; it may be nil. The command is killed when the test ends.
func Start(t testing.TB, change func(*exec.Cmd), args ...string) *Serving {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Serving{t: t, Cmd: exec.Command(BuiltMCPC(t), args...), err: file.Name()}
	s.Cmd.Env = append(CleanEnv(), "LC_ALL=C.UTF-8")
	s.Cmd.Stderr = file
	if change != nil {
		change(s.Cmd)
	}
	if err := s.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Cmd.Process.Kill()
		_ = s.Cmd.Wait()
		file.Close()
	})
	return s
}

// Stderr returns the standard error of the command until now.
func (s *Serving) Stderr() string {
	text, _ := os.ReadFile(s.err)
	return string(text)
}

// Stop interrupts the command, waits for its end, and returns its standard error.
func (s *Serving) Stop() string {
	s.t.Helper()
	if err := s.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	_ = s.Cmd.Wait()
	return s.Stderr()
}
