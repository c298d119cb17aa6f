package traffic

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// Explain writes the messages of exchanges with a note beside each part that explains it. Each note
// is given once, where its part is first seen.
//
// It cuts long texts, long lists and deep values, with a count of what is missing; the recording
// has the bytes. It reports whether it cut anything.
func Explain(w io.Writer, st term.Style, exchanges []*wire.Exchange) bool {
	e := &explainer{st: st, noted: map[string]bool{}}
	for i, x := range exchanges {
		if i > 0 {
			e.addLine("", "", "")
		}
		e.addExchange(x)
	}
	_, _ = io.WriteString(w, e.layout())
	return e.isCut
}

// WithoutRepeats returns the exchanges without the server's requests and the messages that are
// shown with a request of the client.
func WithoutRepeats(exchanges []*wire.Exchange) []*wire.Exchange {
	var kept []*wire.Exchange
	shown := map[uint64]bool{} // by the sequence numbers of frames
	for _, x := range exchanges {
		if x.Request.Raw != nil && !x.IsFromServer() {
			for _, f := range x.OtherMessages {
				shown[f.Seq] = true
			}
		}
	}
	for _, x := range exchanges {
		if x.IsFromServer() && shown[x.Request.Seq] {
			continue // it is shown with the client's request
		}
		if x.Request.Raw == nil { // messages that belong to no request
			isShown := func(f wire.Frame) bool { return shown[f.Seq] }
			unshown := slices.DeleteFunc(slices.Clone(x.OtherMessages), isShown)
			if len(unshown) == 0 {
				continue
			}
			shortened := *x
			shortened.OtherMessages = unshown
			x = &shortened
		}
		kept = append(kept, x)
	}
	return kept
}

// An explainer collects lines. layout writes them at the end, so that all notes begin in one
// column.
type explainer struct {
	st    term.Style
	lines []annotatedLine
	// noted are the keys of the notes that were given.
	noted map[string]bool
	// The current exchange, its request, the current message and the message's role.
	x       *wire.Exchange
	request *wire.Message
	current *wire.Message
	role    string
	// isCut is true if a part of a message was left out.
	isCut bool
	// isUnrequested is true for a response to an HTTP request whose message was not a request.
	isUnrequested bool
}

// annotatedLine is a line, sanitized and without colour, and its note.
type annotatedLine struct{ text, sgr, note string }

func (e *explainer) addLine(text, sgr, note string) {
	e.lines = append(e.lines, annotatedLine{text, sgr, note})
}

// addExchange shows the heads and messages of an exchange.
func (e *explainer) addExchange(x *wire.Exchange) {
	e.x = x
	e.request = wire.ParseMessage(x.Request.Raw)
	frames, omitted := orderedFrames(x)
	for i, f := range frames {
		if omitted > 0 && i == len(frames)-1 {
			e.isCut = true
			e.addBlank()
			e.addLine(fmt.Sprintf("%s %d more messages before the last", e.st.Ellipsis(), omitted), term.Dim, "")
		}
		if f.Kind == wire.Head {
			e.addHead(f)
			continue
		}
		followsHead := i > 0 && frames[i-1].Kind == wire.Head && frames[i-1].Dir == f.Dir
		e.addMessage(f, followsHead)
	}
	if x.Request.Raw != nil && x.Response.Raw == nil {
		e.addLine(arrow(e.st, wire.Received)+" no "+missingResponse(x), term.Bold, "")
	}
}

// maxBetween is how many messages between a request and its response are shown.
const maxBetween = 20

// orderedFrames returns the heads and messages of an exchange in the order of their sequence
// numbers, and how many messages it left out.
func orderedFrames(x *wire.Exchange) (frames []wire.Frame, omitted int) {
	for _, h := range x.Heads {
		if h.Dir == wire.Sent {
			frames = append(frames, h)
		}
	}
	if x.Request.Raw != nil {
		frames = append(frames, x.Request)
	}
	for _, h := range x.Heads {
		if h.Dir == wire.Received {
			frames = append(frames, h)
		}
	}
	shown := min(len(x.OtherMessages), maxBetween)
	for _, f := range x.OtherMessages[:shown] {
		frames = append(frames, f)
		if f.Dir == wire.Sent {
			frames = append(frames, x.HeadsOf(f)...)
		}
	}
	if x.Response.Raw != nil {
		frames = append(frames, x.Response)
	}
	// The sort is stable: frames without a number keep this order.
	sliceutil.Sort(frames, func(a, b wire.Frame) int { return cmp.Compare(a.Seq, b.Seq) })
	return frames, len(x.OtherMessages) - shown
}

// arrow returns an arrow to the server for a sent frame, and the opposite for a received one.
func arrow(s term.Style, d wire.Direction) string {
	if d == wire.Sent {
		return s.Ornament("->", "→")
	}
	return s.Ornament("<-", "←")
}

