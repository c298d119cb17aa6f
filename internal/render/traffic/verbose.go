package traffic

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// Verbose returns a tap that writes frames live: with level 1 a line for each frame, with 2 also
// the bodies, indented and cut, with 3 also the header fields and every byte, quoted as in Go. With
// level 0 it writes nothing. Its frames must be redacted already.
//
// The tap may be called from several goroutines.
func Verbose(w io.Writer, st term.Style, level int) wire.Tap {
	if level <= 0 {
		return func(wire.Frame) {}
	}
	v := &verbose{
		w:           w,
		st:          st,
		level:       level,
		heads:       map[int]wire.Frame{},
		sentAt:      map[int]time.Time{},
		pending:     map[string]pendingRequest{},
		unrequested: map[int]bool{},
	}
	return v.writeFrame
}

// verbose is the state of the tap that Verbose returns.
type verbose struct {
	w     io.Writer
	st    term.Style
	level int // the number of -v flags, from 1 to 3

	// mu guards the fields below.
	mu sync.Mutex
	// heads are the heads of requests, by stream, until their body, which shares their line.
	heads map[int]wire.Frame
	// sentAt is when the request of a stream was sent, for the time on the line of its response.
	sentAt map[int]time.Time
	// pending are the requests without a response, by direction and id.
	pending map[string]pendingRequest
	// unrequested are the streams on which mcpc sent a response or a notification and no request:
	// their messages respond to no request.
	unrequested map[int]bool
	// b has the text of the current frame.
	b bytes.Buffer
}

// pendingRequest is what the line of a response repeats about its request.
type pendingRequest struct {
	method string
	at     time.Time
}

// maxPending limits the remembered requests without a response, and the remembered streams without
// a request.
const maxPending = 1000

func (v *verbose) writeFrame(f wire.Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.b.Reset()
	v.writeFrameLocked(f)
	if v.b.Len() > 0 {
		_, _ = v.w.Write(v.b.Bytes())
	}
}

// writeFrameLocked writes a frame. It keeps the head of a POST until its body, which shares its line.
func (v *verbose) writeFrameLocked(f wire.Frame) {
	if f.Kind == wire.Head && f.Dir == wire.Sent && f.HTTP != nil {
		v.sentAt[f.Stream] = f.Time
		if f.HTTP.Method == http.MethodPost {
			v.heads[f.Stream] = f
			return
		}
	}
	head, hasHead := v.heads[f.Stream]
	delete(v.heads, f.Stream)
	isItsBody := f.Kind == wire.Body && f.Dir == wire.Sent
	if hasHead && !isItsBody { // the POST has no body: its head gets a separate line
		v.writeHeadLocked(head)
		hasHead = false
	}
	switch f.Kind {
	case wire.Head:
		v.writeHeadLocked(f)
	case wire.Body, wire.Event:
		v.writeMessageLocked(f, head, hasHead)
	case wire.Stderr:
		v.writeLine(v.st.Paint(term.Dim, "server:"), v.st.Line(v.st.Excerpt(f.Raw, term.MaxExcerpt)))
	case wire.Noise:
		v.writeNoiseLocked(f)
	case wire.Fault:
		v.writeLine(v.eventMark(), faultText(v.st, f))
	case wire.Held:
		v.writeLine(v.eventMark(), heldText(v.st, f))
	case wire.Closed:
		v.writeClosedLocked(f)
	}
}

// writeNoiseLocked writes bytes that are not a message.
func (v *verbose) writeNoiseLocked(f wire.Frame) {
	if f.DecodeError != "" {
		v.writeLine(v.eventMark(), "body not readable: "+v.st.Line(f.DecodeError))
		return
	}
	label := "no message"
	if f.Stream == 0 {
		label += " on standard output"
	}
	if v.level < 3 {
		v.writeLine(v.eventMark(), label+": "+v.st.Line(v.st.Excerpt(f.Raw, 500)))
		return
	}
	v.writeLine(v.eventMark(), label+"  ("+term.Size(len(f.Raw))+")")
	v.writeBody(f)
}

func (v *verbose) writeLine(mark, text string) { v.b.WriteString(mark + " " + text + "\n") }

// eventMark returns the mark of lines about events that are not messages.
func (v *verbose) eventMark() string { return v.st.Ornament("*", "·") }

func (v *verbose) arrow(d wire.Direction) string { return v.st.Paint(term.Bold, arrow(v.st, d)) }

