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
	mu      sync.Mutex
	pending map[string]*decision

	// in and out are the ways to the server and to the client. A response that comes slowly
	// holds up those behind it.
	serverInput, clientOutput outlet

	// late are the lines for the client that come later, until ctx is done.
	delayed sync.WaitGroup
	ctx     context.Context
	// after tells of the line of the server that has just passed.
	onPassed func()
}

// reorderTime is how long a line waits for others.
const reorderTime = 2 * time.Second

func (p *Pipe) connect() {
	p.serverInput.connect(p.ToServer)
	p.clientOutput.connect(p.ToClient)
}

// Sent passes on what a client writes, up to its end.
func (p *Pipe) Sent(from io.Reader) error {
	p.connect()
	s := &splitter{p: p, to: &p.serverInput, handleLine: p.handleSent}
	_, err := io.Copy(s, from)
	return errors.Join(err, s.flush())
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
	ctx, cancel := context.WithCancel(p.Context)
	p.ctx = ctx
	return &serverOutput{lines: splitter{p: p, to: &p.clientOutput, handleLine: p.handleReceived}, cancel: cancel}
}

type serverOutput struct {
	lines  splitter
	cancel context.CancelFunc
	err    error
}

func (r *serverOutput) Write(b []byte) (n int, err error) {
	n, r.err = r.lines.Write(b)
	return n, r.err
}

func (r *serverOutput) Close() error {
	defer r.cancel()
	err := r.err
	if err == nil {
		err = r.lines.flush()
		if err == nil {
			err = r.lines.to.release()
		}
	}
	if err != nil {
		r.cancel()
	}
	r.lines.p.delayed.Wait()
	return err
}

// judging reports that there are rules, or a request that one was about.
func (p *Pipe) mayIntervene() bool {
	if p.Desk.mayIntervene() {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending) > 0
}

// judged is the message of a line about which rules can decide; nil where there is none.
func (p *Pipe) parseLine(line []byte, whole bool) *wire.Message {
	if !whole || !p.mayIntervene() {
		return nil
	}
	m := wire.ParseMessage(bytes.TrimRight(line, "\r\n"))
	if m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return nil
	}
	return m
}

func (p *Pipe) handleSent(line []byte, whole bool) error {
	m := p.parseLine(line, whole)
	if m == nil {
		return p.serverInput.writeLines(line)
	}
	row := p.Desk.Row(p.Target, "", wire.Sent, nil, m)
	line, m = p.holdLine(line, m, row)
	if m == nil {
		return p.serverInput.writeLines(line)
	}
	d := p.Desk.Fault(subject{Row: row, Message: m})
	if d == nil {
		return p.serverInput.writeLines(line)
	}
	switch {
	case d.Name == "rpc", d.Name == "tool-error":
		p.record(d, wire.Received, "")
		_ = p.clientOutput.writeLines(append(d.ownResponse(), '\n')) // a client that reads no more is told so by its own end of the pipe
		return nil
	case d.Name == "drop request", d.Name == "drop notification":
		p.record(d, wire.Sent, "")
		return nil
	case d.Name == "kill child":
		p.record(d, wire.Sent, "")
		p.End()
		return nil
	case d.OfRequest:
		is, text := d.changedRequest(m.Raw)
		p.record(d, wire.Sent, text)
		return p.serverInput.writeLines(slices.Concat(is, line[len(m.Raw):]))
	case m.Kind != wire.Request && d.Name == "delay":
		p.record(d, wire.Sent, "")
		go func() {
			if pause.For(p.Context, d.Wait) == nil {
				_ = p.serverInput.writeLines(line)
			}
		}()
		return nil
	case m.Kind == wire.Request:
		p.mu.Lock()
		if p.pending == nil || len(p.pending) > recent.DefaultLeast {
			p.pending = map[string]*decision{}
		}
		p.pending[m.Traits().ID] = d
		p.mu.Unlock()
		if d.Name == "hang" {
			p.record(d, wire.Received, "")
			p.clientOutput.silence()
		}
	}
	return p.serverInput.writeLines(line)
}

func (p *Pipe) handleReceived(line []byte, whole bool) error {
	m := p.parseLine(line, whole)
	if m == nil {
		return p.clientOutput.writeLines(line)
	}
	row := p.Desk.Row(p.Target, "", wire.Received, nil, m)
	d := p.takeDecision(m)
	defer func() {
		if p.onPassed != nil {
			p.onPassed()
			p.onPassed = nil
		}
	}()
	line, m = p.holdLine(line, m, row)
	if m == nil {
		return p.clientOutput.writeLines(line)
	}
	switch {
	case d != nil && m.Method != "": // the stream of list-changed has begun
		p.record(d, wire.Received, "")
		return p.clientOutput.writeLines(line, append(d.listChanged(), '\n'))
	case d != nil:
		p.Desk.Live.Answered(d.Row, "", m)
	case m.Method != "":
		d = p.Desk.Fault(subject{Row: row, Message: m})
	}
	if d == nil {
		return p.clientOutput.writeLines(line)
	}
	return p.applyRule(d, line)
}

