package tui

import (
	"slices"
	"strings"

	"mcpc/internal/tui/cells"
)

// An area is an editable text of several lines. Long lines are drawn in several rows.
type area struct {
	lines      []input
	cursorLine int // the index of the line with the cursor
	width      int // in columns, when it was last drawn
	// top is the first drawn line, and skippedRows the number of its rows above the area.
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

// find moves the cursor to the end of the first line that has a text, if there is one.
func (a *area) find(text string) {
	i := slices.IndexFunc(a.lines, func(line input) bool { return strings.Contains(line.Text(), text) })
	if i >= 0 {
		a.cursorLine = i
		a.lines[i].cursor = strings.Index(a.lines[i].Text(), text)
	}
}

// Key handles a key by its name, or types text if the key has no meaning here.
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
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i > 0 {
			a.split()
		}
		a.lines[a.cursorLine].Type(line)
	}
}

// move moves the cursor by drawn rows; a long line has several. It keeps the column if the row is
// long enough, and stops at the first and the last row.
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
	// The end of a row within a line belongs to the next row.
	last := len(a.lines[a.cursorLine].text)
	if row < len(starts)-1 {
		last = starts[row+1] - 1
	}
	a.lines[a.cursorLine].cursor = min(starts[row]+column, last)
}

// split breaks the line at the cursor into two lines.
func (a *area) split() {
	line := &a.lines[a.cursorLine]
	rest := input{text: append([]rune{}, line.text[line.cursor:]...)}
	line.text = line.text[:line.cursor]
	a.lines = append(a.lines[:a.cursorLine+1], append([]input{rest}, a.lines[a.cursorLine+1:]...)...)
	a.cursorLine++
}

// join appends the line with an index to the line before it.
func (a *area) join(index int) {
	if index < 1 || index >= len(a.lines) {
		return
	}
	previous := &a.lines[index-1]
	previous.cursor = len(previous.text)
	previous.text = append(previous.text, a.lines[index].text...)
	a.lines = append(a.lines[:index], a.lines[index+1:]...)
	a.cursorLine = index - 1
}

// An areaRow is the row with an index of a line: its runes from start to end.
type areaRow struct{ line, row, start, end int }

// Lines draws at most h rows of w columns, and scrolls so that the cursor is visible.
func (a *area) Lines(w, h int) []cells.Line {
	if h < 1 {
		return nil
	}
	a.width = w
	cursorRow := rowAt(a.lines[a.cursorLine].rowStarts(w), a.lines[a.cursorLine].cursor)
	isAbove := a.cursorLine < a.top || a.cursorLine == a.top && cursorRow < a.skippedRows
	if isAbove {
		a.top = a.cursorLine
		a.skippedRows = cursorRow
	}
	isCursor := func(r areaRow) bool { return r.line == a.cursorLine && r.row == cursorRow }
	var rows []areaRow
	cursorIndex := 0 // of the cursor's row in rows
	for n := a.top; n < len(a.lines) && (n <= a.cursorLine || len(rows) < cursorIndex+h); n++ {
		bounds := append(a.lines[n].rowStarts(w), len(a.lines[n].text))
		for i, start := range bounds[:len(bounds)-1] {
			if n == a.top && i < a.skippedRows {
				continue
			}
			row := areaRow{n, i, start, bounds[i+1]}
			if isCursor(row) {
				cursorIndex = len(rows)
			}
			rows = append(rows, row)
		}
	}
	rows = rows[max(0, cursorIndex-h+1):] // scroll down to the cursor
	a.top = rows[0].line
	a.skippedRows = rows[0].row
	var lines []cells.Line
	for _, r := range rows[:min(h, len(rows))] {
		lines = append(lines, a.lines[r.line].drawRow(r.start, r.end, isCursor(r)).FitTo(w))
	}
	return lines
}
