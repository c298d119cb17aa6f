package report

import (
	"fmt"
	"strings"

	"mcpc/internal/diff"
)

// GitHub returns the report as workflow commands, one per line, which GitHub shows as annotations
// of a file. file may be "". Breaking changes are errors, risky changes are warnings, and accepted
// changes are notices. A notice with the counts covers harmless changes.
func GitHub(r Report, file string) []byte {
	var b strings.Builder
	command := func(kind, title, text string) {
		properties := "title=" + escapeProperty(title)
		if file != "" {
			properties = "file=" + escapeProperty(file) + "," + properties
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", kind, properties, escapeData(text))
	}
	for _, c := range r.Changes {
		if c.Level == diff.Harmless {
			continue // the summary counts them
		}
		reason := acceptanceText(c)
		if reason != "" {
			command("notice", c.Rule, sentence(c)+" ("+reason+")")
		} else if c.Level == diff.Breaking {
			command("error", c.Rule, sentence(c))
		} else {
			command("warning", c.Rule, sentence(c))
		}
	}
	for _, note := range r.notes() {
		command("warning", "accepted changes", note)
	}
	command("notice", "mcpc diff", r.Summary())
	return []byte(b.String())
}

// escapeData returns the message of a workflow command with its special characters escaped.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(displayText(text))
}

// escapeProperty returns a property value of a workflow command with its special characters
// escaped.
func escapeProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(text))
}
