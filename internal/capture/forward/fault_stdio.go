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

	// late are the lines that come later.
	late sync.WaitGroup

	// mu guards what follows.
	mu sync.Mutex
	// over is set when no more lines can be late.
	over bool
	// fired are the decisions about requests that wait for their response, by id.
	fired   map[string]*fault.Decision
	started []waitingLine
	// out and in guard the two writers: a response that comes slowly holds up those behind it.
	out, in sync.Mutex
	silent  bool
}

// A waitingLine is to come behind others.
type waitingLine struct {
	line  []byte
	after int64
}

// reorderTime is how long a line waits for others.
const reorderTime = 2 * time.Second

// finish waits for the lines that come later, and returns once all have come.
func (p *Pipe) finish() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.late.Wait()
}

// Sent passes on what a client writes, up to its end.
func (p *Pipe) Sent(from io.Reader) error { return p.lines(from, p.sent) }

// Received passes on what a server writes, up to its end, and what of it comes later.
func (p *Pipe) Received(from io.Reader) error {
	err := p.lines(from, p.received)
	p.release(true)
	p.finish()
	return err
}

// lines gives take each line with its end. One that is too long to be recorded is passed in
// pieces and not judged.
func (p *Pipe) lines(from io.Reader, take func(line []byte, whole bool) error) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	whole := true
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(line) < mostMessage {
				continue
			}
			whole = false
		}
		if len(line) > 0 {
			if failed := take(line, whole && err == nil); failed != nil {
				return failed
			}
		}
		line = nil
		if err == nil {
			whole = true
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// judged is the message of a line about which rules can decide; nil where there is none.
func (p *Pipe) judged(line []byte, whole bool) *wire.Message {
	if !whole || !p.Faults.Active() && !p.waits() {
		return nil
	}
	m := wire.ParseMessage(bytes.TrimRight(line, "\r\n"))
	if m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return nil
	}
	return m
}

func (p *Pipe) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.fired) > 0
}

func (p *Pipe) sent(line []byte, whole bool) error {
	m := p.judged(line, whole)
	if m == nil {
		return p.write(&p.in, p.ToServer, line)
	}
	row := p.Faults.Live.Row(p.Target, "", wire.Sent, nil, m)
	d := p.Faults.Decide(fault.Crossing{Row: row, Message: m})
	if d == nil {
		return p.write(&p.in, p.ToServer, line)
	}
	if message, ok := d.Responds(); ok {
		p.note(d, wire.Received, "")
		return ignored(p.client(append(message, '\n')))
	}
	switch {
	case d.Name == "drop request", d.Name == "drop notification":
		p.note(d, wire.Sent, "")
		return nil
	case d.Name == "kill child":
		p.note(d, wire.Sent, "")
		p.End()
		return nil
	case d.Name == "replace" && d.OfRequest:
		text := ""
		is := d.Request(m.Raw)
		if bytes.Equal(is, m.Raw) {
			text = "nothing to replace"
		}
		p.note(d, wire.Sent, text)
		return p.write(&p.in, p.ToServer, append(bytes.Clone(is), line[len(bytes.TrimRight(line, "\r\n")):]...))
	case m.Kind != wire.Request && d.Name == "delay":
		p.note(d, wire.Sent, "")
		p.later(d.Wait, func() { _ = p.write(&p.in, p.ToServer, line) })
		return nil
	case m.Kind == wire.Request:
		p.mu.Lock()
		if p.fired == nil || len(p.fired) > mostKeys {
			p.fired = map[string]*fault.Decision{}
		}
		p.fired[idOf(m)] = d
		p.mu.Unlock()
		if d.Name == "hang" {
			p.note(d, wire.Received, "")
			p.silence()
		}
	}
	return p.write(&p.in, p.ToServer, line)
}

// ignored: a client that reads no more is told so by its own end of the pipe.
func ignored(error) error { return nil }

func idOf(m *wire.Message) string { return m.Traits().ID }

// later does something after a while.
func (p *Pipe) later(wait time.Duration, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.late.Go(func() {
		_ = fault.Wait(context.Background(), wait)
		do()
	})
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
		if err := p.client(line); err != nil {
			return err
		}
		return p.client(append(d.ListChanged(), '\n'))
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
	switch d.Name {
	case "hang":
		return nil
	case "delay":
		p.note(d, wire.Received, "")
		p.later(d.Wait, func() { _ = p.client(line) })
		return nil
	case "reorder":
		p.note(d, wire.Received, "")
		p.mu.Lock()
		p.started = append(p.started, waitingLine{bytes.Clone(line), d.N})
		p.mu.Unlock()
		p.later(reorderTime, func() { p.release(true) })
		return nil
	case "throttle", "slow-loris", "stall":
		p.note(d, wire.Received, "")
		return p.slowly(d, line)
	case "cut":
		p.note(d, wire.Received, "")
		err := p.client(line[:min(len(line), int(d.N))])
		p.silence()
		p.End()
		return err
	}
	raw := bytes.TrimRight(line, "\r\n")
	out, done := d.Message(raw)
	if !done {
		p.note(d, wire.Received, "nothing was changed")
		return p.client(line)
	}
	p.note(d, wire.Received, "")
	for _, message := range out {
		if err := p.client(slices.Concat(message, line[len(raw):])); err != nil {
			return err
		}
	}
	return nil
}

// slowly writes a line by and by; what comes behind it waits.
func (p *Pipe) slowly(d *fault.Decision, line []byte) error {
	size, wait := 1, d.Wait
	switch d.Name {
	case "throttle":
		size = max(1, int(d.N)/20)
		wait = time.Duration(size) * time.Second / time.Duration(d.N)
	case "stall":
		size = len(line)/2 + 1
	}
	p.out.Lock()
	defer p.out.Unlock()
	for piece := range slices.Chunk(line, size) {
		if p.silent {
			return nil
		}
		if _, err := p.ToClient.Write(piece); err != nil {
			return err
		}
		_ = fault.Wait(context.Background(), wait)
	}
	return nil
}

// client writes a line to the client, and behind it those that have waited for it.
func (p *Pipe) client(line []byte) error {
	if err := p.write(&p.out, p.ToClient, line); err != nil {
		return err
	}
	p.release(false)
	return nil
}

// release writes the lines that have waited long enough, or all.
func (p *Pipe) release(all bool) {
	p.mu.Lock()
	var ready [][]byte
	p.started = slices.DeleteFunc(p.started, func(l waitingLine) bool { return l.after < 0 })
	for i := range p.started {
		if p.started[i].after--; p.started[i].after <= 0 || all {
			ready = append(ready, p.started[i].line)
			p.started[i].after = -1
		}
	}
	p.mu.Unlock()
	for _, line := range ready {
		_ = p.write(&p.out, p.ToClient, line)
	}
}

// silence lets nothing pass to the client any more.
func (p *Pipe) silence() {
	p.out.Lock()
	defer p.out.Unlock()
	p.silent = true
}

func (p *Pipe) write(mu *sync.Mutex, to io.Writer, line []byte) error {
	mu.Lock()
	defer mu.Unlock()
	if p.silent && mu == &p.out {
		return nil
	}
	_, err := to.Write(line)
	return err
}

// note tells the Watcher what a rule did, in its turn.
func (p *Pipe) note(d *fault.Decision, dir wire.Direction, text string) {
	facts := d.Facts
	facts.Text = text
	w := p.Watcher
	w.do(func() { w.frame(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts}) })
}
