package term

import (
	"strings"
)

// Outline collects lines of text. Each level of indentation is two columns.
type Outline struct {
	Style Style
	Width int
	b     strings.Builder
}

// String returns all lines.
func (s *Outline) String() string { return s.b.String() }

// Line adds one sanitized line. It does not wrap it.
func (s *Outline) Line(depth int, text string) {
	if text != "" {
		s.b.WriteString(strings.Repeat("  ", depth) + text)
	}
	s.b.WriteString("\n")
}

// Prose adds a server's text of many lines.
func (s *Outline) Prose(depth int, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	for _, line := range s.Style.WrapLines(s.Style.Block(text), s.Width-2*depth) {
		s.Line(depth, strings.TrimRight(line, " "))
	}
}

// Heading adds an empty line and a heading.
func (s *Outline) Heading(name string) {
	s.Line(0, "")
	s.Line(0, s.Style.Paint(Bold, name+":"))
}

// NewOutline returns an empty Outline, at most MaxProse columns wide.
func NewOutline(s Style) *Outline { return &Outline{Style: s, Width: min(s.Columns(), MaxProse)} }

// Wrapped adds a line of mcpc's own and indents its continuation lines.
func (s *Outline) Wrapped(depth int, text string) {
	for i, line := range s.Style.WrapLines(text, s.Width-2*depth-4) {
		if i > 0 {
			line = "    " + line
		}
		s.Line(depth, line)
	}
}
