package keepalive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/client/process"
	"mcpc/internal/client/transport"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A Dialer connects to a supervisor.
type Dialer struct {
	// Dial returns a connection, or ErrGone if the supervisor has exited.
	Dial func(context.Context) (net.Conn, error)
	// Starts reports whether Dial starts the supervisor, for a new session.
	Starts bool
}

// A Conn is a transport to a server that a supervisor keeps. It provides the server's standard
// output and error as a child process would.
type Conn struct {
	*transport.Pipe
	conn     net.Conn
	recorder *transport.Recorder
	Status   Status
	// stderr is the server's standard error during this run.
	stderr *process.Tail
	// isKept reports whether the server continues to run after Close.
	isKept    bool
	closeOnce sync.Once

	// The following fields belong to Read. reader reads from the supervisor. pendingOutput is
	// output of the server that Read has not returned yet, and isInLine reports whether its last
	// line is incomplete. ending is the last message of the supervisor.
	reader        *bufio.Reader
	pendingOutput []byte
	isInLine      bool
	ending        *endMessage
}

// Open opens a transport to the server of a supervisor. The supervisor's greeting must arrive within the
// time of connect; 0 or less is no limit.
func Open(
	ctx context.Context,
	by *Dialer,
	connect time.Duration,
	limit transport.MaxSize,
	rec *transport.Recorder,
	to transport.Inbox,
) (transport.Transport, *transport.Fault) {
	conn, err := by.Dial(ctx)
	if err != nil {
		return nil, newDialFault(ctx, err)
	}
	c := &Conn{
		conn:     conn,
		recorder: rec,
		isKept:   !by.Starts,
		stderr:   process.NewTail(),
		reader:   bufio.NewReaderSize(conn, 64<<10),
	}
	if f := c.readGreeting(connect); f != nil {
		conn.Close()
		return nil, f
	}
	c.Pipe = transport.NewPipe(c, lineWriter{conn}, limit, rec, to, c.endFault)
	noText := []byte(nil)
	_ = writeMarked(conn, markUse, noText) // if this fails, Read returns the reason
	return c, nil
}

// newDialFault returns the fault for an error of Dialer.Dial: LocalIO, unless ctx ended, the supervisor
// has exited or the socket belongs to another user.
func newDialFault(ctx context.Context, err error) *transport.Fault {
	f := &transport.Fault{
		Kind:  wire.LocalIO,
		Phase: "connect",
		Text:  "connecting to the kept server: " + err.Error(),
		Err:   err,
	}
	switch {
	case ctx.Err() != nil:
		f.EndBy(context.Cause(ctx))
	case errors.Is(err, ErrGone):
		f.Kind = wire.Transport
		f.Text = err.Error()
	case errors.Is(err, ErrOtherUser):
		f.Kind = wire.Refused
	}
	return f
}

// readGreeting reads the supervisor's greeting and stores it in c.Status. It returns a fault if no
// greeting arrives within limit, or if the supervisor ends the connection or is of another version
// of mcpc.
func (c *Conn) readGreeting(limit time.Duration) *transport.Fault {
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { c.conn.Close() })
		defer timer.Stop()
	}
	facts, end, err := readHello(c.reader)
	c.Status = facts
	if end != nil {
		return end.fault(nil)
	}
	if errors.Is(err, net.ErrClosed) { // by the timer
		return &transport.Fault{
			Kind: wire.Timeout, Phase: "connect", Err: err, Hint: "--connect-timeout TIME waits longer",
			Text: "the process that keeps the server did not respond within " + limit.String(),
		}
	}
	if err != nil {
		return &transport.Fault{
			Kind: wire.Transport, Phase: "connect", Err: err,
			Text: "the process that keeps the server has exited",
		}
	}
	if facts.Format != protocolVersion {
		return &transport.Fault{
			Kind: wire.Transport, Phase: "connect",
			Text: "the server was started by another version of mcpc",
		}
	}
	return nil
}

