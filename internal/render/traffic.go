package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/wire"
)

// Traffic is a recorded exchange as it is to be shown.
type Traffic struct {
	// Title is the first line, Facts what is known beside the bytes.
	Title string
	Facts [][]string
	// Exchange is nil where nothing crossed.
	Exchange *wire.Exchange
	// Findings are shown at the end, but for those that stand beside their message.
	Findings []wire.Finding
	// HeadsOnly leaves out the messages.
	HeadsOnly bool
}

// ShowTraffic writes an exchange for a person: facts, heads, messages with what
// is wrong in them, and where the time went.
func ShowTraffic(w io.Writer, st Style, t Traffic) error {
	v := &viewer{st: st, b: bufio.NewWriterSize(w, 64<<10)}
	v.b.WriteString(st.paint(bold, st.Line(t.Title)) + "\n")
	layout := Style{Terminal: true, Color: st.Color, Width: st.Width}
	if !st.Terminal {
		layout.Width = math.MaxInt32 // a command is copied in one piece
	}
	if err := Facts(v.b, layout, t.Facts); err != nil {
		return err
	}
	if t.Exchange != nil {
		v.exchange(t.Exchange, t.HeadsOnly)
	}
	for _, f := range t.Findings {
		if !slices.Contains(v.found, f) {
			v.rest = append(v.rest, f)
		}
	}
	if len(v.rest) > 0 {
		v.section("findings")
		v.findings(v.rest)
	}
	return v.b.Flush()
}

// viewer writes the parts of an exchange.
type viewer struct {
	st Style
	b  *bufio.Writer
	// found are the findings that were shown beside their message.
	found, rest []wire.Finding
}

func (v *viewer) section(name string) { v.noted(name, "") }

// noted begins a section with a note beside its name.
func (v *viewer) noted(name, note string) {
	text := "\n" + v.st.paint(bold, name)
	if note != "" {
		text += "  " + v.st.paint(dim, note)
	}
	v.line(text)
}

func (v *viewer) line(text string) { v.b.WriteString(text + "\n") }

func (v *viewer) exchange(x *wire.Exchange, headsOnly bool) {
	for _, f := range x.Heads {
		v.head(f)
	}
	if headsOnly {
		for _, f := range x.Carriers {
			v.head(f)
		}
	} else {
		if x.Request.Raw != nil {
			v.message("request", x.Request, "")
		}
		shown := min(len(x.Between), maxBetween)
		for _, f := range x.Between[:shown] {
			v.message(v.st.between(f), f, carriedBy(f, x)+guessed(f, x))
		}
		if more := len(x.Between) - shown; more > 0 {
			v.section(fmt.Sprintf("%s %d more messages (see --raw)", v.st.ellipsis(), more))
		}
		switch {
		case x.Response.Raw != nil:
			v.message("response", x.Response, "")
		case x.Request.Raw != nil || len(x.Heads) == 1:
			v.section("no " + missing(x))
		}
		v.beside(x)
	}
	v.timing(x)
}

// missing names what did not come: an HTTP response may have come without it.
func missing(x *wire.Exchange) string {
	if len(x.Heads) > 1 {
		return "JSON-RPC response"
	}
	return "response"
}

// between names a message that is neither the request nor the response.
func (s Style) between(f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	word := m.Kind.String()
	switch {
	case m.Method != "":
		word = s.glimpse([]byte(m.Method), 100)
	case m.Kind == wire.Invalid:
		word = f.Kind.String() + ", not a JSON-RPC message"
	}
	return s.arrow(f.Dir) + " " + word
}

// head writes a head of HTTP with its fields, and beside the encoded bytes what
// it means.
func (v *viewer) head(f wire.Frame) {
	if f.HTTP == nil {
		return
	}
	first := status(f.HTTP.Status)
	if f.Dir == wire.Sent {
		first = f.HTTP.Method + " " + f.HTTP.URL
	}
	v.section(v.st.arrow(f.Dir) + " " + v.st.Line(first))
	for _, field := range f.HTTP.Fields {
		text := "  " + v.st.Line(field.Name) + ": " + v.st.Line(field.Value)
		if plain := field.Plain(); plain != field.Value {
			text += v.st.paint(dim, "  = "+v.st.Line(strconv.Quote(plain)))
		}
		v.line(text)
	}
}

