package trace

import (
	"cmp"
	"fmt"
	"slices"

	"mcpc/internal/wire"
)

// end gives the command's ending to the row that it is about: the last exchange of its
// method, or a row of its own where it came to none. One that is about many settles only
// the client's unanswered requests, after a signal or a timeout.
func (x *index) end(e *End, at stretch) {
	if e.ID != nil {
		x.givenUp(e, at)
		return
	}
	x.capture.ends[x.at], x.capture.over[x.at] = at, true
	for _, r := range x.rows {
		if r.Apart && r.Open() {
			r.over()
			x.touch(r)
		}
	}
	if e.Many && len(x.rows) > 0 {
		if e.Kind == wire.Signal || e.Kind == wire.Timeout {
			for _, r := range x.rows {
				if r.Dir == wire.Sent {
					r.settleOpen(e.Kind, "")
					x.touch(r)
				}
			}
		}
		return
	}
	if x.head.By == ByTap && (x.gone || e.Exit != 0) {
		for _, r := range x.rows { // a dead server answers no more requests
			if r.Dir == wire.Sent {
				r.settleOpen(wire.Transport, fmt.Sprintf("the server ended (exit code %d)", e.Exit))
				x.touch(r)
			}
		}
	}
	if x.head.By != ByCommand {
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
	if own.Channel == ChannelOK && (e.Kind == wire.Usage || e.Kind == wire.InvalidArguments) {
		own.Text, own.Hint = e.Text, e.Hint // the error is the command's own, and the exchange was good
	} else {
		own.endAs(e)
		own.Name = cmp.Or(own.Name, e.Name)
	}
	x.touch(own)
}

// givenUp gives an exchange the ending that its caller reported.
func (x *index) givenUp(e *End, at stretch) {
	row := x.asked[string(e.ID)]
	if row == nil {
		return
	}
	row.endAs(e)
	row.lines = append(row.lines, newRowLine(at, wire.Place{Item: -1})) // so that it is copied with the frames
	x.touch(row)
}

// endAs is an ending that is told, which no later answer changes.
func (r *Row) endAs(e *End) {
	r.settle(e.Kind)
	r.told, r.Exit, r.Text, r.Hint = true, e.Exit, e.Text, e.Hint
	r.Findings = append(r.Findings, e.Findings...)
	if e.Took > 0 { // not also until the server's process was ended
		r.Duration = min(r.Duration, e.Took)
	}
}

// own is the exchange that a command's ending speaks of.
func (x *index) own(e *End) *Row {
	rows := slices.DeleteFunc(slices.Clone(x.rows), func(r *Row) bool { return r.Apart || r.Dir == wire.Received })
	for i := len(rows) - 1; i >= 0; i-- {
		if e.Method == rows[i].Method || e.Method == "" && !handshake[rows[i].Method] {
			return rows[i]
		}
	}
	if n := len(rows); n > 0 && (e.Method == "" || rows[n-1].Channel != ChannelOK) {
		return rows[n-1]
	}
	return nil
}

// handshake are the methods that open a conversation.
var handshake = map[string]bool{"initialize": true, "server/discover": true, "logging/setLevel": true}
