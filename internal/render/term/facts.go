package term

import (
	"io"
	"strings"
)

// Facts writes pairs of a name and a value, one below the other, and omits empty values. On a
// terminal it indents the other lines of a value. In a pipe a TAB separates name and value.
func Facts(w io.Writer, st Style, pairs [][]string) error {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, len(p[0]))
		}
	}
	var b strings.Builder
	for _, p := range pairs {
		value := strings.TrimRight(Block(p[1]), "\n")
		if value == "" {
			continue
		}
		if !st.Terminal {
			b.WriteString(p[0] + "\t" + Line(p[1]) + "\n")
			continue
		}
		gap := strings.Repeat(" ", width-len(p[0])+2)
		indent := strings.Repeat(" ", width+2)
		value = strings.Join(hardWrap(st, value, max(st.Columns()-width-2, 8)), "\n"+indent)
		b.WriteString(st.Paint(Bold, p[0]) + gap + strings.ReplaceAll(value, "\n"+indent+"\n", "\n\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
