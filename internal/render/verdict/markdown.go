package verdict

import (
	"fmt"
	"html"
	"io"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/sanitize"
)

// Markdown writes the report for a comment or a job summary.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## mcpc %s: %s\n\n%s\n", r.Command, sanitize.MarkdownCode(r.Target), r.Summary())
	if r.Incomplete != "" {
		fmt.Fprintf(&b, "\n**incomplete:** %s\n", sanitize.MarkdownCode(r.Incomplete))
	}
	writeMarkdownTable(&b, "Step | State | Found", len(r.Ladder), func(i int) []string {
		rung := r.Ladder[i]
		text := rung.Text
		if rung.Fix != "" {
			text += "; fix: " + rung.Fix
		}
		return []string{rung.Name, rung.State, sanitize.MarkdownCell(text)}
	})
	writeMarkdownTable(&b, "Severity | Rule | Subject | Title | Got | Fix", len(r.Findings), func(i int) []string {
		f := r.Findings[i]
		got := ""
		if len(f.Evidence) > 0 {
			got = f.Evidence[0].Got
			if stderr := strings.TrimSpace(f.Evidence[0].Stderr); stderr != "" {
				got += "; stderr: " + stderr
			}
		}
		return []string{
			f.Severity,
			f.Rule,
			sanitize.MarkdownCell(f.Subject),
			sanitize.Markdown(f.Title),
			sanitize.MarkdownCell(got),
			sanitize.Markdown(f.Fix),
		}
	})
	if h := r.Hosts; h != nil {
		head := "Tool"
		for _, host := range h.Hosts {
			head += " | " + host.ID + " (" + host.Date + ")"
		}
		tools := h.visibleTools()
		writeMarkdownTable(&b, head, len(tools), func(i int) []string {
			cells := []string{sanitize.MarkdownCell(tools[i].Tool)}
			for _, c := range tools[i].Cells {
				cells = append(cells, c.Verdict)
			}
			return cells
		})
	}
	for _, text := range r.Stale {
		fmt.Fprintf(&b, "\nStale in the baseline: %s\n", sanitize.MarkdownCode(text))
	}
	for _, text := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", sanitize.MarkdownCode(text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMarkdownTable writes a table of n rows, or nothing if n is 0. head has the names of the columns, with
// | between them; row returns the cells of row i.
func writeMarkdownTable(b *strings.Builder, head string, n int, row func(i int) []string) {
	if n == 0 {
		return
	}
	columns := strings.Count(head, "|") + 1
	fmt.Fprintf(b, "\n| %s |\n|%s\n", head, strings.Repeat(" --- |", columns))
	for i := range n {
		b.WriteString("| " + strings.Join(row(i), " | ") + " |\n")
	}
}

// badgeValue returns the text at the right of a badge and the colour behind it.
func (r *Report) badgeValue() (value, color string) {
	color = badgeColors[r.Worst()]
	if r.Count(Error) > 0 {
		return english.Plural(r.Count(Error), "error"), color
	}
	if r.Unfinished() != "" {
		return "not judged", "#616161"
	}
	if r.Count(Warn) > 0 {
		return english.Plural(r.Count(Warn), "warning"), color
	}
	return "passed", color
}

// badgeColors are the colours by weight of the worst severity; 0 is no finding.
var badgeColors = []string{"#2e7d32", "#2e7d32", "#b26a00", "#c62828"}

// Badge writes an SVG image with the number of broken rules.
func (r *Report) Badge(w io.Writer) error {
	value, color := r.badgeValue()
	label := "mcpc " + r.Command
	// A character has about 7 pixels at this size; a margin has 7.
	left := 14 + 7*len(label)
	right := 14 + 7*len(value)
	_, err := fmt.Fprintf(
		w,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[4]s: %[5]s">
<title>%[4]s: %[5]s</title>
<rect width="%[2]d" height="20" fill="#424242"/><rect x="%[2]d" width="%[3]d" height="20" fill="%[6]s"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="%[7]d" y="14">%[4]s</text><text x="%[8]d" y="14">%[5]s</text></g>
</svg>
`,
		left+right,
		left,
		right,
		html.EscapeString(label),
		html.EscapeString(value),
		color,
		left/2,
		left+right/2,
	)
	return err
}
