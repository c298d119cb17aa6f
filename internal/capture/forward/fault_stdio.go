package forward

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture/fault"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A Pipe is a faulty link on stdio: it passes lines on between a client and a server, by the
// rules. Lines that no rule is about pass unchanged.
type Pipe struct {
	Faults  *fault.Set
	Watcher *Watcher
	// Target is the server as filters name it.
	Target string
	// ToClient and ToServer take what is passed on.
	ToClient, ToServer io.Writer
	// End ends the server: of cut and kill child.
	End func()
	// Context ends the wait for what comes later.
	Context context.Context

	// mu guards fired: the decisions about requests that wait for their response, by id.
	mu    sync.Mutex
	fired map[string]*fault.Decision

	// in guards what is written to the server, out what is written to the client, and what
	// follows: a response that comes slowly holds up those behind it.
	in, out sync.Mutex
	behind  heldBack
	silent  bool

	// late are the lines for the client that come later, until ctx is done.
	late sync.WaitGroup
	ctx  context.Context
}

// reorderTime is how long a line waits for others.
const reorderTime = 2 * time.Second

// Sent passes on what a client writes, up to its end.
func (p *Pipe) Sent(from io.Reader) error { return p.lines(from, p.sent) }

// Received passes on what a server writes, up to its end, and what of it comes later unless the
// client is gone.
func (p *Pipe) Received(from io.Reader) error {
	ctx, over := context.WithCancel(p.Context)
	defer over()
	p.ctx = ctx
	err := p.lines(from, p.received)
	if err == nil {
		err = p.release()
	}
	if err != nil {
		over()
	}
	p.late.Wait()
	return err
}

// lines gives take each line with its end. One that is too long to be recorded is passed in
// pieces and not judged.
func (p *Pipe) lines(from io.Reader, take func(line []byte, whole bool) error) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for whole := true; ; {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		more := errors.Is(err, bufio.ErrBufferFull)
		if more && len(line) < mostMessage {
			continue
		}
		whole = whole && err == nil
		if len(line) > 0 {
			if failed := take(line, whole); failed != nil {
				return failed
			}
		}
		line, whole = nil, !more
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !more:
			return err
		}
	}
}

// judged is the message of a line about which rules can decide; nil where there is none.
func (p *Pipe) judged(line []byte, whole bool) *wire.Message {
	p.mu.Lock()
	waits := len(p.fired) > 0
	p.mu.Unlock()
	if !whole || !p.Faults.Active() && !waits {
		return nil
	}
	m := wire.ParseMessage(bytes.TrimRight(line, "\r\n"))
	if m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return nil
	}
	return m
}

func (p *Pipe) sent(line []byte, whole bool) error {
	m := p.judged(line, whole)
	if m == nil {
		return p.server(line)
	}
	d := p.Faults.Decide(fault.Crossing{Row: p.Faults.Live.Row(p.Target, "", wire.Sent, nil, m), Message: m})
	if d == nil {
		return p.server(line)
	}
	switch {
	case d.Name == "rpc", d.Name == "tool-error":
		p.note(d, wire.Received, "")
		_ = p.client(append(d.Response(), '\n')) // a client that reads no more is told so by its own end of the pipe
		return nil
	case d.Name == "drop request", d.Name == "drop notification":
		p.note(d, wire.Sent, "")
		return nil
	case d.Name == "kill child":
		p.note(d, wire.Sent, "")
		p.End()
		return nil
	case d.OfRequest:
		is, text := d.Request(m.Raw)
		p.note(d, wire.Sent, text)
		return p.server(slices.Concat(is, line[len(m.Raw):]))
	case m.Kind != wire.Request && d.Name == "delay":
		p.note(d, wire.Sent, "")
		go func() {
			if pause.For(p.Context, d.Wait) == nil {
				_ = p.server(line)
			}
		}()
		return nil
	case m.Kind == wire.Request:
		p.mu.Lock()
		if p.fired == nil || len(p.fired) > mostKeys {
			p.fired = map[string]*fault.Decision{}
		}
		p.fired[m.Traits().ID] = d
		p.mu.Unlock()
		if d.Name == "hang" {
			p.note(d, wire.Received, "")
			p.silence()
		}
	}
	return p.server(line)
}