// carriedBy says that a message on the way had an HTTP request of its own, and what
// came of that.
func carriedBy(f wire.Frame, x *wire.Exchange) string {
	heads := x.HeadsOf(f)
	switch {
	case len(heads) == 0:
		return ""
	case f.Dir == wire.Received:
		return ", responds to nothing: its message is not a request"
	case len(heads) == 1:
		return ", a separate POST"
	}
	return ", a separate POST: " + status(heads[1].HTTP.Status)
}

// guessed says that a message may belong to another exchange.
func guessed(f wire.Frame, x *wire.Exchange) string {
	if !x.Guessed(f) {
		return ""
	}
	return ", guess: it names no request, and only this request was open"
}

// message writes one message, pretty, and below it what is wrong with it.
func (v *viewer) message(name string, f wire.Frame, more string) {
	note := fmt.Sprintf("%d bytes", f.Bytes()) + more
	if f.Hidden > 0 {
		note += fmt.Sprintf(", %s hidden", english.Plural(f.Hidden, "secret"))
	}
	if s := f.SSE; s != nil && s.ID != nil {
		note += ", event id " + v.st.glimpse([]byte(*s.ID), 60)
	}
	v.noted(name, note)
	_ = showJSON(v.b, v.st, f.Raw)
	m := wire.ParseMessage(f.Raw)
	v.findings(m.Problems)
	v.found = append(v.found, m.Problems...)
}

func (v *viewer) findings(findings []wire.Finding) {
	for _, f := range findings {
		v.line(v.st.paint(yellow, "! ") + v.st.Line(v.st.finding(f)))
	}
}

// glimpse returns at most n bytes of untrusted text, on one line, and how many more there are.
func (s Style) glimpse(raw []byte, n int) string { return s.Line(s.excerpt(raw, n)) }

// beside writes what a child said meanwhile, and who ended what.
func (v *viewer) beside(x *wire.Exchange) {
	const most = 40
	frames := x.Beside
	if x.Response.Raw != nil {
		frames = slices.DeleteFunc(slices.Clone(frames), endsInOrder)
	}
	for i, f := range frames {
		behind := x.Response.Raw != nil && f.Seq > x.Response.Seq
		switch {
		case behind && (i == 0 || frames[i-1].Seq < x.Response.Seq):
			v.section("afterwards")
		case i == 0:
			v.section("events")
		}
		if i == most {
			v.line(v.st.paint(dim, fmt.Sprintf("%s %d more lines (see --raw)", v.st.ellipsis(), len(frames)-most)))
			return
		}
		if f.Kind == wire.Closed {
			v.line("  " + v.st.ending(f))
			continue
		}
		text := v.st.glimpse(f.Raw, 400)
		if f.SSE != nil && f.SSE.ID != nil {
			text += "id " + v.st.glimpse([]byte(*f.SSE.ID), 60)
		}
		name := f.Kind.String()
		if f.Kind == wire.Noise {
			name = "stdout, not JSON-RPC"
		}
		v.line("  " + name + ": " + text)
	}
}

// endsInOrder reports that the server ended its stream, as each does behind an answer.
func endsInOrder(f wire.Frame) bool {
	return f.Kind == wire.Closed && f.Close != nil && f.Close.By == wire.Received && f.Close.How == "end"
}

// ending says who ended a stream, and how.
func (s Style) ending(f wire.Frame) string {
	by := "the server"
	if f.Close == nil {
		return "the stream ended"
	}
	if f.Close.By == wire.Sent {
		by = "the client"
	}
	text := by + " closed the stream"
	switch f.Close.How {
	case "end":
		if f.Close.By == wire.Sent && f.Stream == 0 {
			return by + " closed the server's stdin" + s.thenEnded(f.Close.Text)
		}
	case "cut":
		text = "connection error"
	case "cancelled":
		text = by + " cancelled it"
	case "exit", "signal": // of the server's process, also after the client closed its stdin
		text = "the server exited"
	default:
		text = by + " ended: " + s.Line(f.Close.How)
	}
	if f.Close.Text != "" {
		text += " (" + s.glimpse([]byte(f.Close.Text), 200) + ")"
	}
	return text
}

