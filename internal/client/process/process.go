package process

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

	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A Command starts a server.
type Command struct {
	Args []string
	// Env and Dir are its environment and working directory; nil and "" are mcpc's own.
	Env []string
	Dir string
}

// ErrPipe is the error where the system has no pipe for a server.
var ErrPipe = errors.New("opening a pipe for the server")

// A Process is a server that runs as a process, in a process group of its own (on
// Windows a job), so that wrappers such as npx end together with what they started.
type Process struct {
	cmd   *exec.Cmd
	Group *Group
	// Stdin and out are this side's ends of its standard input and output.
	Stdin, Stdout *os.File
	// stderrPipe is that of its standard error.
	stderrPipe *os.File
	// said is called with each line of its standard error; stderr keeps its end.
	said   func(line []byte)
	Stderr *Tail
	// heard is closed by the reader of its standard output when that has ended.
	heard <-chan struct{}
	// Exited is closed when the child was reaped; state is good from then on.
	Exited chan struct{}
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

// Start starts the command. Nothing is read from it before Watch.
func Start(command Command) (*Process, error) {
	argv := command.Args
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), Exited: make(chan struct{}), reaped: make(chan struct{}),
		closing: make(chan struct{}), quiet: make(chan struct{}), Stderr: NewTail()}
	p.cmd.Env = command.Env
	p.cmd.Dir = command.Dir
	if err := p.pipes(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPipe, err)
	}
	group, err := startGroup(p.cmd)
	if err != nil {
		p.release()
		return nil, err
	}
	p.Group = group
	for _, f := range []any{p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr} {
		f.(io.Closer).Close()
	}
	return p, nil
}

// Watch begins to read its standard error, calls said with each line of it, and waits for
// its end. The reader of its standard output closes heard when that has ended.
func (p *Process) Watch(said func(line []byte), heard <-chan struct{}) {
	p.said = said
	p.heard = heard
	go p.readStderr()
	go p.reap()
}

// pipes connects the child's three streams. They are files, so that nothing in
// os/exec waits for a grandchild that keeps one of them open.
func (p *Process) pipes() error {
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.release()
			return err
		}
		p.ends = append(p.ends, r, w)
	}
	p.cmd.Stdin, p.Stdin = p.ends[0], p.ends[1]
	p.Stdout, p.cmd.Stdout = p.ends[2], p.ends[3]
	p.stderrPipe, p.cmd.Stderr = p.ends[4], p.ends[5]
	return nil
}

func (p *Process) release() {
	for _, c := range p.ends {
		c.Close()
	}
}

// reap waits for the child. What it wrote before its end is still read; a
// grandchild that keeps a stream open is not waited for longer than that, and
// what is left of the group is killed while its number cannot be another's yet.
func (p *Process) reap() {
	_ = p.cmd.Wait()
	p.state = p.cmd.ProcessState
	close(p.Exited)
	p.heardOut(p.heard, graceAfterKill)
	p.heardOut(p.quiet, StderrGrace)
	p.Group.signal(kill)
	serverEnded()
	p.release()
	close(p.reaped)
}

// keepOrphans is set once mcpc has started a program that is no server.
var keepOrphans atomic.Bool

// KeepOrphans is called before a program is started that may leave processes behind
// which are the user's, as a browser: they could not be told from those that a server
// leaves, and neither are ended then.
func KeepOrphans() { keepOrphans.Store(true) }

// heardOut waits for the end of a stream of a dead child: at most grace, or
// StderrGrace from the time when c.closing is closed.
func (p *Process) heardOut(done <-chan struct{}, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-p.closing:
		pause.Within(done, StderrGrace)
	}
}

// The staged shutdown of a child process (2025-11-25 basic/lifecycle, "Shutdown"), and how
// long it takes at most.
const (
	GraceAfterEOF  = 2 * time.Second
	graceAfterTerm = 2 * time.Second
	graceAfterKill = 1 * time.Second
	ShutdownTime   = GraceAfterEOF + graceAfterTerm + graceAfterKill

	// reapTime limits how long End waits until the dead server and the orphans it left are reaped. It is longer than
	// orphanTime: only a process that cannot be killed needs all of it.
	reapTime = 11 * time.Second
)

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ending says how the process went when its output has ended; no more than its
// last words on standard error where it still runs.
func (p *Process) Ending() *wire.ProcessFacts {
	facts := &wire.ProcessFacts{}
	if pause.Within(p.Exited, graceAfterKill) {
		pause.Within(p.quiet, StderrGrace)
		facts.Ended = p.state.String()
	}
	facts.Stderr = p.Stderr.BothEnds()
	return facts
}

// StderrGrace is how long a dead server's standard error is read while a process that it
// started keeps it open. Tests set a longer one.
var StderrGrace = 200 * time.Millisecond

func (p *Process) readStderr() {
	defer close(p.quiet)
	lines := bufio.NewReaderSize(p.stderrPipe, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			p.Stderr.Add(line)
			p.said([]byte(strings.TrimRight(string(line), "\r\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// End is the shutdown of 2025-11-25 basic/lifecycle, "stdio": "First, closing
// the input stream to the child process (the server). Waiting for the server to
// exit, or sending SIGTERM if the server does not exit within a reasonable
// time. Sending SIGKILL if the server does not exit within a reasonable time
// after SIGTERM." The signals go to the whole group.
func (p *Process) End() {
	p.once.Do(func() {
		close(p.closing)
		p.Stdin.Close()
		if pause.Within(p.Exited, GraceAfterEOF) {
			return
		}
		p.Group.signal(terminate)
		if pause.Within(p.Exited, graceAfterTerm) {
			return
		}
		p.Group.signal(kill)
	})
	if !pause.Within(p.reaped, reapTime) {
		p.release() // it cannot be killed; at least its streams are closed
	}
	pause.Within(p.heard, StderrGrace)
	pause.Within(p.quiet, StderrGrace)
}
