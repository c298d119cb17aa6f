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

// A Pipe is the stdio transport over any pair of streams: one message per line, in UTF-8, ended by
// LF (basic/transports, "stdio").
type Pipe struct {
	*router
	in      io.Reader
	out     io.WriteCloser
	rec     *Recorder
	maxSize MaxSize
	// endFault returns the fault for the end of the stream; a process knows more than EOF.
	endFault func(error) *Fault
	// isLeaving is set by Leave: this side disconnects and the server continues to run.
	isLeaving atomic.Bool
	// hungUp is set by Close if this side closes the server's input before the server ended.
	hungUp atomic.Bool
	// noise has the lines that are not messages. Only readAll uses it.
	noise stdoutNoise
	// tail has the output after the last line end.
	tail partialLine
	// writing is a semaphore of one: its holder may write a line.
	writing chan struct{}
	spool   spool.Dir
}

// KeepIn sets the directory for large messages until the process ends. Call it before Listen.
func (p *Pipe) KeepIn(dir spool.Dir) { p.spool = dir }

// NewPipe returns a transport over a pair of streams. endFault returns the fault for the end of the
// stream; nil uses a plain text.
func NewPipe(
	in io.Reader, out io.WriteCloser, limit MaxSize, rec *Recorder, to Inbox, endFault func(error) *Fault,
) *Pipe {
	p := &Pipe{
		router:   newRouter(to),
		in:       in,
		out:      out,
		rec:      rec,
		maxSize:  limit,
		writing:  make(chan struct{}, 1),
		endFault: endFault,
	}
	if endFault == nil {
		p.endFault = func(err error) *Fault {
			return &Fault{Kind: wire.Transport, Phase: "read", Text: "the server closed the stream", Err: err}
		}
	}
	return p
}

// Name returns Stdio.
func (p *Pipe) Name() Name { return Stdio }

// Close ends the connection to a server that mcpc did not start: it closes the server's input, and
// stops reading after process.GraceAfterEOF.
func (p *Pipe) Close() {
	select {
	case <-p.done:
	default:
		p.hungUp.Store(true)
	}
	p.out.Close()
	// The server ends its output when its input has ended; a reader that is blocked is closed below.
	pause.Within(p.done, process.GraceAfterEOF)
	if in, ok := p.in.(io.Closer); ok {
		in.Close()
	}
}

// Call writes a request and waits for its response.
func (p *Pipe) Call(ctx context.Context, out *Outgoing) Reply {
	w := p.register(out)
	defer p.unregister(w)
	if r := p.Send(ctx, out); r.Fault != nil {
		return r
	}
	return p.wait(ctx, w)
}

// Send writes one line. If ctx is done, Send returns while the write continues in the background, so
// that a server that does not read cannot block the caller. A line that waits for an earlier write
// is not written then.
func (p *Pipe) Send(ctx context.Context, out *Outgoing) Reply {
	select {
	case p.writing <- struct{}{}:
	case <-p.done:
		return p.endedReply(wire.Unsent)
	case <-ctx.Done():
		return Failed(unsentFault(ctx, wire.Unsent))
	}
	if pause.IsOver(p.done) { // select chooses at random if both are ready
		<-p.writing
		return p.endedReply(wire.Unsent)
	}
	p.rec.RecordSent(pipeStream, out.Raw, out.PreviousID)
	n := 0
	wrote := make(chan error, 1)
	go func() {
		// One write for the line and its end, so that the server never reads a part.
		written, err := p.out.Write(append(append(make([]byte, 0, len(out.Raw)+1), out.Raw...), '\n'))
		n = written
		<-p.writing
		wrote <- err
	}()
	select {
	case err := <-wrote:
		return p.afterWrite(n, err)
	case <-ctx.Done():
		return Failed(unsentFault(ctx, wire.Unknown))
	}
}

// unsentFault returns the fault for a message that was not written completely before ctx was done.
func unsentFault(ctx context.Context, reached wire.Reached) *Fault {
	f := cutFault(ctx, 0, ctx.Err())
	f.Phase = "send"
	f.Reached = reached
	return f
}

// afterWrite returns the reply after writing n bytes. After a failed write it waits a moment for the
// server to end, which explains more. A server may have read a line that was written in part.
func (p *Pipe) afterWrite(n int, err error) Reply {
	if err == nil {
		return Reply{}
	}
	reached := wire.Unsent
	if n > 0 {
		reached = wire.Unknown
	}
	if pause.Within(p.done, time.Second) {
		return p.endedReply(reached)
	}
	return Failed(&Fault{
		Kind: wire.Transport, Phase: "send", Reached: reached,
		Text: "the server does not read its stdin", Err: err,
	})
}

// pipeStream is the Stream of the frames of a pipe: they belong to no HTTP request.
const pipeStream = 0

// Listen starts delivering received messages.
func (p *Pipe) Listen() { go p.readAll() }

// Leave notes that this side is about to disconnect while the server continues to run.
func (p *Pipe) Leave() { p.isLeaving.Store(true) }

