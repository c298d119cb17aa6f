package cmdutil

import (
	"strings"
)

// helpColumns is how wide a line of help may be.
const helpColumns = 80

// HelpRow writes what stands left and, beside it, a text in as many lines as it
// needs.
func HelpRow(b *strings.Builder, left, text string) {
	line := left
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) <= helpColumns:
			line += " " + word
		default:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(strings.TrimLeft(left, "\n"))) + word
		}
	}
	b.WriteString(line + "\n")
}
