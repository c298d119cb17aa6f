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
		} else if len(line) > 0 { // blank lines are ignored
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

// readLine reads one line of at most maxMessage bytes, with its line end. The last line may come with
// io.EOF.
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
func (p *pipe) handle(ctx context.Context, m *wire.Message) {
	switch m.Kind {
	case wire.Batch:
		for _, item := range m.Items {
			p.handle(ctx, item)
		}
	case wire.Request:
		p.answerRequest(ctx, m)
	case wire.Notification:
		p.session.applyCancellation(m)
		if p.Eras.HasSessions() { // without sessions, a client sends no other notification than a cancellation
			p.h.Notified(p.session.Caller(), m)
		}
	case wire.Response, wire.ErrorResponse:
		p.session.Deliver(m)
	default:
		p.write(wire.ComposeError(m.ID, -32600, "Invalid Request"))
	}
}

// answerRequest answers one request, in its own goroutine if the job waits.
func (p *pipe) answerRequest(ctx context.Context, m *wire.Message) {
	c := p.session.Caller()
	if p.Eras.HasStateless() && standsAlone(m) {
		c = statelessCaller(m)
		c.Over = p.session.ctx.Done()
	}
	if failed := p.checkCaller(c, m); failed != nil {
		p.write(ComposeError(m.ID, failed))
		return
	}
	job := p.h.Prepare(c, m)
	run := func(ctx context.Context) {
		if reply := job.Run(ctx, p.write); reply != nil {
			p.write(reply)
		}
		if job.After != nil {
			job.After()
		}
	}
	if !job.MayWait {
		run(ctx)
		return
	}
	ctx, endRequest := p.session.trackRequest(ctx, m.ID)
	p.running.Go(func() {
		defer endRequest()
		run(ctx)
	})
}
