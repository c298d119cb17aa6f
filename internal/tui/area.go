package tui

import (
	"strings"

	"mcpc/internal/tui/cells"
)

// An area is an editable text of several lines. Long lines are drawn in several rows.
type area struct {
	lines []input
	y     int
	width int // in columns, when it was last drawn
	// top is the first drawn line, and skip the number of its rows above the area.
	top, skip int
}

// newArea returns an area with a text and the cursor at its start.
func newArea(text string) area {
	var a area
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "  "), "\n") {
		in := newInput(strings.TrimSuffix(line, "\r"))
		in.at = 0
		a.lines = append(a.lines, in)
	}
	return a
}

// Text returns the text of the area.
func (a *area) Text() string {
	var b strings.Builder
	for i := range a.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.lines[i].Text())
	}
	return b.String()
}

// Key handles a key by its name, or types text.
func (a *area) Key(name, text string) {
	line := &a.lines[a.y]
	switch {
	case name == "up":
		a.move(-1)
	case name == "down":
		a.move(1)
	case name == "pgup":
		a.move(-10)
	case name == "pgdown":
		a.move(10)
	case name == "tab":
		line.Type("  ")
	case name == "enter":
		a.split()
	case name == "backspace" && line.at == 0:
		a.join(a.y)
	case name == "delete" && line.at == len(line.text):
		a.join(a.y + 1)
	default:
		line.Key(name, text)
	}
}

// Type inserts a text of several lines at the cursor.
func (a *area) Type(text string) {
	for i, areaRow := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i > 0 {
			a.split()
		}
		a.lines[a.y].Type(areaRow)
	}
}

// move moves the cursor by rows.
func (a *area) move(rows int) {
	starts := a.lines[a.y].rows(a.width)
	row := rowOf(starts, a.lines[a.y].at)
	column := a.lines[a.y].at - starts[row]
	for ; rows > 0 && (row < len(starts)-1 || a.y < len(a.lines)-1); rows-- {
		row++
		if row == len(starts) {
			a.y = a.y + 1
			row = 0
			starts = a.lines[a.y].rows(a.width)
		}
	}
	for ; rows < 0 && (row > 0 || a.y > 0); rows++ {
		row--
		if row < 0 {
			a.y--
			starts = a.lines[a.y].rows(a.width)
			row = len(starts) - 1
		}
	}
	last := len(a.lines[a.y].text)
	if row < len(starts)-1 {
		last = starts[row+1] - 1
	}
	a.lines[a.y].at = min(starts[row]+column, last)
}

func (a *area) split() {
	line := &a.lines[a.y]
	rest := input{text: append([]rune{}, line.text[line.at:]...)}
	line.text = line.text[:line.at]
	a.lines = append(a.lines[:a.y+1], append([]input{rest}, a.lines[a.y+1:]...)...)
	a.y++
}

// join appends line y to the line before it.
func (a *area) join(y int) {
	if y < 1 || y >= len(a.lines) {
		return
	}
	before := &a.lines[y-1]
	before.at = len(before.text)
	before.text = append(before.text, a.lines[y].text...)
	a.lines = append(a.lines[:y], a.lines[y+1:]...)
	a.y = y - 1
}

// An areaRow is a row: a part of a line.
type areaRow struct{ line, row, from, to int }

// Lines draws h rows of w columns around the cursor.
func (a *area) Lines(w, h int) (lines []cells.Line) {
	if h < 1 {
		return nil
	}
	a.width = w
	row := rowOf(a.lines[a.y].rows(w), a.lines[a.y].at)
	if a.y < a.top || a.y == a.top && row < a.skip {
		a.top = a.y
		a.skip = row
	}
	var all []areaRow
	cursor := 0
	for n := a.top; n < len(a.lines) && (n <= a.y || len(all) < cursor+h); n++ {
		starts := append(a.lines[n].rows(w), len(a.lines[n].text))
		for i, from := range starts[:len(starts)-1] {
			if n == a.top && i < a.skip {
				continue
			}
			if n == a.y && i == row {
				cursor = len(all)
			}
			all = append(all, areaRow{n, i, from, starts[i+1]})
		}
	}
	all = all[max(0, cursor-h+1):]
	a.top = all[0].line
	a.skip = all[0].row
	for _, p := range all[:min(h, len(all))] {
		lines = append(lines, a.lines[p.line].part(p.from, p.to, p.line == a.y && p.row == row).To(w))
	}
	return lines
}
