package render

import (
	"bytes"
	"io"
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
	clean := make([][]string, len(rows))
	for i, row := range rows {
		clean[i] = make([]string, len(row))
		for j, cell := range row {
			clean[i][j] = st.Line(cell)
		}
	}
	var b bytes.Buffer
	if st.watched() {
		st.aligned(&b, head, clean)
	} else {
		for _, row := range clean {
			b.WriteString(strings.Join(row, "\t") + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// gap is what stands between two columns.
const gap = "  "

func (s Style) aligned(b *bytes.Buffer, head []string, rows [][]string) {
	widths := s.fitted(append([][]string{head}, rows...))
	if len(head) > 0 {
		s.row(b, head, widths, bold)
	}
	for _, row := range rows {
		s.row(b, row, widths, "")
	}
}

func (s Style) row(b *bytes.Buffer, cells []string, widths []int, sgr string) {
	line := make([]string, len(cells))
	for i, cell := range cells {
		line[i] = s.cut(cell, widths[i])
		if i < len(cells)-1 {
			line[i] = pad(line[i], widths[i])
		}
	}
	text := s.clipped(strings.TrimRight(strings.Join(line, gap), " "))
	if sgr != "" {
		text = s.paint(sgr, text)
	}
	b.WriteString(text + "\n")
}

// fitted gives the widths of the columns: what each wants, or where that is too
// much together, the widest ones cut back to one common width.
func (s Style) fitted(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	room := s.columns() - len(gap)*(len(widths)-1)
	limit := common(widths, room)
	for i := range widths {
		widths[i] = min(widths[i], limit)
	}
	return widths
}

// common is the greatest width to which columns can be cut so that all of them
// take no more than room. Below a few characters a column tells nothing: then the
// line is clipped.
func common(widths []int, room int) int {
	limit := 4
	for next := limit + 1; next <= room; next++ {
		sum := 0
		for _, w := range widths {
			sum += min(w, next)
		}
		if sum > room {
			break
		}
		limit = next
	}
	return max(limit, 4)
}
