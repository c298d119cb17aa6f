package report

import (
	"fmt"
	"html"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/sanitize"
)

// Markdown returns the report for a pull request: a table per level, then the changed texts. It
// escapes texts of the server, so that they are not read as markup, links or mentions.
func Markdown(r Report) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "## What changed: %s\n", sanitize.Markdown(r.Summary()))
	if r.A != "" && r.B != "" {
		fmt.Fprintf(&b, "\nFrom %s to %s.\n", sanitize.MarkdownCode(r.A), sanitize.MarkdownCode(r.B))
	}
	for level := diff.Breaking; level >= diff.Harmless; level-- {
		hasHeading := false
		for _, c := range r.Changes {
			if c.Level != level {
				continue
			}
			if !hasHeading {
				hasHeading = true
				name := level.String()
				fmt.Fprintf(
					&b,
					"\n### %s\n\n| subject | change | rule |\n| --- | --- | --- |\n",
					strings.ToUpper(name[:1])+name[1:],
				)
			}
			text := sanitize.Markdown(c.Text)
			if reason := acceptanceText(c); reason != "" {
				text = "~~" + text + "~~ " + sanitize.Markdown(reason)
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` `%s` |\n", sanitize.MarkdownCell(c.Subject.String()), text, c.Rule, c.Fingerprint)
		}
	}
	for _, c := range r.Changes {
		if lines := Unified(c); len(lines) > 0 && c.Level > diff.Harmless {
			var text strings.Builder
			for _, l := range lines {
				text.WriteString(l.String() + "\n")
			}
			fence := sanitize.MarkdownFence(text.String())
			// The word "diff" after the fence is the language of the block.
			fmt.Fprintf(
				&b,
				"\n<details><summary><code>%s</code></summary>\n\n%sdiff\n",
				html.EscapeString(displayText(c.Subject.String()+" "+c.Pointer)),
				fence,
			)
			b.WriteString(text.String() + fence + "\n\n</details>\n")
		}
	}
	if growth := r.growthLine(); growth != "" {
		fmt.Fprintf(&b, "\n%s.\n", sanitize.Markdown(strings.ToUpper(growth[:1])+growth[1:]))
	}
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "\n- %s\n", sanitize.Markdown(note))
	}
	return []byte(b.String())
}
