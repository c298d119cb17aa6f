package tui

import (
	"unicode"

	"mcpc/internal/tui/cells"
)

// An input is an editable line of text with a cursor.
type input struct {
	text       []rune
	cursor     int  // the index of the rune under the cursor; len(text) at the end
	isSelected bool // all of the text is selected: what is typed replaces it
}

// newInput returns an input with a text and the cursor at its end.
func newInput(text string) input {
	r := []rune(text)
	return input{text: r, cursor: len(r)}
}

// selectAll selects all of the text, and moves the cursor to its end.
func (in *input) selectAll() {
	in.cursor = len(in.text)
	in.isSelected = len(in.text) > 0
}

// Text returns the text of the line.
func (in *input) Text() string { return string(in.text) }

// Set replaces the text.
func (in *input) Set(text string) { *in = newInput(text) }

// Key handles a key by its name, or types text. It reports whether it used the key.
func (in *input) Key(name, text string) bool {
	isRemoval := name == "backspace" || name == "delete"
	if in.isSelected && (isRemoval || text != "") {
		in.Set("")
	}
	in.isSelected = false
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
	case "ctrl+left", "alt+left", "alt+b":
		for in.cursor > 0 && !isWordRune(in.text[in.cursor-1]) {
			in.cursor--
		}
		for in.cursor > 0 && isWordRune(in.text[in.cursor-1]) {
			in.cursor--
		}
	case "ctrl+right", "alt+right", "alt+f":
		for in.cursor < len(in.text) && !isWordRune(in.text[in.cursor]) {
			in.cursor++
		}
		for in.cursor < len(in.text) && isWordRune(in.text[in.cursor]) {
			in.cursor++
		}
	default:
		if text == "" {
			return false
		}
		in.Type(text)
	}
	return true
}

// isWordRune reports whether the keys for words pass over a rune as a part of a word.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

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

// noError is the errorStart of a line without an error.
const noError = -1

// Line draws the text in width columns, with the cursor if active. It scrolls so that the cursor is
// visible. Runes from index errorStart on are drawn as an error, unless errorStart is noError.
func (in *input) Line(width int, active bool, errorStart int) cells.Line {
	first := 0
	for cells.TextLine(cells.Plain, string(in.text[first:in.cursor])).Width() >= width && first < in.cursor {
		first++
	}
	var line cells.Line
	for i, r := range in.text[first:] {
		index := first + i
		role := cells.Plain
		if errorStart != noError && index >= errorStart {
			role = cells.Bad
		}
		if active && (index == in.cursor || in.isSelected) {
			role = cells.Cursor
		}
		line = append(line, cells.Text(role, string(r)))
	}
	if active && in.cursor == len(in.text) && !in.isSelected {
		line = append(line, cells.Text(cells.Cursor, " "))
	}
	return line.FitTo(width)
}

// rowStarts returns the index of the first rune of each row if the text is drawn in width columns,
// whose last is for the cursor. A width of 0, before the first drawing, gives one row.
func (in *input) rowStarts(width int) []int {
	starts := []int{0}
	used := 0
	for i, r := range in.text {
		runeWidth := 1
		if r < ' ' || r > '~' {
			runeWidth = cells.TextLine(cells.Plain, string(r)).Width()
		}
		used += runeWidth
		isFull := used > width-1 && i > starts[len(starts)-1]
		if width > 0 && isFull {
			starts = append(starts, i)
			used = runeWidth
		}
	}
	return starts
}

// rowAt returns the index of the row that contains the rune with an index.
func rowAt(starts []int, runeIndex int) int {
	for row := len(starts) - 1; row > 0; row-- {
		if runeIndex >= starts[row] {
			return row
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
