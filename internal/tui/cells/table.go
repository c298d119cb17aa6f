package cells

// A Column is a column of a table. Without room, the columns with the largest DropOrder are left out
// first, and those with 0 never. Flex is the column's share of the remaining width.
type Column struct {
	Head      string
	Sort      string // the sort order of the column, if its name differs from Head
	Width     int
	Flex      int
	Right     bool
	DropOrder int
}

// Widths returns the widths of columns with two blanks in between. A width of 0 means that a column
// is left out.
func Widths(columns []Column, width int) []int {
	widths := make([]int, len(columns))
	used := 0
	for i, c := range columns {
		widths[i] = c.Width
		used += c.Width + 2
	}
	used -= 2 // no blanks after the last column
	for used > width {
		worst := -1 // the index of the column to leave out, or -1 if all must stay
		for i, c := range columns {
			if widths[i] > 0 && c.DropOrder > 0 && (worst < 0 || c.DropOrder > columns[worst].DropOrder) {
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
			more := left * c.Flex / shares // of what the columns before it left, so that nothing remains
			widths[i] += more
			left -= more
			shares -= c.Flex
		}
	}
	return widths
}

// Head returns the line of column names. sort is the name of the sorted column, with "-" before it
// for descending order.
func Head(columns []Column, widths []int, sort string) Line {
	return Row(columns, widths, func(i, _ int) Line {
		head := columns[i].Head
		order := columns[i].Sort
		if order == "" {
			order = head
		}
		switch {
		case head == "":
		case sort == order:
			head += " ▲"
		case sort == "-"+order:
			head += " ▼"
		}
		return TextLine(Faint, head)
	})
}

// Row returns a line of cells, each fitted into its column.
func Row(columns []Column, widths []int, cell func(i, width int) Line) Line {
	var line Line
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
			line = append(line, content.FitTo(w)...)
		}
	}
	return line
}
