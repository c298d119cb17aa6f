package view

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// lastEventID is the header field with which a client resumes a stream.
const lastEventID = "Last-Event-ID"

// A cutting is a stream of an exchange that broke before its end, and its resumption.
type cutting struct {
	at time.Time
	// by names the side that ended the stream, and why is the error.
	by, why string
	// last is the id of the last event before the cut; "" if no event had one.
	last string
	// resumed is when the client resumed the stream; zero if it did not.
	resumed time.Time
	// from is the id from which the client resumed it, and events counts the events after that.
	from   string
	events int
	// refused is true if the connection failed, so that nothing was sent.
	refused bool
	// tries counts attempts to resume the stream that got no connection.
	tries int
}

// A story describes the course of the streams of an exchange.
type story struct {
	Cuts []*cutting
	// Complete is true if the response was received.
	Complete bool
	// Ended is true if the last stream ended.
	Ended bool
	// Events counts all events, and Last is the id of the last one.
	Events int
	Last   string
	// dropped is true if a user dropped the request or the response. A missing response is then not
	// the fault of the stream.
	dropped bool
}

// storyOf returns the story of an exchange's streams.
func storyOf(x *wire.Exchange) *story {
	s := &story{Complete: x.Response.Raw != nil}
	for _, f := range inOrder(x) {
		s.add(f, x)
		s.Ended = f.Kind == wire.Closed
	}
	return s
}

// add updates the story by the next frame of the exchange.
func (s *story) add(f wire.Frame, x *wire.Exchange) {
	var open *cutting
	if n := len(s.Cuts); n > 0 {
		open = s.Cuts[n-1]
	}
	switch {
	case f.Kind == wire.Event || f.SSE != nil:
		if len(bytes.TrimSpace(f.Raw)) > 0 {
			s.Events++
			if open != nil && !open.resumed.IsZero() {
				open.events++
			}
		}
		if f.SSE != nil && f.SSE.ID != nil {
			s.Last = *f.SSE.ID
		}
	case f.Kind == wire.Head && f.Dir == wire.Sent && open != nil && open.resumed.IsZero():
		open.resumed = f.Time
		open.from = f.HTTP.Field(lastEventID)
	case f.Kind == wire.Held:
		s.dropped = s.dropped || f.Drops(x.Request.Dir)
	case s.dropped: // the end of the stream is expected then
	case refused(f) && open != nil && !open.resumed.IsZero() && open.events == 0:
		open.resumed = time.Time{}
		open.tries++
	case f.Kind == wire.Closed && breaks(f, x):
		s.Cuts = append(s.Cuts, &cutting{at: f.Time, by: closedBy(f), why: f.Close.Text, last: s.Last, refused: refused(f)})
	}
}

// breaks reports whether a frame ends a stream before everything expected on it was received.
func breaks(f wire.Frame, x *wire.Exchange) bool {
	if f.Close == nil || f.Close.How == "cancelled" || x.Response.Raw != nil && f.Seq > x.Response.Seq {
		return false
	}
	if f.Close.How != "end" {
		return true
	}
	isReplyOfRound := func(m wire.Frame) bool {
		return m.Stream == f.Stream && m.Dir == wire.Received && wire.ParseMessage(m.Raw).Traits().IsReply
	}
	byServer := x.Request.Raw != nil && f.Close.By == wire.Received
	return byServer && !isWholeBody(f, x) && !slices.ContainsFunc(x.OtherMessages, isReplyOfRound)
}

// isWholeBody reports whether the stream that a frame closes was an HTTP response that is not a
// stream of events: another media type, a failure, or 202. Its end is the end of its body.
func isWholeBody(f wire.Frame, x *wire.Exchange) bool {
	return slices.ContainsFunc(x.Heads, func(h wire.Frame) bool {
		if h.Stream != f.Stream || h.HTTP == nil || h.HTTP.Status == 0 {
			return false
		}
		kind := wire.MediaType(h.HTTP.Field("Content-Type"))
		return h.HTTP.Status == http.StatusAccepted || h.HTTP.Status >= 300 || kind != "" && kind != "text/event-stream"
	})
}

// refused reports whether a frame ends a stream that never got a connection.
func refused(f wire.Frame) bool {
	return f.Close != nil && f.Close.How == "cut" && strings.HasPrefix(f.Close.Text, "dial ")
}

// notOpened returns a sentence about a connection that could not be opened.
func notOpened(why string) string { return "could not be opened: " + cutText(why, maxShort) }

