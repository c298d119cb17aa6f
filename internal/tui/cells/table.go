package cells

import (
	"cmp"
)

// A Column of a table. Drop says which columns go first where there is no room: those with
// the greatest; 0 stays. Flex columns share what is left.
type Column struct {
	Head  string
	Sort  string // the order that sorts by it, where that has another name than Head
	Width int
	Flex  int
	Right bool
	Drop  int
}

// Widths lays columns out with one gap of two blanks between them; a width of 0 leaves a
// column out.
func Widths(columns []Column, width int) []int {
	widths := make([]int, len(columns))
	used := 0
	for i, c := range columns {
		widths[i] = c.Width
		used += c.Width + 2
	}
	for used -= 2; used > width; {
		worst := -1
		for i, c := range columns {
			if widths[i] > 0 && c.Drop > 0 && (worst < 0 || c.Drop > columns[worst].Drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		used -= widths[worst] + 2
		widths[worst] = 0
	}
	left := max(width-used, 0)
	shares := 0
	for i, c := range columns {
		if widths[i] > 0 {
			shares += c.Flex
		}
	}
	for i, c := range columns {
		if widths[i] > 0 && c.Flex > 0 {
			more := left * c.Flex / shares
			widths[i] = widths[i] + more
			left = left - more
			shares = shares - c.Flex
		}
	}
	return widths
}

// Head is the line of the names of columns; sort is the name of the sorted one, with "-" before
// it from the greatest.
func Head(columns []Column, widths []int, sort string) Line {
	return Row(columns, widths, func(i, _ int) Line {
		head := columns[i].Head
		order := cmp.Or(columns[i].Sort, head)
		switch {
		case head == "":
		case sort == order:
			head += " ▲"
		case sort == "-"+order:
			head += " ▼"
		}
		return Of(Faint, head)
	})
}

// Row is a line of cells, each fitted into its column.
func Row(columns []Column, widths []int, cell func(i, width int) Line) (line Line) {
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if len(line) > 0 {
			line = append(line, Blank(2))
		}
		content := cell(i, w)
		if pad := w - content.Width(); columns[i].Right && pad > 0 {
			line = append(line, Blank(pad))
			line = append(line, content...)
		} else {
			line = append(line, content.To(w)...)
		}
	}
	return line
}
