package cmdutil

import (
	"strings"
)

// helpColumns is the width of help.
const helpColumns = 80

// WriteHelpRow writes left, then text beside it, wrapped at helpColumns.
func WriteHelpRow(b *strings.Builder, left, text string) {
	indent := strings.Repeat(" ", len(strings.TrimLeft(left, "\n"))) // left may begin with an empty line
	line := left
	for i, word := range strings.Fields(text) {
		if i == 0 {
			line += word
		} else if len(line)+1+len(word) <= helpColumns {
			line += " " + word
		} else {
			b.WriteString(line + "\n")
			line = indent + word
		}
	}
	b.WriteString(line + "\n")
}
