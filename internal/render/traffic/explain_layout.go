package traffic

import (
	"strings"

	"mcpc/internal/render/term"
)

// Notes are in a right column, or below their line if the terminal is narrow.
const (
	// minColumns is the narrowest terminal with a right column.
	minColumns = 72
	// maxLeftPercent is the largest share of the width left of that column.
	maxLeftPercent = 46
)

// layout returns all lines with their notes.
func (e *explainer) layout() string {
	var b strings.Builder
	edge := e.noteColumn()
	for _, r := range e.lines {
		if r.note == "" {
			b.WriteString(e.st.Paint(r.sgr, r.text) + "\n")
		} else if edge == 0 {
			e.writeBelow(&b, r)
		} else {
			e.writeBeside(&b, r, edge)
		}
	}
	return b.String()
}

// noteColumn returns the column where notes begin, or 0 if the terminal is too narrow.
func (e *explainer) noteColumn() int {
	if e.st.Columns() < minColumns {
		return 0
	}
	limit := e.maxLeftWidth()
	widest := 0
	for _, r := range e.lines {
		// A longer line does not move the column: its note begins below it.
		if n := term.Width(r.text); r.note != "" && n <= limit {
			widest = max(widest, n)
		}
	}
	return max(widest+2, 24)
}

// maxLeftWidth returns the width of the longest line that has its note beside it.
func (e *explainer) maxLeftWidth() int { return e.st.Columns() * maxLeftPercent / 100 }

// writeBeside writes a line with its note in the column edge, or from the next line on if the line
// is too long.
func (e *explainer) writeBeside(b *strings.Builder, r annotatedLine, edge int) {
	b.WriteString(e.st.Paint(r.sgr, r.text))
	pad := edge - term.Width(r.text)
	if pad < 2 {
		b.WriteString("\n")
		pad = edge
	}
	for i, line := range term.WrapWords(r.note, e.st.Columns()-edge-2) {
		if i > 0 {
			pad = edge
		}
		b.WriteString(strings.Repeat(" ", pad) + e.st.Paint(term.Cyan, "# "+e.st.Line(line)) + "\n")
	}
}

func (e *explainer) writeBelow(b *strings.Builder, r annotatedLine) {
	b.WriteString(e.st.Paint(r.sgr, r.text) + "\n")
	indent := r.text[:len(r.text)-len(strings.TrimLeft(r.text, " "))] + "  "
	for _, line := range term.WrapWords(r.note, max(16, e.st.Columns()-len(indent)-2)) {
		b.WriteString(indent + e.st.Paint(term.Cyan, "# "+e.st.Line(line)) + "\n")
	}
}