// thenEnded says how the server ended after its stdin was closed.
func (s Style) thenEnded(text string) string {
	how, exited := strings.CutPrefix(text, "the server exited (")
	switch {
	case text == "":
		return ""
	case !exited:
		return " (" + s.glimpse([]byte(text), 200) + ")"
	case strings.HasPrefix(how, "signal: "):
		return "; the server was then terminated (" + s.glimpse([]byte(how), 200)
	}
	return "; the server then exited (" + s.glimpse([]byte(how), 200)
}

// A phase is a stretch of time within an exchange.
type phase struct {
	name     string
	from, to time.Duration
}

// timing draws where the time went.
func (v *viewer) timing(x *wire.Exchange) {
	phases := phasesOf(x)
	var total time.Duration
	width := 0
	for _, p := range phases {
		total, width = max(total, p.to), max(width, len(p.name))
	}
	if len(phases) == 0 {
		return
	}
	v.noted("timing", v.st.brief(total))
	room := max(v.st.columns()-width-14, 10)
	for _, p := range phases {
		took := v.st.brief(p.to - p.from)
		if p.to == p.from {
			took = "+" + v.st.brief(p.from)
		}
		v.line(fmt.Sprintf("  %-*s  %8s  %s", width, v.st.Line(p.name), took, v.st.span(p, total, room)))
	}
}

// span is a bar between two times.
func (s Style) span(p phase, total time.Duration, room int) string {
	if total <= 0 {
		return ""
	}
	from := int(int64(p.from) * int64(room-1) / int64(total))
	to := max(int(int64(p.to)*int64(room-1)/int64(total)), from+1)
	if p.from == p.to {
		return strings.Repeat(" ", from) + s.ornament("|", "│")
	}
	return strings.Repeat(" ", from) + strings.Repeat(s.ornament("#", "█"), to-from)
}

// mostTicks is how many messages on the way have a line of their own.
const mostTicks = 12

// phasesOf are, for each HTTP request, the phases that its response names and the
// reading of it; and the moments at which bytes came on the way.
func phasesOf(x *wire.Exchange) (phases []phase) {
	start := x.Request.Time
	for _, h := range x.Heads {
		if start.IsZero() || h.Time.Before(start) {
			start = h.Time
		}
	}
	if start.IsZero() {
		return nil // nothing was sent: the messages match no request
	}
	since := func(f wire.Frame) time.Duration { return max(f.Time.Sub(start), 0) }
	sent := map[int]time.Duration{}
	for _, h := range x.Heads {
		if h.Dir == wire.Sent {
			sent[h.Stream] = since(h)
			continue
		}
		phases = append(phases, httpPhases(sent[h.Stream], since(h), h.HTTP)...)
	}
	if len(phases) == 0 && x.Response.Raw != nil {
		phases = append(phases, phase{"wait", since(x.Request), since(x.Response)})
	}
	if n := len(phases); n > 0 && x.Response.Raw != nil && len(x.Heads) > 0 {
		phases = append(phases, phase{"read", phases[n-1].to, max(since(x.Response), phases[n-1].to)})
	}
	for _, f := range x.Between[:min(len(x.Between), mostTicks)] {
		phases = append(phases, phase{cmp.Or(wire.ParseMessage(f.Raw).Method, f.Kind.String()), since(f), since(f)})
	}
	for _, f := range x.Beside {
		if f.Kind == wire.Closed && f.Close != nil && f.Close.How != "end" {
			name := f.Close.How
			if name == "cut" {
				name = "error"
			}
			phases = append(phases, phase{name, since(f), since(f)})
		}
	}
	return phases
}

// httpPhases are those between a request's head and the first byte of its
// response.
func httpPhases(from, to time.Duration, h *wire.HTTPHead) (phases []phase) {
	if h == nil {
		return nil
	}
	if t := h.Timing; t != nil {
		for _, p := range []phase{{"dns", 0, t.DNS}, {"connect", 0, t.Connect}, {"tls", 0, t.TLS}} {
			if p.to > 0 && from+p.to <= to {
				phases = append(phases, phase{p.name, from, from + p.to})
				from += p.to
			}
		}
	}
	return append(phases, phase{"wait", from, max(from, to)})
}
