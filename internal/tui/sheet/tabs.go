package sheet

import (
	"strconv"
	"strings"

	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// Lines are the lines of the tab that is open.
func (d *Detail) Lines(clock Clock, w int) []Fact {
	doc := d.Doc
	switch d.Tab {
	case TabSummary:
		return summaryLines(doc, w-2)
	case TabRequest:
		lines := bodyLines(d, doc.Request, w-2)
		for _, wrong := range doc.Wrong {
			lines = append(lines, Facts(cells.Wrap(cells.Bad, "! "+wrong.Text, w-2))...)
		}
		return append(lines, schemaLines(d, "inputSchema", doc.InputSchema, w-2)...)
	case TabAnswer:
		return append(bodyLines(d, doc.Response, w-2), schemaLines(d, "outputSchema", doc.OutputSchema, w-2)...)
	case TabEvents:
		return eventLines(clock, doc, w-2)
	case TabWire:
		return wireLines(clock, doc, w-2)
	case TabTime:
		return timeLines(clock, doc, w-2)
	case TabFindings:
		return findingLines(doc, w-2)
	}
	return diffLines(d, w-2)
}

func heading(text string) []Fact { return []Fact{{}, {Line: cells.Of(cells.Strong, text)}} }

func wrapped(r cells.Role, text string, w int) []Fact { return Facts(cells.Wrap(r, text, w)) }

// summaryLines tell what happened, from the most important on.
func summaryLines(doc *view.Detail, w int) (lines []Fact) {
	r := &doc.Row
	role, _ := State(r)
	if r.Text != "" {
		lines = append(lines, wrapped(role, r.Text, w)...)
	}
	for _, text := range []string{doc.Cut, doc.Why, doc.Group} {
		if text != "" {
			lines = append(lines, wrapped(cells.Plain, text, w)...)
		}
	}
	if r.Note != "" {
		lines = append(lines, wrapped(cells.Accent, "★ "+r.Note, w)...)
	}
	if len(lines) > 0 {
		lines = append(lines, Fact{})
	}
	facts, wide := messageFacts(doc), 0
	for _, f := range doc.Facts {
		facts = append(facts, fact{name: f[0], text: f[1]})
	}
	for _, f := range facts {
		wide = max(wide, term.Width(f.name))
	}
	wide = min(wide, w/3)
	for _, f := range facts {
		lines = append(lines, f.draw(w, wide)...)
	}
	if len(doc.Stderr) > 0 {
		lines = append(lines, heading("stderr of the server meanwhile")...)
		for _, text := range doc.Stderr {
			lines = append(lines, wrapped(cells.Plain, text, w)...)
		}
	}
	return lines
}

// eventLines are the arrows of the exchange, each with its time after the first.
func eventLines(clock Clock, doc *view.Detail, w int) (lines []Fact) {
	for _, l := range doc.Lines {
		after := ""
		if !l.Time.IsZero() {
			after = "+" + term.Duration(max(l.Time.Sub(doc.Row.Time), 0))
		}
		sign := map[string]string{"sent": "▶ ", "received": "◀ "}[l.Dir]
		text := sign + l.Text
		if l.Times > 1 {
			text += " ×" + strconv.Itoa(l.Times)
		}
		for i, part := range cells.Wrap(levelRole(l.Level, l.Kind), text, w-11) {
			if i > 0 {
				after = ""
			}
			lines = append(lines, Fact{Line: append(cells.Line{cells.Right(cells.Faint, after, 9), cells.Blank(2)}, part...), Value: l.Text})
		}
	}
	return lines
}

// wireLines are the frames as they crossed.
func wireLines(clock Clock, doc *view.Detail, w int) (lines []Fact) {
	for i := range doc.Frames {
		f := &doc.Frames[i]
		sign := map[string]string{"sent": "▶", "received": "◀"}[f.Dir]
		head := cells.Line{cells.Text(cells.Strong, sign+" "+strings.TrimSpace(f.Kind+" "+f.Line)), cells.Text(cells.Faint, "  "+f.Time.In(clock.Now.Location()).Format("15:04:05.000"))}
		for _, more := range [][2]string{{"event", f.Event}, {"id", f.ID}} {
			if more[1] != "" {
				head = append(head, cells.Text(cells.Faint, "  "+more[0]+": "+more[1]))
			}
		}
		lines = append(lines, Fact{Line: head})
		for _, h := range f.Head {
			for _, part := range cells.Wrap(cells.Plain, h[1], w-4-len(h[0])) {
				lines = append(lines, Fact{Line: append(cells.Line{cells.Text(cells.Accent, "  "+h[0]+": ")}, part...), Value: h[1]})
			}
		}
		if f.Note != "" {
			lines = append(lines, wrapped(cells.Warn, "  "+f.Note, w)...)
		}
		lines = append(lines, rawLines(f.Body, w)...)
		if f.Was != nil {
			lines = append(lines, Fact{Line: cells.Of(cells.Warn, "before it was edited:")})
			lines = append(lines, rawLines(f.Was, w)...)
		}
		lines = append(lines, Fact{})
	}
	return lines
}

// rawLines are the bytes of a body as text.
func rawLines(b *view.Body, w int) (lines []Fact) {
	if b == nil || b.Text == "" {
		return nil
	}
	for _, l := range cells.Wrap(cells.Plain, b.Text, w-2) {
		lines = append(lines, Fact{Line: append(cells.Line{cells.Blank(2)}, l...), Value: b.Text})
	}
	if b.Cut {
		lines = append(lines, Fact{Line: cells.Of(cells.Faint, "  … "+term.Bytes(int64(b.Bytes))+" in all")})
	}
	return lines
}

// timeLines are the phases, as a bar and as numbers.
func timeLines(clock Clock, doc *view.Detail, w int) (lines []Fact) {
	r := &doc.Row
	whole := clock.Seconds(r)
	parts := Phases(r, whole)
	lines = append(lines, Fact{Line: cells.Bar(parts, whole, min(w, 72))}, Fact{})
	for _, p := range parts {
		lines = append(lines, Fact{Line: cells.Line{cells.Mark(p.Name), cells.Fit(cells.Plain, " "+p.Name, 12),
			cells.Right(cells.Strong, Took(p.Size), 10), cells.Text(cells.Faint, "  "+phaseText[p.Name])}})
	}
	for _, text := range []string{doc.Why, doc.Group, doc.Cut} {
		if text != "" {
			lines = append(append(lines, Fact{}), wrapped(cells.Plain, text, w)...)
		}
	}
	return lines
}

var phaseText = map[string]string{
	"connect": "until the connection was open", "tls": "until TLS was agreed", "wait": "from the request to the first byte",
	"first": "from the first byte to the first event", "events": "events until the response", "person": "the server waited for an answer of the client",
	"held": "held by the view", "read": "reading the body",
}

func findingLines(doc *view.Detail, w int) (lines []Fact) {
	for _, f := range doc.Findings {
		role := cells.Warn
		if f.Severity == "error" {
			role = cells.Bad
		}
		head := cells.Line{cells.Text(role, f.Severity), cells.Text(cells.Strong, "  "+f.Rule), cells.Text(cells.Faint, "  "+f.Pointer)}
		lines = append(lines, Fact{Line: head, Value: f.Rule})
		lines = append(lines, wrapped(cells.Plain, f.Text, w)...)
		if f.Fix != "" {
			lines = append(lines, wrapped(cells.Good, "fix: "+f.Fix, w)...)
		}
		lines = append(lines, Fact{})
	}
	return lines
}

// diffLines are what differs from another exchange.
func diffLines(d *Detail, w int) (lines []Fact) {
	if d.Diff.With == "" {
		return nil
	}
	if d.Diff.Err != nil {
		return wrapped(cells.Bad, d.Diff.Err.Error(), w)
	}
	lines = append(lines, Fact{Line: cells.Of(cells.Faint, "- "+d.Diff.With+"   + "+d.Key+", this exchange")})
	for _, side := range []struct {
		name    string
		changes []view.Change
	}{{"request", d.Diff.Request}, {"response", d.Diff.Response}} {
		lines = append(lines, heading(side.name)...)
		if len(side.changes) == 0 {
			lines = append(lines, Fact{Line: cells.Of(cells.Faint, "the same")})
		}
		for _, c := range side.changes {
			lines = append(lines, Fact{Line: cells.Of(cells.Accent, c.Pointer), Pointer: c.Pointer})
			if c.Was != nil {
				lines = append(lines, signed(cells.Bad, "- ", string(c.Was), w)...)
			}
			if c.Is != nil {
				lines = append(lines, signed(cells.Good, "+ ", string(c.Is), w)...)
			}
		}
	}
	return lines
}

// signed is a wrapped text with a sign before its first line.
func signed(r cells.Role, sign, text string, w int) (lines []Fact) {
	for _, part := range cells.Wrap(r, text, w-len(sign)) {
		lines = append(lines, Fact{Line: append(cells.Of(r, sign), part...), Value: text})
		sign = "  "
	}
	return lines
}

// Facts are lines without a value.
func Facts(lines []cells.Line) (out []Fact) {
	for _, l := range lines {
		out = append(out, Fact{Line: l})
	}
	return out
}
