package traffic

import (
	"fmt"
	"strings"
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// A phase is an interval within an exchange: from and to are times after the start of the exchange. They
// are equal for a moment, such as the receipt of a notification.
type phase struct {
	name     string
	from, to time.Duration
}

// writeTiming draws the phases of an exchange.
func (v *exchangeWriter) writeTiming(x *wire.Exchange) {
	phases := phasesOf(x)
	var total time.Duration
	width := 0
	for _, p := range phases {
		total = max(total, p.to)
		width = max(width, len(p.name))
	}
	if len(phases) == 0 {
		return
	}
	v.writeSectionWithNote("timing", term.FineDuration(v.st, total))
	room := max(v.st.Columns()-width-14, 10)
	for _, p := range phases {
		took := term.FineDuration(v.st, p.to-p.from)
		if p.to == p.from {
			took = "+" + term.FineDuration(v.st, p.from)
		}
		v.writeLine(fmt.Sprintf("  %-*s  %8s  %s", width, v.st.Line(p.name), took, drawSpan(v.st, p, total, room)))
	}
}

// drawSpan draws a bar for a phase, or a line for a moment, on a scale of room columns for total.
func drawSpan(s term.Style, p phase, total time.Duration, room int) string {
	if total <= 0 {
		return ""
	}
	startColumn := int(int64(p.from) * int64(room-1) / int64(total))
	endColumn := int(int64(p.to) * int64(room-1) / int64(total))
	indent := strings.Repeat(" ", startColumn)
	if p.from == p.to {
		return indent + s.Ornament("|", "│")
	}
	return indent + strings.Repeat(s.Ornament("#", "█"), max(endColumn-startColumn, 1))
}

// maxTicks is how many messages between request and response have a separate line.
const maxTicks = 12

// phasesOf returns the phases of each HTTP request up to its response, the reading of the response,
// and the moments at which other messages were received.
func phasesOf(x *wire.Exchange) []phase {
	start := x.Request.Time
	for _, h := range x.Heads {
		if start.IsZero() || h.Time.Before(start) {
			start = h.Time
		}
	}
	if start.IsZero() {
		return nil // the messages match no request
	}
	since := func(f wire.Frame) time.Duration { return max(f.Time.Sub(start), 0) }
	sent := map[int]time.Duration{}
	var phases []phase
	for _, h := range x.Heads {
		if h.Dir == wire.Sent {
			sent[h.Stream] = since(h)
			continue
		}
		phases = append(phases, httpPhases(sent[h.Stream], since(h), h.HTTP)...)
	}
	if len(phases) == 0 && x.Response.Raw != nil { // without HTTP
		phases = append(phases, phase{"wait", since(x.Request), since(x.Response)})
	}
	if n := len(phases); n > 0 && x.Response.Raw != nil && len(x.Heads) > 0 {
		phases = append(phases, phase{"read", phases[n-1].to, max(since(x.Response), phases[n-1].to)})
	}
	for _, f := range x.OtherMessages[:min(len(x.OtherMessages), maxTicks)] {
		name := wire.ParseMessage(f.Raw).Method
		if name == "" {
			name = f.Kind.String()
		}
		phases = append(phases, phase{name, since(f), since(f)})
	}
	for _, f := range x.NonMessages {
		hasFailed := f.Kind == wire.Closed && f.Close != nil && f.Close.How != "end"
		if hasFailed {
			name := f.Close.How
			if name == "cut" {
				name = "error"
			}
			phases = append(phases, phase{name, since(f), since(f)})
		}
	}
	return phases
}

// httpPhases returns the phases from a request's head to the first byte of its response, or nil if h,
// the head of the response, is nil.
func httpPhases(from, to time.Duration, h *wire.HTTPHead) []phase {
	if h == nil {
		return nil
	}
	var phases []phase
	if t := h.Timing; t != nil {
		for _, p := range []phase{{"dns", 0, t.DNS}, {"connect", 0, t.Connect}, {"tls", 0, t.TLS}} {
			if p.to > 0 && from+p.to <= to { // a phase of length 0 did not happen: the connection was open
				phases = append(phases, phase{p.name, from, from + p.to})
				from += p.to
			}
		}
	}
	return append(phases, phase{"wait", from, max(from, to)})
}
