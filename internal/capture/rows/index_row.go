package rows

import (
	"cmp"
	"fmt"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// end gives the command's ending to the row that it is about: the last exchange of its
// method, or a row of its own where it came to none. One that is about many settles only
// the client's unanswered requests, after a signal or a timeout.
func (x *index) end(e *capture.End, at span) {
	if e.ID != nil {
		x.givenUp(e, at)
		return
	}
	x.capture.ends[x.at], x.capture.over[x.at] = at, true
	defer x.finishOld()
	for r := range x.open() {
		if r.Apart {
			r.EndApart()
			x.touch(r)
		}
	}
	if e.Many && len(x.rows) > 0 {
		if e.Kind == wire.Signal || e.Kind == wire.Timeout {
			for r := range x.open() {
				if r.Dir == wire.Sent {
					r.Fail(e.Kind, "")
					x.touch(r)
				}
			}
		}
		return
	}
	if x.head.By == capture.ByTap && (x.gone || e.Exit != 0) {
		for r := range x.open() { // a dead server answers no more requests
			if r.Dir == wire.Sent {
				r.Fail(wire.Transport, fmt.Sprintf("the server ended (exit code %d)", e.Exit))
				x.touch(r)
			}
		}
	}
	if x.head.By != capture.ByCommand {
		return // it speaks of no exchange
	}
	own := x.own(e)
	if own == nil && (e.Method != "" || e.Kind != wire.OK) {
		own = x.newRow(e.Time)
		own.Method, own.Name = e.Method, e.Name
	}
	if own == nil {
		return
	}
	own.Own, own.Again = true, x.head.Of
	if own.Channel == exchange.ChannelOK && (e.Kind == wire.Usage || e.Kind == wire.InvalidArguments) {
		own.Text, own.Hint = e.Text, e.Hint // the error is the command's own, and the exchange was good
	} else {
		own.endAs(e)
		own.Name = cmp.Or(own.Name, e.Name)
	}
	x.touch(own)
}

// givenUp gives an exchange the ending that its caller reported.
func (x *index) givenUp(e *capture.End, at span) {
	exchange, there := x.folder.Sent(e.ID)
	if !there {
		return
	}
	row := x.capture.at(int(x.exchanges[exchange]))
	row.endAs(e)
	row.lines.add(newRowLine(at, wire.Place{Item: -1})) // so that it is copied with the frames
	x.touch(row)
}

// endAs is an ending that is told, which no later answer changes.
func (r *Row) endAs(e *capture.End) {
	r.Finish(e.Kind)
	r.Reported, r.Exit, r.Text, r.Hint = true, e.Exit, e.Text, e.Hint
	r.Findings = append(r.Findings, e.Findings...)
	if e.Took > 0 { // not also until the server's process was ended
		r.Duration = min(r.Duration, e.Took)
	}
}

// own is the exchange that a command's ending speaks of.
func (x *index) own(e *capture.End) *Row {
	last := -1
	for _, nth := range slices.Backward(x.rows) {
		r := x.capture.at(int(nth))
		switch {
		case r.Apart || r.Dir == wire.Received:
			continue
		case e.Method == r.Method || e.Method == "" && !r.Opens():
			return r
		case last < 0:
			last = r.nth
		}
	}
	if last < 0 || e.Method != "" && x.capture.at(last).Channel == exchange.ChannelOK {
		return nil
	}
	return x.capture.at(last)
}

// Opens reports a request that opens a conversation, as clients send it by themselves.
func (r *Row) Opens() bool { return exchange.Opens(r.Method) }

// within notes to which request a message of the row belongs too, or may.
func (r *Row) within(other *Row, p wire.Place) {
	other.capture.keep(other)
	switch {
	case r.Apart:
		if len(r.Guesses) < mostGuesses && !slices.ContainsFunc(r.Guesses, func(g *Row) bool { return g.nth == other.nth }) {
			r.Guesses = append(r.Guesses, other)
		}
	default:
		r.Within, r.Guess = other, p.Guess
	}
}

// mostGuesses is how many requests are named to which messages of a stream may belong.
const mostGuesses = 100
