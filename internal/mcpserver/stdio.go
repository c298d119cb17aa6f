package mcpserver

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

// maxMessage limits the bytes of a client's message.
const maxMessage = 64 << 20

// Stdio serves one client over a pipe, one message per line, until in ends or ctx is done. It
// returns the error of reading.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	var writing sync.Mutex
	write := func(raw []byte) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = out.Write(append(jsonraw.OneLine(raw), '\n')) // a client that exits closes in as well
	}
	pipe := &pipe{Server: s, session: NewSession(ctx, "", write), write: write}
	defer pipe.running.Wait()
	defer pipe.session.End()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		line = bytes.TrimSpace(line)
		if jsonraw.Valid(line) == nil {
			pipe.handle(ctx, wire.ParseMessage(line))
		} else if len(line) > 0 {
			write(wire.ComposeError(nil, -32700, "Parse error"))
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
	}
}

// readLine reads one line of at most maxMessage bytes.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxMessage)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// A pipe is the client of Stdio.
type pipe struct {
	*Server
	session *Session
	write   func([]byte)
	running sync.WaitGroup
}

// handle answers one message, or each message of a batch.
func (q *pipe) handle(ctx context.Context, m *wire.Message) {
	switch m.Kind {
	case wire.Batch:
		for _, item := range m.Items {
			q.handle(ctx, item)
		}
	case wire.Request:
		q.answerRequest(ctx, m)
	case wire.Notification:
		q.session.applyCancellation(m)
		if q.Eras.HasSessions() {
			q.h.Notified(q.session.Caller(), m)
		}
	case wire.Response, wire.ErrorResponse:
		q.session.Deliver(m)
	default:
		q.write(wire.ComposeError(m.ID, -32600, "Invalid Request"))
	}
}

// answerRequest answers one request, in its own goroutine if the job waits.
func (q *pipe) answerRequest(ctx context.Context, m *wire.Message) {
	c := q.session.Caller()
	if q.Eras.HasStateless() && standsAlone(m) {
		c = statelessCaller(m)
		c.Over = q.session.ctx.Done()
	}
	if failed := q.checkCaller(c, m); failed != nil {
		q.write(ComposeError(m.ID, failed))
		return
	}
	job := q.h.Prepare(c, m)
	run := func(ctx context.Context) {
		if reply := job.Run(ctx, q.write); reply != nil {
			q.write(reply)
		}
		if job.After != nil {
			job.After()
		}
	}
	if !job.MayWait {
		run(ctx)
		return
	}
	ctx, done := q.session.trackRequest(ctx, m.ID)
	q.running.Go(func() {
		defer done()
		run(ctx)
	})
}
