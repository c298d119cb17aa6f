package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// stdio is a server that runs as a child, in a process group of its own, so
// that wrappers such as npx end together with what they started.
type stdio struct {
	*pipe
	cmd    *exec.Cmd
	errors io.Reader // its standard error
	stderr *tail     // the end of it
	// exited is closed when the child was reaped; state is good from then on.
	exited chan struct{}
	state  *os.ProcessState
	// reaped is closed when nothing is left of it and its streams are closed.
	reaped chan struct{}
	// closing is closed by close.
	closing chan struct{}
	// quiet is closed when the child's standard error has ended.
	quiet chan struct{}
	ends  []io.Closer
	once  sync.Once
}

// startStdio starts the command and reads from it until it ends.
func startStdio(server Server, limits Limits, rec *recorder, to inbox) (*stdio, *fault) {
	argv := server.Command
	s := &stdio{cmd: exec.Command(argv[0], argv[1:]...), exited: make(chan struct{}), reaped: make(chan struct{}),
		closing: make(chan struct{}), quiet: make(chan struct{}), stderr: &tail{limit: 64 << 10}}
	s.cmd.Env, s.cmd.Dir = server.Env, server.Dir
	ownGroup(s.cmd)
	stdin, stdout, stderr, err := s.pipes()
	if err != nil {
		return nil, &fault{kind: wire.LocalIO, phase: "connect", text: "opening a pipe for the server: " + err.Error(), err: err}
	}
	if err := s.cmd.Start(); err != nil {
		s.release()
		return nil, startFault(argv[0], err)
	}
	for _, f := range []any{s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr} {
		f.(io.Closer).Close()
	}
	s.pipe = newPipe(stdout, stdin, limits, rec, to)
	s.pipe.why = s.whyEnded
	s.errors = stderr
	return s, nil
}

// listen begins to deliver what comes.
func (s *stdio) listen() {
	go s.readStderr(s.errors)
	go s.pipe.readAll()
	go s.reap()
}

// pipes connects the child's three streams. They are files, so that nothing in
// os/exec waits for a grandchild that keeps one of them open.
func (s *stdio) pipes() (stdin, stdout, stderr *os.File, err error) {
	open := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				s.ends = append(s.ends, r, w)
			}
		}
		return r, w
	}
	childIn, stdin := open()
	stdout, childOut := open()
	stderr, childErr := open()
	if err != nil {
		s.release()
		return nil, nil, nil, err
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = childIn, childOut, childErr
	return stdin, stdout, stderr, nil
}

func (s *stdio) release() {
	for _, c := range s.ends {
		c.Close()
	}
}

func startFault(name string, err error) *fault {
	f := &fault{kind: wire.Transport, phase: "connect", err: err, text: "the server could not be started: " + err.Error()}
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		f.text = "no such command: " + name
		f.hint = "is it installed and on the PATH? many servers are started with npx -y NAME or uvx NAME"
	case errors.Is(err, fs.ErrPermission):
		f.text = "the command may not be executed: " + name
	}
	return f
}

// reap waits for the child. What it wrote before its end is still read; a
// grandchild that keeps a stream open is not waited for longer than that, and
// what is left of the group is killed while its number cannot be another's yet.
func (s *stdio) reap() {
	_ = s.cmd.Wait()
	s.state = s.cmd.ProcessState
	close(s.exited)
	s.heardOut(s.pipe.done, graceAfterKill)
	s.heardOut(s.quiet, graceForWords)
	signalGroup(s.cmd, kill)
	s.release()
	close(s.reaped)
}

// heardOut waits for the end of a stream of a dead child, and only a moment
// where nobody is interested any more.
func (s *stdio) heardOut(done <-chan struct{}, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-s.closing:
		s.isWithin(done, graceForWords)
	}
}

func (s *stdio) isWithin(done <-chan struct{}, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// whyEnded says how the process went when its output ends. Its last words on
// standard error tell more about that than its status does.
func (s *stdio) whyEnded(err error) *fault {
	f := &fault{kind: wire.Transport, phase: "read", err: err, text: "the server closed its standard output"}
	f.process = &wire.ProcessFacts{}
	if s.isWithin(s.exited, graceAfterKill) {
		s.isWithin(s.quiet, graceForWords)
		f.process.Ended = s.state.String()
		f.text = "the server ended (" + f.process.Ended + ") before it answered"
	}
	f.process.Stderr = s.stderr.text()
	return f
}

// graceForWords is how long a dead server's standard error is listened to.
const graceForWords = 200 * time.Millisecond

func (s *stdio) readStderr(r io.Reader) {
	defer close(s.quiet)
	lines := bufio.NewReaderSize(r, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			s.stderr.add(line)
			s.rec.body(wire.Received, wire.Stderr, 0, []byte(strings.TrimRight(string(line), "\r\n")), nil)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// close is the shutdown of 2025-11-25 basic/lifecycle, "stdio": "First, closing
// the input stream to the child process (the server). Waiting for the server to
// exit, or sending SIGTERM if the server does not exit within a reasonable
// time. Sending SIGKILL if the server does not exit within a reasonable time
// after SIGTERM." The signals go to the whole group.
func (s *stdio) close() {
	s.once.Do(func() {
		close(s.closing)
		s.pipe.out.Close()
		if s.isWithin(s.exited, graceAfterEOF) {
			return
		}
		signalGroup(s.cmd, terminate)
		if s.isWithin(s.exited, graceAfterTerm) {
			return
		}
		signalGroup(s.cmd, kill)
	})
	if !s.isWithin(s.reaped, graceAfterKill+graceForWords) {
		s.release() // it cannot be killed; at least nobody listens to it
	}
	s.isWithin(s.pipe.done, graceForWords)
	s.isWithin(s.quiet, graceForWords)
}

func (s *stdio) end(context.Context, *outgoing) {}

// tail keeps the last bytes of a stream.
type tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
}

func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, line...)
	if over := len(t.buf) - t.limit; over > t.limit {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.limit):])
}

// lastWords are what a server that still runs wrote to standard error: it may
// say what it is waiting for. A server that wrote nothing says nothing.
func (s *stdio) lastWords() *wire.ProcessFacts {
	if text := s.stderr.text(); text != "" {
		return &wire.ProcessFacts{Stderr: text}
	}
	return nil
}
