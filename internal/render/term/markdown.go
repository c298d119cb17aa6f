package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// LooksLikeMarkdown reports two or more kinds of evidence, for many a program or log
// has one: a heading between empty lines, a fence, a table, something bold, a link. It
// reads the first 64 KiB.
func LooksLikeMarkdown(text string) bool {
	const enough = 64 << 10
	if len(text) > enough {
		text = text[:enough]
	}
	lines := strings.Split(text, "\n")
	var heading, fence, table, strong, link bool
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		_, level := parseHeading(line)
		heading = heading || level > 0 && isBlankAt(lines, i-1) && isBlankAt(lines, i+1)
		fence = fence || parseFence(line) != ""
		table = table || i > 0 && isTableRule(line) && strings.Contains(lines[i-1], "|")
		if before, rest, ok := strings.Cut(line, "**"); ok && !strings.HasSuffix(before, "(") {
			inner, _, closed := strings.Cut(rest, "**")
			strong = strong || closed && inner != "" && strings.TrimSpace(inner) == inner
		}
		link = link || strings.Contains(line, "](http")
	}
	found := 0
	for _, is := range []bool{heading, fence, table, strong, link} {
		if is {
			found++
		}
	}
	return found >= 2
}

// blankAt says whether a line is blank or beyond the text.
func isBlankAt(lines []string, i int) bool {
	return i < 0 || i >= len(lines) || strings.TrimSpace(lines[i]) == ""
}

// Markdown gives a text in Markdown as a terminal shows it, sanitized, with a line end.
//
// It is drawn line by line: a line of the source is a line on the screen, and only
// a paragraph that is too wide is broken anew. So nothing else is moved or joined, what
// is no Markdown after all is hardly changed, and each letter that came is seen. What is
// a mark and no letter (** around a word, the - of a list) is drawn; a link's address is
// always written out. There is no library behind it because those that read all of CommonMark
// make each start of the program slower, also where nothing is drawn.
func Markdown(s Style, text string) string {
	text = strings.ReplaceAll(s.Block(text), "\r\n", "\n")
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\t", "    "), "\n"), "\n")
	d := markdownWriter{st: s, width: min(s.Columns(), MaxProse), afterBlank: true}
	for i := 0; i < len(lines); {
		i += d.drawNext(lines[i:])
	}
	return d.b.String()
}

// markdownWriter is the text that grows. fence is set within a block of code, to what ends
// it; list since an item of a list, whose paragraphs are indented like code; apart where
// the line before was blank, or code; narrow counts the next lines that are known to
// fit.
type markdownWriter struct {
	st               Style
	width            int
	fence            string
	list, afterBlank bool
	narrow           int
	b                strings.Builder
}

// from draws what the lines begin with, and says how many lines that was.
func (d *markdownWriter) drawNext(lines []string) int {
	line := lines[0]
	bare := strings.TrimSpace(line)
	switch {
	case d.fence != "":
		d.code(line)
		return 1
	case parseFence(line) != "":
		d.fence = parseFence(line)
		if name := strings.TrimLeft(bare, "`~"); name != "" {
			d.line(d.st.Paint(Dim, strings.TrimSpace(name)+":"))
		}
		return 1
	case len(lines) > 1 && strings.Contains(line, "|") && isTableRule(lines[1]):
		return d.table(lines)
	case bare == "":
		d.line("")
		d.afterBlank = true
		return 1
	case strings.HasPrefix(line, "    ") && d.afterBlank && !d.list:
		d.line(d.st.Paint(Cyan, line))
		return 1
	case isRule(bare):
		d.line(d.st.Paint(Dim, strings.Repeat(d.st.dash(), min(d.width, 40))))
	default:
		_, _, item := parseItem(bare)
		d.list = item || d.list && strings.HasPrefix(line, " ")
		d.afterBlank = false
		n := d.paragraphLines(lines)
		for _, more := range lines[1:n] {
			line += " " + strings.TrimSpace(more)
		}
		d.paragraph(line)
		return n
	}
	return 1
}

// paragraphLines is how many lines make one paragraph: those of a text that was broken at
// another width than this terminal's, and each line for itself where all of them fit.
func (d *markdownWriter) paragraphLines(lines []string) int {
	bare := strings.TrimSpace(lines[0])
	if _, level := parseHeading(bare); level > 0 || isQuote(bare) || strings.Trim(bare, "=") == "" {
		return 1
	}
	if d.narrow > 0 {
		d.narrow--
		return 1
	}
	n := 1
	wide := false
	for ; n < len(lines) && continuesParagraph(lines[n-1], lines[n]); n++ {
		if n+1 < len(lines) && strings.Contains(lines[n], "|") && isTableRule(lines[n+1]) {
			break
		}
	}
	for _, line := range lines[:n] {
		wide = wide || ansi.StringWidth(line) > d.width
	}
	if !wide {
		d.narrow = n - 1
		return 1
	}
	return n
}

