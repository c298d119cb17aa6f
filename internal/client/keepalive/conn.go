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

// Dialer is the way to a supervisor.
type Dialer struct {
	// Dial connects to it. The error is ErrGone where it has gone.
	Dial func(context.Context) (net.Conn, error)
	// Starts is set where Dial starts it, for a session that is to be opened.
	Starts bool
}

// A Conn is a line to a server that a supervisor keeps. What the server writes to
// standard output and error comes as it would come from a child.
type Conn struct {
	*transport.Pipe
	conn   net.Conn
	rec    *transport.Recorder
	Status Status
	// stderr is what came on the server's standard error in this run.
	stderr *process.Tail
	// kept is set once the server lives on without this line.
	kept bool
	once sync.Once

	// What is below belongs to Read: what the supervisor says, the rest of a piece of the
	// server's output, whether a line of that goes on, and the supervisor's last word.
	from  *bufio.Reader
	rest  []byte
	amid  bool
	ended *ending
}

// Open begins to speak with a server over a connection to its supervisor.
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
		return nil, dialFault(ctx, err)
	}
	c := &Conn{conn: conn, rec: rec, kept: !by.Starts, stderr: process.NewTail(), from: bufio.NewReaderSize(conn, 64<<10)}
	if f := c.greet(connect); f != nil {
		conn.Close()
		return nil, f
	}
	c.Pipe = transport.NewPipe(c, lineWriter{conn}, limit, rec, to, c.whyEnded)
	_ = writeMarked(conn, markUse, nil) // where that fails, reading says why
	return c, nil
}

func dialFault(ctx context.Context, err error) *transport.Fault {
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
		f.Kind, f.Text = wire.Transport, err.Error()
	case errors.Is(err, ErrOtherUser):
		f.Kind = wire.Refused
	}
	return f
}

// greet reads the supervisor's greeting, which comes at once.
func (c *Conn) greet(limit time.Duration) *transport.Fault {
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { c.conn.Close() })
		defer timer.Stop()
	}
	facts, end, err := readHello(c.from)
	c.Status = facts
	switch {
	case end != nil:
		return end.fault(nil)
	case errors.Is(err, net.ErrClosed):
		return &transport.Fault{Kind: wire.Timeout, Phase: "connect", Err: err, Hint: "--connect-timeout TIME waits longer",
			Text: "the keep process did not respond within " + limit.String()}
	case err != nil:
		return &transport.Fault{Kind: wire.Transport, Phase: "connect", Err: err, Text: "the keep process has exited"}
	case facts.Format != format:
		return &transport.Fault{Kind: wire.Transport, Phase: "connect", Text: "the server is kept by another version of mcpc"}
	}
	return nil
}

// readHello reads what a supervisor sends first; end is set where it ends the connection. A
// supervisor killed while a command connected sends nothing: that is ErrGone.
func readHello(r *bufio.Reader) (facts Status, end *ending, err error) {
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
		end = &ending{}
		err = json.Unmarshal(line[1:], end)
	default:
		err = errors.New("not a keep process")
	}
	return facts, end, err
}

// fault is why nothing can come any more.
func (e *ending) fault(err error) *transport.Fault {
	if e.Kind != "" {
		return &transport.Fault{Kind: e.Kind, Phase: "connect", Text: e.Text, Hint: string(e.Hint), Err: err}
	}
	if e.Text != "" {
		return &transport.Fault{Kind: wire.Transport, Phase: "read", Err: err, Text: "the kept server was stopped: " + e.Text,
			Process: &wire.ProcessFacts{Stderr: e.Stderr}}
	}
	return transport.EndFault(&wire.ProcessFacts{Ended: e.Ended, Stderr: e.Stderr}, err)
}

func (c *Conn) whyEnded(err error) *transport.Fault {
	if c.ended != nil {
		return c.ended.fault(err)
	}
	return &transport.Fault{Kind: wire.Transport, Phase: "read", Err: err, Process: c.stderr.Facts(),
		Text: "the keep process has exited, and the server with it"}
}

