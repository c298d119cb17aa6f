package term

import (
	"strings"
)

// Outline is a text that grows line by line, two columns to an indentation.
type Outline struct {
	Style Style
	Width int
	b     strings.Builder
}

// String gives the lines so far.
func (s *Outline) String() string { return s.b.String() }

// Line writes one line, which is sanitized already, and is never wrapped.
func (s *Outline) Line(depth int, text string) {
	if text != "" {
		s.b.WriteString(strings.Repeat("  ", depth) + text)
	}
	s.b.WriteString("\n")
}

// Prose writes a server's text of many lines.
func (s *Outline) Prose(depth int, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	for _, line := range s.Style.WrapLines(s.Style.Block(text), s.Width-2*depth) {
		s.Line(depth, strings.TrimRight(line, " "))
	}
}

// Heading writes an empty line and a heading.
func (s *Outline) Heading(name string) {
	s.Line(0, "")
	s.Line(0, s.Style.Paint(Bold, name+":"))
}

// NewOutline begins a text that is at most as wide as is easy to read.
func NewOutline(s Style) *Outline { return &Outline{Style: s, Width: min(s.Columns(), MaxProse)} }

// Wrapped writes a line of mcpc's own with hanging indentation.
func (s *Outline) Wrapped(depth int, text string) {
	for i, line := range s.Style.WrapLines(text, s.Width-2*depth-4) {
		if i > 0 {
			line = "    " + line
		}
		s.Line(depth, line)
	}
}
