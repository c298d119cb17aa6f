package panel

import (
	"strings"

	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

// An Area is a text of several lines that is edited.
type Area struct {
	lines []Input
	y     int
	top   int
}

// NewArea returns an Area with a text and the cursor at its start.
func NewArea(text string) Area {
	var a Area
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "  "), "\n") {
		in := NewInput(strings.TrimSuffix(line, "\r"))
		in.at = 0
		a.lines = append(a.lines, in)
	}
	return a
}

// Text is what is in the area.
func (a *Area) Text() string {
	var b strings.Builder
	for i := range a.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.lines[i].Text())
	}
	return b.String()
}

// Key takes a key by its name, or the text that it types.
func (a *Area) Key(name, text string) {
	line := &a.lines[a.y]
	switch {
	case name == "up":
		a.to(a.y - 1)
	case name == "down":
		a.to(a.y + 1)
	case name == "pgup":
		a.to(a.y - 10)
	case name == "pgdown":
		a.to(a.y + 10)
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

// Type puts text of several lines at the cursor.
func (a *Area) Type(text string) {
	for i, part := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if i > 0 {
			a.split()
		}
		a.lines[a.y].Type(part)
	}
}

func (a *Area) to(y int) {
	at := a.lines[a.y].at
	a.y = max(0, min(y, len(a.lines)-1))
	a.lines[a.y].at = min(at, len(a.lines[a.y].text))
}

func (a *Area) split() {
	line := &a.lines[a.y]
	rest := Input{text: append([]rune{}, line.text[line.at:]...)}
	line.text = line.text[:line.at]
	a.lines = append(a.lines[:a.y+1], append([]Input{rest}, a.lines[a.y+1:]...)...)
	a.y++
}

// join puts line y behind the one before it.
func (a *Area) join(y int) {
	if y < 1 || y >= len(a.lines) {
		return
	}
	before := &a.lines[y-1]
	before.at = len(before.text)
	before.text = append(before.text, a.lines[y].text...)
	a.lines = append(a.lines[:y], a.lines[y+1:]...)
	a.y = y - 1
}

// Lines draws w columns and h lines around the cursor.
func (a *Area) Lines(w, h int) (lines []cells.Line) {
	a.top = max(0, min(a.top, a.y))
	if a.y >= a.top+h {
		a.top = a.y - h + 1
	}
	for y := a.top; y < min(a.top+h, len(a.lines)); y++ {
		if y != a.y {
			lines = append(lines, cells.Line{cells.Fit(paint.Plain, a.lines[y].Text(), w)})
			continue
		}
		lines = append(lines, a.lines[y].Line(w, true, -1))
	}
	return lines
}
