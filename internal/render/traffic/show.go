// Package traffic shows recorded messages: live (Verbose), with notes (Explain), one exchange with
// its timing (Show), as a report for an issue, and as shell commands that send them again.
package traffic

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/render"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// View is a recorded exchange to be shown.
type View struct {
	// Title is the first line, Facts are the lines below it.
	Title string
	Facts [][]string
	// Exchange is nil if no message was sent or received.
	Exchange *wire.Exchange
	// Findings are shown at the end, except findings about one message, which are shown with it.
	Findings []wire.Finding
	// HeadsOnly omits the messages.
	HeadsOnly bool
}

// Show writes an exchange for a person: facts, heads, messages with their problems, and the timing.
func Show(w io.Writer, st term.Style, view View) error {
	v := &exchangeWriter{st: st, b: bufio.NewWriterSize(w, 64<<10)}
	v.b.WriteString(st.Paint(term.Bold, st.Line(view.Title)) + "\n")
	layout := term.Style{Terminal: true, Color: st.Color, Width: st.Width} // aligned, also in a pipe
	if !st.Terminal {
		layout.Width = math.MaxInt32 // a command stays on one line, so that it can be copied
	}
	if err := term.Facts(v.b, layout, view.Facts); err != nil {
		return err
	}
	if view.Exchange != nil {
		v.writeExchange(view.Exchange, view.HeadsOnly)
	}
	for _, f := range view.Findings {
		if !slices.Contains(v.shownFindings, f) {
			v.otherFindings = append(v.otherFindings, f)
		}
	}
	if len(v.otherFindings) > 0 {
		v.writeSection("findings")
		v.writeFindings(v.otherFindings)
	}
	return v.b.Flush()
}

// exchangeWriter writes the parts of an exchange.
type exchangeWriter struct {
	st term.Style
	b  *bufio.Writer
	// shownFindings were shown with their message.
	shownFindings, otherFindings []wire.Finding
}

func (v *exchangeWriter) writeSection(name string) { v.writeSectionWithNote(name, "") }

// writeSectionWithNote begins a section with a note beside its name.
func (v *exchangeWriter) writeSectionWithNote(name, note string) {
	text := "\n" + v.st.Paint(term.Bold, name)
	if note != "" {
		text += "  " + v.st.Paint(term.Dim, note)
	}
	v.writeLine(text)
}

func (v *exchangeWriter) writeLine(text string) { v.b.WriteString(text + "\n") }

// writeExchange writes the heads, the messages, the events and the timing of an exchange.
func (v *exchangeWriter) writeExchange(x *wire.Exchange, headsOnly bool) {
	for _, f := range x.Heads {
		v.writeHead(f)
		if f.Dir == wire.Received && sessionLost(x, f) {
			v.writeLine(v.st.Paint(term.Yellow, "! ") + sessionLostNote)
		}
	}
	if headsOnly { // with the heads of HTTP requests for other messages, which are shown below otherwise
		for _, f := range x.Carriers {
			v.writeHead(f)
		}
	} else {
		if x.Request.Raw != nil {
			v.writeMessage("request", x.Request, "")
		}
		shown := min(len(x.OtherMessages), maxBetween)
		for _, f := range x.OtherMessages[:shown] {
			note := ownRequestNote(f, x)
			if x.IsGuess(f) {
				note += ", guess: it names no request, and only this request was open"
			}
			v.writeMessage(messageName(v.st, f), f, note)
		}
		if more := len(x.OtherMessages) - shown; more > 0 {
			v.writeSection(fmt.Sprintf("%s %d more messages (see --raw)", v.st.Ellipsis(), more))
		}
		if x.Response.Raw != nil {
			v.writeMessage("response", x.Response, "")
		} else if x.Request.Raw != nil || len(x.Heads) == 1 {
			v.writeSection("no " + missingResponse(x))
		}
		v.writeEvents(x)
	}
	v.writeTiming(x)
}

