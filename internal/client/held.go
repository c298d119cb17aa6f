package client

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

	"mcpc/internal/wire"
)

// HeldBy is the way to a supervisor.
type HeldBy struct {
	// Dial connects to it. The error is ErrGone where it has gone.
	Dial func(context.Context) (net.Conn, error)
	// Starts is set where Dial starts it, for a session that is to be opened.
	Starts bool
}

// A heldLine is a line to a server that a supervisor keeps. What the server writes to
// standard output and error comes as it would come from a child.
type heldLine struct {
	*pipe
	conn  net.Conn
	rec   *recorder
	facts HeldFacts
	// stderr is what came on the server's standard error in this run.
	stderr *tail
	// kept is set once the server lives on without this line.
	kept bool
	once sync.Once

	// What is below belongs to Read: what the supervisor says, the rest of a piece of the
	// server's output, whether a line of that goes on, and the supervisor's last word.
	from  *bufio.Reader
	rest  []byte
	amid  bool
	ended *heldEnd
}

// openHeld begins to speak with a server over a connection to its supervisor.
func openHeld(ctx context.Context, by *HeldBy, connect time.Duration, limit MaxSize, rec *recorder, to inbox) (transport, *fault) {
	conn, err := by.Dial(ctx)
	if err != nil {
		return nil, noHolder(ctx, err)
	}
	c := &heldLine{conn: conn, rec: rec, kept: !by.Starts, stderr: newTail(), from: bufio.NewReaderSize(conn, 64<<10)}
	if f := c.greet(connect); f != nil {
		conn.Close()
		return nil, f
	}
	c.pipe = newPipe(c, lineWriter{conn}, limit, rec, to, c.whyEnded)
	_ = writeMarked(conn, markUse, nil) // where that fails, reading says why
	return c, nil
}

func noHolder(ctx context.Context, err error) *fault {
	f := &fault{kind: wire.LocalIO, phase: "connect", text: "connecting to the kept server: " + err.Error(), err: err}
	switch {
	case ctx.Err() != nil:
		f.endBy(context.Cause(ctx))
	case errors.Is(err, ErrNotHeld):
		f.kind, f.text = wire.Transport, err.Error()
	case errors.Is(err, ErrForeign):
		f.kind = wire.Refused
	}
	return f
}

// greet reads the supervisor's greeting, which comes at once.
func (c *heldLine) greet(limit time.Duration) *fault {
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { c.conn.Close() })
		defer timer.Stop()
	}
	facts, end, err := readHello(c.from)
	c.facts = facts
	switch {
	case end != nil:
		return end.fault(nil)
	case errors.Is(err, net.ErrClosed):
		return &fault{kind: wire.Timeout, phase: "connect", err: err, hint: "--connect-timeout TIME waits longer",
			text: "the keep process did not respond within " + limit.String()}
	case err != nil:
		return &fault{kind: wire.Transport, phase: "connect", err: err, text: "the keep process has exited"}
	case facts.Format != heldFormat:
		return &fault{kind: wire.Transport, phase: "connect", text: "the server is kept by another version of mcpc"}
	}
	return nil
}

// readHello reads what a supervisor sends first; end is set where it ends the connection. A
// supervisor killed while a command connected sends nothing: that is ErrGone.
func readHello(r *bufio.Reader) (facts HeldFacts, end *heldEnd, err error) {
	line, err := r.ReadBytes('\n')
	if errors.Is(err, io.EOF) || isReset(err) {
		err = ErrNotHeld
	}
	if err != nil {
		return facts, nil, err
	}
	switch line[0] {
	case markHello:
		err = json.Unmarshal(line[1:], &facts)
	case markOver:
		end = &heldEnd{}
		err = json.Unmarshal(line[1:], end)
	default:
		err = errors.New("not a keep process")
	}
	return facts, end, err
}

// fault is why nothing can come any more.
func (e *heldEnd) fault(err error) *fault {
	switch {
	case e.Kind != "":
		return &fault{kind: e.Kind, phase: "connect", text: e.Text, hint: string(e.Hint), err: err}
	case e.Text != "":
		return &fault{kind: wire.Transport, phase: "read", err: err, text: "the kept server was stopped: " + e.Text,
			process: &wire.ProcessFacts{Stderr: e.Stderr}}
	}
	return processFault(&wire.ProcessFacts{Ended: e.Ended, Stderr: e.Stderr}, err)
}