// writeHeadLocked writes the line of a head and its header fields.
func (v *verbose) writeHeadLocked(f wire.Frame) {
	if f.HTTP == nil {
		return
	}
	if f.Dir == wire.Sent {
		v.writeLine(v.arrow(f.Dir), v.st.Line(f.HTTP.Method+" "+f.HTTP.URL))
	} else {
		v.writeLine(v.arrow(f.Dir), v.st.Line(v.statusLine(f)))
	}
	v.writeFields(f)
}

// statusLine returns `200 application/json 12 ms (dns 0 connect 1 tls 0 first byte 10)`.
func (v *verbose) statusLine(f wire.Frame) string {
	text := strconv.Itoa(f.HTTP.Status)
	if f.HTTP.Status != http.StatusOK {
		text = strings.TrimPrefix(failure.HTTPStatus(f.HTTP.Status), "HTTP ")
	}
	for _, field := range f.HTTP.Fields {
		if strings.EqualFold(field.Name, "content-type") {
			text += " " + v.st.Excerpt([]byte(field.Value), 100)
		}
	}
	if began := v.sentAt[f.Stream]; !began.IsZero() && !f.Time.IsZero() {
		text += "  " + term.Duration(f.Time.Sub(began))
	}
	delete(v.sentAt, f.Stream)
	if t := f.HTTP.Timing; t != nil {
		ms := func(d time.Duration) string { return term.Tenths(d, time.Millisecond) }
		text += fmt.Sprintf(" (dns %s connect %s tls %s first byte %s)",
			ms(t.DNS), ms(t.Connect), ms(t.TLS), ms(t.FirstByte))
	}
	return text
}

func (v *verbose) writeFields(f wire.Frame) {
	if v.level < 3 {
		return
	}
	for _, field := range f.HTTP.Fields {
		v.b.WriteString("    " + v.st.Line(field.Name+": "+field.Value) + "\n")
	}
}

// writeMessageLocked writes the line of a body or an event. If hasHead is true, head is the HTTP header of
// the request: it is written on the same line, and its fields below.
func (v *verbose) writeMessageLocked(f, head wire.Frame, hasHead bool) {
	var parts []string
	if hasHead {
		parts = append(parts, head.HTTP.Method+" "+head.HTTP.URL)
	}
	if f.Kind == wire.Event {
		parts = append(parts, v.describeEvent(f.SSE))
	}
	if len(f.Raw) > 0 {
		isMessage := f.SSE == nil || f.SSE.Event == "" || f.SSE.Event == "message"
		if isMessage { // the data of other events, such as endpoint, is not JSON
			parts = append(parts, v.messageText(f))
		}
		parts = append(parts, "("+term.Size(len(f.Raw))+")")
	} else if f.SSE != nil && !f.SSE.IsComment {
		parts = append(parts, "(no data: event id only)")
	}
	v.writeLine(v.arrow(f.Dir), v.st.Line(strings.Join(parts, "  ")))
	if hasHead {
		v.writeFields(head)
	}
	v.writeBody(f)
}

// describeEvent returns `event id 7`, with the other fields of the event.
func (v *verbose) describeEvent(s *sse.Facts) string {
	if s == nil {
		return "event"
	}
	text := "event"
	if s.Event != "" && s.Event != "message" {
		text += " " + v.st.Excerpt([]byte(s.Event), 60)
	}
	if s.ID != nil {
		text += " id " + v.st.Excerpt([]byte(*s.ID), 80)
	}
	if s.Retry != nil {
		text += " retry " + term.Duration(*s.Retry)
	}
	if s.IsComment {
		text += " (comment: keep-alive)"
	}
	return text
}

// messageText names a message: `tools/call id 3`, or for a response `result id 3 of tools/call, 12
// ms`.
func (v *verbose) messageText(f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	mayHaveRequest := m.Kind == wire.Request || m.Kind == wire.Batch
	isOverHTTP := f.Stream > 0
	if f.Dir == wire.Sent && isOverHTTP && !mayHaveRequest {
		if len(v.unrequested) > maxPending {
			clear(v.unrequested) // a wrong match in the text is better than memory that only grows
		}
		v.unrequested[f.Stream] = true
	}
	id := " without id"
	if m.ID != nil {
		id = " id " + v.st.Excerpt(m.ID, 60)
	}
	switch m.Kind {
	case wire.Request:
		if len(v.pending) < maxPending {
			v.pending[requestKey(f.Dir, m)] = pendingRequest{m.Method, f.Time}
		}
		return v.st.Excerpt([]byte(m.Method), 100) + id
	case wire.Notification:
		return v.st.Excerpt([]byte(m.Method), 100)
	case wire.Response:
		word := "result"
		if wire.IsToolError(m.Result) {
			word = "result, isError true,"
		}
		return word + id + v.responseText(f, m)
	case wire.ErrorResponse:
		text := "error"
		if m.Error != nil {
			text += fmt.Sprintf(" %d", m.Error.Code)
		}
		return text + id + v.responseText(f, m)
	case wire.Batch:
		return fmt.Sprintf("batch of %d", len(m.Items))
	}
	return "not a message: " + m.Problem()
}