// missingResponse names the missing response: "JSON-RPC response" if an HTTP response was received.
func missingResponse(x *wire.Exchange) string {
	if len(x.Heads) > 1 {
		return "JSON-RPC response"
	}
	return "response"
}

// messageName names a message that is neither the request nor the response.
func messageName(s term.Style, f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	word := m.Kind.String()
	if m.Method != "" {
		word = excerptLine(s, []byte(m.Method), 100)
	} else if m.Kind == wire.Invalid {
		word = f.Kind.String() + ", not a JSON-RPC message"
	}
	return arrow(s, f.Dir) + " " + word
}

// writeHead writes an HTTP head with its fields, and the plain text of encoded values.
func (v *exchangeWriter) writeHead(f wire.Frame) {
	if f.HTTP == nil {
		return
	}
	first := failure.HTTPStatus(f.HTTP.Status)
	if f.Dir == wire.Sent {
		first = f.HTTP.Method + " " + f.HTTP.URL
	}
	v.writeSection(arrow(v.st, f.Dir) + " " + v.st.Line(first))
	for _, field := range f.HTTP.Fields {
		text := "  " + v.st.Line(field.Name) + ": " + v.st.Line(field.Value)
		if plain := field.DecodedValue(); plain != field.Value {
			text += v.st.Paint(term.Dim, "  = "+v.st.Line(strconv.Quote(plain)))
		}
		v.writeLine(text)
	}
}

// ownRequestNote returns a note that a message between request and response had its own HTTP
// request, with the status of the response, or "" if it had no own request.
func ownRequestNote(f wire.Frame, x *wire.Exchange) string {
	heads := x.HeadsOf(f)
	if len(heads) == 0 {
		return ""
	}
	if f.Dir == wire.Received {
		return ", responds to nothing: its message is not a request"
	}
	if len(heads) == 1 {
		return ", a separate POST"
	}
	return ", a separate POST: " + failure.HTTPStatus(heads[1].HTTP.Status)
}

// writeMessage writes one message, indented, and its problems below it. remark is added to the note
// beside its name.
func (v *exchangeWriter) writeMessage(name string, f wire.Frame, remark string) {
	note := fmt.Sprintf("%d bytes", f.Bytes()) + remark
	if f.Hidden > 0 {
		note += fmt.Sprintf(", %s hidden", english.Plural(f.Hidden, "secret"))
	}
	if s := f.SSE; s != nil && s.ID != nil {
		note += ", event id " + excerptLine(v.st, []byte(*s.ID), 60)
	}
	v.writeSectionWithNote(name, note)
	_ = render.PrettyJSON(v.b, v.st, f.Raw)
	m := wire.ParseMessage(f.Raw)
	v.writeFindings(m.Problems)
	v.shownFindings = append(v.shownFindings, m.Problems...)
}

func (v *exchangeWriter) writeFindings(findings []wire.Finding) {
	for _, f := range findings {
		v.writeLine(v.st.Paint(term.Yellow, "! ") + v.st.Line(failure.Finding(v.st, f)))
	}
}

// excerptLine returns the first n bytes of untrusted text on one line, and the number of missing
// bytes.
func excerptLine(s term.Style, raw []byte, n int) string { return s.Line(s.Excerpt(raw, n)) }

// writeEvents writes the server's stderr, faults, held messages, and how the streams ended.
func (v *exchangeWriter) writeEvents(x *wire.Exchange) {
	const maxLines = 40
	frames := x.NonMessages
	if x.Response.Raw != nil {
		// A stream that the server closes after its response is not worth a line.
		frames = slices.DeleteFunc(slices.Clone(frames), func(f wire.Frame) bool {
			isClose := f.Kind == wire.Closed && f.Close != nil
			return isClose && f.Close.By == wire.Received && f.Close.How == "end"
		})
	}
	for i, f := range frames {
		afterResponse := x.Response.Raw != nil && f.Seq > x.Response.Seq
		isFirstAfter := afterResponse && (i == 0 || frames[i-1].Seq < x.Response.Seq)
		if isFirstAfter {
			v.writeSection("afterwards")
		} else if i == 0 {
			v.writeSection("events")
		}
		if i == maxLines {
			omitted := fmt.Sprintf("%s %d more lines (see --raw)", v.st.Ellipsis(), len(frames)-maxLines)
			v.writeLine(v.st.Paint(term.Dim, omitted))
			return
		}
		v.writeLine("  " + eventText(v.st, f))
	}
}

