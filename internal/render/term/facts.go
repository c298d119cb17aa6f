package term

import (
	"io"
	"strings"
)

// Facts writes pairs of a name and a value, one below the other, and omits empty values. On a
// terminal it indents the other lines of a value. In a pipe a TAB separates name and value.
func Facts(w io.Writer, st Style, pairs [][]string) error {
	width := 0
	for _, pair := range pairs {
		if pair[1] != "" {
			width = max(width, len(pair[0]))
		}
	}
	var b strings.Builder
	for _, pair := range pairs {
		name := pair[0]
		value := strings.TrimRight(Block(pair[1]), "\n")
		if value == "" {
			continue
		}
		if !st.Terminal {
			b.WriteString(name + "\t" + Line(pair[1]) + "\n")
			continue
		}
		gap := strings.Repeat(" ", width-len(name)+2)
		indent := strings.Repeat(" ", width+2)
		value = strings.Join(hardWrap(st, value, max(st.Columns()-width-2, 8)), "\n"+indent)
		value = strings.ReplaceAll(value, "\n"+indent+"\n", "\n\n") // an empty line has no blanks
		b.WriteString(st.Paint(Bold, name) + gap + value + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
