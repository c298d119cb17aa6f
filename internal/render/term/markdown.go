package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// LooksLikeMarkdown reports whether text has at least two signs of Markdown: a heading between
// empty lines, a code fence, a table, bold text, a link. One sign alone also occurs in programs and
// logs. It reads the first 64 KiB.
func LooksLikeMarkdown(text string) bool {
	const maxRead = 64 << 10
	if len(text) > maxRead {
		text = text[:maxRead]
	}
	lines := strings.Split(text, "\n")
	var heading, fence, table, strong, link bool
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		_, level := parseHeading(line)
		heading = heading || level > 0 && isBlankAt(lines, i-1) && isBlankAt(lines, i+1)
		fence = fence || parseFence(line) != ""
		table = table || i > 0 && isTableRule(line) && strings.Contains(lines[i-1], "|")
		// "(**" is Python's f(**arguments).
		if before, rest, ok := strings.Cut(line, "**"); ok && !strings.HasSuffix(before, "(") {
			inner, _, closed := strings.Cut(rest, "**")
			strong = strong || closed && inner != "" && strings.TrimSpace(inner) == inner
		}
		link = link || strings.Contains(line, "](http")
	}
	signs := 0
	for _, found := range []bool{heading, fence, table, strong, link} {
		if found {
			signs++
		}
	}
	return signs >= 2
}

// isBlankAt reports whether a line is blank or outside the text.
func isBlankAt(lines []string, i int) bool {
	return i < 0 || i >= len(lines) || strings.TrimSpace(lines[i]) == ""
}

// Markdown draws a text in Markdown for a terminal, sanitized, with a line end.
//
// It draws line by line: a line of the source is a line on the screen; only a paragraph that is too
// wide is broken. So a text that is not Markdown hardly changes, and every letter stays. It
// replaces marks (** around a word, the - of a list) and always writes the address of a link. It
// uses no library, because CommonMark parsers make every start of mcpc slower.
func Markdown(s Style, text string) string {
	text = strings.ReplaceAll(s.Block(text), "\r\n", "\n")
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\t", "    "), "\n"), "\n")
	d := markdownWriter{st: s, width: min(s.Columns(), MaxProse), afterBlank: true}
	for i := 0; i < len(lines); {
		i += d.drawNext(lines[i:])
	}
	return d.b.String()
}

// markdownWriter collects the drawn text.
type markdownWriter struct {
	st    Style
	width int
	// fence is the mark that ends the current code block; "" outside of one.
	fence string
	// inList is true after an item of a list: indented lines belong to it and are not code.
	inList bool
	// afterBlank is true if the line before was blank or code.
	afterBlank bool
	// fittingLines counts the next lines that are known to fit.
	fittingLines int
	b            strings.Builder
}

// drawNext draws the block at the start of lines. It returns the number of its lines.
func (d *markdownWriter) drawNext(lines []string) int {
	line := lines[0]
	bare := strings.TrimSpace(line)
	if d.fence != "" {
		d.drawCodeLine(line)
		return 1
	}
	if parseFence(line) != "" {
		d.fence = parseFence(line)
		if name := strings.TrimLeft(bare, "`~"); name != "" {
			d.writeLine(d.st.Paint(Dim, strings.TrimSpace(name)+":"))
		}
		return 1
	}
	if len(lines) > 1 && strings.Contains(line, "|") && isTableRule(lines[1]) {
		return d.drawTable(lines)
	}
	if bare == "" {
		d.writeLine("")
		d.afterBlank = true
		return 1
	}
	if strings.HasPrefix(line, "    ") && d.afterBlank && !d.inList { // indented code
		d.writeLine(d.st.Paint(Cyan, line))
		return 1
	}
	if isRule(bare) {
		d.writeLine(d.st.Paint(Dim, strings.Repeat(d.st.dash(), min(d.width, 40))))
		return 1
	}
	_, _, isItem := parseItem(bare)
	d.inList = isItem || d.inList && strings.HasPrefix(line, " ")
	d.afterBlank = false
	n := d.paragraphLines(lines)
	for _, next := range lines[1:n] {
		line += " " + strings.TrimSpace(next)
	}
	d.drawParagraph(line)
	return n
}

