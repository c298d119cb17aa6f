package view

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// lastEventID is the header field with which a client takes up a stream again.
const lastEventID = "Last-Event-ID"

// A cutting is a stream of an exchange that broke before its end, and how it went on.
type cutting struct {
	at time.Time
	// by is who ended it, why its error; last the id of the last event before, "" for none.
	by, why, last string
	// resumed is when the client took it up again, zero where it did not, and from the id that
	// it named. events are those that came then.
	resumed time.Time
	from    string
	events  int
}

// A story is what became of the streams of an exchange.
type story struct {
	cuts []*cutting
	// complete is set where the answer came, events counts all, last is the id of the last.
	complete bool
	events   int
	last     string
}

// storyOf follows the streams of an exchange.
func storyOf(x *wire.Exchange) *story {
	s := &story{complete: x.Response.Raw != nil}
	for _, f := range inOrder(x) {
		s.add(f, x)
	}
	return s
}

func (s *story) add(f wire.Frame, x *wire.Exchange) {
	var open *cutting
	if n := len(s.cuts); n > 0 {
		open = s.cuts[n-1]
	}
	switch {
	case f.Kind == wire.Event || f.SSE != nil:
		if len(bytes.TrimSpace(f.Raw)) > 0 {
			s.events++
			if open != nil && !open.resumed.IsZero() {
				open.events++
			}
		}
		if f.SSE != nil && f.SSE.ID != nil {
			s.last = *f.SSE.ID
		}
	case f.Kind == wire.Head && f.Dir == wire.Sent && open != nil && open.resumed.IsZero():
		open.resumed, open.from = f.Time, f.HTTP.Field(lastEventID)
	case f.Kind == wire.Closed && breaks(f, x):
		s.cuts = append(s.cuts, &cutting{at: f.Time, by: closedBy(f), why: f.Close.Text, last: s.last})
	}
}

// breaks reports the end of a stream that did not have all that was to come on it.
func breaks(f wire.Frame, x *wire.Exchange) bool {
	switch {
	case f.Close == nil || f.Close.How == "cancelled" || x.Response.Raw != nil && f.Seq > x.Response.Seq:
		return false
	case f.Close.How == "end":
		return x.Request.Raw != nil && f.Close.By == wire.Received && !slices.ContainsFunc(x.Between, func(m wire.Frame) bool {
			return m.Stream == f.Stream && m.Dir == wire.Received && wire.ParseMessage(m.Raw).Traits().Reply // of a round
		})
	}
	return true
}

func closedBy(f wire.Frame) string {
	if f.Close.How == "exit" || f.Close.How == "signal" {
		return "by the exit of the server"
	}
	if f.Close.By == wire.Sent {
		return "by the client"
	}
	return "by the server"
}

// where is the event after which a stream broke.
func (c *cutting) where() string {
	if c.last == "" {
		return ""
	}
	return " after event " + cut(c.last, 60)
}

// lost says what did not come; next is the cut after this one, or nil.
func (c *cutting) lost() string {
	switch {
	case c.from == c.last && c.last != "":
		return "nothing lost"
	case c.from == "":
		return "it did not name the last event, so events may be lost"
	}
	return fmt.Sprintf("it asked from %s, so events may come twice", cut(c.from, 60))
}

// text is one sentence about the cuts of an exchange or of a stream of its own, "" where there
// were none. waits is set where the client may still take up the stream again.
func (s *story) text(stream, waits bool) string {
	if len(s.cuts) == 0 {
		return ""
	}
	c := s.cuts[len(s.cuts)-1]
	text := "cut " + c.by + c.where()
	if n := len(s.cuts); n > 1 {
		text = fmt.Sprintf("cut %d times, the last time %s%s", n, c.by, c.where())
	}
	if !c.resumed.IsZero() {
		text += "; resumed " + term.Duration(c.resumed.Sub(c.at)) + " later"
		if c.from != "" {
			text += " from " + cut(c.from, 60)
		}
		return text + "; " + english.Plural(c.events, "event") + " came; " + s.missing(c, stream)
	}
	if waits && c.last != "" {
		return text + "; not resumed yet: else " + s.never(c, stream)
	}
	return text + "; never resumed: " + s.never(c, stream)
}

// missing says what a resumed stream lacks.
func (s *story) missing(c *cutting, stream bool) string {
	if !stream && !s.complete {
		return "the answer did not come"
	}
	return c.lost()
}

// never says what a stream that was not resumed lacks.
func (s *story) never(c *cutting, stream bool) string {
	after := "anything after " + cut(c.last, 60)
	switch {
	case stream && c.last == "":
		return "what the server sent afterwards is lost"
	case stream:
		return after + " is lost"
	case s.complete:
		return "but the answer came"
	case c.last == "":
		return "the answer is lost"
	}
	return "the answer and " + after + " are lost"
}

// stream writes the line of a stream that broke or was taken up again.
func (l *liner) stream(f wire.Frame) {
	if f.Kind == wire.Head {
		line := Line{Dir: wire.Sent.String(), Time: f.Time, Kind: lineResumed, Text: "resumed from " + cut(f.HTTP.Field(lastEventID), 60)}
		for _, c := range l.story.cuts {
			if c.resumed.Equal(f.Time) {
				line.Text += ", " + term.Duration(f.Time.Sub(c.at)) + " later"
			}
		}
		l.add(line)
		return
	}
	for _, c := range l.story.cuts {
		if !c.at.Equal(f.Time) {
			continue
		}
		line := Line{Time: f.Time, Kind: lineCut, Level: levelWarning, Text: "cut " + c.by + c.where()}
		if c.why != "" {
			line.Text += ": " + cut(c.why, mostShort)
		}
		l.add(line)
		return
	}
}