// readHello reads the first message of a supervisor. end is not nil if that message ends the
// connection. A supervisor that was killed while the command connected sends nothing; the error is
// ErrGone then.
func readHello(r *bufio.Reader) (facts Status, end *endMessage, err error) {
	line, err := r.ReadBytes('\n')
	if errors.Is(err, io.EOF) || network.IsReset(err) {
		err = ErrGone
	}
	if err != nil {
		return facts, nil, err
	}
	switch line[0] {
	case markHello:
		err = json.Unmarshal(line[1:], &facts)
	case markOver:
		end = &endMessage{}
		err = json.Unmarshal(line[1:], end)
	default:
		err = errors.New("the socket does not belong to an mcpc process that keeps a server")
	}
	return facts, end, err
}

// fault returns the fault for an ended connection. err is the error of the read, or nil.
func (e *endMessage) fault(err error) *transport.Fault {
	if e.Kind != "" { // the server could not be started
		return &transport.Fault{Kind: e.Kind, Phase: "connect", Text: e.Text, Hint: e.Hint, Err: err}
	}
	if e.Text != "" {
		return &transport.Fault{
			Kind: wire.Transport, Phase: "read", Err: err, Text: "the kept server was stopped: " + e.Text,
			Process: &wire.ProcessFacts{Stderr: e.Stderr},
		}
	}
	return transport.EndFault(&wire.ProcessFacts{HowEnded: e.Ended, Stderr: e.Stderr}, err)
}

// endFault returns the fault for the end of the supervisor's messages.
func (c *Conn) endFault(err error) *transport.Fault {
	if c.ending != nil {
		return c.ending.fault(err)
	}
	return &transport.Fault{
		Kind: wire.Transport, Phase: "read", Err: err, Process: c.stderr.Facts(),
		Text: "the process that keeps the server has exited, and the server with it",
	}
}

// Read returns the server's standard output without marks, and processes the other messages of the
// supervisor. It returns io.EOF after the supervisor's last message.
func (c *Conn) Read(b []byte) (int, error) {
	for len(c.pendingOutput) == 0 {
		if !c.isInLine {
			if err := c.nextLine(); err != nil {
				return 0, err
			}
		}
		part, err := c.reader.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
		c.pendingOutput = part // valid until the next read, which is after it was returned
		c.isInLine = err != nil
	}
	n := copy(b, c.pendingOutput)
	c.pendingOutput = c.pendingOutput[n:]
	return n, nil
}

// nextLine processes messages until the next line of the server's output, and reads its mark. It returns
// io.EOF after the supervisor's last message.
func (c *Conn) nextLine() error {
	for {
		mark, err := c.reader.ReadByte()
		if err != nil || mark == markOut {
			return err
		}
		text, err := c.reader.ReadBytes('\n')
		if err != nil {
			return err
		}
		switch mark {
		case markErr:
			c.stderr.Add(text)
			c.recorder.RecordBody(wire.Received, wire.Stderr, 0, []byte(strings.TrimRight(string(text), "\r\n")), nil)
		case markLarge:
			limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return transport.TooLarge(limit)
		case markOver:
			c.ending = &endMessage{}
			_ = json.Unmarshal(text, c.ending)
			return io.EOF
		}
	}
}

// Close disconnects from the supervisor. If this run started the server and did not call Keep,
// Close stops the server first.
func (c *Conn) Close() {
	c.closeOnce.Do(func() {
		if !c.isKept && writeMarked(c.conn, markEnd, nil) == nil {
			pause.Within(c.Gone(), stopGrace)
		}
		c.Leave()
		c.conn.Close()
		<-c.Gone()
	})
}

// stopGrace is how long a supervisor may take to stop its server. It is long because a busy machine
// needs time; only a supervisor that hangs needs all of it.
const stopGrace = process.ShutdownTime + 10*time.Second

