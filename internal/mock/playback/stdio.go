package playback

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// MaxMessage is how many bytes a message of a client may have.
const MaxMessage = 64 << 20

// Stdio plays to one client over a pipe, one message per line, until in ends or ctx is done. The error is that
// of reading.
func (p *Player) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	var writing sync.Mutex
	write := func(raw []byte) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = out.Write(append(jsonraw.OneLine(raw), '\n')) // a client that has gone ends in as well
	}
	s := newSession(ctx, "", write)
	pipe := &pipe{p: p, s: s, write: write}
	defer pipe.running.Wait()
	defer s.end()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			pipe.take(ctx, wire.ParseMessage(line))
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
	}
}

// readLine reads one line of at most MaxMessage bytes.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > MaxMessage {
			return nil, fmt.Errorf("a line is longer than %d bytes", MaxMessage)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// A pipe is the client of Stdio.
type pipe struct {
	p       *Player
	s       *session
	write   func([]byte)
	running sync.WaitGroup
}

func (q *pipe) take(ctx context.Context, m *wire.Message) {
	switch m.Kind {
	case wire.Batch:
		for _, item := range m.Items {
			q.take(ctx, item)
		}
	case wire.Request:
		q.request(ctx, m)
	case wire.Notification:
		q.s.told(m)
		if m.Method == "notifications/initialized" && q.p.o.Eras.Sessions() {
			q.p.sendApart(q.p.after[-1], q.s.client())
		}
	case wire.Response, wire.ErrorResponse:
		q.s.answered(m)
	default:
		q.write(wire.ComposeError(m.ID, -32600, "Invalid Request"))
	}
}

// client is who sent a message: in the modern era each says so itself.
func (q *pipe) client(m *wire.Message) client {
	if q.p.o.Eras.Stateless() && isModern(m) {
		c := modernClient(m)
		c.over = q.s.over.Done()
		return c
	}
	return q.s.client()
}

func (q *pipe) request(ctx context.Context, m *wire.Message) {
	c := q.client(m)
	if failed := q.p.refusal(c, m); failed != nil {
		q.write(composeError(m.ID, failed))
		return
	}
	todo := q.p.prepare(c, m)
	run := func(ctx context.Context) {
		if reply := todo.run(ctx, q.write); reply != nil {
			q.write(reply)
		}
		if todo.after != nil {
			todo.after()
		}
	}
	if !todo.waits {
		run(ctx)
		return
	}
	ctx, done := q.s.begin(ctx, m.ID)
	q.running.Go(func() {
		defer done()
		run(ctx)
	})
}
