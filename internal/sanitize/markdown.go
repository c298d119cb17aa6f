package sanitize

import "strings"

// markup escapes the characters with a meaning in Markdown. GitHub also turns @name into a mention, and #1
// and a URL into a link; an empty comment in the text prevents that.
var markup = strings.NewReplacer(
	"\\",
	"\\\\",
	"`",
	"\\`",
	"*",
	"\\*",
	"_",
	"\\_",
	"[",
	"\\[",
	"]",
	"\\]",
	"<",
	"&lt;",
	">",
	"&gt;",
	"&",
	"&amp;",
	"|",
	"\\|",
	"~",
	"\\~",
	"!",
	"\\!",
	"@",
	"@<!-- -->",
	"#",
	"#<!-- -->",
	"://",
	":<!-- -->//",
	"www.",
	"www<!-- -->.",
)

// Markdown returns a text on one line of Markdown without markup, links or mentions.
func Markdown(text string) string { return markup.Replace(Line(text, Signs)) }

// MarkdownCode returns a text as code within a line of Markdown. It returns "" if text is "".
func MarkdownCode(text string) string {
	if text == "" {
		return ""
	}
	text = Line(text, Signs)
	mark := strings.Repeat("`", longestTicks(text)+1)
	touchesMark := strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`")
	// Markdown removes a blank from both ends of code if it has both.
	losesBlanks := strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ")
	if touchesMark || losesBlanks {
		text = " " + text + " "
	}
	return mark + text + mark
}

// MarkdownCell formats text as MarkdownCode does, and escapes "|" for a table cell.
func MarkdownCell(text string) string { return strings.ReplaceAll(MarkdownCode(text), "|", "\\|") }

// MarkdownFence returns the mark before and after a block of code. The text cannot end the block,
// because the mark has more backticks than any row in the text.
func MarkdownFence(text string) string { return strings.Repeat("`", max(3, longestTicks(text)+1)) }

// longestTicks returns the length of the longest row of backticks.
func longestTicks(text string) int {
	longest := 0
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}
