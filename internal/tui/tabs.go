package tui

import (
	"strconv"
	"strings"

	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

// tabLines are the lines of the tab that is open.
func tabLines(m *model, d *detail, w int) []fact {
	doc := d.doc
	switch d.tab {
	case tabSummary:
		return summaryLines(m, doc, w-2)
	case tabRequest:
		lines := bodyLines(d, doc.Request, w-2)
		for _, wrong := range doc.Wrong {
			lines = append(lines, facts(cells.Wrap(paint.Bad, "! "+wrong.Pointer+" "+wrong.Text, w-2))...)
		}
		return append(lines, schemaLines(d, "inputSchema", doc.InputSchema, w-2)...)
	case tabAnswer:
		return append(bodyLines(d, doc.Response, w-2), schemaLines(d, "outputSchema", doc.OutputSchema, w-2)...)
	case tabEvents:
		return eventLines(m, doc, w-2)
	case tabWire:
		return wireLines(m, doc, w-2)
	case tabTime:
		return timeLines(m, doc, w-2)
	case tabFindings:
		return findingLines(doc, w-2)
	}
	return diffLines(d, w-2)
}

func heading(text string) []fact { return []fact{{}, {line: cells.Of(paint.Strong, text)}} }

func wrapped(r paint.Role, text string, w int) []fact { return facts(cells.Wrap(r, text, w)) }

// summaryLines tell what happened, from the most important on.
func summaryLines(m *model, doc *view.Detail, w int) (lines []fact) {
	r := &doc.Row
	role, mark := state(r)
	head := cells.Line{cells.Text(role, strings.TrimSpace(mark+" "+r.Channel)), cells.Text(paint.Strong, "  "+title(r)), cells.Blank(2), m.tookCell(r)}
	lines = append(lines, fact{line: head})
	if r.Text != "" {
		lines = append(lines, wrapped(role, r.Text, w)...)
	}
	for _, text := range []string{doc.Cut, doc.Why, doc.Group} {
		if text != "" {
			lines = append(lines, wrapped(paint.Plain, text, w)...)
		}
	}
	if r.Note != "" {
		lines = append(lines, wrapped(paint.Accent, "★ "+r.Note, w)...)
	}
	lines = append(lines, fact{})
	wide := 0
	for _, f := range doc.Facts {
		wide = max(wide, term.Width(f[0]))
	}
	wide = min(wide, w/3)
	for _, f := range doc.Facts {
		for i, part := range cells.Wrap(paint.Plain, f[1], w-wide-2) {
			name := f[0]
			if i > 0 {
				name = ""
			}
			lines = append(lines, fact{line: append(cells.Line{cells.Fit(paint.Faint, name, wide+2)}, part...), value: f[1]})
		}
	}
	if len(doc.Stderr) > 0 {
		lines = append(lines, heading("stderr of the server meanwhile")...)
		for _, text := range doc.Stderr {
			lines = append(lines, wrapped(paint.Plain, text, w)...)
		}
	}
	return lines
}

// eventLines are the arrows of the exchange, each with its time after the first.
func eventLines(m *model, doc *view.Detail, w int) (lines []fact) {
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
			lines = append(lines, fact{line: append(cells.Line{cells.Right(paint.Faint, after, 9), cells.Blank(2)}, part...), value: l.Text})
		}
	}
	return lines
}

// wireLines are the frames as they crossed.
func wireLines(m *model, doc *view.Detail, w int) (lines []fact) {
	for i := range doc.Frames {
		f := &doc.Frames[i]
		sign := map[string]string{"sent": "▶", "received": "◀"}[f.Dir]
		head := cells.Line{cells.Text(paint.Strong, sign+" "+strings.TrimSpace(f.Kind+" "+f.Line)), cells.Text(paint.Faint, "  "+f.Time.In(m.opt.Now().Location()).Format("15:04:05.000"))}
		for _, more := range [][2]string{{"event", f.Event}, {"id", f.ID}} {
			if more[1] != "" {
				head = append(head, cells.Text(paint.Faint, "  "+more[0]+": "+more[1]))
			}
		}
		lines = append(lines, fact{line: head})
		for _, h := range f.Head {
			for _, part := range cells.Wrap(paint.Plain, h[1], w-4-len(h[0])) {
				lines = append(lines, fact{line: append(cells.Line{cells.Text(paint.Accent, "  "+h[0]+": ")}, part...), value: h[1]})
			}
		}
		if f.Note != "" {
			lines = append(lines, wrapped(paint.Warn, "  "+f.Note, w)...)
		}
		lines = append(lines, rawLines(f.Body, w)...)
		if f.Was != nil {
			lines = append(lines, fact{line: cells.Of(paint.Warn, "before it was edited:")})
			lines = append(lines, rawLines(f.Was, w)...)
		}
		lines = append(lines, fact{})
	}
	return lines
}

