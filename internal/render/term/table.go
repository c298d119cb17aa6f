package term

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table writes rows of cells. For a reader they are aligned under head, and the
// widest columns are cut where they do not fit, with a mark. Into a pipe goes
// one line a row, whole, with a TAB between the cells and no head. Every cell is
// made a sanitized line. Without rows nothing is written: that there is nothing
// is for standard error to say.
func Table(w io.Writer, st Style, head []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if st.Pretty() {
		columns := make(
			[]Column,
			len(slices.MaxFunc(append(rows[:len(rows):len(rows)], head), func(a, b []string) int { return len(a) - len(b) })),
		)
		for i := range columns {
			columns[i] = Column{CutTo: 4, Cut: st.CutCell}
			if i < len(head) {
				columns[i].Head = head[i]
			}
		}
		g := &Grid{w: w, st: st, columns: columns}
		g.computeWidths(rows)
		if len(head) > 0 {
			rows = slices.Concat([][]string{head}, rows)
		}
		return g.rows(rows, len(head) > 0)
	}
	var b bytes.Buffer
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(st.Line(cell))
		}
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Gap separates two columns.
const Gap = "  "

// A Column of a Grid.
type Column struct {
	Head string
	// MinWidth is how wide it is at least, for rows that are still to come.
	MinWidth int
	// CutTo is how far it may be cut; 0 is not at all. What has to give way is the one
	// with most above that, but before all others those of which Rest is set.
	CutTo    int
	CutFirst bool
	// Right is set where the cells stand at the right, as numbers do.
	Right bool
	// Cut shortens a text to so many columns, with mark for what is gone; nil cuts its
	// end.
	Cut func(text string, width int, mark string) string
}

// A Grid is a table for a reader that may grow: its widths are settled by the rows
// that it begins with.
type Grid struct {
	w       io.Writer
	st      Style
	columns []Column
	widths  []int
}

// minLastColumn is how much of the last column is worth showing: a time or a size, which mean
// something else without their end, are no wider.
const minLastColumn = 8

// NewGrid settles the widths of the columns: what the rows want, and where that is too
// much for the terminal some are cut. The last ones are left out where there is room for
// no more than a scrap.
func NewGrid(w io.Writer, st Style, columns []Column, rows [][]string) *Grid {
	g := &Grid{w: w, st: st, columns: columns}
	for last := len(columns) - 1; last >= 0; last-- {
		over := g.computeWidths(rows)
		if over == 0 || last == 0 || g.widths[last]-over >= max(minLastColumn, ansi.StringWidth(columns[last].Head)) {
			break // what is too much of the last one is clipped
		}
		g.columns = columns[:last]
	}
	return g
}

// computeWidths gives the columns their widths, and how much of them is still too wide.
func (g *Grid) computeWidths(rows [][]string) int {
	g.widths = nil
	over := len(Gap)*(len(g.columns)-1) - g.st.Columns()
	for i, c := range g.columns {
		width := max(c.MinWidth, ansi.StringWidth(c.Head))
		for _, row := range rows {
			if i < len(row) {
				width = max(width, ansi.StringWidth(g.st.Line(row[i])))
			}
		}
		g.widths = append(g.widths, width)
		over += width
	}
	return max(0, g.cut(g.cut(over, true), false))
}

// cut narrows those columns by over in all, the widest ones to one width above what they
// need, and gives what is still too much.
func (g *Grid) cut(over int, rest bool) int {
	for over > 0 {
		spares := make([]int, len(g.columns))
		most := 0
		for i, c := range g.columns {
			if c.CutTo > 0 && c.CutFirst == rest {
				spares[i] = g.widths[i] - c.CutTo
				most = max(most, spares[i])
			}
		}
		if most == 0 {
			break
		}
		for i, spare := range spares {
			if spare == most {
				g.widths[i]--
				over--
			}
		}
	}
	return over
}

// Width is how wide a column is.
func (g *Grid) Width(column int) int { return g.widths[column] }

// Head writes the names of the columns.
func (g *Grid) Head() error {
	var names []string
	for _, c := range g.columns {
		names = append(names, c.Head)
	}
	return g.rows([][]string{names}, true)
}

// Rows writes rows, each cell a sanitized line.
func (g *Grid) Rows(rows [][]string) error { return g.rows(rows, false) }

// rows writes rows, the first of which may be the head.
func (g *Grid) rows(rows [][]string, head bool) error {
	var b bytes.Buffer
	for i, row := range rows {
		cells := make([]string, min(len(row), len(g.columns)))
		for j := range cells {
			cells[j] = g.cell(g.columns[j], g.st.Line(row[j]), g.widths[j])
		}
		text := clip(g.st, AlignRow(cells, g.widths, func(i int) bool { return g.columns[i].Right }))
		if head && i == 0 {
			text = g.st.Paint(Bold, text)
		}
		b.WriteString(text + "\n")
	}
	_, err := g.w.Write(b.Bytes())
	return err
}

func (g *Grid) cell(c Column, text string, width int) string {
	if c.CutTo == 0 || ansi.StringWidth(text) <= width {
		return text
	}
	if c.Cut != nil {
		text = c.Cut(text, width, g.st.Ellipsis())
	}
	return ansi.Truncate(text, width, g.st.Ellipsis())
}

// AlignRow is a line of cells, each in a column of its width.
func AlignRow(cells []string, widths []int, right func(i int) bool) string {
	var b strings.Builder
	for i, cell := range cells {
		blanks := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(cell)))
		if i > 0 {
			b.WriteString(Gap)
		}
		if right(i) {
			cell, blanks = blanks, cell
		}
		b.WriteString(cell + blanks)
	}
	return strings.TrimRight(b.String(), " ")
}

// CutCell cuts a text with the number of characters that it has more.
func (s Style) CutCell(text string, width int, _ string) string { return s.Cut(text, width) }

// CutStart keeps the end of a text.
func CutStart(text string, width int, mark string) string {
	over := ansi.StringWidth(text) - width
	if over <= 0 {
		return text
	}
	return mark + ansi.TruncateLeft(text, over+ansi.StringWidth(mark), "")
}