func (c *heldLine) whyEnded(err error) *fault {
	if c.ended != nil {
		return c.ended.fault(err)
	}
	return &fault{kind: wire.Transport, phase: "read", err: err, process: c.stderr.words(),
		text: "the keep process has exited, and the server with it"}
}

// Read gives the server's standard output, and takes along what else the supervisor says.
func (c *heldLine) Read(b []byte) (int, error) {
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
		c.rest, c.amid = part, err != nil
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// next goes on to the next line of the server's output.
func (c *heldLine) next() error {
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
			c.stderr.add(text)
			c.rec.body(wire.Received, wire.Stderr, 0, []byte(strings.TrimRight(string(text), "\r\n")), nil)
		case markLarge:
			limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return overLimit(limit)
		case markOver:
			c.ended = &heldEnd{}
			_ = json.Unmarshal(text, c.ended)
			return io.EOF
		}
	}
}

// close lets go of the supervisor. One that was started for a session that did not come to
// be ends the server first.
func (c *heldLine) close() {
	c.once.Do(func() {
		if !c.kept && writeMarked(c.conn, markEnd, nil) == nil {
			isWithin(c.gone(), graceForHolder)
		}
		c.Leave()
		c.conn.Close()
		<-c.gone()
	})
}

// graceForHolder is how long a supervisor may take to end its server: a busy machine has
// its time, too, and only one that hangs takes all of it.
const graceForHolder = shutdownTime + 10*time.Second

// lastWords are what came on the server's standard error in this run.
func (c *heldLine) lastWords() *wire.ProcessFacts { return c.stderr.words() }

// keep lets the server live on when the line is closed.
func (c *heldLine) keep() error {
	c.kept = true
	err := writeMarked(c.conn, markKeep, nil)
	if isReset(err) {
		return ErrNotHeld
	}
	return err
}

// lineWriter writes lines for the server.
type lineWriter struct{ net.Conn }

func (w lineWriter) Write(line []byte) (int, error) {
	n, err := w.Conn.Write(append(append(make([]byte, 0, len(line)+1), markLine), line...))
	return max(0, n-1), err
}

// Held is what the supervisor of the server says of itself, where there is one.
func (s *Session) Held() (HeldFacts, bool) {
	if c, ok := s.talk().line().(*heldLine); ok {
		return c.facts, true
	}
	return HeldFacts{}, false
}

// Keep lets the held server live on when the session is closed. The error is
// ErrGone where it has gone already.
func (s *Session) Keep() error {
	if c, ok := s.talk().line().(*heldLine); ok {
		return c.keep()
	}
	return nil
}

// ErrForeign is the error of a socket at which another user listens.
var ErrForeign = errors.New("the socket belongs to another user")

// ErrGone is the error of a socket behind which there is no supervisor any more.
var ErrNotHeld = errors.New("the server is no longer kept")

// DialHeld connects to a supervisor. It is made sure that it belongs to the same user.
func DialHeld(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if errors.Is(err, connRefused) || errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotHeld
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

// LookAtHeld asks a supervisor about itself. That is no use of its server.
func LookAtHeld(ctx context.Context, socket string) (HeldFacts, error) {
	conn, err := DialHeld(ctx, socket)
	if err != nil {
		return HeldFacts{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	facts, end, err := readHello(bufio.NewReader(conn))
	if end != nil {
		return facts, ErrNotHeld
	}
	return facts, err
}

// EndHeld ends a held server and waits for its end, as long as a shutdown may take.
func EndHeld(ctx context.Context, socket string) (HeldFacts, error) {
	conn, err := DialHeld(ctx, socket)
	if err != nil {
		return HeldFacts{}, err
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(ctx, graceForHolder)
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
	heldName = ".sock"
	unborn   = ".new"
)

// listenHeld makes the socket of a supervisor, with mode 0600: no other user can connect.
func listenHeld(socket string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket + unborn, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(socket+unborn, 0o600); err == nil {
		err = os.Rename(socket+unborn, socket)
	}
	if err != nil {
		_ = os.Remove(socket + unborn)
		l.Close()
		return nil, err
	}
	return l, nil
}

// SweepHeld removes the sockets of dead supervisors from a directory, and gives how many
// there were. A living supervisor does not notice: its socket takes no datagrams.
func SweepHeld(dir string) (removed int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type() != fs.ModeSocket || filepath.Ext(e.Name()) != heldName {
			continue
		}
		path := filepath.Join(dir, e.Name())
		conn, err := net.Dial("unixgram", path)
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, connRefused) && os.Remove(path) == nil {
			removed++
		}
	}
	return removed
}