// Read gives the server's standard output, and takes along what else the supervisor says.
func (c *Conn) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		if !c.amid {
			if err := c.next(); err != nil {
				return 0, err
			}
		}
		part, err := c.from.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
		c.rest = part
		c.amid = err != nil
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// next goes on to the next line of the server's output.
func (c *Conn) next() error {
	for {
		mark, err := c.from.ReadByte()
		if err != nil || mark == markOut {
			return err
		}
		text, err := c.from.ReadBytes('\n')
		if err != nil {
			return err
		}
		switch mark {
		case markErr:
			c.stderr.Add(text)
			c.rec.Body(wire.Received, wire.Stderr, 0, []byte(strings.TrimRight(string(text), "\r\n")), nil)
		case markLarge:
			limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return transport.TooLarge(limit)
		case markOver:
			c.ended = &ending{}
			_ = json.Unmarshal(text, c.ended)
			return io.EOF
		}
	}
}

// Close lets go of the supervisor. One that was started for a session that did not come to
// be ends the server first.
func (c *Conn) Close() {
	c.once.Do(func() {
		if !c.kept && writeMarked(c.conn, markEnd, nil) == nil {
			pause.Within(c.Gone(), stopGrace)
		}
		c.Leave()
		c.conn.Close()
		<-c.Gone()
	})
}

// stopGrace is how long a supervisor may take to end its server: a busy machine has
// its time, too, and only one that hangs takes all of it.
const stopGrace = process.ShutdownTime + 10*time.Second

// StderrTail are what came on the server's standard error in this run.
func (c *Conn) StderrTail() *wire.ProcessFacts { return c.stderr.Facts() }

// Keep lets the server live on when the line is closed.
func (c *Conn) Keep() error {
	c.kept = true
	err := writeMarked(c.conn, markKeep, nil)
	if network.IsReset(err) {
		return ErrGone
	}
	return err
}

// lineWriter writes lines for the server.
type lineWriter struct{ net.Conn }

func (w lineWriter) Write(line []byte) (int, error) {
	n, err := w.Conn.Write(append(append(make([]byte, 0, len(line)+1), markLine), line...))
	return max(0, n-1), err
}

// ErrOtherUser is the error of a socket at which another user listens.
var ErrOtherUser = errors.New("the socket belongs to another user")

// ErrGone is the error of a socket behind which there is no supervisor any more.
var ErrGone = errors.New("the server is no longer kept")

// Dial connects to a supervisor. It is made sure that it belongs to the same user.
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

// ReadStatus asks a supervisor about itself. That is no use of its server.
func ReadStatus(ctx context.Context, socket string) (Status, error) {
	conn, err := Dial(ctx, socket)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	facts, end, err := readHello(bufio.NewReader(conn))
	if end != nil {
		return facts, ErrGone
	}
	return facts, err
}

// Stop ends a held server and waits for its end, as long as a shutdown may take.
func Stop(ctx context.Context, socket string) (Status, error) {
	conn, err := Dial(ctx, socket)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(ctx, stopGrace)
	defer stop()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	from := bufio.NewReader(conn)
	facts, end, err := readHello(from)
	if end != nil || err != nil {
		return facts, err
	}
	if err := writeMarked(conn, markEnd, nil); err != nil {
		return facts, nil
	}
	_, _ = io.Copy(io.Discard, from)
	if ctx.Err() != nil {
		return facts, ctx.Err()
	}
	return facts, nil
}

// The name of a socket ends in socketExt. The suffix unreadyExt follows until the supervisor
// listens, so that a socket without it at which no process listens is a dead supervisor's.
const (
	socketExt  = ".sock"
	unreadyExt = ".new"
)

// listen makes the socket of a supervisor, with mode 0600: no other user can connect.
func listen(socket string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket + unreadyExt, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
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

// RemoveStaleSockets removes the sockets of dead supervisors from a directory, and gives how many
// there were. A living supervisor does not notice: its socket takes no datagrams.
func RemoveStaleSockets(dir string) (removed int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type() != fs.ModeSocket || filepath.Ext(e.Name()) != socketExt {
			continue
		}
		path := filepath.Join(dir, e.Name())
		conn, err := net.Dial("unixgram", path)
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, network.ConnRefused) && os.Remove(path) == nil {
			removed++
		}
	}
	return removed
}