// waiting is the rule for the request that a message answers, or, of list-changed, for the
// subscription that it names; nil where there is none.
func (p *Pipe) takeDecision(m *wire.Message) *decision {
	t := m.Traits()
	p.mu.Lock()
	defer p.mu.Unlock()
	id := t.ID
	if m.Method != "" {
		id = t.Subscription
	}
	d := p.pending[id]
	if d == nil || id == "" || m.Method != "" && d.Name != "list-changed" {
		return nil
	}
	delete(p.pending, id)
	return d
}

// deliver passes on a message for the client as a rule has it.
func (p *Pipe) applyRule(d *decision, line []byte) error {
	raw := bytes.TrimRight(line, "\r\n")
	out, done := d.changedMessages(raw)
	switch pace := d.responsePace(); {
	case d.Name == "hang":
		return nil
	case d.Name == "delay":
		p.record(d, wire.Received, "")
		p.delayed.Go(func() {
			if pause.For(p.ctx, d.Wait) == nil {
				_ = p.clientOutput.writeLines(line)
			}
		})
		return nil
	case d.Name == "reorder":
		p.record(d, wire.Received, "")
		p.clientOutput.Lock()
		p.clientOutput.delayed = append(p.clientOutput.delayed, delayedMessage{raw: line, remaining: d.N})
		p.clientOutput.Unlock()
		go func() {
			if pause.For(p.ctx, reorderTime) == nil {
				_ = p.clientOutput.release()
			}
		}()
		return nil
	case pace.size > 0:
		p.record(d, wire.Received, "")
		return p.writeSlowly(pace, line)
	case d.Name == "cut":
		p.record(d, wire.Received, "")
		err := p.clientOutput.writeLines(line[:min(len(line), int(d.N))])
		p.clientOutput.silence()
		p.End()
		return err
	case !done:
		p.record(d, wire.Received, "nothing was changed")
		return p.clientOutput.writeLines(line)
	}
	p.record(d, wire.Received, "")
	for i := range out {
		out[i] = slices.Concat(out[i], line[len(raw):])
	}
	return p.clientOutput.writeLines(out...)
}

// slowly writes a line by and by; what comes behind it waits.
func (p *Pipe) writeSlowly(pace pace, line []byte) error {
	p.clientOutput.Lock()
	defer p.clientOutput.Unlock()
	for at := 0; at < len(line); {
		piece := line[at:min(len(line), at+pace.size)]
		if err := p.clientOutput.write(piece); err != nil {
			return err
		}
		at += len(piece)
		if at < len(line) {
			_ = pause.For(p.ctx, pace.wait)
		}
		if pace.once {
			pace.size = len(line)
		}
	}
	return nil
}

// note tells the Watcher what a rule did, in its turn.
func (p *Pipe) record(d *decision, dir wire.Direction, text string) {
	facts := d.Facts
	facts.Text = text
	w := p.Watcher
	w.schedule(func() { w.emit(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts}) })
}

// hold lets the desk decide about a message, and gives the line that passes instead. The message
// is nil where fault rules have nothing to decide any more. Those behind it wait.
func (p *Pipe) holdLine(line []byte, m *wire.Message, row *rows.Row) ([]byte, *wire.Message) {
	if !p.Desk.Holds() {
		return line, m
	}
	w := p.Watcher
	v := p.Desk.Hold(p.Context, Candidate{Message: m, Row: row, Note: func(facts wire.HeldFacts, raw []byte) {
		note := func() {
			w.schedule(func() { w.emit(wire.Frame{Dir: row.Dir, Kind: wire.Held, Held: &facts, Raw: raw}) })
		}
		if isRecordedAfter(facts, row) {
			p.onPassed = note
			return
		}
		if facts.How == Answered && row.Dir == wire.Received {
			is := raw
			w.schedule(func() { w.emit(wire.Frame{Dir: row.Dir, Kind: wire.Body, Raw: is}) })
			raw = nil
		}
		note()
	}})
	switch v.How {
	case Dropped:
		return nil, nil
	case Edited:
		return slices.Concat(jsonraw.OneLine(v.Raw), line[len(m.Raw):]), parseSingle(v.Raw)
	case Answered:
		p.respond(row.Dir, wire.ComposeResult(m.ID, jsonraw.OneLine(v.Raw)))
		return nil, nil
	}
	return line, m
}

// follows reports what is recorded behind the message, which begins something: a request of the
// server, or a notification.
func isRecordedAfter(facts wire.HeldFacts, row *rows.Row) bool {
	return row.Dir == wire.Received && facts.Kind != "response" && (facts.How == Released || facts.How == Edited)
}

// answer answers a request that was sent in a direction in the place of the other side.
func (p *Pipe) respond(dir wire.Direction, response []byte) {
	to := &p.clientOutput
	if dir == wire.Received {
		to = &p.serverInput
		p.Watcher.schedule(func() { p.Watcher.emit(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Raw: response}) })
	}
	_ = to.writeLines(append(bytes.Clone(response), '\n')) // one that is gone is told so by its own end of the pipe
}

// parsed is a message about which fault rules can decide, or nil.
func parseSingle(raw []byte) *wire.Message {
	if m := wire.ParseMessage(raw); m.Kind != wire.Batch && m.Kind != wire.Invalid {
		return m
	}
	return nil
}
