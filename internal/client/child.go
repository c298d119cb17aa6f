package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

// A Command starts a server.
type Command struct {
	Args []string
	// Env and Dir are its environment and working directory; nil and "" are mcpc's own.
	Env []string
	Dir string
}

// errPipe is the error where the system has no pipe for a server.
var errPipe = errors.New("opening a pipe for the server")

// A child is a server that runs as a process, in a process group of its own (on
// Windows a job), so that wrappers such as npx end together with what they started.
type child struct {
	cmd   *exec.Cmd
	group *group
	// in and out are this side's ends of its standard input and output.
	in, out *os.File
	// errors is that of its standard error.
	errors *os.File
	// said is called with each line of its standard error; stderr keeps its end.
	said   func(line []byte)
	stderr *tail
	// heard is closed by the reader of its standard output when that has ended.
	heard <-chan struct{}
	// exited is closed when the child was reaped; state is good from then on.
	exited chan struct{}
	state  *os.ProcessState
	// reaped is closed when nothing is left of it and its streams are closed.
	reaped chan struct{}
	// closing is closed by end.
	closing chan struct{}
	// quiet is closed when the child's standard error has ended.
	quiet chan struct{}
	ends  []*os.File
	once  sync.Once
}

// startChild starts the command. Nothing is read from it before Watch.
func startChild(command Command) (*child, error) {
	argv := command.Args
	p := &child{cmd: exec.Command(argv[0], argv[1:]...), exited: make(chan struct{}), reaped: make(chan struct{}),
		closing: make(chan struct{}), quiet: make(chan struct{}), stderr: newTail()}
	p.cmd.Env, p.cmd.Dir = command.Env, command.Dir
	if err := p.pipes(); err != nil {
		return nil, fmt.Errorf("%w: %w", errPipe, err)
	}
	group, err := startGroup(p.cmd)
	if err != nil {
		p.release()
		return nil, err
	}
	p.group = group
	for _, f := range []any{p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr} {
		f.(io.Closer).Close()
	}
	return p, nil
}

// watch begins to read its standard error, calls said with each line of it, and waits for
// its end. The reader of its standard output closes heard when that has ended.
func (p *child) watch(said func(line []byte), heard <-chan struct{}) {
	p.said, p.heard = said, heard
	go p.readStderr()
	go p.reap()
}

// pipes connects the child's three streams. They are files, so that nothing in
// os/exec waits for a grandchild that keeps one of them open.
func (p *child) pipes() error {
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.release()
			return err
		}
		p.ends = append(p.ends, r, w)
	}
	p.cmd.Stdin, p.in = p.ends[0], p.ends[1]
	p.out, p.cmd.Stdout = p.ends[2], p.ends[3]
	p.errors, p.cmd.Stderr = p.ends[4], p.ends[5]
	return nil
}

func (p *child) release() {
	for _, c := range p.ends {
		c.Close()
	}
}

// reap waits for the child. What it wrote before its end is still read; a
// grandchild that keeps a stream open is not waited for longer than that, and
// what is left of the group is killed while its number cannot be another's yet.
func (p *child) reap() {
	_ = p.cmd.Wait()
	p.state = p.cmd.ProcessState
	close(p.exited)
	p.heardOut(p.heard, graceAfterKill)
	p.heardOut(p.quiet, graceForWords)
	p.group.signal(kill)
	serverEnded()
	p.release()
	close(p.reaped)
}

// others is set once mcpc has started a program that is no server.
var others atomic.Bool

// StartsOthers is called before a program is started that may leave processes behind
// which are the user's, as a browser: they could not be told from those that a server
// leaves, and neither are ended then.
func StartsOthers() { others.Store(true) }

// heardOut waits for the end of a stream of a dead child: at most grace, or
// graceForWords from the time when c.closing is closed.
func (p *child) heardOut(done <-chan struct{}, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-p.closing:
		isWithin(done, graceForWords)
	}
}

// The staged shutdown of a child process (2025-11-25 basic/lifecycle, "Shutdown"), and how
// long it takes at most.
const (
	graceAfterEOF  = 2 * time.Second
	graceAfterTerm = 2 * time.Second
	graceAfterKill = 1 * time.Second
	shutdownTime   = graceAfterEOF + graceAfterTerm + graceAfterKill
)

// isWithin reports whether done is closed within a time.
func isWithin(done <-chan struct{}, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// pid is its process id.
func (p *child) pid() int { return p.cmd.Process.Pid }

// howEnded says how the process went when its output has ended; no more than its
// last words on standard error where it still runs.
func (p *child) howEnded() *wire.ProcessFacts {
	facts := &wire.ProcessFacts{}
	if isWithin(p.exited, graceAfterKill) {
		isWithin(p.quiet, graceForWords)
		facts.Ended = p.state.String()
	}
	facts.Stderr = p.stderr.text()
	return facts
}

// graceForWords is how long a dead server's standard error is read while a process that it
// started keeps it open. Tests set a longer one.
var graceForWords = 200 * time.Millisecond

func (p *child) readStderr() {
	defer close(p.quiet)
	lines := bufio.NewReaderSize(p.errors, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			p.stderr.add(line)
			p.said([]byte(strings.TrimRight(string(line), "\r\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// end is the shutdown of 2025-11-25 basic/lifecycle, "stdio": "First, closing
// the input stream to the child process (the server). Waiting for the server to
// exit, or sending SIGTERM if the server does not exit within a reasonable
// time. Sending SIGKILL if the server does not exit within a reasonable time
// after SIGTERM." The signals go to the whole group.
func (p *child) end() {
	p.once.Do(func() {
		close(p.closing)
		p.in.Close()
		if isWithin(p.exited, graceAfterEOF) {
			return
		}
		p.group.signal(terminate)
		if isWithin(p.exited, graceAfterTerm) {
			return
		}
		p.group.signal(kill)
	})
	if !isWithin(p.reaped, graceAfterKill+graceForWords) {
		p.release() // it cannot be killed; at least its streams are closed
	}
	isWithin(p.heard, graceForWords)
	isWithin(p.quiet, graceForWords)
}

// tail keeps the last bytes of a stream.
type tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
}

// newTail keeps the last 64 KiB.
func newTail() *tail { return &tail{limit: 64 << 10} }

// add adds a line or a part of one.
func (t *tail) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, line...)
	if over := len(t.buf) - t.limit; over > t.limit {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// text is what it holds.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.limit):])
}

// reset forgets what it holds.
func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = nil
}

// words are what it holds, as facts; nil where that is nothing.
func (t *tail) words() *wire.ProcessFacts {
	if text := t.text(); text != "" {
		return &wire.ProcessFacts{Stderr: text}
	}
	return nil
}
