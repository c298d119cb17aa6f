package view

import (
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// requestText is a request of either side in a few words.
func requestText(f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	if f.Dir == wire.Received {
		return questionText(m.Method, m.Params)
	}
	return requestWords(m)
}

// editedRequest are the request of an exchange that a user edited and what was sent in its place; their
// Raw is nil where no user did. The capture has what the side said that sent it, and beside it what
// passed; of a request of the server it is the other way round.
func editedRequest(x *wire.Exchange) (was, sent wire.Frame) {
	id := wire.ParseMessage(x.Request.Raw).ID
	for _, f := range x.Beside {
		if h := f.Held; h == nil || h.How != "edited" || h.Kind != "request" || f.Dir != x.Request.Dir || h.ID != string(id) || f.Raw == nil {
			continue
		}
		if f.Dir == wire.Received {
			return f, x.Request
		}
		return x.Request, f
	}
	return was, sent
}

// held writes that a message is held, and what became of it.
func (l *liner) held(f wire.Frame) {
	line := Line{Dir: f.Dir.String(), Time: f.Time, Kind: lineHeld, Text: "held"}
	if h := f.Held; h != nil && h.Milliseconds > 0 {
		n := len(l.lines)
		if n > 0 && l.lines[n-1].Kind == lineHeld && l.lines[n-1].Text == line.Text {
			l.lines = l.lines[:n-1] // that it began to be
		}
		line.Text = "held for " + term.Duration(time.Duration(h.Milliseconds)*time.Millisecond) + ", then " + cutText(h.How, 40)
		if h.Why != "" {
			line.Text += ": " + cutText(h.Why, mostShort)
		}
		if h.How != "released" {
			line.Level = levelWarning
		}
	}
	l.add(line)
}
