package term

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Table writes rows, whose cells are sanitized and written on one line. In a table for people the
// columns are aligned under head, and the widest ones are cut if the table is wider than the terminal.
// A pipe gets a line per row with TABs between the cells, uncut and without head. head may be nil, and
// rows may differ in length. Table writes nothing if there are no rows. The error is the writer's.
func Table(w io.Writer, st Style, head []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if !st.Pretty() {
		return writeTabSeparated(w, st, rows)
	}
	count := len(head)
	for _, row := range rows {
		count = max(count, len(row))
	}
	columns := make([]Column, count)
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
	return g.writeRows(rows, len(head) > 0)
}

// writeTabSeparated writes a line per row, with TABs between the cells.
func writeTabSeparated(w io.Writer, st Style, rows [][]string) error {
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

// A Column describes a column of a Grid.
type Column struct {
	// Head is the name above the column.
	Head string
	// MinWidth is the width reserved for rows that are written later.
	MinWidth int
	// CutTo is the minimum width that the column may be cut to; 0 forbids it. Columns with CutFirst
	// are cut before all others, and the column with the most width above CutTo first.
	CutTo    int
	CutFirst bool
	// Right aligns the cells to the right, as for numbers.
	Right bool
	// Cut shortens a text to width columns and adds mark; nil cuts its end.
	Cut func(text string, width int, mark string) string
}

// A Grid is a table for people that can grow: NewGrid computes the widths from the first rows, and Rows
// writes these and later rows with the same widths.
type Grid struct {
	w       io.Writer
	st      Style
	columns []Column
	widths  []int
}

// minLastColumn is the smallest useful width of a last column. A time or a size is not wider, and
// would be wrong if it were cut.
const minLastColumn = 8

// NewGrid computes the widths of the columns from rows and cuts columns that do not fit the
// terminal. It omits the last columns if less than minLastColumn is left for them.
func NewGrid(w io.Writer, st Style, columns []Column, rows [][]string) *Grid {
	g := &Grid{w: w, st: st, columns: columns}
	for last := len(columns) - 1; last >= 0; last-- {
		over := g.computeWidths(rows)
		if over == 0 || last == 0 || g.widths[last]-over >= max(minLastColumn, ansi.StringWidth(columns[last].Head)) {
			break // it fits, or writeRows clips the last column
		}
		g.columns = columns[:last]
	}
	return g
}

// computeWidths sets the widths of the columns. It returns by how much the table is still too wide.
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
	over = g.narrow(over, true)
	over = g.narrow(over, false)
	return max(0, over)
}

// narrow narrows the columns that have this value of CutFirst by over in all, the widest first. It returns
// how much is still too wide.
func (g *Grid) narrow(over int, cutFirst bool) int {
	for over > 0 {
		spares := make([]int, len(g.columns)) // the width of each column above its CutTo
		widest := 0
		for i, c := range g.columns {
			if c.CutTo > 0 && c.CutFirst == cutFirst {
				spares[i] = g.widths[i] - c.CutTo
				widest = max(widest, spares[i])
			}
		}
		if widest == 0 {
			break
		}
		for i, spare := range spares {
			if spare == widest {
				g.widths[i]--
				over--
			}
		}
	}
	return over
}

// Width returns the width of a column.
func (g *Grid) Width(column int) int { return g.widths[column] }

// Head writes the names of the columns.
func (g *Grid) Head() error {
	var names []string
	for _, c := range g.columns {
		names = append(names, c.Head)
	}
	return g.writeRows([][]string{names}, true)
}

// Rows writes rows, each cell sanitized and on one line. Cells beyond the Grid's columns are omitted.
func (g *Grid) Rows(rows [][]string) error { return g.writeRows(rows, false) }

// writeRows writes rows. hasHead reports whether the first row is the head.
func (g *Grid) writeRows(rows [][]string, hasHead bool) error {
	var b bytes.Buffer
	for i, row := range rows {
		cells := make([]string, min(len(row), len(g.columns)))
		for j := range cells {
			cells[j] = g.cutCell(g.columns[j], g.st.Line(row[j]), g.widths[j])
		}
		text := clipLine(g.st, AlignRow(cells, g.widths, func(i int) bool { return g.columns[i].Right }))
		if hasHead && i == 0 {
			text = g.st.Paint(Bold, text)
		}
		b.WriteString(text + "\n")
	}
	_, err := g.w.Write(b.Bytes())
	return err
}

func (g *Grid) cutCell(c Column, text string, width int) string {
	if c.CutTo == 0 || ansi.StringWidth(text) <= width {
		return text
	}
	if c.Cut != nil {
		text = c.Cut(text, width, g.st.Ellipsis())
	}
	return ansi.Truncate(text, width, g.st.Ellipsis())
}

// AlignRow returns a line of cells, each padded to the width of its column. isRight reports whether column
// i is aligned to the right.
func AlignRow(cells []string, widths []int, isRight func(i int) bool) string {
	var b strings.Builder
	for i, cell := range cells {
		blanks := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(cell)))
		if i > 0 {
			b.WriteString(Gap)
		}
		if isRight(i) {
			b.WriteString(blanks + cell)
		} else {
			b.WriteString(cell + blanks)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// CutCell cuts a text and adds the number of missing characters.
func (s Style) CutCell(text string, width int, _ string) string { return s.Cut(text, width) }

// CutStart cuts the start of a text.
func CutStart(text string, width int, mark string) string {
	over := ansi.StringWidth(text) - width
	if over <= 0 {
		return text
	}
	return mark + ansi.TruncateLeft(text, over+ansi.StringWidth(mark), "")
}
