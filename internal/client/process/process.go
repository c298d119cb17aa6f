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

// A Command is the command line of a server.
type Command struct {
	Args []string
	// Env and Dir are the environment and working directory; nil and "" mean mcpc's.
	Env []string
	Dir string
}

// ErrPipe is the error if the system has no more pipes for a server.
var ErrPipe = errors.New("opening a pipe for the server")

// A Process is a server in its own process group, or job on Windows, so that wrappers such as npx
// and the processes that they started end at the same time.
type Process struct {
	cmd   *exec.Cmd
	Group *Group
	// Stdin and Stdout are mcpc's ends of the server's standard input and output.
	Stdin, Stdout *os.File
	// stderrPipe is mcpc's end of its standard error.
	stderrPipe *os.File
	// onStderr is called with each line of its standard error. Stderr keeps the end.
	onStderr func(line []byte)
	Stderr   *Tail
	// outputEnded is closed by the reader of the standard output at its end.
	outputEnded <-chan struct{}
	// Exited is closed when the child is reaped; state is set before.
	Exited chan struct{}
	state  *os.ProcessState
	// reaped is closed when the whole group has ended and its streams are closed.
	reaped chan struct{}
	// closing is closed by End.
	closing chan struct{}
	// stderrEnded is closed at the end of the standard error.
	stderrEnded chan struct{}
	// pipeEnds are both ends of all pipes.
	pipeEnds []*os.File
	endOnce  sync.Once
}

// Start starts the command. Nothing reads the server's output, or notices its end, before Watch is
// called. The error wraps ErrPipe, or is from os/exec.
func Start(command Command) (*Process, error) {
	argv := command.Args
	p := &Process{
		cmd: exec.Command(argv[0], argv[1:]...), Exited: make(chan struct{}), reaped: make(chan struct{}),
		closing: make(chan struct{}), stderrEnded: make(chan struct{}), Stderr: NewTail(),
	}
	p.cmd.Env = command.Env
	p.cmd.Dir = command.Dir
	if err := p.openPipes(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPipe, err)
	}
	group, err := startGroup(p.cmd)
	if err != nil {
		p.closePipes()
		return nil, err
	}
	p.Group = group
	// The child has copies of its ends of the pipes. Only when mcpc's copies are closed do the streams
	// end with the child.
	for _, childEnd := range []any{p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr} {
		childEnd.(io.Closer).Close()
	}
	return p, nil
}

// Watch starts to read the standard error, which calls onStderr with each line, and to wait for the
// end of the process. The caller closes outputEnded at the end of the standard output.
func (p *Process) Watch(onStderr func(line []byte), outputEnded <-chan struct{}) {
	p.onStderr = onStderr
	p.outputEnded = outputEnded
	go p.readStderr()
	go p.reap()
}

// openPipes creates the pipes of the child's three streams. They are files, so that os/exec does
// not wait for a grandchild that keeps a pipe open.
func (p *Process) openPipes() error {
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			p.closePipes()
			return err
		}
		p.pipeEnds = append(p.pipeEnds, r, w)
	}
	// Each pipe has its read end first. The child reads its standard input and writes the other two.
	p.cmd.Stdin = p.pipeEnds[0]
	p.Stdin = p.pipeEnds[1]
	p.Stdout = p.pipeEnds[2]
	p.cmd.Stdout = p.pipeEnds[3]
	p.stderrPipe = p.pipeEnds[4]
	p.cmd.Stderr = p.pipeEnds[5]
	return nil
}

// closePipes closes all ends of the pipes.
func (p *Process) closePipes() {
	for _, pipeEnd := range p.pipeEnds {
		pipeEnd.Close()
	}
}

// reap waits for the child, and briefly for the rest of its output, which a grandchild may keep
// open. Then it kills the rest of the group, before the group's id can be used again.
func (p *Process) reap() {
	_ = p.cmd.Wait()
	p.state = p.cmd.ProcessState
	close(p.Exited)
	p.waitForStream(p.outputEnded, graceAfterKill)
	p.waitForStream(p.stderrEnded, StderrGrace)
	p.Group.signal(kill)
	afterServerEnd()
	p.closePipes()
	close(p.reaped)
}

// keepOrphans is set by KeepOrphans, and never reset.
var keepOrphans atomic.Bool

// KeepOrphans disables the end of orphans. It is called before mcpc starts a program other than a
// server, such as a browser, whose processes could not be distinguished from orphans.
func KeepOrphans() { keepOrphans.Store(true) }

// waitForStream waits for the end of a stream of a dead child: at most grace, or StderrGrace after
// p.closing is closed.
func (p *Process) waitForStream(done <-chan struct{}, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-p.closing:
		pause.Within(done, StderrGrace)
	}
}

// The steps of the shutdown of a child process (2025-11-25 basic/lifecycle, "Shutdown"), and
// its maximum duration.
const (
	GraceAfterEOF  = 2 * time.Second
	graceAfterTerm = 2 * time.Second
	graceAfterKill = 1 * time.Second
	ShutdownTime   = GraceAfterEOF + graceAfterTerm + graceAfterKill

	// reapTime limits how long End waits until the server and its orphans are reaped. It is longer
	// than orphanTime: only a process that cannot be killed needs all of it.
	reapTime = 11 * time.Second
)

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// State returns the state of the process after Exited is closed.
func (p *Process) State() *os.ProcessState { return p.state }

// Ending returns how the process ended, after its output has ended. For a process that is still
// running it returns only the end of its standard error.
func (p *Process) Ending() *wire.ProcessFacts {
	facts := &wire.ProcessFacts{}
	if pause.Within(p.Exited, graceAfterKill) {
		pause.Within(p.stderrEnded, StderrGrace)
		facts.HowEnded = p.state.String()
	}
	facts.Stderr = p.Stderr.BothEnds()
	return facts
}

// StderrGrace is how long a dead server's standard error is read while another process keeps it
// open. Tests set a longer one.
var StderrGrace = 200 * time.Millisecond

// readStderr reads the standard error line by line.
func (p *Process) readStderr() {
	defer close(p.stderrEnded)
	lines := bufio.NewReaderSize(p.stderrPipe, 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			p.Stderr.Add(line)
			p.onStderr([]byte(strings.TrimRight(string(line), "\r\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// End shuts the process down (2025-11-25 basic/lifecycle, "stdio"): it closes the standard input,
// sends SIGTERM if the server does not exit in time, and then SIGKILL. The signals go to the whole
// group. End then waits until the group is reaped and the output was read. Another call only waits.
func (p *Process) End() {
	p.endOnce.Do(func() {
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
		p.closePipes() // the process cannot be killed
	}
	// All pipes are closed, here or by reap, so both readers end.
	pause.Within(p.outputEnded, StderrGrace)
	pause.Within(p.stderrEnded, StderrGrace)
}
