package render

import (
	"bytes"
	"io"

	"github.com/charmbracelet/x/ansi"
)

// A Column of a Grid.
type Column struct {
	Head string
	// Min is how wide it is at least, for rows that are still to come.
	Min int
	// Least is how far it may be cut; 0 is not at all. What has to give way is the one
	// with most above that, but before all others those of which Rest is set.
	Least int
	Rest  bool
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

// scrap is how much of the last column is worth showing: a time or a size, which mean
// something else without their end, are no wider.
const scrap = 8

// NewGrid settles the widths of the columns: what the rows want, and where that is too
// much for the terminal some are cut. The last ones are left out where there is room for
// no more than a scrap.
func NewGrid(w io.Writer, st Style, columns []Column, rows [][]string) *Grid {
	g := &Grid{w: w, st: st, columns: columns}
	for last := len(columns) - 1; last >= 0; last-- {
		over := g.settle(rows)
		if over == 0 || last == 0 || g.widths[last]-over >= max(scrap, ansi.StringWidth(columns[last].Head)) {
			break // what is too much of the last one is clipped
		}
		g.columns = columns[:last]
	}
	return g
}

// settle gives the columns their widths, and how much of them is still too wide.
func (g *Grid) settle(rows [][]string) int {
	g.widths = nil
	over := len(gap)*(len(g.columns)-1) - g.st.columns()
	for i, c := range g.columns {
		width := max(c.Min, ansi.StringWidth(c.Head))
		for _, row := range rows {
			width = max(width, ansi.StringWidth(g.st.Line(row[i])))
		}
		g.widths = append(g.widths, width)
		over += width
	}
	return max(0, g.cut(g.cut(over, true), false))
}

// cut narrows those columns by over in all, and gives what is still too much.
func (g *Grid) cut(over int, rest bool) int {
	for ; over > 0; over-- {
		widest, most := -1, 0
		for i, c := range g.columns {
			if spare := g.widths[i] - c.Least; c.Least > 0 && c.Rest == rest && spare > most {
				widest, most = i, spare
			}
		}
		if widest < 0 {
			break
		}
		g.widths[widest]--
	}
	return over
}

// Head writes the names of the columns.
func (g *Grid) Head() error {
	var b bytes.Buffer
	var names []string
	for _, c := range g.columns {
		names = append(names, c.Head)
	}
	g.st.row(&b, names, g.widths, bold)
	_, err := g.w.Write(b.Bytes())
	return err
}

// Rows writes rows, each cell a sanitized line.
func (g *Grid) Rows(rows [][]string) error {
	var b bytes.Buffer
	for _, row := range rows {
		cells := make([]string, len(g.columns))
		for i, cell := range row[:len(g.columns)] {
			cells[i] = g.cell(g.columns[i], g.st.Line(cell), g.widths[i])
		}
		g.st.row(&b, cells, g.widths, "")
	}
	_, err := g.w.Write(b.Bytes())
	return err
}

func (g *Grid) cell(c Column, text string, width int) string {
	switch {
	case c.Least == 0 || ansi.StringWidth(text) <= width:
		return text
	case c.Cut != nil:
		text = c.Cut(text, width, g.st.ellipsis())
	}
	return ansi.Truncate(text, width, g.st.ellipsis())
}

// CutStart keeps the end of a text.
func CutStart(text string, width int, mark string) string {
	over := ansi.StringWidth(text) - width
	if over <= 0 {
		return text
	}
	return mark + ansi.TruncateLeft(text, over+ansi.StringWidth(mark), "")
}