// eventText describes a frame that is neither a head nor a message.
func eventText(s term.Style, f wire.Frame) string {
	switch f.Kind {
	case wire.Closed:
		return closedText(s, f)
	case wire.Fault:
		return faultText(s, f)
	case wire.Held:
		return heldText(s, f)
	}
	if f.DecodeError != "" {
		return fmt.Sprintf("%s body: not readable: %s (%d bytes)", f.Dir, s.Line(f.DecodeError), f.Size)
	}
	text := excerptLine(s, f.Raw, 400)
	if f.SSE != nil && f.SSE.ID != nil {
		text += "id " + excerptLine(s, []byte(*f.SSE.ID), 60)
	}
	if f.Kind == wire.Noise {
		return "stdout, not JSON-RPC: " + text
	}
	return f.Kind.String() + ": " + text
}

// faultText describes what a fault rule did.
func faultText(s term.Style, f wire.Frame) string {
	if f.Fault == nil {
		return "fault"
	}
	text := fmt.Sprintf("fault: %s (%s, line %d: %s)", f.Fault.Action, f.Fault.Source, f.Fault.Line, f.Fault.Rule)
	if f.Fault.Text != "" {
		text += ": " + f.Fault.Text
	}
	return excerptLine(s, []byte(text), 400)
}

// heldText describes what was done with a held message.
func heldText(s term.Style, f wire.Frame) string {
	if f.Held == nil {
		return "held"
	}
	text := "held: " + f.Held.Kind + " " + f.Held.Method + " " + f.Held.Name
	text = strings.TrimRight(text, " ")
	if f.Held.How != "waiting" {
		// A recording of another program may have any number.
		waited := time.Duration(min(max(f.Held.Milliseconds, 0), 1e9)) * time.Millisecond
		text += fmt.Sprintf(": %s after %s", f.Held.How, waited)
	}
	if f.Held.Why != "" {
		text += " (" + f.Held.Why + ")"
	}
	if len(f.Raw) > 0 {
		text += ": " + string(f.Raw)
	}
	return excerptLine(s, []byte(text), 400)
}

// closedText says who closed a stream, and how.
func closedText(s term.Style, f wire.Frame) string {
	if f.Close == nil {
		return "the stream ended"
	}
	who := "the server"
	if f.Close.By == wire.Sent {
		who = "the client"
	}
	text := who + " closed the stream"
	switch f.Close.How {
	case "end":
		if f.Close.By == wire.Sent && f.Stream == 0 {
			return who + " closed the server's stdin" + exitText(s, f.Close)
		}
	case "cut":
		text = "connection error"
	case "cancelled":
		text = who + " cancelled it"
	case "exit", "signal": // of the server's process, also after the client closed its stdin
		text = "the server exited"
	default:
		text = who + " ended: " + s.Line(f.Close.How)
	}
	if f.Close.Text != "" {
		text += " (" + excerptLine(s, []byte(f.Close.Text), 200) + ")"
	}
	return text
}

// exitText says how the server exited after its stdin was closed, or repeats the text of the close.
func exitText(s term.Style, c *wire.CloseFacts) string {
	if c.Text == "" {
		return ""
	}
	how := c.HowExited()
	if how == "" {
		return " (" + excerptLine(s, []byte(c.Text), 200) + ")"
	}
	if strings.HasPrefix(how, "signal: ") { // the text of package os
		return "; the server was then terminated (" + excerptLine(s, []byte(how), 200) + ")"
	}
	return "; the server then exited (" + excerptLine(s, []byte(how), 200) + ")"
}
