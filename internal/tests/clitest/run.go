// Package clitest runs mcpc in the process of a test: single command lines (Run), shell scripts
// with the command mcpc (Shell), and testscript files (Scripts). The PATH also has a program mcpc,
// for servers over stdio and for tests that need a process.
package clitest

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/render/term"
	"mcpc/internal/tests/program"
)

// A Run is one invocation of mcpc in this process. Relative names of files are relative to the
// directory of the process: a test that uses them sets it with t.Chdir.
type Run struct {
	Args []string
	// Env is the whole environment, as in exec.Cmd. The last value of a variable counts.
	Env []string
	// Stdin may be nil, which is an empty input. A stream that implements term.Screen is a
	// terminal.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Signals are sent to the command while it runs.
	Signals <-chan os.Signal
}

// Do runs the command and returns its exit code. For a signal that ended the command it returns 128
// plus the number of the signal, as a shell does.
func (r Run) Do() int {
	stdin := r.Stdin
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	stdout := &stream{writer: r.Stdout}
	stderr := &stream{writer: r.Stderr}
	defer stdout.end()
	defer stderr.end()
	f := cli.New(stdin, stdout.orFile(), stderr.orFile())
	f.Getenv = r.getenv
	f.Environ = func() []string { return slices.Clone(r.Env) }
	f.Now = time.Now
	f.Version = "0.1.0-dev"
	f.Program = mcpcProgram
	f.Leave = func(int) { panic("clitest: a mock server that ends its process needs one of its own") }
	code, died := cli.Run(f, r.Args, r.Signals)
	if sig, ok := died.(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return code
}

func (r Run) getenv(name string) string {
	for _, entry := range slices.Backward(r.Env) {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// A stream writes the output of a command until the command ends. Later output is dropped, because
// goroutines of a real process would have ended.
type stream struct {
	mu      sync.Mutex
	writer  io.Writer
	isEnded bool
}

// orFile returns the underlying writer if it is a file or a screen, because a command may query it.
// Otherwise it returns the stream.
func (s *stream) orFile() io.Writer {
	switch s.writer.(type) {
	case *os.File, term.Screen:
		return s.writer
	}
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isEnded || s.writer == nil {
		return len(p), nil
	}
	return s.writer.Write(p)
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isEnded = true
}

// An Output is the output of a command and how the command ended.
type Output struct {
	Stdout, Stderr string
	Code           int
}

// MCPC runs a command line with a separate state directory and further environment variables.
func MCPC(t *testing.T, env []string, args ...string) Output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run{Args: args, Env: append(Env(t.TempDir()), env...), Stdout: &stdout, Stderr: &stderr}.Do()
	return Output{stdout.String(), stderr.String(), code}
}

// Env returns an environment with all files of mcpc in dir.
func Env(dir string) []string {
	return append(program.CleanEnv(), "HOME="+dir, "MCPC_STATE="+dir+"/state", "LC_ALL=C.UTF-8")
}
