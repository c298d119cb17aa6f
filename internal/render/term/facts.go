package term

import (
	"io"
	"strings"
)

// Facts writes pairs of a name and a value, one below the other; a value of
// several lines stands indented. Into a pipe go name and value with a TAB
// between them. Empty values are left out.
func Facts(w io.Writer, st Style, pairs [][]string) error {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, len(p[0]))
		}
	}
	var b strings.Builder
	for _, p := range pairs {
		switch value := strings.TrimRight(Block(p[1]), "\n"); {
		case value == "":
		case st.Terminal:
			gap := strings.Repeat(" ", width-len(p[0])+2)
			hang := strings.Repeat(" ", width+2)
			value = strings.Join(hardWrap(st, value, max(st.Columns()-width-2, 8)), "\n"+hang)
			b.WriteString(st.Paint(Bold, p[0]) + gap + strings.ReplaceAll(value, "\n"+hang+"\n", "\n\n") + "\n")
		default:
			b.WriteString(p[0] + "\t" + Line(p[1]) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