// readAll handles lines until the stream ends, or until it is clear that the server does not speak MCP.
// It owns p.in.
func (p *Pipe) readAll() {
	lines := bufio.NewReaderSize(io.TeeReader(p.in, readBytes{p}), 64<<10)
	for {
		line, err := p.readLine(lines)
		if f, ok := errors.AsType[*Fault](err); ok {
			if len(line) > 0 {
				p.rec.RecordBody(wire.Received, wire.Noise, pipeStream, line, nil)
			}
			p.giveUp(f)
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		p.noise.frame.add(line)
		if len(bytes.TrimSpace(line)) > 0 {
			if f := p.handleLine(line); f != nil {
				p.giveUp(f)
				return
			}
		} else if f := p.framedMessage(lines.Buffered()); f != nil { // the message after the empty line
			message, _ := lines.Peek(lines.Buffered())
			p.rec.RecordBody(wire.Received, wire.Noise, pipeStream, bytes.Clone(message), nil)
			p.giveUp(f)
			return
		}
		if err != nil {
			p.finishReading(err)
			return
		}
	}
}

// finishReading records the end of the stream, and ends the requests that still wait. err is the
// error of the last read.
func (p *Pipe) finishReading(err error) {
	f := p.endFault(err)
	endedBy := wire.Received
	text := f.describeEnd()
	if p.hungUp.Load() {
		endedBy = wire.Sent
		if f.Process == nil {
			text = "" // the server ended as it was asked to
		}
	}
	if p.isLeaving.Load() {
		f = &Fault{Kind: wire.Transport, Phase: "read", Text: "mcpc released the kept server", Err: err}
		endedBy = wire.Sent
		text = f.describeEnd()
	}
	p.rec.recordClosed(pipeStream, endedBy, "end", text)
	p.end(f)
}

// giveUp stops reading from a server that does not speak MCP. It closes the stream, so that the
// server does not block while writing.
func (p *Pipe) giveUp(f *Fault) {
	p.rec.recordClosed(pipeStream, wire.Sent, "cancelled", f.Text)
	p.end(f)
	if in, ok := p.in.(io.Closer); ok {
		in.Close()
	}
}

// readLine reads a line within the size limit, with its line end. The caller owns the bytes. The error is
// a *Fault if reading must stop; at the end of the stream the bytes before it come with the error.
func (p *Pipe) readLine(lines *bufio.Reader) ([]byte, error) {
	line := p.spool.New(0) // 0: the size is not known
	for {
		part, err := lines.ReadSlice('\n')
		if _, err := line.Write(part); err != nil {
			return nil, spoolFault(err)
		}
		if p.maxSize.isExceededBy(int(line.Len()) - 1) { // the line end does not count
			return nil, TooLarge(int64(p.maxSize))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		whole, failed := line.Bytes()
		if failed != nil {
			return nil, spoolFault(failed)
		}
		return whole, err
	}
}

// handleLine delivers the messages of one line that is not blank, or reports the line if it has no
// message. It returns a fault if the server does not seem to speak MCP at all.
func (p *Pipe) handleLine(line []byte) *Fault {
	m := wire.ParseMessage(line)
	// cat echoes, and a terminal in between. A request with AcceptsAny accepts its echo as the response.
	isEcho := func(out *Outgoing) bool { return bytes.Equal(out.Raw, line) && !out.AcceptsAny }
	if m.Kind == wire.Request && p.hasWaiter(isEcho) {
		p.rec.RecordBody(wire.Received, wire.Body, pipeStream, line, nil)
		return &Fault{
			Kind: wire.BadResponse, Phase: "read", raw: line,
			Text: "the command echoes its input",
			Hint: "check that it is an MCP server; a terminal in between also echoes: use docker run -i and ssh without -t",
		}
	}
	if m.Kind == wire.Invalid && p.noise.multiline == nil { // a line of a longer value is not split
		if parts := SplitLine(line, p.isResponse); parts != nil {
			p.handleParts(line, parts)
			return nil
		}
	}
	isMessage := m.Kind != wire.Invalid && !m.HasOtherVersion // without "2.0" it may be a line of a log
	if isMessage || p.isIrregularResponse(m) {
		p.noise.multiline = nil
		p.rec.RecordBody(wire.Received, wire.Body, pipeStream, line, nil)
		if HasByteOrderMark(line) {
			p.noteNoise(line)
			p.inbox.Repeated(wire.Finding{Rule: "bom", Severity: wire.Warning, Text: byteOrderMarkText}, byteOrderMarkSummary)
		}
		p.deliver(m)
		return nil
	}
	p.rec.RecordBody(wire.Received, wire.Noise, pipeStream, line, nil)
	return p.handleNonMessage(m)
}

// handleParts delivers the messages of a line with several parts. It records each part, so that the
// messages can be found in the recording, and all of them before any response is sent.
func (p *Pipe) handleParts(line []byte, parts []LinePart) {
	p.noteNoise(line)
	p.reportParts(parts)
	for _, part := range parts {
		kind := wire.Body
		if part.Message == nil {
			kind = wire.Noise
		}
		p.rec.RecordBody(wire.Received, kind, pipeStream, part.Raw, nil)
	}
	for _, part := range parts {
		if part.Message != nil {
			p.deliver(part.Message)
		}
	}
}

// isResponse reports whether m is a response to an open request, also a broken one.
func (p *Pipe) isResponse(m *wire.Message) bool {
	const isWhole = false // the next line may continue it
	return p.hasWaiter(func(out *Outgoing) bool {
		return m.IsResponseTo(out.ID) || isBrokenResponse(m, out.ID, isWhole)
	})
}

// isIrregularResponse reports whether m answers an open request although it is not a message of JSON-RPC 2.0.
func (p *Pipe) isIrregularResponse(m *wire.Message) bool {
	const isWhole = false // the next line may continue it
	return p.hasWaiter(func(out *Outgoing) bool {
		hasOtherVersion := m.HasOtherVersion && m.IsResponseTo(out.ID)
		isAccepted := out.AcceptsAny && isJSON(m.Raw)
		return hasOtherVersion || isAccepted || isBrokenResponse(m, out.ID, isWhole)
	})
}
