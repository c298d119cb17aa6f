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

// WriteEntries writes the entries of kind k as a table. long adds their descriptions in full.
func WriteEntries(e connect.Entries, w io.Writer, st term.Style, k connect.Kind, long bool) error {
	switch k {
	case connect.ToolKind:
		own := poison.NamesOf(connect.ToolNames(e.Tools))
		return render.Tools(w, st, e.Tools, func(t mcp.Tool) []string { return findSuspicions(t.Raw, own) }, long)
	case connect.PromptKind:
		return render.Prompts(w, st, e.Prompts, long)
	}
	return render.Resources(w, st, e.Resources, long) // and templates
}

// findSuspicions returns the kinds of what package poison finds in a tool's definition, each once.
// It leaves out hidden characters: the list counts them already. own are the names of the server's
// tools.
func findSuspicions(tool json.RawMessage, own poison.Names) []string {
	var kinds []string
	for _, mark := range poison.Scan(tool, own) {
		kind := string(mark.Kind)
		if mark.Kind != poison.Hidden && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// listRows are the rows of a list that is written to a pipe.
type listRows struct {
	*render.Rows
	// unscanned are definitions, by their row numbers, that are scanned once the names of all tools
	// are known.
	unscanned map[int]json.RawMessage
	// toolNames are the names of the tools. It is nil once there are more than maxToolNames.
	toolNames poison.Names
}

// maxToolNames limits the names in listRows.toolNames.
const maxToolNames = 1000

// reset drops the unscanned definitions and the names of the tools.
func (r *listRows) reset() {
	r.unscanned = map[int]json.RawMessage{}
	r.toolNames = poison.Names{}
}

// Take adds a page of entries of one kind. A tool's definition is scanned later, when all names are
// known: it may name another tool. With more than maxToolNames tools it is scanned at once, without
// names.
func (r *listRows) Take(e connect.Entries) {
	firstRow := r.ToolCount() // the number of the first new row
	for _, tool := range e.Tools {
		if r.toolNames != nil {
			r.toolNames[tool.Name] = true
		}
		if len(r.toolNames) > maxToolNames {
			r.toolNames = nil // too many to keep
		}
	}
	r.Tools(e.Tools)
	r.Prompts(e.Prompts)
	r.Resources(e.Resources)
	for i, tool := range e.Tools {
		if !poison.IsClean(tool.Raw) {
			r.unscanned[firstRow+i] = bytes.Clone(tool.Raw) // a clone does not keep the whole page in memory
		}
	}
	if r.toolNames == nil {
		r.scanSuspicions()
	}
}

// scanSuspicions scans the unscanned definitions and marks the rows that are suspicious.
func (r *listRows) scanSuspicions() {
	for i, tool := range r.unscanned {
		r.Warn(i, findSuspicions(tool, r.toolNames))
	}
	clear(r.unscanned)
}

// Empty drops everything that was added.
func (r *listRows) Empty() {
	r.Rows.Empty()
	r.reset()
}

// write scans the unscanned definitions and writes the rows.
func (r *listRows) write(w io.Writer) error {
	r.scanSuspicions()
	return r.Write(w)
}

// AddList lists kind k for ListAnswer. If the answer can be written entry by entry, it keeps the
// rows or the JSON of the entries and not the pages. several is set if the command lists several
// kinds: a kind that the server refuses is then left out, and isOmitted is true.
func AddList(
	ctx context.Context,
	f *Factory,
	l *connect.Listing,
	c *connect.Conn,
	k connect.Kind,
	several, long bool,
) (out wire.Outcome, isOmitted bool) {
	if !several && f.OnlyWritesJSON() {
		return l.Take(ctx, c, k, several, connect.Taking{JSON: connect.NewItems(host.SpoolDir(&f.Env, true))})
	}
	if f.OnlyWritesText() {
		rows := &listRows{Rows: render.NewRows(f.OutStyle, long, host.SpoolDir(&f.Env, true))}
		rows.reset()
		return l.Take(ctx, c, k, several, connect.Taking{Rows: rows})
	}
	return l.Add(ctx, c, k, several, f.ShowsTables())
}

// ListAnswer returns the answer of mcpc list: one list, or several in one result.
func (f *Factory) ListAnswer(l connect.Listing, several, long bool) Answer {
	ans := Answer{Messages: l.Messages}
	if len(l.Lists) == 1 && l.Lists[0].JSON != nil {
		ans.Write = l.Lists[0].WriteJSON // AddList has kept only the JSON of the entries
	} else if f.JSON || f.Jq != "" || f.Output != "" {
		ans.Result = l.Result(several)
	}
	if len(l.Lists) == 1 && !several {
		ans.Method = l.Lists[0].Method
		ans.Human = func(w io.Writer, st term.Style) error { return writeTable(l.Lists[0], w, st, long) }
		return ans
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		var parts []render.Section
		for _, s := range l.Lists {
			parts = append(parts, render.Section{
				Heading: s.Many, Prefix: s.One,
				Write: func(w io.Writer) error { return writeTable(s, w, st, long) },
			})
		}
		return render.Sections(w, st, parts)
	}
	return ans
}

// writeTable writes one list as a table.
func writeTable(s connect.Sorted, w io.Writer, st term.Style, long bool) error {
	if rows, ok := s.Rows.(*listRows); ok {
		return rows.write(w)
	}
	return WriteEntries(s.Entries, w, st, s.Kind, long)
}
