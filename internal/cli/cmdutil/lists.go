package cmdutil

import (
	"io"

	"mcpc/internal/connect"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
)

// WriteEntriesOf shows the entries as a table.
func WriteEntriesOf(e connect.Entries, w io.Writer, st term.Style, k connect.Kind, long bool) error {
	switch k {
	case connect.ToolKind:
		return render.Tools(w, st, e.Tools, long)
	case connect.PromptKind:
		return render.Prompts(w, st, e.Prompts, long)
	}
	return render.Resources(w, st, e.Resources, long)
}

// ShowsTables reports that the answer is not JSON, which has all that came.
func ShowsTables(f *Factory) bool { return !f.JSON && !f.Wire && f.Jq == "" }

// AnswerOfLists is what `mcpc list` prints: one list, or several as one answer.
func AnswerOfLists(f *Factory, l connect.Listing, several, long bool) Answer {
	ans := Answer{Messages: l.Messages}
	switch {
	case !several && OnlyWritesJSON(f) && len(l.Messages) > 1:
		ans.Write = l.Lists[0].List.WriteLine
	case f.JSON || f.Jq != "" || f.Output != "":
		ans.Result = l.Result(several)
	}
	if len(l.Lists) == 1 && !several {
		s := l.Lists[0]
		ans.Method = s.Method
		ans.Human = func(w io.Writer, st term.Style) error { return WriteEntriesOf(s.Entries, w, st, s.Kind, long) }
		return ans
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		var parts []render.Section
		for _, s := range l.Lists {
			parts = append(parts, render.Section{Heading: s.Many, Prefix: s.One,
				Write: func(w io.Writer) error { return WriteEntriesOf(s.Entries, w, st, s.Kind, long) }})
		}
		return render.Sections(w, st, parts)
	}
	return ans
}
