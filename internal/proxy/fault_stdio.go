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

// A Pipe forwards what a client and a server write on stdio: bytes as they are received, or, with
// rules or filters, line by line. A last line without a line end is forwarded too.
type Pipe struct {
	// Desk decides about the messages.
	Desk    *Desk
	Watcher *Watcher
	// Target is the server's name in filters.
	Target string
	// ToClient and ToServer receive what is forwarded.
	ToClient, ToServer io.Writer
	// EndServer ends the server, for cut and kill child.
	EndServer func()
	// Context ends holds and delays.
	Context context.Context

	// mu guards pending: the decisions about requests that wait for their response, by id.
	mu      sync.Mutex
	pending map[string]*decision

	// A slow response delays the later ones.
	serverInput, clientOutput outlet

	// delayed counts the delayed lines for the client. They are dropped when ctx is done.
	delayed sync.WaitGroup
	ctx     context.Context
	// recordPassed records the end of the hold of the server's last line; nil if the line was not held.
	recordPassed func()
}

// reorderTime is how long a reordered line waits for later ones.
const reorderTime = 2 * time.Second

// connect sets the writers of both outlets.
func (p *Pipe) connect() {
	p.serverInput.connect(p.ToServer)
	p.clientOutput.connect(p.ToClient)
}

// ForwardSent forwards what a client writes, until its end. It returns the error of reading it, or of
// writing it to the server.
func (p *Pipe) ForwardSent(from io.Reader) error {
	p.connect()
	lines := &splitter{pipe: p, outlet: &p.serverInput, handleLine: p.handleSent}
	_, err := io.Copy(lines, from)
	return errors.Join(err, lines.flush())
}

