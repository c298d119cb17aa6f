package cmdutil

import (
	"fmt"
	"io"
	"slices"

	"mcpc/internal/diff"
	changes "mcpc/internal/diff/report"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// changeColors are the SGR parameters of the spans of a report of changes.
var changeColors = map[changes.Role]string{
	changes.BreakingRole: term.Red + ";" + term.Bold,
	changes.RiskyRole:    term.Yellow,
	changes.HarmlessRole: term.Dim,
	changes.AcceptedRole: term.Green,
	changes.Dim:          term.Dim,
	changes.Removed:      term.Red,
	changes.RemovedWord:  term.Red + ";7",
	changes.Added:        term.Green,
	changes.AddedWord:    term.Green + ";7",
}

// WriteLines writes the lines of a report of changes, with colour if the style has it.
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

// ShowChanges prints how the definition of an approved tool changed, below the headline. It prints
// nothing if the command has printed the headline already, and each change once.
func (f *Factory) ShowChanges(level wire.Severity, headline string, differences []diff.Change) {
	if f.Repeats.Again(headline) {
		return
	}
	if level == wire.Info {
		f.Note(headline)
	} else {
		failure.Warn(f.Stderr(), f.ErrStyle, f.Secrets.Text(headline))
	}
	shown := map[string]bool{}
	for _, c := range differences {
		head := changes.Line{changes.LevelOf(c), {Role: changes.Plain, Text: "  " + c.Text}}
		lines := append([]changes.Line{head}, changes.Unified(c)...)
		for i, line := range lines {
			indent := "  "
			if i > 0 {
				indent = "      " // the old and new lines of the definition
			}
			lines[i] = slices.Insert(line, 0, changes.Span{Role: changes.Plain, Text: indent})
			for j, span := range lines[i] {
				lines[i][j].Text = f.Secrets.Text(span.Text)
			}
		}
		key := fmt.Sprint(lines)
		if !shown[key] {
			_ = WriteLines(f.Stderr(), f.ErrStyle, lines)
		}
		shown[key] = true
	}
}