// responseText describes which request a response belongs to, and how long it took.
func (v *verbose) responseText(f wire.Frame, m *wire.Message) string {
	key := requestKey(1-f.Dir, m) // the request was sent in the other direction
	request, matches := v.pending[key]
	if f.Dir == wire.Received && v.unrequested[f.Stream] {
		matches = false // the HTTP request of this stream had no request, so the id is a coincidence
	}
	if matches {
		delete(v.pending, key)
	}
	if m.ID == nil || string(m.ID) == "null" {
		return ""
	}
	if !matches {
		return ", matches no request"
	}
	text := " of " + v.st.Excerpt([]byte(request.method), 100)
	if request.at.IsZero() || f.Time.IsZero() {
		return text
	}
	return text + ", " + term.Duration(f.Time.Sub(request.at))
}

// requestKey returns a key for a request's id; client and server number their requests separately.
func requestKey(from wire.Direction, m *wire.Message) string { return from.String() + string(m.ID) }

// writeClosedLocked says who closed a stream, and how.
func (v *verbose) writeClosedLocked(f wire.Frame) {
	delete(v.sentAt, f.Stream)
	c := f.Close
	if c == nil {
		return
	}
	who := "by mcpc"
	if c.By == wire.Received {
		who = "by server"
	}
	text := "closed " + who
	textSaysHow := c.How == "" || c.How == "end" || strings.HasPrefix(c.Text, c.How)
	if !textSaysHow {
		text += ", " + c.How
	}
	if c.Text != "" {
		text += ": " + v.st.Excerpt([]byte(c.Text), 500)
	}
	v.writeLine(v.eventMark(), v.st.Line(text))
}

// writeBody writes the bytes of a frame under its line, for -vv and -vvv.
func (v *verbose) writeBody(f wire.Frame) {
	if len(f.Raw) == 0 || v.level < 2 {
		return
	}
	if v.level == 2 {
		v.writeIndented(f.Raw)
	} else {
		v.b.WriteString("    " + quoteBytes(f.Raw) + "\n")
	}
}

// maxPretty is how many bytes of an indented body -vv shows.
const maxPretty = 4 << 10

// writeIndented writes a body indented, at most maxPretty bytes.
func (v *verbose) writeIndented(raw []byte) {
	text, omitted := v.indentedStart(raw)
	for line := range strings.SplitSeq(text, "\n") {
		v.b.WriteString("    " + line + "\n")
	}
	if omitted > 0 {
		note := fmt.Sprintf("    %s %d more bytes (see -vvv)", v.st.Ellipsis(), omitted)
		v.b.WriteString(v.st.Paint(term.Dim, note) + "\n")
	}
}

// maxIndented is the maximum size of a body that is parsed for its indentation.
const maxIndented = 1 << 20

// indentedStart returns the first maxPretty bytes of a body, indented if it is JSON, and the number of
// bytes that it omits.
func (v *verbose) indentedStart(raw []byte) (text string, omitted int) {
	if len(raw) > maxIndented || jsonraw.Valid(raw) != nil {
		start := raw[:jsonraw.RuneStart(raw, min(len(raw), maxPretty))]
		return strings.TrimRight(v.st.Block(string(start)), "\n"), len(raw) - len(start)
	}
	text = strings.TrimRight(string(term.EscapeHidden(render.IndentJSON(v.st, raw))), "\n")
	if len(text) <= maxPretty {
		return text, 0
	}
	end := strings.LastIndexByte(text[:maxPretty], '\n') // whole lines only, if there is a line end
	if end <= 0 {
		end = jsonraw.RuneStart([]byte(text), maxPretty)
	}
	return text[:end], len(text) - end
}

// quoteBytes quotes bytes so that every byte is visible: between backquotes if possible, else with
// the escapes of a Go string.
func quoteBytes(raw []byte) string {
	s := string(raw)
	if sanitize.IsPlain(s) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.QuoteToASCII(s)
}
