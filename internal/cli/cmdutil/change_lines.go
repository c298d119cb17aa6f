package cmdutil

import (
	"io"

	changes "mcpc/internal/diff/report"
	"mcpc/internal/render/term"
)

// changeColors are the SGR parameters of the spans of a report of changes.
var changeColors = map[changes.Role]string{
	changes.BreakingRole: term.Red + ";" + term.Bold, changes.RiskyRole: term.Yellow, changes.HarmlessRole: term.Dim,
	changes.AcceptedRole: term.Green, changes.Dim: term.Dim, changes.Removed: term.Red, changes.RemovedWord: term.Red + ";7",
	changes.Added: term.Green, changes.AddedWord: term.Green + ";7",
}

// WriteLines writes the lines of a report of changes, coloured as the stream can.
func WriteLines(w io.Writer, st term.Style, lines []changes.Line) error {
	var b []byte
	for _, l := range lines {
		for _, s := range l {
			text := st.Line(s.Text)
			if sgr := changeColors[s.Role]; sgr != "" {
				text = st.Paint(sgr, text)
			}
			b = append(b, text...)
		}
		b = append(b, '\n')
	}
	_, err := w.Write(b)
	return err
}