// closingWords describes the end of a stream.
func closingWords(f wire.Frame) string {
	if refused(f) {
		return notOpened(f.Close.Text)
	}
	text := f.Close.How + " " + closedBy(f)
	if f.Close.Text != "" {
		text += ": " + f.Close.Text
	}
	return text
}

// closedBy names the side that ended a stream.
func closedBy(f wire.Frame) string {
	if f.Close.How == "exit" || f.Close.How == "signal" {
		return "by the exit of the server"
	}
	if f.Close.By == wire.Sent {
		return "by the client"
	}
	return "by the server"
}

// where names the event after which a stream broke.
func (c *cutting) where() string {
	if c.last == "" {
		return ""
	}
	return " after event " + cutText(c.last, 60)
}

// Lossless reports whether a stream was resumed at the point where it broke.
func (c *cutting) Lossless() bool { return !c.resumed.IsZero() && c.from == c.last && c.last != "" }

// lost describes what may be missing after a resumption.
func (c *cutting) lost() string {
	if c.Lossless() {
		return "nothing lost"
	}
	if c.from == "" {
		return "it did not name the last event, so events may be lost"
	}
	return fmt.Sprintf("it asked from %s, so events may come twice", cutText(c.from, 60))
}

// Text describes the cuts of an exchange or of a separate stream in one sentence; "" if there are
// none. waits is true if the client may still resume the stream.
func (s *story) Text(stream, waits bool) string {
	if len(s.Cuts) == 0 {
		return ""
	}
	c := s.Cuts[len(s.Cuts)-1]
	if c.refused {
		return notOpened(c.why)
	}
	text := "cut " + c.by + c.where()
	if n := len(s.Cuts); n > 1 {
		text = fmt.Sprintf("cut %d times, the last time %s%s", n, c.by, c.where())
	}
	if !c.resumed.IsZero() {
		lost := c.lost()
		if !stream && !s.Complete {
			lost = "the answer did not come"
		}
		text += "; resumed " + term.Duration(c.resumed.Sub(c.at)) + " later"
		if c.from != "" {
			text += " from " + cutText(c.from, 60)
		}
		return text + "; " + english.Plural(c.events, "event") + " came; " + lost
	}
	if waits && c.last != "" {
		return text + "; not resumed yet: else " + s.never(c, stream)
	}
	if c.tries > 0 {
		return text + "; not resumed in " + english.Plural(c.tries, "attempt") + ": " + s.never(c, stream)
	}
	return text + "; never resumed: " + s.never(c, stream)
}

// never describes what is missing because a stream was not resumed.
func (s *story) never(c *cutting, stream bool) string {
	after := "anything after " + cutText(c.last, 60)
	if stream && c.last == "" {
		return "what the server sent afterwards is lost"
	}
	if stream {
		return after + " is lost"
	}
	if s.Complete {
		return "but the answer came"
	}
	if c.last == "" {
		return "the answer is lost"
	}
	return "the answer and " + after + " are lost"
}

// bareRequests describes HTTP requests without a message, by their method.
var bareRequests = map[string]string{"DELETE": "ends the session", "GET": "opens a stream"}

// stream adds the line of a stream that broke or was resumed.
func (l *liner) stream(f wire.Frame) {
	if f.Kind == wire.Head && f.HTTP.Field(lastEventID) == "" {
		text := cmp.Or(bareRequests[f.HTTP.Method], f.HTTP.Method)
		l.add(Line{Dir: wire.Sent.String(), Time: f.Time, Kind: lineRequest, Text: text})
		return
	}
	if refused(f) {
		l.add(Line{Time: f.Time, Kind: lineCut, Level: levelWarning, Text: notOpened(f.Close.Text)})
		return
	}
	if f.Kind == wire.Head {
		line := Line{
			Dir:  wire.Sent.String(),
			Time: f.Time,
			Kind: lineResumed,
			Text: "resumed from " + cutText(f.HTTP.Field(lastEventID), 60),
		}
		for _, c := range l.story.Cuts {
			if c.resumed.Equal(f.Time) {
				line.Text += ", " + term.Duration(f.Time.Sub(c.at)) + " later"
			}
		}
		l.add(line)
		return
	}
	for _, c := range l.story.Cuts {
		if !c.at.Equal(f.Time) {
			continue
		}
		line := Line{Time: f.Time, Kind: lineCut, Level: levelWarning, Text: "cut " + c.by + c.where()}
		if c.why != "" {
			line.Text += ": " + cutText(c.why, maxShort)
		}
		l.add(line)
		return
	}
}
