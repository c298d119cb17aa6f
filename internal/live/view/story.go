package view

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// lastEventID is the header field that a client resumes a stream with.
const lastEventID = "Last-Event-ID"

// A streamCut is a stream of an exchange that broke before its end, and its resumption.
type streamCut struct {
	cutAt time.Time
	// by names the side that ended the stream, and cause is the error.
	by, cause string
	// lastID is the id of the last event before the cut; "" if no event had one.
	lastID string
	// resumedAt is when the client resumed the stream; zero if it did not.
	resumedAt time.Time
	// resumedFrom is the id that the client resumed it from, and events counts the events after
	// that.
	resumedFrom string
	events      int
	// isNeverConnected is true if the connection failed, so that nothing was sent.
	isNeverConnected bool
	// attempts counts attempts to resume the stream that got no connection.
	attempts int
}

// A story describes the course of the streams of an exchange.
type story struct {
	Cuts []*streamCut
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
		s.addFrame(f, x)
		s.Ended = f.Kind == wire.Closed
	}
	return s
}

// addFrame updates the story by the next frame of the exchange. Frames after a message that a user
// dropped are ignored: the end of its stream is no cut.
func (s *story) addFrame(f wire.Frame, x *wire.Exchange) {
	var last *streamCut // nil if no stream was cut
	if n := len(s.Cuts); n > 0 {
		last = s.Cuts[n-1]
	}
	isResumed := last != nil && !last.resumedAt.IsZero()
	switch {
	case f.Kind == wire.Event || f.SSE != nil:
		if len(bytes.TrimSpace(f.Raw)) > 0 {
			s.Events++
			if isResumed {
				last.events++
			}
		}
		if f.SSE != nil && f.SSE.ID != nil {
			s.Last = *f.SSE.ID
		}
	case f.Kind == wire.Head && f.Dir == wire.Sent && last != nil && !isResumed:
		last.resumedAt = f.Time
		last.resumedFrom = f.HTTP.Field(lastEventID)
	case f.Kind == wire.Held:
		s.dropped = s.dropped || f.Drops(x.Request.Dir)
	case s.dropped: // the end of the stream is expected then
	case neverConnected(f) && isResumed && last.events == 0: // the attempt to resume it failed
		last.resumedAt = time.Time{}
		last.attempts++
	case f.Kind == wire.Closed && breaksStream(f, x):
		s.Cuts = append(s.Cuts, &streamCut{
			cutAt: f.Time, by: closedBy(f), cause: f.Close.Text, lastID: s.Last, isNeverConnected: neverConnected(f),
		})
	}
}

// breaksStream reports whether a frame ends a stream before everything expected on it was received.
func breaksStream(f wire.Frame, x *wire.Exchange) bool {
	if f.Close == nil || f.Close.How == "cancelled" {
		return false
	}
	if x.Response.Raw != nil && f.Seq > x.Response.Seq { // the response was received before
		return false
	}
	if f.Close.How != "end" {
		return true
	}
	// An HTTP stream may also end after the result of a round, which asks for input.
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
		if h.HTTP.Status == http.StatusAccepted || h.HTTP.Status >= 300 {
			return true
		}
		kind := wire.MediaType(h.HTTP.Field("Content-Type"))
		return kind != "" && kind != "text/event-stream"
	})
}

// neverConnected reports whether a frame ends a stream that never got a connection.
func neverConnected(f wire.Frame) bool { return f.Close != nil && f.Close.IsUnreached() }

// notOpened returns a sentence about a connection that could not be opened.
func notOpened(why string) string { return "could not be opened: " + cutText(why, maxShort) }

