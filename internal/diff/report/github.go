package report

import (
	"fmt"
	"strings"

	"mcpc/internal/diff"
)

// GitHub gives the report as workflow commands, a line each, which GitHub shows as annotations
// of a file; file may be "". Breaking changes are errors and risky ones warnings; what was
// accepted is a notice, and the harmless ones are in the notice with the counts.
func GitHub(r Report, file string) []byte {
	var b strings.Builder
	command := func(kind, title, text string) {
		properties := "title=" + property(title)
		if file != "" {
			properties = "file=" + property(file) + "," + properties
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", kind, properties, data(text))
	}
	for _, c := range r.Changes {
		reason := acceptance(c)
		switch {
		case c.Level == diff.Harmless:
		case reason != "":
			command("notice", c.Rule, sentence(c)+" ("+reason+")")
		case c.Level == diff.Breaking:
			command("error", c.Rule, sentence(c))
		default:
			command("warning", c.Rule, sentence(c))
		}
	}
	for _, note := range r.notes() {
		command("warning", "accepted changes", note)
	}
	command("notice", "mcpc diff", r.Summary())
	return []byte(b.String())
}

// data is a text behind ::, and property one before it, as GitHub's workflow commands escape
// them.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(safe(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}