// ForwardReceived forwards what a server writes, until its end, and then its delayed lines.
func (p *Pipe) ForwardReceived(from io.Reader) error {
	to := p.ServerWriter()
	_, err := io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// ServerWriter returns a writer that forwards what a server writes. Close waits for the delayed
// lines, unless the client can no longer be written to.
func (p *Pipe) ServerWriter() io.WriteCloser {
	p.connect()
	ctx, cancel := context.WithCancel(p.Context)
	p.ctx = ctx
	return &serverOutput{lines: splitter{pipe: p, outlet: &p.clientOutput, handleLine: p.handleReceived}, cancel: cancel}
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

// Close forwards the last line and the reordered lines, and waits for the delayed ones. After a
// failed write it gives them up.
func (r *serverOutput) Close() error {
	defer r.cancel()
	err := r.err
	if err == nil {
		err = r.lines.flush()
		if err == nil {
			err = r.lines.outlet.release()
		}
	}
	if err != nil {
		r.cancel()
	}
	r.lines.pipe.delayed.Wait()
	return err
}

// mayIntervene reports whether lines may be held or changed, or a decision is pending.
func (p *Pipe) mayIntervene() bool {
	if p.Desk.mayIntervene() {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending) > 0
}

// parseLine returns the message of a line that rules and filters apply to, or nil if the line
// passes unchanged. whole reports whether the line has a line end.
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

// handleSent forwards a line of the client.
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
	d := p.Desk.fireRule(subject{Row: row, Message: m})
	if d == nil {
		return p.serverInput.writeLines(line)
	}
	if d.Name == actionRPCError || d.Name == actionToolError {
		p.recordFault(d, wire.Received, "")
		_ = p.clientOutput.writeLines(append(d.composeResponse(), '\n')) // a failed write ends the pipe elsewhere
		return nil
	}
	if d.Name == actionDropRequest || d.Name == actionDropNotification {
		p.recordFault(d, wire.Sent, "")
		return nil
	}
	if d.Name == actionKillChild {
		p.recordFault(d, wire.Sent, "")
		p.EndServer()
		return nil
	}
	if d.OfRequest {
		changed, text := d.changeForServer(m.Raw)
		p.recordFault(d, wire.Sent, text)
		return p.serverInput.writeLines(slices.Concat(changed, line[len(m.Raw):]))
	}
	if m.Kind != wire.Request && d.Name == actionDelay {
		p.recordFault(d, wire.Sent, "")
		// The delay must not stop the lines after it.
		go func() {
			if pause.For(p.Context, d.Wait) == nil {
				_ = p.serverInput.writeLines(line)
			}
		}()
		return nil
	}
	if m.Kind == wire.Request {
		p.mu.Lock()
		// A server that never responds must not fill the memory: forget all decisions.
		if p.pending == nil || len(p.pending) > recent.DefaultMinEntries {
			p.pending = map[string]*decision{}
		}
		p.pending[m.Traits().ID] = d
		p.mu.Unlock()
		if d.Name == actionHang {
			p.recordFault(d, wire.Received, "")
			p.clientOutput.silence()
		}
	}
	return p.serverInput.writeLines(line)
}

// handleReceived forwards a line of the server.
func (p *Pipe) handleReceived(line []byte, whole bool) error {
	m := p.parseLine(line, whole)
	if m == nil {
		return p.clientOutput.writeLines(line)
	}
	row := p.Desk.Row(p.Target, "", wire.Received, nil, m)
	d := p.takeDecision(m)
	// The end of a hold is recorded after the line has passed.
	defer func() {
		if p.recordPassed != nil {
			p.recordPassed()
			p.recordPassed = nil
		}
	}()
	line, m = p.holdLine(line, m, row)
	if m == nil {
		return p.clientOutput.writeLines(line)
	}
	if d != nil && m.Method != "" { // the subscription of list-changed has begun
		p.recordFault(d, wire.Received, "")
		return p.clientOutput.writeLines(line, append(d.composeListChanged(), '\n'))
	}
	if d != nil {
		p.Desk.Live.LearnServer(d.Row, "", m)
	} else if m.Method != "" {
		d = p.Desk.fireRule(subject{Row: row, Message: m})
	}
	if d == nil {
		return p.clientOutput.writeLines(line)
	}
	return p.applyRule(d, line)
}

// takeDecision returns and removes the pending decision about the request that m responds to or,
// for list-changed, about the subscription that m names. It returns nil if no decision is pending.
func (p *Pipe) takeDecision(m *wire.Message) *decision {
	t := m.Traits()
	p.mu.Lock()
	defer p.mu.Unlock()
	id := t.ID
	if m.Method != "" {
		id = t.SubscriptionID
	}
	d := p.pending[id]
	if d == nil || id == "" {
		return nil
	}
	if m.Method != "" && d.Name != actionListChanged { // the decision waits for the response
		return nil
	}
	delete(p.pending, id)
	return d
}

// applyRule forwards a message of the server to the client as the rule says, or not at all.
func (p *Pipe) applyRule(d *decision, line []byte) error {
	raw := bytes.TrimRight(line, "\r\n")
	messages, changed := d.changeForClient(raw)
	pace := d.pace()
	if d.Name == actionHang { // handleSent has silenced the output
		return nil
	}
	if d.Name == actionDelay {
		p.recordFault(d, wire.Received, "")
		p.delayed.Go(func() {
			if pause.For(p.ctx, d.Wait) == nil {
				_ = p.clientOutput.writeLines(line)
			}
		})
		return nil
	}
	if d.Name == actionReorder {
		p.recordFault(d, wire.Received, "")
		p.clientOutput.Lock()
		p.clientOutput.delayed = append(p.clientOutput.delayed, delayedMessage{raw: line, remaining: d.N})
		p.clientOutput.Unlock()
		// If too few later lines come, the line is sent after reorderTime.
		go func() {
			if pause.For(p.ctx, reorderTime) == nil {
				_ = p.clientOutput.release()
			}
		}()
		return nil
	}
	if pace.size > 0 {
		p.recordFault(d, wire.Received, "")
		return p.writeSlowly(pace, line)
	}
	if d.Name == actionCut {
		p.recordFault(d, wire.Received, "")
		err := p.clientOutput.writeLines(line[:min(len(line), int(d.N))])
		p.clientOutput.silence()
		p.EndServer()
		return err
	}
	if !changed {
		p.recordFault(d, wire.Received, "nothing was changed")
		return p.clientOutput.writeLines(line)
	}
	p.recordFault(d, wire.Received, "")
	lineEnd := line[len(raw):]
	for i := range messages {
		messages[i] = slices.Concat(messages[i], lineEnd)
	}
	return p.clientOutput.writeLines(messages...)
}

// writeSlowly writes a line at a pace; later lines wait.
func (p *Pipe) writeSlowly(pace pace, line []byte) error {
	p.clientOutput.Lock()
	defer p.clientOutput.Unlock()
	for len(line) > 0 {
		piece := line[:min(len(line), pace.size)]
		if err := p.clientOutput.write(piece); err != nil {
			return err
		}
		line = line[len(piece):]
		if len(line) > 0 {
			_ = pause.For(p.ctx, pace.wait) // when ctx is done, the rest is written at once
		}
		if pace.firstOnly {
			pace.size = len(line) // the rest in one piece
		}
	}
	return nil
}

// recordFault records what a rule did.
func (p *Pipe) recordFault(d *decision, dir wire.Direction, text string) {
	facts := d.Facts
	facts.Text = text
	w := p.Watcher
	w.schedule(func() { w.emit(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts}) })
}

