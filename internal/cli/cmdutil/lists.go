package cmdutil

import (
	"encoding/json"
	"io"
	"slices"

	"mcpc/internal/connect"
	"mcpc/internal/lint/poison"
	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
)

// WriteEntriesOf shows the entries as a table.
func WriteEntriesOf(e connect.Entries, w io.Writer, st term.Style, k connect.Kind, long bool) error {
	switch k {
	case connect.ToolKind:
		return render.Tools(w, st, e.Tools, suspicious(e.Tools), long)
	case connect.PromptKind:
		return render.Prompts(w, st, e.Prompts, long)
	}
	return render.Resources(w, st, e.Resources, long)
}

// suspicious gives what package poison finds in the definition of each of some tools. Hidden
// characters are counted in the list anyway.
func suspicious(tools []mcp.Tool) func(mcp.Tool) []string {
	others := poison.OthersIn(sliceutil.Map(tools, func(t mcp.Tool) string { return t.Name }))
	return func(t mcp.Tool) (kinds []string) {
		for _, mark := range poison.Scan(t.Raw, others) {
			if kind := string(mark.Kind); mark.Kind != poison.Hidden && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
		return kinds
	}
}

// Suspicious gives what package poison finds in one definition, with the words and their place.
func Suspicious(tool json.RawMessage) (found []string) {
	for _, mark := range poison.Scan(tool, nil) {
		if mark.Kind != poison.Hidden {
			found = append(found, mark.String())
		}
	}
	return found
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
