package forward

import (
	"bytes"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/capture/hold"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// hold lets the desk decide about a message, and gives the line that passes instead. The message
// is nil where fault rules have nothing to decide any more. Those behind it wait.
func (p *Pipe) hold(line []byte, m *wire.Message, row *capture.Row) ([]byte, *wire.Message) {
	if !p.Desk.Active() {
		return line, m
	}
	w := p.Watcher
	v := p.Desk.Hold(p.Context, hold.Message{Message: m, Row: row, Note: func(facts wire.HeldFacts, raw []byte) {
		w.do(func() {
			if facts.How == hold.Answered && row.Dir == wire.Received {
				w.frame(wire.Frame{Dir: row.Dir, Kind: wire.Body, Raw: raw})
				raw = nil
			}
			w.frame(wire.Frame{Dir: row.Dir, Kind: wire.Held, Held: &facts, Raw: raw})
		})
	}})
	switch v.How {
	case hold.Dropped:
		return nil, nil
	case hold.Edited:
		return slices.Concat(jsonraw.OneLine(v.Raw), line[len(m.Raw):]), parsed(v.Raw)
	case hold.Answered:
		p.answer(row.Dir, wire.ComposeResult(m.ID, jsonraw.OneLine(v.Raw)))
		return nil, nil
	}
	return line, m
}

// answer answers a request that was sent in a direction in the place of the other side.
func (p *Pipe) answer(dir wire.Direction, answer []byte) {
	to := &p.out
	if dir == wire.Received {
		to = &p.in
		p.Watcher.do(func() { p.Watcher.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Raw: answer}) })
	}
	_ = to.lines(append(bytes.Clone(answer), '\n')) // one that is gone is told so by its own end of the pipe
}

// parsed is a message about which fault rules can decide, or nil.
func parsed(raw []byte) *wire.Message {
	if m := wire.ParseMessage(raw); m.Kind != wire.Batch && m.Kind != wire.Invalid {
		return m
	}
	return nil
}