// rawLines are the bytes of a body as text.
func rawLines(b *view.Body, w int) (lines []fact) {
	if b == nil || b.Text == "" {
		return nil
	}
	for _, l := range cells.Wrap(paint.Plain, b.Text, w-2) {
		lines = append(lines, fact{line: append(cells.Line{cells.Blank(2)}, l...), value: b.Text})
	}
	if b.Cut {
		lines = append(lines, fact{line: cells.Of(paint.Faint, "  … "+term.Bytes(int64(b.Bytes))+" in all")})
	}
	return lines
}

// timeLines are the phases, as a bar and as numbers.
func timeLines(m *model, doc *view.Detail, w int) (lines []fact) {
	r := &doc.Row
	whole := m.seconds(r)
	parts := phases(r, whole)
	lines = append(lines, fact{line: cells.Bar(parts, whole, min(w, 72))}, fact{})
	for _, p := range parts {
		lines = append(lines, fact{line: cells.Line{cells.Mark(p.Name), cells.Fit(paint.Plain, " "+p.Name, 12),
			cells.Right(paint.Strong, took(p.Size), 10), cells.Text(paint.Faint, "  "+phaseText[p.Name])}})
	}
	for _, text := range []string{doc.Why, doc.Group, doc.Cut} {
		if text != "" {
			lines = append(append(lines, fact{}), wrapped(paint.Plain, text, w)...)
		}
	}
	return lines
}

var phaseText = map[string]string{
	"connect": "until the connection was open", "tls": "until TLS was agreed", "wait": "from the request to the first byte",
	"first": "from the first byte to the first event", "events": "events until the response", "person": "the server waited for an answer of the client",
	"held": "held by the view", "read": "reading the body",
}

func findingLines(doc *view.Detail, w int) (lines []fact) {
	for _, f := range doc.Findings {
		role := paint.Warn
		if f.Severity == "error" {
			role = paint.Bad
		}
		head := cells.Line{cells.Text(role, f.Severity), cells.Text(paint.Strong, "  "+f.Rule), cells.Text(paint.Faint, "  "+f.Pointer)}
		lines = append(lines, fact{line: head, value: f.Rule})
		lines = append(lines, wrapped(paint.Plain, f.Text, w)...)
		if f.Fix != "" {
			lines = append(lines, wrapped(paint.Good, "fix: "+f.Fix, w)...)
		}
		lines = append(lines, fact{})
	}
	return lines
}

// diffLines are what differs from another exchange.
func diffLines(d *detail, w int) (lines []fact) {
	if d.diff.with == "" {
		return nil
	}
	if d.diff.err != nil {
		return wrapped(paint.Bad, d.diff.err.Error(), w)
	}
	lines = append(lines, fact{line: cells.Of(paint.Faint, d.diff.with+" compared with "+d.key)})
	for _, side := range []struct {
		name    string
		changes []view.Change
	}{{"request", d.diff.request}, {"response", d.diff.response}} {
		lines = append(lines, heading(side.name)...)
		if len(side.changes) == 0 {
			lines = append(lines, fact{line: cells.Of(paint.Faint, "the same")})
		}
		for _, c := range side.changes {
			lines = append(lines, fact{line: cells.Of(paint.Accent, c.Pointer), pointer: c.Pointer})
			if c.Was != nil {
				lines = append(lines, wrapped(paint.Bad, "- "+string(c.Was), w)...)
			}
			if c.Is != nil {
				lines = append(lines, wrapped(paint.Good, "+ "+string(c.Is), w)...)
			}
		}
	}
	return lines
}
