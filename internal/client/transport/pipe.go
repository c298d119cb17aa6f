package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"mcpc/internal/client/process"
	"mcpc/internal/pause"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// Pipe is the framing of stdio on any pair of streams: one message a line, in
// UTF-8, ended by LF (basic/transports, "stdio").
type Pipe struct {
	*router
	in      io.Reader
	out     io.WriteCloser
	rec     *Recorder
	maxSize MaxSize
	// why names the fault when the line ends; a process knows more than EOF.
	why func(error) *Fault
	// left is set where this side hung up, and the other end goes on.
	left atomic.Bool
	// hungUp is set where this side closed the other one's input before that ended.
	hungUp atomic.Bool
	// noise are the lines that were no messages. It belongs to readAll.
	noise stdoutNoise
	// tail is what came behind the last line end.
	tail partialLine
	// writing is a semaphore of one: its holder may write a line.
	writing chan struct{}
	spool   spool.Dir
}

// KeepIn has large messages kept in files in that folder until the process ends. It is called
// before Listen.
func (p *Pipe) KeepIn(dir spool.Dir) { p.spool = dir }

// NewPipe makes a line on a pair of streams. When it ends, why gives the fault; nil is for
// one that only says so.
func NewPipe(in io.Reader, out io.WriteCloser, limit MaxSize, rec *Recorder, to Inbox, why func(error) *Fault) *Pipe {
	p := &Pipe{
		router:  newRouter(to),
		in:      in,
		out:     out,
		rec:     rec,
		maxSize: limit,
		writing: make(chan struct{}, 1),
		why:     why,
	}
	if why == nil {
		p.why = func(err error) *Fault {
			return &Fault{Kind: wire.Transport, Phase: "read", Text: "the server closed the stream", Err: err}
		}
	}
	return p
}

func (p *Pipe) Name() Name { return Stdio }

// Close ends a server without a process: it is asked by the end of its input,
// and after a while no longer listened to.
func (p *Pipe) Close() {
	select {
	case <-p.done:
	default:
		p.hungUp.Store(true)
	}
	p.out.Close()
	pause.Within(p.done, process.GraceAfterEOF)
	if in, ok := p.in.(io.Closer); ok {
		in.Close()
	}
}

func (p *Pipe) Call(ctx context.Context, out *Outgoing) Reply {
	w := p.expect(out)
	defer p.forget(w)
	if r := p.Send(ctx, out); r.Fault != nil {
		return r
	}
	return p.wait(ctx, w)
}

// Send writes one line. A server that has stopped reading must not hold the
// caller for ever, so the write is left behind when ctx is done; what waits for
// its turn then is not written at all.
func (p *Pipe) Send(ctx context.Context, out *Outgoing) Reply {
	select {
	case p.writing <- struct{}{}:
	case <-p.done:
		return p.overFault(wire.Unsent)
	case <-ctx.Done():
		return Failed(notTaken(ctx, wire.Unsent))
	}
	if pause.IsOver(p.done) {
		<-p.writing
		return p.overFault(wire.Unsent)
	}
	p.rec.Sent(0, out.Raw, out.Again)
	n := 0
	wrote := make(chan error, 1)
	go func() {
		written, err := p.out.Write(append(append(make([]byte, 0, len(out.Raw)+1), out.Raw...), '\n'))
		n = written
		<-p.writing
		wrote <- err
	}()
	select {
	case err := <-wrote:
		return p.afterWrite(n, err)
	case <-ctx.Done():
		return Failed(notTaken(ctx, wire.Unknown))
	}
}

func notTaken(ctx context.Context, reached wire.Reached) *Fault {
	f := cutFault(ctx, 0, ctx.Err())
	f.Phase = "send"
	f.Reached = reached
	return f
}

// afterWrite gives a server that closed its input a moment to say why. A line
// of which a part was written may have been read.
func (p *Pipe) afterWrite(n int, err error) Reply {
	if err == nil {
		return Reply{}
	}
	reached := wire.Unsent
	if n > 0 {
		reached = wire.Unknown
	}
	if pause.Within(p.done, time.Second) {
		return p.overFault(reached)
	}
	return Failed(&Fault{Kind: wire.Transport, Phase: "send", Reached: reached,
		Text: "the server does not read its stdin", Err: err})
}

// Listen begins to deliver what comes.
func (p *Pipe) Listen() { go p.readAll() }

// Leave notes that this side is about to hang up, and that the server lives on.
func (p *Pipe) Leave() { p.left.Store(true) }