// StderrTail returns the server's standard error during this run.
func (c *Conn) StderrTail() *wire.ProcessFacts { return c.stderr.Facts() }

// Keep keeps the server running after Close.
func (c *Conn) Keep() error {
	c.isKept = true
	err := writeMarked(c.conn, markKeep, nil)
	if network.IsReset(err) {
		return ErrGone
	}
	return err
}

// A lineWriter sends lines for the server's standard input.
type lineWriter struct{ net.Conn }

// Write sends one line to the supervisor.
func (w lineWriter) Write(line []byte) (int, error) {
	n, err := w.Conn.Write(append(append(make([]byte, 0, len(line)+1), markLine), line...))
	return max(0, n-1), err // the mark is no byte of the line
}

// ErrOtherUser is the error for a socket of another user.
var ErrOtherUser = errors.New("the socket belongs to another user")

// ErrGone is the error for a socket without a running supervisor.
var ErrGone = errors.New("the server is no longer running")

// Dial connects to a supervisor and checks that it belongs to the same user.
func Dial(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if errors.Is(err, network.ConnRefused) || errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	if err := sameUser(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ReadStatus returns the status of a supervisor, or ErrGone if it has exited or is about to. It does not
// count as a use of the server.
func ReadStatus(ctx context.Context, socket string) (Status, error) {
	conn, err := Dial(ctx, socket)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close()
	stopClosing := context.AfterFunc(ctx, func() { conn.Close() })
	defer stopClosing()
	facts, end, err := readHello(bufio.NewReader(conn))
	if end != nil {
		return facts, ErrGone
	}
	return facts, err
}

// Stop stops a kept server and waits until it has exited, at most stopGrace. It returns the status before
// that; the error is nil if the server was about to end anyway.
func Stop(ctx context.Context, socket string) (Status, error) {
	conn, err := Dial(ctx, socket)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(ctx, stopGrace)
	defer stop()
	stopClosing := context.AfterFunc(ctx, func() { conn.Close() })
	defer stopClosing()
	from := bufio.NewReader(conn)
	facts, end, err := readHello(from)
	if end != nil || err != nil {
		return facts, err
	}
	if err := writeMarked(conn, markEnd, nil); err != nil {
		return facts, nil // the supervisor has exited in the meantime
	}
	_, _ = io.Copy(io.Discard, from) // until the supervisor closes the connection
	if ctx.Err() != nil {
		return facts, ctx.Err()
	}
	return facts, nil
}

// The name of a socket ends in socketExt, followed by unreadyExt until the supervisor listens.
// A socket without unreadyExt at which no process listens belongs to a dead supervisor.
const (
	socketExt  = ".sock"
	unreadyExt = ".new"
)

// listen creates the socket of a supervisor with mode 0600, so that no other user can connect.
func listen(socket string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket + unreadyExt, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // stopListening removes the socket by its final name
	err = os.Chmod(socket+unreadyExt, 0o600)
	if err == nil {
		err = os.Rename(socket+unreadyExt, socket)
	}
	if err != nil {
		_ = os.Remove(socket + unreadyExt)
		l.Close()
		return nil, err
	}
	return l, nil
}

// RemoveStaleSockets removes the sockets of dead supervisors from a directory and returns their
// number. It connects with datagrams, which a running supervisor does not notice.
func RemoveStaleSockets(dir string) int {
	entries, _ := os.ReadDir(dir)
	removed := 0
	for _, e := range entries {
		if e.Type() != fs.ModeSocket || filepath.Ext(e.Name()) != socketExt {
			continue
		}
		path := filepath.Join(dir, e.Name())
		conn, err := net.Dial("unixgram", path)
		if err == nil {
			conn.Close()
		}
		// A stream socket with a listener refuses a datagram with another error.
		if errors.Is(err, network.ConnRefused) && os.Remove(path) == nil {
			removed++
		}
	}
	return removed
}