// holdLine lets a user decide about a message, which later lines wait for. It returns the line that
// passes and the message that rules apply to. Either may be nil.
func (p *Pipe) holdLine(line []byte, m *wire.Message, row *rows.Row) ([]byte, *wire.Message) {
	if !p.Desk.MayHold() {
		return line, m
	}
	w := p.Watcher
	ruling := p.Desk.Hold(p.Context, Candidate{Message: m, Row: row, Record: func(facts wire.HeldFacts, raw []byte) {
		note := func() {
			w.schedule(func() { w.emit(wire.Frame{Dir: row.Dir, Kind: wire.Held, Held: &facts, Raw: raw}) })
		}
		if isRecordedAfter(facts, row) {
			p.recordPassed = note
			return
		}
		if facts.How == Answered && row.Dir == wire.Received {
			// The client does not receive the request, so nothing else records it.
			request := raw
			w.schedule(func() { w.emit(wire.Frame{Dir: row.Dir, Kind: wire.Body, Raw: request}) })
			raw = nil
		}
		note()
	}})
	switch ruling.How {
	case Dropped:
		return nil, nil
	case Edited:
		return slices.Concat(jsonraw.OneLine(ruling.Raw), line[len(m.Raw):]), parseSingle(ruling.Raw)
	case Answered:
		p.respond(row.Dir, wire.ComposeResult(m.ID, jsonraw.OneLine(ruling.Raw)))
		return nil, nil
	}
	return line, m
}

// isRecordedAfter reports whether the hold is recorded after the message: a request or notification
// of the server, which passes.
func isRecordedAfter(facts wire.HeldFacts, row *rows.Row) bool {
	return row.Dir == wire.Received && facts.Kind != "response" && (facts.How == Released || facts.How == Edited)
}

// respond responds to a request that was sent in direction dir, in place of the other side.
func (p *Pipe) respond(dir wire.Direction, response []byte) {
	to := &p.clientOutput
	if dir == wire.Received {
		to = &p.serverInput
		p.Watcher.schedule(func() { p.Watcher.emit(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Raw: response}) })
	}
	_ = to.writeLines(append(bytes.Clone(response), '\n')) // a failed write ends the pipe elsewhere
}

// parseSingle returns the message if rules can apply to it, or nil if raw is a batch or invalid
// JSON.
func parseSingle(raw []byte) *wire.Message {
	if m := wire.ParseMessage(raw); m.Kind != wire.Batch && m.Kind != wire.Invalid {
		return m
	}
	return nil
}