// readAll takes lines until the stream ends. It owns p.in.
func (p *Pipe) readAll() {
	lines := bufio.NewReaderSize(io.TeeReader(p.in, readBytes{p}), 64<<10)
	for {
		line, err := p.readLine(lines)
		if f, ok := errors.AsType[*Fault](err); ok {
			if len(line) > 0 {
				p.rec.Body(wire.Received, wire.Noise, 0, line, nil)
			}
			p.giveUp(f)
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		p.noise.frame.add(line)
		if len(bytes.TrimSpace(line)) > 0 {
			if f := p.take(line); f != nil {
				p.giveUp(f)
				return
			}
		} else if f := p.framedMessage(lines.Buffered()); f != nil {
			message, _ := lines.Peek(lines.Buffered())
			p.rec.Body(wire.Received, wire.Noise, 0, bytes.Clone(message), nil)
			p.giveUp(f)
			return
		}
		if err != nil {
			by := wire.Received
			if p.hungUp.Load() {
				by = wire.Sent
			}
			f := p.why(err)
			text := f.event()
			if by == wire.Sent && f.Process == nil {
				text = "" // the server only did as it was asked
			}
			if p.left.Load() {
				f = &Fault{Kind: wire.Transport, Phase: "read", Text: "mcpc released the kept server", Err: err}
				by = wire.Sent
				text = f.event()
			}
			p.rec.closed(0, by, "end", text)
			p.over(f)
			return
		}
	}
}

// giveUp stops listening to a server that does not speak MCP, and lets it know:
// it would wait for ever to get rid of its words.
func (p *Pipe) giveUp(f *Fault) {
	p.rec.closed(0, wire.Sent, "cancelled", f.Text)
	p.over(f)
	if in, ok := p.in.(io.Closer); ok {
		in.Close()
	}
}

// readLine reads a line of any length within the limit; its bytes are owned by
// the caller.
func (p *Pipe) readLine(lines *bufio.Reader) ([]byte, error) {
	line := p.spool.New(0)
	for {
		part, err := lines.ReadSlice('\n')
		if _, err := line.Write(part); err != nil {
			return nil, notKept(err)
		}
		if p.maxSize.isExceededBy(int(line.Len()) - 1) {
			return nil, TooLarge(int64(p.maxSize))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		whole, failed := line.Bytes()
		if failed != nil {
			return nil, notKept(failed)
		}
		return whole, err
	}
}

// take looks at one line.
func (p *Pipe) take(line []byte) *Fault {
	m := wire.ParseMessage(line)
	// As from cat or from a terminal in between. A request with AnyReply takes its echo as its answer.
	isEcho := func(out *Outgoing) bool { return bytes.Equal(out.Raw, line) && !out.AnyReply }
	if m.Kind == wire.Request && p.isWaiting(isEcho) {
		p.rec.Body(wire.Received, wire.Body, 0, line, nil)
		return &Fault{Kind: wire.BadResponse, Phase: "read", raw: line,
			Text: "the command echoes its input",
			Hint: "check that it is an MCP server; a terminal in between also echoes: use docker run -i and ssh without -t"}
	}
	if m.Kind == wire.Invalid && p.noise.multiline == nil {
		if parts := SplitLine(line, p.isAnswer); parts != nil {
			p.takeParts(line, parts)
			return nil
		}
	}
	if m.Kind != wire.Invalid && !m.OtherVersion || p.isAwaited(m) {
		p.noise.multiline = nil
		p.rec.Body(wire.Received, wire.Body, 0, line, nil)
		if HasByteOrderMark(line) {
			p.ignore(line)
			p.inbox.Repeated(wire.Finding{Rule: "bom", Level: wire.Warning, Text: byteOrderMarkText}, byteOrderMarkSummary)
		}
		p.deliver(m)
		return nil
	}
	p.rec.Body(wire.Received, wire.Noise, 0, line, nil)
	return p.handleNonMessage(m)
}

// takeParts takes a line with messages that a line end should separate from each other or
// from text. It records the line as its parts, so that the messages can be found.
func (p *Pipe) takeParts(line []byte, parts []LinePart) {
	p.ignore(line)
	p.reportParts(parts)
	for _, part := range parts {
		kind := wire.Body
		if part.Message == nil {
			kind = wire.Noise
		}
		p.rec.Body(wire.Received, kind, 0, part.Raw, nil)
	}
	for _, part := range parts {
		if part.Message != nil {
			p.deliver(part.Message)
		}
	}
}

// isAnswer reports a response to an open request, also a broken one.
func (p *Pipe) isAnswer(m *wire.Message) bool {
	return p.isWaiting(func(out *Outgoing) bool { return m.Answers(out.ID) || claims(m, out.ID, false) })
}

// isAwaited reports JSON that is not a message of JSON-RPC 2.0 and still answers an open request.
func (p *Pipe) isAwaited(m *wire.Message) bool {
	return p.isWaiting(func(out *Outgoing) bool {
		return claims(m, out.ID, false) || m.OtherVersion && m.Answers(out.ID) || out.AnyReply && isJSON(m.Raw)
	})
}
