package tui

import (
	"strings"

	"mcpc/internal/tui/cells"
)

// An area is an editable text of several lines. Long lines are drawn in several rows.
type area struct {
	lines      []input
	cursorLine int
	width      int // in columns, when it was last drawn
	// top is the first drawn line, and skip the number of its rows above the area.
	top, skippedRows int
}

// newArea returns an area with a text and the cursor at its start.
func newArea(text string) area {
	var a area
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "  "), "\n") {
		in := newInput(strings.TrimSuffix(line, "\r"))
		in.cursor = 0
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
	line := &a.lines[a.cursorLine]
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
	case name == "backspace" && line.cursor == 0:
		a.join(a.cursorLine)
	case name == "delete" && line.cursor == len(line.text):
		a.join(a.cursorLine + 1)
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
		a.lines[a.cursorLine].Type(areaRow)
	}
}

// move moves the cursor by rows.
func (a *area) move(rows int) {
	starts := a.lines[a.cursorLine].rowStarts(a.width)
	row := rowAt(starts, a.lines[a.cursorLine].cursor)
	column := a.lines[a.cursorLine].cursor - starts[row]
	for ; rows > 0 && (row < len(starts)-1 || a.cursorLine < len(a.lines)-1); rows-- {
		row++
		if row == len(starts) {
			a.cursorLine = a.cursorLine + 1
			row = 0
			starts = a.lines[a.cursorLine].rowStarts(a.width)
		}
	}
	for ; rows < 0 && (row > 0 || a.cursorLine > 0); rows++ {
		row--
		if row < 0 {
			a.cursorLine--
			starts = a.lines[a.cursorLine].rowStarts(a.width)
			row = len(starts) - 1
		}
	}
	last := len(a.lines[a.cursorLine].text)
	if row < len(starts)-1 {
		last = starts[row+1] - 1
	}
	a.lines[a.cursorLine].cursor = min(starts[row]+column, last)
}

func (a *area) split() {
	line := &a.lines[a.cursorLine]
	rest := input{text: append([]rune{}, line.text[line.cursor:]...)}
	line.text = line.text[:line.cursor]
	a.lines = append(a.lines[:a.cursorLine+1], append([]input{rest}, a.lines[a.cursorLine+1:]...)...)
	a.cursorLine++
}

// join appends line y to the line before it.
func (a *area) join(y int) {
	if y < 1 || y >= len(a.lines) {
		return
	}
	before := &a.lines[y-1]
	before.cursor = len(before.text)
	before.text = append(before.text, a.lines[y].text...)
	a.lines = append(a.lines[:y], a.lines[y+1:]...)
	a.cursorLine = y - 1
}

// An areaRow is a row: a part of a line.
type areaRow struct{ line, row, from, to int }

// Lines draws h rows of w columns around the cursor.
func (a *area) Lines(w, h int) (lines []cells.Line) {
	if h < 1 {
		return nil
	}
	a.width = w
	row := rowAt(a.lines[a.cursorLine].rowStarts(w), a.lines[a.cursorLine].cursor)
	if a.cursorLine < a.top || a.cursorLine == a.top && row < a.skippedRows {
		a.top = a.cursorLine
		a.skippedRows = row
	}
	var all []areaRow
	cursor := 0
	for n := a.top; n < len(a.lines) && (n <= a.cursorLine || len(all) < cursor+h); n++ {
		starts := append(a.lines[n].rowStarts(w), len(a.lines[n].text))
		for i, from := range starts[:len(starts)-1] {
			if n == a.top && i < a.skippedRows {
				continue
			}
			if n == a.cursorLine && i == row {
				cursor = len(all)
			}
			all = append(all, areaRow{n, i, from, starts[i+1]})
		}
	}
	all = all[max(0, cursor-h+1):]
	a.top = all[0].line
	a.skippedRows = all[0].row
	for _, p := range all[:min(h, len(all))] {
		lines = append(lines, a.lines[p.line].drawRow(p.from, p.to, p.line == a.cursorLine && p.row == row).FitTo(w))
	}
	return lines
}