// continues says whether a line goes on with the paragraph of the line before, which
// may end in a break of its own.
func continuesParagraph(before, line string) bool {
	bare := strings.TrimSpace(line)
	if bare == "" || isQuote(line) || parseFence(line) != "" || isRule(bare) || strings.HasSuffix(before, "  ") ||
		strings.HasSuffix(before, `\`) {
		return false
	}
	_, level := parseHeading(bare)
	_, _, item := parseItem(bare)
	// Four blanks begin a block of code, where it is no list that goes on.
	deep := len(line)-len(strings.TrimLeft(line, " ")) >= 4 && !strings.HasPrefix(before, " ")
	return level == 0 && !item && !deep && strings.Trim(bare, "=") != ""
}

func isQuote(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), ">") }

func (d *markdownWriter) line(text string) { d.b.WriteString(strings.TrimRight(text, " ") + "\n") }

// code draws a line within a fence, indented and else as it is, so that it can be
// copied.
func (d *markdownWriter) code(line string) {
	bare := strings.TrimSpace(line)
	if len(bare) >= len(d.fence) && strings.Trim(bare, d.fence[:1]) == "" {
		d.fence = ""
		return
	}
	d.line("  " + d.st.Paint(Cyan, line))
}

// paragraph draws a line of text behind what it begins with: a heading's or a quote's
// mark, a list's.
func (d *markdownWriter) paragraph(line string) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	rest := line[indent:]
	lead := strings.Repeat(" ", indent)
	sgr := ""
	for strings.HasPrefix(rest, "> ") || rest == ">" {
		lead += d.st.Paint(Dim, d.st.Ornament("|", "│")) + " "
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ">"), " ")
	}
	hang := lead
	if title, level := parseHeading(rest); level > 0 && indent < 4 {
		rest = rest[:level] + " " + title
		sgr = Bold
	} else if mark, text, ok := parseItem(rest); ok {
		lead += bullet(d.st, mark) + " "
		hang += strings.Repeat(" ", ansi.StringWidth(bullet(d.st, mark))+1)
		rest = text
	}
	for i, text := range flow(d.st, inline(rest, sgr), 0, d.width-ansi.StringWidth(hang)) {
		if i == 0 {
			d.line(lead + text)
		} else {
			d.line(hang + text)
		}
	}
}

// headingOf gives the text of a heading and its level; 0 is none.
func parseHeading(line string) (title string, level int) {
	level = len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level == len(line) || line[level] != ' ' {
		return "", 0
	}
	return strings.TrimSpace(line[level:]), level
}

// fenceOf is the row of marks that begins a block of code, or "".
func parseFence(line string) string {
	bare := strings.TrimSpace(line)
	for _, mark := range []string{"`", "~"} {
		fence := bare[:len(bare)-len(strings.TrimLeft(bare, mark))]
		if len(fence) >= 3 && !strings.Contains(bare[len(fence):], "`") {
			return fence
		}
	}
	return ""
}

// rule says whether a line is one that parts the text.
func isRule(bare string) bool {
	marks := strings.ReplaceAll(bare, " ", "")
	return len(marks) >= 3 &&
		(strings.Trim(marks, "-") == "" || strings.Trim(marks, "*") == "" || strings.Trim(marks, "_") == "")
}

// itemOf parts an item of a list from its mark: -, * or +, or a number with its dot.
func parseItem(line string) (mark, text string, ok bool) {
	mark, text, ok = strings.Cut(line, " ")
	switch digits := strings.TrimRight(mark, ".)"); {
	case !ok:
	case mark == "-" || mark == "*" || mark == "+":
		return mark, strings.TrimLeft(text, " "), true
	case len(digits) == len(mark)-1 && digits != "" && strings.Trim(digits, "0123456789") == "" && len(digits) < 10:
		return mark, strings.TrimLeft(text, " "), true
	}
	return "", "", false
}

func bullet(s Style, mark string) string {
	if len(mark) > 1 {
		return mark
	}
	return s.Ornament(mark, "•")
}

func (s Style) dash() string { return s.Ornament("-", "─") }
