package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"

	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/lint/poison"
	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// WriteEntries shows the entries as a table.
func WriteEntries(e connect.Entries, w io.Writer, st term.Style, k connect.Kind, long bool) error {
	switch k {
	case connect.ToolKind:
		own := poison.NamesOf(connect.ToolNames(e.Tools))
		return render.Tools(w, st, e.Tools, func(t mcp.Tool) []string { return suspicions(t.Raw, own) }, long)
	case connect.PromptKind:
		return render.Prompts(w, st, e.Prompts, long)
	}
	return render.Resources(w, st, e.Resources, long)
}

// suspicions gives what package poison finds in a definition. Hidden characters are counted in
// the list anyway.
func suspicions(tool json.RawMessage, own poison.Names) (kinds []string) {
	for _, mark := range poison.Scan(tool, own) {
		if kind := string(mark.Kind); mark.Kind != poison.Hidden && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// listRows are a list that is written into a pipe.
type listRows struct {
	*render.Rows
	// waiting are tools that are judged once the names of all are known, by their numbers.
	waiting map[int]json.RawMessage
	// own are the names of the tools; nil if there are more than maxNames.
	own poison.Names
}

// maxNames bounds the names that are kept.
const maxNames = 1000

func (r *listRows) forget() {
	r.waiting = map[int]json.RawMessage{}
	r.own = poison.Names{}
}

// Take takes entries of one kind.
func (r *listRows) Take(e connect.Entries) {
	first := r.Taken()
	for _, tool := range e.Tools {
		if r.own != nil {
			r.own[tool.Name] = true
		}
		if len(r.own) > maxNames {
			r.own = nil
		}
	}
	r.Tools(e.Tools)
	r.Prompts(e.Prompts)
	r.Resources(e.Resources)
	for i, tool := range e.Tools {
		if !poison.IsClean(tool.Raw) {
			r.waiting[first+i] = bytes.Clone(tool.Raw) // its page is not kept for it
		}
	}
	if r.own == nil {
		r.judge()
	}
}

// judge looks at the tools that are waiting.
func (r *listRows) judge() {
	for i, tool := range r.waiting {
		r.Warn(i, suspicions(tool, r.own))
	}
	clear(r.waiting)
}

// Empty forgets what was taken.
func (r *listRows) Empty() {
	r.Rows.Empty()
	r.forget()
}

func (r *listRows) write(w io.Writer) error {
	r.judge()
	return r.Write(w)
}

// AddList lists one kind for Answer. The pages are not kept where the answer needs no
// more than their entries, one by one. left is set where the list is left out of several.
func AddList(
	ctx context.Context,
	f *Factory,
	l *connect.Listing,
	c *connect.Conn,
	k connect.Kind,
	several, long bool,
) (out wire.Outcome, left bool) {
	if !several && f.OnlyWritesJSON() {
		return l.Take(ctx, c, k, several, connect.Taking{JSON: connect.NewItems(host.SpoolDir(&f.Env, true))})
	}
	if f.OnlyWritesText() {
		rows := &listRows{Rows: render.NewRows(f.OutStyle, long, host.SpoolDir(&f.Env, true))}
		rows.forget()
		return l.Take(ctx, c, k, several, connect.Taking{Rows: rows})
	}
	return l.Add(ctx, c, k, several, f.ShowsTables())
}

// ListAnswer is what `mcpc list` prints: one list, or several as one answer.
func (f *Factory) ListAnswer(l connect.Listing, several, long bool) Answer {
	ans := Answer{Messages: l.Messages}
	if len(l.Lists) == 1 && l.Lists[0].JSON != nil {
		ans.Write = l.Lists[0].WriteJSON
	} else if f.JSON || f.Jq != "" || f.Output != "" {
		ans.Result = l.Result(several)
	}
	if len(l.Lists) == 1 && !several {
		ans.Method = l.Lists[0].Method
		ans.Human = func(w io.Writer, st term.Style) error { return writeList(l.Lists[0], w, st, long) }
		return ans
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		var parts []render.Section
		for _, s := range l.Lists {
			parts = append(parts, render.Section{Heading: s.Many, Prefix: s.One,
				Write: func(w io.Writer) error { return writeList(s, w, st, long) }})
		}
		return render.Sections(w, st, parts)
	}
	return ans
}

// writeList shows a list as a table.
func writeList(s connect.Sorted, w io.Writer, st term.Style, long bool) error {
	if rows, ok := s.Rows.(*listRows); ok {
		return rows.write(w)
	}
	return WriteEntries(s.Entries, w, st, s.Kind, long)
}
