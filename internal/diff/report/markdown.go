package report

import (
	"fmt"
	"html"
	"strings"

	"mcpc/internal/diff"
)

// Markdown gives the report for a pull request: a table for each level, and below it the texts
// that changed. Texts of the server are no markup, no link and no mention there.
func Markdown(r Report) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "## What changed: %s\n", escaped(r.Summary()))
	if r.A != "" && r.B != "" {
		fmt.Fprintf(&b, "\nFrom %s to %s.\n", code(r.A), code(r.B))
	}
	for level := diff.Breaking; level >= diff.Harmless; level-- {
		n := 0
		for _, c := range r.Changes {
			if c.Level != level {
				continue
			}
			if n++; n == 1 {
				name := level.String()
				fmt.Fprintf(&b, "\n### %s\n\n| subject | change | rule |\n| --- | --- | --- |\n", strings.ToUpper(name[:1])+name[1:])
			}
			text := escaped(c.Text)
			if reason := acceptance(c); reason != "" {
				text = "~~" + text + "~~ " + escaped(reason)
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` `%s` |\n", code(c.Subject.String()), text, c.Rule, c.Fingerprint)
		}
	}
	for _, c := range r.Changes {
		if lines := Unified(c); len(lines) > 0 && c.Level > diff.Harmless {
			fence := fenceFor(lines)
			fmt.Fprintf(&b, "\n<details><summary><code>%s</code></summary>\n\n%sdiff\n", html.EscapeString(safe(c.Subject.String()+" "+c.Pointer)), fence)
			for _, l := range lines {
				b.WriteString(l.String() + "\n")
			}
			b.WriteString(fence + "\n\n</details>\n")
		}
	}
	if growth := r.growth(); growth != "" {
		fmt.Fprintf(&b, "\n%s.\n", escaped(strings.ToUpper(growth[:1])+growth[1:]))
	}
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "\n- %s\n", escaped(note))
	}
	return []byte(b.String())
}

// markup are the characters that mean something to Markdown or GitHub, which turns @name into
// a mention, #1 into a link and a URL into another: an empty comment behind them ends that.
var markup = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"|", "\\|", "~", "\\~", "!", "\\!", "@", "@<!-- -->", "#", "#<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.")

func escaped(text string) string { return markup.Replace(safe(text)) }

// code is a text as a code span in a table.
func code(text string) string {
	text = strings.ReplaceAll(safe(text), "|", "\\|")
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || text == "" {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// fenceFor is a fence that is in none of the lines.
func fenceFor(lines []Line) string {
	fence := "```"
	for _, l := range lines {
		for strings.Contains(l.String(), fence) {
			fence += "`"
		}
	}
	return fence
}
