package cmdutil

import (
	"strings"
)

// helpColumns is the width of help.
const helpColumns = 80

// WriteHelpRow writes left, then text beside it, wrapped at helpColumns.
func WriteHelpRow(b *strings.Builder, left, text string) {
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
