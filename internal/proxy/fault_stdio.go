package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/pause"
	"mcpc/internal/recent"
	"mcpc/internal/wire"
)

// A Pipe passes on what a client and a server write on stdio: as it comes, or by the rules, line by
// line. Lines that no rule is about pass unchanged. The last one may have no end.
type Pipe struct {
	// Desk decides about the messages.
	Desk    *Desk
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
	fired map[string]*Decision

	// in and out are the ways to the server and to the client. A response that comes slowly
	// holds up those behind it.
	in, out outlet

	// late are the lines for the client that come later, until ctx is done.
	late sync.WaitGroup
	ctx  context.Context
	// after tells of the line of the server that has just passed.
	after func()
}

// reorderTime is how long a line waits for others.
const reorderTime = 2 * time.Second

func (p *Pipe) connect() {
	p.in.Connect(p.ToServer)
	p.out.Connect(p.ToClient)
}

// Sent passes on what a client writes, up to its end.
func (p *Pipe) Sent(from io.Reader) error {
	p.connect()
	s := &splitter{p: p, to: &p.in, take: p.sent}
	_, err := io.Copy(s, from)
	return errors.Join(err, s.End())
}

// Received passes on what a server writes, up to its end, and what of it comes later unless the
// client is gone.
func (p *Pipe) Received(from io.Reader) error {
	to := p.FromServer()
	_, err := io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// FromServer takes what a server writes, and passes it on. Close waits for what comes later, unless
// the client is gone.
func (p *Pipe) FromServer() io.WriteCloser {
	p.connect()
	ctx, over := context.WithCancel(p.Context)
	p.ctx = ctx
	return &received{lines: splitter{p: p, to: &p.out, take: p.received}, over: over}
}

type received struct {
	lines splitter
	over  context.CancelFunc
	err   error
}

func (r *received) Write(b []byte) (n int, err error) {
	n, r.err = r.lines.Write(b)
	return n, r.err
}

func (r *received) Close() error {
	defer r.over()
	err := r.err
	if err == nil {
		err = r.lines.End()
		if err == nil {
			err = r.lines.to.Release()
		}
	}
	if err != nil {
		r.over()
	}
	r.lines.p.late.Wait()
	return err
}

// judging reports that there are rules, or a request that one was about.
func (p *Pipe) judging() bool {
	if p.Desk.judges() {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.fired) > 0
}

// judged is the message of a line about which rules can decide; nil where there is none.
func (p *Pipe) judged(line []byte, whole bool) *wire.Message {
	if !whole || !p.judging() {
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
		return p.in.Lines(line)
	}
	row := p.Desk.Row(p.Target, "", wire.Sent, nil, m)
	line, m = p.hold(line, m, row)
	if m == nil {
		return p.in.Lines(line)
	}
	d := p.Desk.Fault(Crossing{Row: row, Message: m})
	if d == nil {
		return p.in.Lines(line)
	}
	switch {
	case d.Name == "rpc", d.Name == "tool-error":
		p.note(d, wire.Received, "")
		_ = p.out.Lines(append(d.Response(), '\n')) // a client that reads no more is told so by its own end of the pipe
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
		return p.in.Lines(slices.Concat(is, line[len(m.Raw):]))
	case m.Kind != wire.Request && d.Name == "delay":
		p.note(d, wire.Sent, "")
		go func() {
			if pause.For(p.Context, d.Wait) == nil {
				_ = p.in.Lines(line)
			}
		}()
		return nil
	case m.Kind == wire.Request:
		p.mu.Lock()
		if p.fired == nil || len(p.fired) > recent.DefaultLeast {
			p.fired = map[string]*Decision{}
		}
		p.fired[m.Traits().ID] = d
		p.mu.Unlock()
		if d.Name == "hang" {
			p.note(d, wire.Received, "")
			p.out.Silence()
		}
	}
	return p.in.Lines(line)
}

func (p *Pipe) received(line []byte, whole bool) error {
	m := p.judged(line, whole)
	if m == nil {
		return p.out.Lines(line)
	}
	row := p.Desk.Row(p.Target, "", wire.Received, nil, m)
	d := p.waiting(m)
	defer func() {
		if p.after != nil {
			p.after()
			p.after = nil
		}
	}()
	line, m = p.hold(line, m, row)
	if m == nil {
		return p.out.Lines(line)
	}
	switch {
	case d != nil && m.Method != "": // the stream of list-changed has begun
		p.note(d, wire.Received, "")
		return p.out.Lines(line, append(d.ListChanged(), '\n'))
	case d != nil:
		p.Desk.Live.Answered(d.Row, "", m)
	case m.Method != "":
		d = p.Desk.Fault(Crossing{Row: row, Message: m})
	}
	if d == nil {
		return p.out.Lines(line)
	}
	return p.deliver(d, line)
}

// waiting is the rule for the request that a message answers, or, of list-changed, for the
// subscription that it names; nil where there is none.
func (p *Pipe) waiting(m *wire.Message) *Decision {
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
func (p *Pipe) deliver(d *Decision, line []byte) error {
	raw := bytes.TrimRight(line, "\r\n")
	out, done := d.Message(raw)
	switch pace := d.Pace(); {
	case d.Name == "hang":
		return nil
	case d.Name == "delay":
		p.note(d, wire.Received, "")
		p.late.Go(func() {
			if pause.For(p.ctx, d.Wait) == nil {
				_ = p.out.Lines(line)
			}
		})
		return nil
	case d.Name == "reorder":
		p.note(d, wire.Received, "")
		p.out.Lock()
		p.out.Behind = append(p.out.Behind, lateMessage{Message: line, After: d.N})
		p.out.Unlock()
		go func() {
			if pause.For(p.ctx, reorderTime) == nil {
				_ = p.out.Release()
			}
		}()
		return nil
	case pace.Size > 0:
		p.note(d, wire.Received, "")
		return p.slowly(pace, line)
	case d.Name == "cut":
		p.note(d, wire.Received, "")
		err := p.out.Lines(line[:min(len(line), int(d.N))])
		p.out.Silence()
		p.End()
		return err
	case !done:
		p.note(d, wire.Received, "nothing was changed")
		return p.out.Lines(line)
	}
	p.note(d, wire.Received, "")
	for i := range out {
		out[i] = slices.Concat(out[i], line[len(raw):])
	}
	return p.out.Lines(out...)
}

// slowly writes a line by and by; what comes behind it waits.
func (p *Pipe) slowly(pace Pace, line []byte) error {
	p.out.Lock()
	defer p.out.Unlock()
	for at := 0; at < len(line); {
		piece := line[at:min(len(line), at+pace.Size)]
		if err := p.out.Write(piece); err != nil {
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

// note tells the Watcher what a rule did, in its turn.
func (p *Pipe) note(d *Decision, dir wire.Direction, text string) {
	facts := d.Facts
	facts.Text = text
	w := p.Watcher
	w.do(func() { w.frame(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts}) })
}

// hold lets the desk decide about a message, and gives the line that passes instead. The message
// is nil where fault rules have nothing to decide any more. Those behind it wait.
func (p *Pipe) hold(line []byte, m *wire.Message, row *rows.Row) ([]byte, *wire.Message) {
	if !p.Desk.Holds() {
		return line, m
	}
	w := p.Watcher
	v := p.Desk.Hold(p.Context, Candidate{Message: m, Row: row, Note: func(facts wire.HeldFacts, raw []byte) {
		note := func() { w.do(func() { w.frame(wire.Frame{Dir: row.Dir, Kind: wire.Held, Held: &facts, Raw: raw}) }) }
		if follows(facts, row) {
			p.after = note
			return
		}
		if facts.How == Answered && row.Dir == wire.Received {
			is := raw
			w.do(func() { w.frame(wire.Frame{Dir: row.Dir, Kind: wire.Body, Raw: is}) })
			raw = nil
		}
		note()
	}})
	switch v.How {
	case Dropped:
		return nil, nil
	case Edited:
		return slices.Concat(jsonraw.OneLine(v.Raw), line[len(m.Raw):]), parsed(v.Raw)
	case Answered:
		p.answer(row.Dir, wire.ComposeResult(m.ID, jsonraw.OneLine(v.Raw)))
		return nil, nil
	}
	return line, m
}

// follows reports what is recorded behind the message, which begins something: a request of the
// server, or a notification.
func follows(facts wire.HeldFacts, row *rows.Row) bool {
	return row.Dir == wire.Received && facts.Kind != "response" && (facts.How == Released || facts.How == Edited)
}

// answer answers a request that was sent in a direction in the place of the other side.
func (p *Pipe) answer(dir wire.Direction, answer []byte) {
	to := &p.out
	if dir == wire.Received {
		to = &p.in
		p.Watcher.do(func() { p.Watcher.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Raw: answer}) })
	}
	_ = to.Lines(append(bytes.Clone(answer), '\n')) // one that is gone is told so by its own end of the pipe
}

// parsed is a message about which fault rules can decide, or nil.
func parsed(raw []byte) *wire.Message {
	if m := wire.ParseMessage(raw); m.Kind != wire.Batch && m.Kind != wire.Invalid {
		return m
	}
	return nil
}
