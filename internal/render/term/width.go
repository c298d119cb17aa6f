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

// Widths count columns of a terminal: a letter has one, a CJK character or an emoji two, a
// combining mark 0. All functions expect sanitized text, which cannot move the cursor.

// Columns returns the width for layouts: 80 if the style does not know it.
func (s Style) Columns() int {
	if s.Width <= 0 {
		return 80
	}
	return s.Width
}

// MaxProse is the longest line of prose, in columns: wider lines are hard to read.
const MaxProse = 100

// Width returns how many columns of a terminal a text takes.
func Width(text string) int { return ansi.StringWidth(text) }

// Truncate returns the start of a text that fits into width columns.
func Truncate(text string, width int) string { return ansi.Truncate(text, width, "") }

// WrapWords breaks a text at blanks into lines of at most width columns. A longer word gets a
// separate line.
func WrapWords(text string, width int) []string {
	return breakLines(Style{}, []span{{text: text}}, 0, width)
}

// Cut shortens text to width columns. It adds the number of missing characters if there is room.
func (s Style) Cut(text string, width int) string { return s.CutMore(text, width, 0) }

// CutMore cuts a text as Cut does. text is the start of a longer text: the number in the mark includes the
// omitted characters after it.
func (s Style) CutMore(text string, width, omitted int) string {
	if omitted == 0 && ansi.StringWidth(text) <= width {
		return text
	}
	total := utf8.RuneCountInString(text)
	if tail := s.MoreChars(omitted); omitted > 0 && ansi.StringWidth(text)+len(tail) <= width {
		return text + tail
	}
	// The long mark, else the short mark, if it leaves enough of the text.
	for _, mark := range []struct {
		format  func(missing int) string
		minText int // columns
	}{{s.MoreChars, 8}, {s.More, 6}} {
		room := width - ansi.StringWidth(mark.format(total+omitted))
		if room >= mark.minText {
			start := strings.TrimRight(ansi.Truncate(text, room, ""), " ")
			return start + mark.format(total-utf8.RuneCountInString(start)+omitted)
		}
	}
	return ansi.Truncate(text, width, s.Ellipsis())
}

// Shorten returns text, cut to most characters with a mark if it is longer.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// MoreChars returns a mark for n missing characters.
func (s Style) MoreChars(n int) string {
	if n == 1 {
		return s.Ellipsis() + " +1 char"
	}
	return s.Ellipsis() + " +" + strconv.Itoa(n) + " chars"
}

// More returns a mark for n missing items.
func (s Style) More(n int) string { return fmt.Sprintf("%s+%d", s.Ellipsis(), n) }

// Ellipsis returns the mark for missing text.
func (s Style) Ellipsis() string { return s.Ornament("...", "…") }

// clipLine cuts a line at the edge of a terminal: a wrapped row would look like two.
func clipLine(s Style, line string) string {
	if !s.Terminal {
		return line
	}
	return ansi.Truncate(line, s.Columns(), s.Ellipsis())
}

// Pad appends blanks to text up to width columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// Wrap breaks a text at the terminal's width. It does not change a text for a pipe.
func (s Style) Wrap(text string) string { return strings.Join(s.WrapLines(text, s.Columns()), "\n") }

// WrapIndented breaks a line of mcpc's own at blanks to fit the terminal. lead columns of the first
// line are in use already; each further line begins with indent blanks. It leaves a word that is
// longer than a line to the terminal: it can be an address.
func (s Style) WrapIndented(text string, lead, indent int) string {
	if !s.Terminal {
		return text
	}
	lines := breakLines(s, []span{{text: text}}, lead-indent, max(s.Columns()-indent, 20))
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// WrapLine returns a sanitized line, broken at blanks and indented from the second line on.
func (s Style) WrapLine(text string) string { return s.WrapIndented(s.Line(text), 0, 2) }

// hardWrap breaks text at blanks, and within a word only if it is longer than a line: the text
// after a hyphen must not look like a separate word.
func hardWrap(s Style, text string, width int) []string {
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range breakLines(s, []span{{text: line}}, 0, width) {
			lines = append(lines, strings.Split(ansi.Hardwrap(part, width, true), "\n")...)
		}
	}
	return lines
}

// Rows returns how many lines of the terminal a text takes. The text may have SGR sequences.
func (s Style) Rows(text []byte) int {
	rows := 0
	for line := range bytes.Lines(text) {
		rows += max(1, (ansi.StringWidth(string(bytes.TrimRight(line, "\n")))+s.Columns()-1)/s.Columns())
	}
	return rows
}

// WrapLines breaks text into lines of at most width columns. It splits a text for a pipe at its
// line ends only.
func (s Style) WrapLines(text string, width int) []string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if s.Pretty() {
		text = ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), max(width, 8), "")
	}
	return strings.Split(text, "\n")
}

// MaxExcerpt is how much of a server's body or line is shown, in bytes.
const MaxExcerpt = 2 << 10

// Excerpt returns jsonraw.Excerpt with the style's ellipsis.
func (s Style) Excerpt(raw []byte, n int) string {
	text := jsonraw.Excerpt(raw, n)
	// If raw is cut, the last … is the mark; one before it belongs to the text.
	if i := strings.LastIndex(text, "…"); s.ASCII && len(raw) > n && i >= 0 {
		text = text[:i] + s.Ellipsis() + text[i+len("…"):]
	}
	return text
}
