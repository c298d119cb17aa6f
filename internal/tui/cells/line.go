// Package cells makes lines of a fixed width for a terminal. Only functions that sanitize text make
// a Span, so no line holds a control character. Package tui cannot make a Span in a different way,
// because cells is a separate package.
package cells

import (
	"strings"

	"mcpc/internal/render/term"
)

// A Span is sanitized text with a role.
type Span struct {
	text string
	role Role
}

// A Line is one line of the screen or of a pane.
type Line []Span

// Text sanitizes a text and returns it as a Span.
func Text(r Role, text string) Span { return Span{clean(text), r} }

// emojiJoiners are the characters that change the emoji before them or combine it with the next one: the
// zero-width joiner, the variation selector and the skin tones.
var emojiJoiners = strings.NewReplacer(
	"\u200d", "", "\ufe0f", "",
	"\U0001f3fb", "", "\U0001f3fc", "", "\U0001f3fd", "", "\U0001f3fe", "", "\U0001f3ff", "",
)

// clean sanitizes a text, and leaves out emojiJoiners: the program that draws the screen and the terminal
// count the columns of combined emoji differently, and the end of such a line would be lost.
func clean(text string) string { return emojiJoiners.Replace(term.Line(text)) }

// TextLine returns a Line of one Span.
func TextLine(r Role, text string) Line { return Line{Text(r, text)} }

// Blank returns a Span of n blanks.
func Blank(n int) Span { return Span{text: strings.Repeat(" ", max(n, 0))} }

// Rule returns a horizontal line of n columns.
func Rule(n int) Span { return Span{strings.Repeat("─", max(n, 0)), Faint} }

// Fit returns a text in exactly width columns, cut with "…" or padded.
func Fit(r Role, text string, width int) Span {
	return Span{fitText(clean(text), width), r}
}

// Right returns a text in exactly width columns, aligned to the right.
func Right(r Role, text string, width int) Span {
	text = clean(text)
	if w := term.Width(text); w < width {
		return Span{strings.Repeat(" ", width-w) + text, r}
	}
	return Span{fitText(text, width), r}
}

func fitText(text string, width int) string {
	if width <= 0 {
		return ""
	}
	if term.Width(text) > width {
		text = term.Truncate(text, width-1) + "…"
	}
	return term.Pad(text, width)
}

// Width returns the width of a line in columns.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += term.Width(s.text)
	}
	return n
}

// String returns the text of a line without styles.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// WithRole returns a copy of the line with all its text in another role.
func (l Line) WithRole(r Role) Line {
	out := make(Line, len(l))
	for i, s := range l {
		out[i] = Span{s.text, r}
	}
	return out
}

// FitTo returns the line in exactly width columns, cut with "…" or padded. It does not change l.
func (l Line) FitTo(width int) Line {
	used := 0
	for i, s := range l {
		w := term.Width(s.text)
		if used+w > width {
			cut := append(Line{}, l[:i]...)
			return append(cut, Span{fitText(s.text, width-used), s.role})
		}
		used += w
	}
	if used == width {
		return l
	}
	return append(append(Line{}, l...), Blank(width-used))
}

// Justify puts left and right at the ends of width columns. Without room for both it drops right.
func Justify(left, right Line, width int) Line {
	l := left.Width()
	r := right.Width()
	if l+r+1 > width {
		return left.FitTo(width)
	}
	return append(append(append(Line{}, left...), Blank(width-l-r)), right...)
}

// Write appends a line with its styles.
func (l Line) Write(b *strings.Builder, p Palette, selected bool) {
	for _, s := range l {
		if s.text == "" {
			continue
		}
		code := p.SGR(s.role, selected)
		if code == "" {
			b.WriteString(s.text)
			continue
		}
		b.WriteString("\x1b[" + code + "m" + s.text + "\x1b[0m")
	}
}

// Wrap breaks a text into lines of at most width columns. It keeps line ends, and replaces tabs by
// four blanks.
func Wrap(r Role, text string, width int) []Line {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    ")
	var lines []Line
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		part = clean(part)
		for _, words := range term.WrapWords(part, max(width, 8)) {
			lines = append(lines, breakWord(r, words, max(width, 8))...)
		}
	}
	return lines
}

// breakWord breaks a word that is wider than a line, after one of -_/. if there is one in the second half
// of the line.
func breakWord(r Role, text string, width int) []Line {
	var lines []Line
	for term.Width(text) > width {
		head := term.Truncate(text, width)
		if head == "" { // a character is wider than the line
			break
		}
		if end := strings.LastIndexAny(head, "-_/.") + 1; end > len(head)/2 {
			head = head[:end]
		}
		lines = append(lines, Line{{head, r}})
		text = text[len(head):]
	}
	return append(lines, Line{{text, r}})
}

// RightSpan aligns a Span to the right in width columns.
func RightSpan(s Span, width int) Span { return Right(s.role, s.text, width) }
