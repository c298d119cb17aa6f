package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// maxNoise is how many lines that are no messages a server may write before
// mcpc stops believing that it speaks MCP at all.
const maxNoise = 1000

// pipe is the framing of stdio on any pair of streams: one message a line, in
// UTF-8, ended by LF (basic/transports, "stdio").
type pipe struct {
	*router
	in     io.Reader
	out    io.WriteCloser
	rec    *recorder
	limits Limits
	// notice is told of what is wrong and can be lived with.
	notice func(string)
	noise  int
	// why names the fault when the line ends; a process knows more than EOF.
	why func(error) *fault

	writing sync.Mutex
}

func newPipe(in io.Reader, out io.WriteCloser, limits Limits, rec *recorder, to inbox, notice func(string)) *pipe {
	p := &pipe{router: newRouter(to), in: in, out: out, rec: rec, limits: limits, notice: notice}
	p.why = func(err error) *fault {
		return &fault{kind: wire.Transport, phase: "read", text: "the server ended the stream", err: err}
	}
	return p
}

func (p *pipe) name() TransportName { return Stdio }

func (p *pipe) end(context.Context, *outgoing) {}

func (p *pipe) close() {
	p.out.Close()
	select {
	case <-p.done:
	case <-time.After(graceAfterEOF):
	}
}

func (p *pipe) call(ctx context.Context, out *outgoing) reply {
	w := p.expect(out)
	defer p.forget(w)
	if r := p.send(ctx, out); r.fault != nil {
		return r
	}
	return p.wait(ctx, w)
}

// send writes one line. A server that has stopped reading must not hold the
// caller for ever, so the write is left behind when ctx is done.
func (p *pipe) send(ctx context.Context, out *outgoing) reply {
	if p.isEnded() {
		f := *p.ended
		return failed(&f)
	}
	p.rec.body(wire.Sent, wire.Body, 0, out.raw, nil)
	wrote := make(chan error, 1)
	go func() { wrote <- p.writeLine(out.raw) }()
	select {
	case err := <-wrote:
		return p.afterWrite(err)
	case <-ctx.Done():
		return failed(cutFault(ctx, 0, ctx.Err()))
	}
}

func (p *pipe) writeLine(raw []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.out.Write(append(append(make([]byte, 0, len(raw)+1), raw...), '\n'))
	return err
}

// afterWrite gives a server that closed its input a moment to say why.
func (p *pipe) afterWrite(err error) reply {
	if err == nil {
		return reply{}
	}
	select {
	case <-p.done:
		f := *p.ended
		return failed(&f)
	case <-time.After(time.Second):
	}
	return failed(&fault{kind: wire.Transport, phase: "send", reached: wire.Unknown,
		text: "the server does not read its standard input", err: err})
}

// readAll takes lines until the stream ends. It owns p.in.
func (p *pipe) readAll() {
	lines := bufio.NewReaderSize(p.in, 64<<10)
	for {
		line, err := p.readLine(lines)
		if f := (*fault)(nil); errors.As(err, &f) {
			p.router.end(f)
			return
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if f := p.take(bytes.TrimRight(line, "\r\n")); f != nil {
				p.router.end(f)
				return
			}
		}
		if err != nil {
			f := p.why(err)
			p.rec.closed(0, wire.Received, "end", f.text)
			p.router.end(f)
			return
		}
	}
}

// readLine reads a line of any length within the limit; its bytes are owned by
// the caller.
func (p *pipe) readLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		if p.limits.tooLarge(len(line) - 1) {
			return nil, overLimit(p.limits.Message)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take looks at one line. What is no JSON is noise: servers print banners to
// their standard output, which is their fault and no reason to stop.
func (p *pipe) take(line []byte) *fault {
	m := wire.ParseMessage(line)
	if m.Kind != wire.Invalid || isJSON(line) {
		p.rec.body(wire.Received, wire.Body, 0, line, nil)
		p.deliver(m)
		return nil
	}
	p.rec.body(wire.Received, wire.Noise, 0, line, nil)
	if p.noise++; p.noise == 1 {
		p.notice(fmt.Sprintf("the server wrote a line to standard output that is no message, and it was skipped: %q", wire.Excerpt(line, 80)))
	}
	if p.noise > maxNoise {
		return &fault{kind: wire.BadResponse, phase: "read", reached: wire.Unknown, raw: line,
			text: fmt.Sprintf("the server wrote more than %d lines that are no messages", maxNoise)}
	}
	return nil
}