// closingWords describes the end of a stream.
func closingWords(f wire.Frame) string {
	if neverConnected(f) {
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

// afterEvent names the event after which a stream broke.
func (c *streamCut) afterEvent() string {
	if c.lastID == "" {
		return ""
	}
	return " after event " + cutText(c.lastID, 60)
}

// Lossless reports whether a stream was resumed at the point where it broke.
func (c *streamCut) Lossless() bool {
	return !c.resumedAt.IsZero() && c.resumedFrom == c.lastID && c.lastID != ""
}

// describeLoss describes what may be missing after a resumption.
func (c *streamCut) describeLoss() string {
	if c.Lossless() {
		return "nothing lost"
	}
	if c.resumedFrom == "" {
		return "it did not name the last event, so events may be lost"
	}
	return fmt.Sprintf("it asked from %s, so events may come twice", cutText(c.resumedFrom, 60))
}

// Text describes the cuts of an exchange or of a separate stream in one sentence, or returns "" if
// it was not cut. isStream is true for a separate stream, which has no response. waits is true if
// the client may still resume the stream.
func (s *story) Text(isStream, waits bool) string {
	if len(s.Cuts) == 0 {
		return ""
	}
	last := s.Cuts[len(s.Cuts)-1]
	if last.isNeverConnected {
		return notOpened(last.cause)
	}
	text := "cut " + last.by + last.afterEvent()
	if n := len(s.Cuts); n > 1 {
		text = fmt.Sprintf("cut %d times, the last time %s%s", n, last.by, last.afterEvent())
	}
	if !last.resumedAt.IsZero() {
		lost := last.describeLoss()
		if !isStream && !s.Complete {
			lost = "the answer did not come"
		}
		text += "; resumed " + term.Duration(last.resumedAt.Sub(last.cutAt)) + " later"
		if last.resumedFrom != "" {
			text += " from " + cutText(last.resumedFrom, 60)
		}
		return text + "; " + english.Plural(last.events, "event") + " came; " + lost
	}
	if waits && last.lastID != "" {
		return text + "; not resumed yet: else " + s.describeMissing(last, isStream)
	}
	missing := s.describeMissing(last, isStream)
	if last.attempts > 0 {
		return text + "; not resumed in " + english.Plural(last.attempts, "attempt") + ": " + missing
	}
	return text + "; never resumed: " + missing
}

// describeMissing describes what is missing because a stream was not resumed.
func (s *story) describeMissing(c *streamCut, isStream bool) string {
	after := "anything after " + cutText(c.lastID, 60)
	if isStream && c.lastID == "" {
		return "everything that the server sent afterwards is lost"
	}
	if isStream {
		return after + " is lost"
	}
	if s.Complete {
		return "but the response was received"
	}
	if c.lastID == "" {
		return "the answer is lost"
	}
	return "the answer and " + after + " are lost"
}

// bareRequests describes HTTP requests without a message, by their method.
var bareRequests = map[string]string{"DELETE": "ends the session", "GET": "opens a stream"}

// addStream adds the line of a stream that broke or was resumed, or of an HTTP request without a
// message. It adds no line if the stream ended as expected.
func (l *liner) addStream(f wire.Frame) {
	if f.Kind == wire.Head && f.HTTP.Field(lastEventID) == "" {
		text := bareRequests[f.HTTP.Method]
		if text == "" {
			text = f.HTTP.Method
		}
		l.add(Line{Dir: wire.Sent.String(), Time: f.Time, Kind: lineRequest, Text: text})
		return
	}
	if neverConnected(f) {
		l.add(Line{
			Time: f.Time, Kind: lineCut, Level: levelWarning, Text: notOpened(f.Close.Text), cause: f.Close.Text,
		})
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
			if c.resumedAt.Equal(f.Time) {
				line.Text += ", " + term.Duration(f.Time.Sub(c.cutAt)) + " later"
			}
		}
		l.add(line)
		return
	}
	for _, c := range l.story.Cuts {
		if !c.cutAt.Equal(f.Time) {
			continue
		}
		line := Line{Time: f.Time, Kind: lineCut, Level: levelWarning, Text: "cut " + c.by + c.afterEvent(), cause: c.cause}
		if c.cause != "" {
			line.Text += ": " + cutText(c.cause, maxShort)
		}
		l.add(line)
		return
	}
}