func (p *Pipe) received(line []byte, whole bool) error {
	m := p.judged(line, whole)
	if m == nil {
		return p.client(line)
	}
	d := p.waiting(m)
	switch {
	case d != nil && m.Method != "": // the stream of list-changed has begun
		p.note(d, wire.Received, "")
		return p.client(line, append(d.ListChanged(), '\n'))
	case d != nil:
		p.Faults.Live.Answered(d.Row, "", m)
	case m.Method != "":
		d = p.Faults.Decide(fault.Crossing{Row: p.Faults.Live.Row(p.Target, "", wire.Received, nil, m), Message: m})
	}
	if d == nil {
		return p.client(line)
	}
	return p.deliver(d, line)
}

// waiting is the rule for the request that a message answers, or, of list-changed, for the
// subscription that it names; nil where there is none.
func (p *Pipe) waiting(m *wire.Message) *fault.Decision {
	t := m.Traits()
	p.mu.Lock()
	defer p.mu.Unlock()
	id := t.ID
	if m.Method != "" {
		id = t.Subscription
	}
	d := p.fired[id]
	if d == nil || id == "" || m.Method != "" && d.Name != "list-changed" {
		return nil
	}
	delete(p.fired, id)
	return d
}

// deliver passes on a message for the client as a rule has it.
func (p *Pipe) deliver(d *fault.Decision, line []byte) error {
	raw := bytes.TrimRight(line, "\r\n")
	out, done := d.Message(raw)
	switch pace := d.Pace(); {
	case d.Name == "hang":
		return nil
	case d.Name == "delay":
		p.note(d, wire.Received, "")
		p.late.Go(func() {
			if pause.For(p.ctx, d.Wait) == nil {
				_ = p.client(line)
			}
		})
		return nil
	case d.Name == "reorder":
		p.note(d, wire.Received, "")
		p.out.Lock()
		p.behind = append(p.behind, heldMessage{line, d.N})
		p.out.Unlock()
		go func() {
			if pause.For(p.ctx, reorderTime) == nil {
				_ = p.release()
			}
		}()
		return nil
	case pace.Size > 0:
		p.note(d, wire.Received, "")
		return p.slowly(pace, line)
	case d.Name == "cut":
		p.note(d, wire.Received, "")
		err := p.client(line[:min(len(line), int(d.N))])
		p.silence()
		p.End()
		return err
	case !done:
		p.note(d, wire.Received, "nothing was changed")
		return p.client(line)
	}
	p.note(d, wire.Received, "")
	for i := range out {
		out[i] = slices.Concat(out[i], line[len(raw):])
	}
	return p.client(out...)
}

// slowly writes a line by and by; what comes behind it waits.
func (p *Pipe) slowly(pace fault.Pace, line []byte) error {
	p.out.Lock()
	defer p.out.Unlock()
	for at := 0; at < len(line); {
		piece := line[at:min(len(line), at+pace.Size)]
		if err := p.write(piece); err != nil {
			return err
		}
		at += len(piece)
		if at < len(line) {
			_ = pause.For(p.ctx, pace.Wait)
		}
		if pace.Once {
			pace.Size = len(line)
		}
	}
	return nil
}

// client writes lines to the client, and behind each those that have waited for it.
func (p *Pipe) client(lines ...[]byte) error {
	p.out.Lock()
	defer p.out.Unlock()
	for _, line := range lines {
		if err := p.write(slices.Concat(line, p.behind.passed())); err != nil {
			return err
		}
	}
	return nil
}

// release writes the lines that still wait for others.
func (p *Pipe) release() error {
	p.out.Lock()
	defer p.out.Unlock()
	return p.write(p.behind.all())
}

// write is called with out locked.
func (p *Pipe) write(b []byte) error {
	if p.silent || len(b) == 0 {
		return nil
	}
	_, err := p.ToClient.Write(b)
	return err
}

// silence lets nothing pass to the client any more.
func (p *Pipe) silence() {
	p.out.Lock()
	defer p.out.Unlock()
	p.silent = true
}

func (p *Pipe) server(line []byte) error {
	p.in.Lock()
	defer p.in.Unlock()
	_, err := p.ToServer.Write(line)
	return err
}

// note tells the Watcher what a rule did, in its turn.
func (p *Pipe) note(d *fault.Decision, dir wire.Direction, text string) {
	facts := d.Facts
	facts.Text = text
	w := p.Watcher
	w.do(func() { w.frame(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts}) })
}
