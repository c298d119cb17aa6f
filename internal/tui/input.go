package tui

import (
	"unicode"

	"mcpc/internal/tui/cells"
)

// An input is an editable line of text with a cursor.
type input struct {
	text   []rune
	cursor int
}

// newInput returns an input with a text and the cursor at its end.
func newInput(text string) input {
	r := []rune(text)
	return input{r, len(r)}
}

// Text returns the text of the line.
func (in *input) Text() string { return string(in.text) }

// Set replaces the text.
func (in *input) Set(text string) { *in = newInput(text) }

// Key handles a key by its name, or types text. It reports whether it used the key.
func (in *input) Key(name, text string) bool {
	switch name {
	case "left":
		in.cursor = max(0, in.cursor-1)
	case "right":
		in.cursor = min(len(in.text), in.cursor+1)
	case "home", "ctrl+a":
		in.cursor = 0
	case "end", "ctrl+e":
		in.cursor = len(in.text)
	case "backspace":
		in.deleteRange(in.cursor-1, in.cursor)
	case "delete":
		in.deleteRange(in.cursor, in.cursor+1)
	case "ctrl+u":
		in.deleteRange(0, in.cursor)
	case "ctrl+k":
		in.deleteRange(in.cursor, len(in.text))
	case "ctrl+w":
		from := in.cursor
		for from > 0 && unicode.IsSpace(in.text[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(in.text[from-1]) {
			from--
		}
		in.deleteRange(from, in.cursor)
	default:
		if text == "" {
			return false
		}
		in.Type(text)
	}
	return true
}

// Type inserts text at the cursor. Line ends become blanks.
func (in *input) Type(text string) {
	var add []rune
	for _, r := range text {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		add = append(add, r)
	}
	in.text = append(in.text[:in.cursor:in.cursor], append(add, in.text[in.cursor:]...)...)
	in.cursor += len(add)
}

func (in *input) deleteRange(from, to int) {
	from = max(0, from)
	to = min(len(in.text), to)
	if from < to {
		in.text = append(in.text[:from:from], in.text[to:]...)
		in.cursor = from
	}
}

// Line draws the text in width columns, with the cursor if active. Runes from index mark on are
// drawn as an error, unless mark is -1.
func (in *input) Line(width int, active bool, mark int) cells.Line {
	from := 0
	for cells.TextLine(cells.Plain, string(in.text[from:in.cursor])).Width() >= width && from < in.cursor {
		from++
	}
	var line cells.Line
	for i := from; i <= len(in.text); i++ {
		role := cells.Plain
		text := " "
		if i < len(in.text) {
			text = string(in.text[i])
		}
		if mark >= 0 && i >= mark && i < len(in.text) {
			role = cells.Bad
		}
		if active && i == in.cursor {
			role = cells.Cursor
		} else if i == len(in.text) {
			break
		}
		line = append(line, cells.Text(role, text))
	}
	return line.FitTo(width)
}

// rowStarts returns the start of each row if the text is drawn in width columns, one of which is for the
// cursor. A width of 0 gives one row.
func (in *input) rowStarts(width int) []int {
	starts := []int{0}
	used := 0
	for i, r := range in.text {
		n := 1
		if r < ' ' || r > '~' {
			n = cells.TextLine(cells.Plain, string(r)).Width()
		}
		used += n
		if width > 0 && used > width-1 && i > starts[len(starts)-1] {
			starts = append(starts, i)
			used = n
		}
	}
	return starts
}

// rowAt returns the row that contains a rune.
func rowAt(starts []int, at int) int {
	for i := len(starts) - 1; i > 0; i-- {
		if at >= starts[i] {
			return i
		}
	}
	return 0
}

// drawRow draws the runes of a row, with the cursor if active.
func (in *input) drawRow(from, to int, active bool) cells.Line {
	if !active {
		return cells.TextLine(cells.Plain, string(in.text[from:to]))
	}
	line := cells.TextLine(cells.Plain, string(in.text[from:in.cursor]))
	if in.cursor == len(in.text) {
		return append(line, cells.Text(cells.Cursor, " "))
	}
	return append(
		line,
		cells.Text(cells.Cursor, string(in.text[in.cursor])),
		cells.Text(cells.Plain, string(in.text[in.cursor+1:to])),
	)
}
