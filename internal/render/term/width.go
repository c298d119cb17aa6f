package term

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/jsonraw"
)

// Widths are columns of a terminal: a letter is one, a CJK character or an emoji
// two, a combining mark none. Every text here is sanitized already, so that
// nothing in it can move the cursor.

// Columns is the width to lay out for; a Style that was made by hand may not
// know it.
func (s Style) Columns() int {
	if s.Width <= 0 {
		return 80
	}
	return s.Width
}

// MaxProse is how wide a line of text is at most: it is easier to read when it is not
// as wide as the screen.
const MaxProse = 100

// Width is how many columns sanitized text takes on a terminal.
func Width(text string) int { return ansi.StringWidth(text) }

// Truncate gives what of a sanitized text fits into width columns.
func Truncate(text string, width int) string { return ansi.Truncate(text, width, "") }

// WrapWords breaks a sanitized text into lines of at most width columns, at blanks; a word that
// is longer stands alone.
func WrapWords(text string, width int) []string {
	return flow(Style{}, []span{{text: text}}, 0, width)
}

// Cut shortens text to width columns, and says how many characters it took where
// that leaves enough of the text to tell it from others.
func (s Style) Cut(text string, width int) string { return s.CutMore(text, width, 0) }

// CutMore is cut for the start of a longer text, of which more characters are
// left out already.
func (s Style) CutMore(text string, width, more int) string {
	if more == 0 && ansi.StringWidth(text) <= width {
		return text
	}
	total := utf8.RuneCountInString(text)
	if tail := s.MoreChars(more); more > 0 && ansi.StringWidth(text)+len(tail) <= width {
		return text + tail
	}
	for _, t := range []struct {
		tail  func(int) string
		least int
	}{{s.MoreChars, 8}, {s.More, 6}} {
		if room := width - ansi.StringWidth(t.tail(total+more)); room >= t.least {
			kept := strings.TrimRight(ansi.Truncate(text, room, ""), " ")
			return kept + t.tail(total-utf8.RuneCountInString(kept)+more)
		}
	}
	return ansi.Truncate(text, width, s.Ellipsis())
}

// Shorten is text, or its beginning and a mark where it has more than so many characters.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// MoreChars says that n characters are left out.
func (s Style) MoreChars(n int) string {
	if n == 1 {
		return s.Ellipsis() + " +1 char"
	}
	return s.Ellipsis() + " +" + strconv.Itoa(n) + " chars"
}

// More says that n things are left out.
func (s Style) More(n int) string { return fmt.Sprintf("%s+%d", s.Ellipsis(), n) }

// Ellipsis is the mark for what is left out.
func (s Style) Ellipsis() string { return s.Ornament("...", "…") }

// clipped ends a line at the edge of a terminal, with a mark, where its columns do not
// fit at all: a row that is wrapped is two.
func clip(s Style, line string) string {
	if !s.Terminal {
		return line
	}
	return ansi.Truncate(line, s.Columns(), s.Ellipsis())
}

// Pad fills text with blanks to width columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// Wrap breaks a sanitized text at the terminal's width. A pipe gets it as it is.
func (s Style) Wrap(text string) string { return strings.Join(s.WrapLines(text, s.Columns()), "\n") }

// WrapIndented breaks a line of mcpc's own at blanks where a terminal is too narrow for it.
// It follows a lead of so many columns, and each further line begins with indent
// blanks. A word that is longer than a line is left to the terminal: it may be an
// address.
func (s Style) WrapIndented(text string, lead, indent int) string {
	if !s.Terminal {
		return text
	}
	lines := flow(s, []span{{text: text}}, lead-indent, max(s.Columns()-indent, 20))
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// WrapLine is a line of what a person is asked, broken at blanks.
func (s Style) WrapLine(text string) string { return s.WrapIndented(s.Line(text), 0, 2) }

// hardWrap breaks lines of text at blanks, and within a word only where it is longer than
// a line: what follows a hyphen must not look like a word of its own.
func hardWrap(s Style, text string, width int) (lines []string) {
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range flow(s, []span{{text: line}}, 0, width) {
			lines = append(lines, strings.Split(ansi.Hardwrap(part, width, true), "\n")...)
		}
	}
	return lines
}

// Rows is how many lines of the terminal a text takes that may hold styles.
func (s Style) Rows(text []byte) (rows int) {
	for line := range bytes.Lines(text) {
		rows += max(1, (ansi.StringWidth(string(bytes.TrimRight(line, "\n")))+s.Columns()-1)/s.Columns())
	}
	return rows
}

// WrapLines breaks text into lines of at most width columns. A pipe gets the lines
// as they are.
func (s Style) WrapLines(text string, width int) []string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if s.Pretty() {
		text = ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), max(width, 8), "")
	}
	return strings.Split(text, "\n")
}

// MaxExcerpt is how much is shown of a body or a line that a server wrote.
const MaxExcerpt = 2 << 10

// Excerpt is jsonraw.Excerpt in the style's own ornaments.
func (s Style) Excerpt(raw []byte, n int) string {
	text := jsonraw.Excerpt(raw, n)
	if i := strings.LastIndex(text, "…"); s.ASCII && len(raw) > n && i >= 0 {
		text = text[:i] + s.Ellipsis() + text[i+len("…"):]
	}
	return text
}
