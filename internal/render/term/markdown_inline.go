package term

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A span is a part of a line in one style.
type span struct{ text, sgr string }

const (
	italic     = "3"
	underlined = "4"
)

// maxInline is the longest line that is parsed, in bytes: the time to find the end of each mark
// grows with the square of the length.
const maxInline = 8 << 10

// parseInline parses a line of Markdown: `code`, **strong**, *emphasis*, links. sgr is the style of the
// whole line. A mark without an end in the line is text.
func parseInline(line, sgr string) []span {
	if len(line) > maxInline {
		return []span{{line, sgr}}
	}
	var spans []span
	textStart := 0 // of the text since the last mark
	for i := 0; i < len(line); {
		marked, n := parseSpanAt(line, i, sgr)
		if n == 0 {
			i++
			continue
		}
		if i > textStart {
			spans = append(spans, span{line[textStart:i], sgr})
		}
		spans = append(spans, marked...)
		i += n
		textStart = i
	}
	if len(line) > textStart {
		spans = append(spans, span{line[textStart:], sgr})
	}
	return spans
}

// parseSpanAt parses the marked text that begins at i. It returns its spans, which can differ in style,
// and its length in bytes; 0 if no mark begins at i.
func parseSpanAt(line string, i int, sgr string) (spans []span, n int) {
	rest := line[i:]
	switch rest[0] {
	case '\\':
		// An escaped mark is a letter.
		if len(rest) > 1 && strings.IndexByte("\\`*_[]()#+-.!>|~", rest[1]) >= 0 {
			return []span{{rest[1:2], sgr}}, 2
		}
	case '`':
		mark := rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
		if code, _, ok := strings.Cut(rest[len(mark):], mark); ok && code != "" {
			// The marks stay: colour is never the only sign.
			n = len(code) + 2*len(mark)
			return []span{{rest[:n], addStyle(sgr, Cyan)}}, n
		}
		return []span{{mark, sgr}}, len(mark) // without an end the marks are text
	case '*', '_':
		return parseEmphasis(line, i, sgr)
	case '[':
		return parseLink(rest, sgr)
	case '!':
		if strings.HasPrefix(rest, "![") {
			spans, n = parseLink(rest[1:], sgr)
			if n > 0 {
				return append([]span{{"image: ", addStyle(sgr, Dim)}}, spans...), n + 1
			}
		}
	}
	return nil, 0
}

// parseEmphasis parses *text* or **text** at i. It returns the spans and the length; 0 if the marks are
// plain text. It accepts _ only around whole words: names_like_this are text.
func parseEmphasis(line string, i int, sgr string) ([]span, int) {
	mark := line[i : i+1]
	style := italic
	if strings.HasPrefix(line[i+1:], mark) {
		mark = line[i : i+2]
		style = Bold
	}
	before, _ := utf8.DecodeLastRuneInString(line[:i])
	inner, after, ok := strings.Cut(line[i+len(mark):], mark)
	if !ok || inner == "" || strings.TrimSpace(inner) != inner {
		return nil, 0
	}
	hasThirdMark := strings.HasPrefix(inner, mark[:1]) || strings.HasPrefix(after, mark[:1])
	if hasThirdMark { // ***a*** has no certain inner end
		return nil, 0
	}
	next, _ := utf8.DecodeRuneInString(after)
	isWithinWord := isWordRune(before) || isWordRune(next)
	if mark[0] == '_' && isWithinWord {
		return nil, 0
	}
	isGlob := isWordRune(before) || before == '/' // a*b, /*.go
	if len(mark) == 1 && isGlob {
		return nil, 0
	}
	return parseInline(inner, addStyle(sgr, style)), len(inner) + 2*len(mark)
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 0x7f)
}

// parseLink parses [text](address) at the start of rest. It returns the text and the address as spans,
// and the length of the link; 0 if rest begins with no link.
func parseLink(rest, sgr string) ([]span, int) {
	text, after, ok := strings.Cut(rest[1:], "](")
	if !ok || strings.ContainsAny(text, "[]") {
		return nil, 0
	}
	address, _, ok := strings.Cut(after, ")")
	if !ok || address == "" {
		return nil, 0
	}
	n := len(text) + len(address) + len("[]()")
	if text == "" {
		return []span{{address, addStyle(sgr, underlined)}}, n
	}
	spans := parseInline(text, addStyle(sgr, underlined))
	return append(spans, span{" (" + address + ")", addStyle(sgr, Dim)}), n
}

func addStyle(sgr, more string) string {
	if sgr == "" {
		return more
	}
	return sgr + ";" + more
}

// breakLines breaks spans at blanks into painted lines of at most width columns. The first used columns of the
// first line are in use already. It leaves a word that is longer than a line to the terminal, so
// that an address can be copied whole.
func breakLines(s Style, spans []span, used, width int) []string {
	var line styledWord
	var lines []string
	for _, next := range splitWords(spans) {
		if used > 0 && used+next.width() > width {
			lines = append(lines, paintAll(s, line))
			line = nil
			used = 0
			next = next.trimStart()
		}
		line = append(line, next...)
		used += next.width()
	}
	return append(lines, paintAll(s, line))
}

// paintAll paints spans; neighbours of the same style get one sequence.
func paintAll(s Style, spans []span) string {
	var b strings.Builder
	for i := 0; i < len(spans); {
		text := ""
		sgr := spans[i].sgr
		for ; i < len(spans) && spans[i].sgr == sgr; i++ {
			text += spans[i].text
		}
		if sgr != "" {
			text = s.Paint(sgr, text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// A styledWord is a word, possibly in several styles, with the blanks before it.
type styledWord []span

// splitWords splits text into words, each with the blanks before it. A word may extend over several spans.
func splitWords(spans []span) []styledWord {
	var words []styledWord
	var w styledWord
	inWord := false // w has more than blanks
	for _, s := range spans {
		start := 0
		for i := 0; i < len(s.text); i++ {
			if s.text[i] != ' ' {
				inWord = true
			} else if inWord {
				words = append(words, w.appendPart(s, start, i))
				w = nil
				start = i
				inWord = false
			}
		}
		w = w.appendPart(s, start, len(s.text))
	}
	if len(w) > 0 {
		words = append(words, w)
	}
	return words
}

// appendPart appends the bytes from start to end of a span.
func (w styledWord) appendPart(s span, start, end int) styledWord {
	if end <= start {
		return w
	}
	return append(w, span{s.text[start:end], s.sgr})
}

func (w styledWord) width() int {
	n := 0
	for _, r := range w {
		n += ansi.StringWidth(r.text)
	}
	return n
}

// trimStart returns the word without the blanks before it.
func (w styledWord) trimStart() styledWord {
	for len(w) > 0 {
		text := strings.TrimLeft(w[0].text, " ")
		if text != "" {
			return append(styledWord{{text, w[0].sgr}}, w[1:]...)
		}
		w = w[1:]
	}
	return nil
}