// paragraphLines returns how many lines to join to one paragraph: all lines of a paragraph if one
// of them is wider than the terminal, else 1.
func (d *markdownWriter) paragraphLines(lines []string) int {
	bare := strings.TrimSpace(lines[0])
	_, level := parseHeading(bare)
	isUnderline := strings.Trim(bare, "=") == "" // of a heading
	if level > 0 || isQuote(bare) || isUnderline {
		return 1
	}
	if d.fittingLines > 0 {
		d.fittingLines--
		return 1
	}
	n := 1
	for ; n < len(lines) && continuesParagraph(lines[n-1], lines[n]); n++ {
		beginsTable := n+1 < len(lines) && strings.Contains(lines[n], "|") && isTableRule(lines[n+1])
		if beginsTable {
			break
		}
	}
	for _, line := range lines[:n] {
		if ansi.StringWidth(line) > d.width {
			return n
		}
	}
	d.fittingLines = n - 1 // so that the paragraph is measured once
	return 1
}

// continuesParagraph reports whether line belongs to the paragraph of the line before it.
func continuesParagraph(before, line string) bool {
	bare := strings.TrimSpace(line)
	hasHardBreak := strings.HasSuffix(before, "  ") || strings.HasSuffix(before, `\`)
	if bare == "" || hasHardBreak {
		return false
	}
	if isQuote(line) || parseFence(line) != "" || isRule(bare) {
		return false
	}
	_, level := parseHeading(bare)
	_, _, isItem := parseItem(bare)
	// Four blanks begin a block of code, except within a list.
	isCode := len(line)-len(strings.TrimLeft(line, " ")) >= 4 && !strings.HasPrefix(before, " ")
	isUnderline := strings.Trim(bare, "=") == "" // of a heading
	return level == 0 && !isItem && !isCode && !isUnderline
}

func isQuote(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), ">") }

func (d *markdownWriter) writeLine(text string) { d.b.WriteString(strings.TrimRight(text, " ") + "\n") }

// drawCodeLine draws a line in a code fence, indented and otherwise unchanged, so that it can be copied.
func (d *markdownWriter) drawCodeLine(line string) {
	bare := strings.TrimSpace(line)
	if len(bare) >= len(d.fence) && strings.Trim(bare, d.fence[:1]) == "" {
		d.fence = ""
		return
	}
	d.writeLine("  " + d.st.Paint(Cyan, line))
}

// drawParagraph draws a line of text after its mark: a heading's, a quote's or a list's.
func (d *markdownWriter) drawParagraph(line string) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	rest := line[indent:]
	lead := strings.Repeat(" ", indent) // before the first line
	sgr := ""
	for strings.HasPrefix(rest, "> ") || rest == ">" {
		lead += d.st.Paint(Dim, d.st.Ornament("|", "│")) + " "
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ">"), " ")
	}
	hang := lead // before the other lines
	if title, level := parseHeading(rest); level > 0 && indent < 4 {
		rest = rest[:level] + " " + title
		sgr = Bold
	} else if mark, text, ok := parseItem(rest); ok {
		lead += bullet(d.st, mark) + " "
		hang += strings.Repeat(" ", ansi.StringWidth(bullet(d.st, mark))+1)
		rest = text
	}
	for i, text := range breakLines(d.st, parseInline(rest, sgr), 0, d.width-ansi.StringWidth(hang)) {
		if i == 0 {
			d.writeLine(lead + text)
		} else {
			d.writeLine(hang + text)
		}
	}
}

// parseHeading returns the text of a heading and its level; 0 if line is not a heading.
func parseHeading(line string) (title string, level int) {
	level = len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level == len(line) || line[level] != ' ' {
		return "", 0
	}
	return strings.TrimSpace(line[level:]), level
}

// parseFence returns the marks that begin or end a block of code, or "".
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

// isRule reports whether a line is a horizontal rule.
func isRule(bare string) bool {
	marks := strings.ReplaceAll(bare, " ", "")
	return len(marks) >= 3 &&
		(strings.Trim(marks, "-") == "" || strings.Trim(marks, "*") == "" || strings.Trim(marks, "_") == "")
}

// parseItem returns the mark of a list item (-, * or +, or a number with a dot or a bracket) and
// its text.
func parseItem(line string) (mark, text string, ok bool) {
	mark, text, ok = strings.Cut(line, " ")
	if !ok || mark != "-" && mark != "*" && mark != "+" && !isItemNumber(mark) {
		return "", "", false
	}
	return mark, strings.TrimLeft(text, " "), true
}

// isItemNumber reports whether mark is a number of at most nine digits with a dot or a bracket.
func isItemNumber(mark string) bool {
	digits := strings.TrimRight(mark, ".)")
	if digits == "" || len(digits) != len(mark)-1 || len(digits) > 9 {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

func bullet(s Style, mark string) string {
	if len(mark) > 1 {
		return mark
	}
	return s.Ornament(mark, "•")
}

func (s Style) dash() string { return s.Ornament("-", "─") }