// addHead shows an HTTP head: its first line, and the fields that matter to MCP.
func (e *explainer) addHead(f wire.Frame) {
	if f.HTTP == nil {
		return
	}
	e.addBlank()
	h := f.HTTP
	mark := arrow(e.st, f.Dir)
	if f.Dir == wire.Sent {
		e.addLine(mark+" "+e.st.Line(h.Method+" "+h.URL), term.Bold, e.noteOnce("verb "+h.Method, verbNotes[h.Method]))
	} else {
		text := mark + " " + e.st.Line(failure.HTTPStatus(h.Status)) + e.elapsed(f)
		if sessionLost(e.x, f) {
			e.addLine(text, term.Bold, e.noteOnce("session lost", sessionLostNote))
		} else {
			e.addLine(text, term.Bold, e.noteOnce(fmt.Sprint("status ", h.Status), statusNote(h.Status)))
		}
	}
	omitted := 0
	for _, field := range h.Fields {
		note, matters := e.fieldNote(f.Dir, field)
		if !matters {
			omitted++
			continue
		}
		text := "  " + field.Name + ": " + field.Value
		e.addLine(e.cutLine(e.st.Line(text)), "", e.noteOnce(f.Dir.String()+strings.ToLower(field.Name), note))
	}
	if omitted > 0 {
		e.addLine(fmt.Sprintf("  %s %s", e.st.Ellipsis(), english.Plural(omitted, "more header field")), term.Dim, "")
	}
}

// elapsed returns the time from the request to frame f as ", after 12 ms"; "" if a time is unknown.
func (e *explainer) elapsed(f wire.Frame) string {
	if f.Time.IsZero() || e.x.Request.Time.IsZero() {
		return ""
	}
	return ", after " + term.Duration(f.Time.Sub(e.x.Request.Time))
}

// noteOnce returns note for the first call with key, then "".
func (e *explainer) noteOnce(key, note string) string {
	if e.noted[key] {
		return ""
	}
	e.noted[key] = true
	return note
}

// addMessage shows a body or an event, below a separate line unless it follows the head of its HTTP
// message.
func (e *explainer) addMessage(f wire.Frame, followsHead bool) {
	e.current = wire.ParseMessage(f.Raw)
	e.role = messageRole(f.Dir, e.current.Kind)
	if e.role == "request" {
		e.request = e.current // the last of several rounds
	}
	// Then it came on the HTTP request of another message, such as a notification.
	e.isUnrequested = e.role == "response" && len(e.x.HeadsOf(f)) > 0
	e.addBlank()
	if f.Kind == wire.Event {
		e.addEvent(f)
	} else if !followsHead {
		text := arrow(e.st, f.Dir) + " " + roleTitles[e.role]
		note := ""
		if e.role == "response" {
			text += e.elapsed(f)
		}
		if f.Stream == 0 { // stdio
			note = e.noteOnce("pipe", pipeNote)
		}
		e.addLine(text, term.Bold, note)
	}
	if err := jsonraw.Valid(f.Raw); err != nil {
		e.addLine("  "+e.cutText(e.st.Line(e.st.Excerpt(f.Raw, maxScalar)), 2, 0), "", err.Error())
		return
	}
	e.addValue(bytes.TrimSpace(f.Raw), nil, "  ", "")
}

// addEvent shows the lines of an SSE event before its data.
func (e *explainer) addEvent(f wire.Frame) {
	text := arrow(e.st, f.Dir) + " event"
	if f.SSE != nil && f.SSE.Event != "" {
		text += ": " + f.SSE.Event
	}
	e.addLine(e.cutLine(e.st.Line(text+e.elapsed(f))), term.Bold, e.noteOnce("event", eventNote))
	if f.SSE != nil && f.SSE.ID != nil {
		e.addLine(e.cutLine(e.st.Line("  id: "+*f.SSE.ID)), "", e.noteOnce("event id", eventIDNote))
	}
	if f.SSE != nil && f.SSE.Retry != nil {
		e.addLine("  retry: "+fmt.Sprint(f.SSE.Retry.Milliseconds()), "", e.noteOnce("retry", retryNote))
	}
}

// messageRole returns the role of a message, a key of roleTitles.
func messageRole(d wire.Direction, k wire.MessageKind) string {
	if k == wire.Notification {
		return "notification"
	}
	if k == wire.Request && d == wire.Sent {
		return "request"
	}
	if k == wire.Request {
		return "ask"
	}
	if d == wire.Sent {
		return "reply"
	}
	return "response"
}

var roleTitles = map[string]string{
	"request": "request", "response": "response", "notification": "notification",
	"ask": "request from the server", "reply": "response to the server",
}

func (e *explainer) addBlank() {
	if n := len(e.lines); n > 0 && e.lines[n-1].text != "" {
		e.addLine("", "", "")
	}
}
