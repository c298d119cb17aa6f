package tui

import (
	"strconv"

	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// tableColumns are those of the Table view; their heads are the orders that a Query knows, where it
// knows one, or Sort is.
var tableColumns = []cells.Column{
	{Head: "", Width: 1},
	{Head: "#", Width: 9, Right: true, Drop: 3},
	{Head: "time", Width: 8, Drop: 2},
	{Head: "client", Width: 10, Flex: 1, Drop: 7},
	{Head: "server", Width: 10, Flex: 1, Drop: 6},
	{Head: "method", Width: 12, Flex: 1},
	{Head: "name", Width: 12, Flex: 6, Drop: 1},
	{Head: "outcome", Sort: "channel", Width: 14, Drop: 4},
	{Head: "http", Width: 4, Right: true, Drop: 9},
	{Head: "took", Width: 8, Right: true},
	{Head: "waterfall", Width: 9, Flex: 2, Drop: 5},
	{Head: "size", Width: 7, Right: true, Drop: 8},
	{Head: "tokens", Width: 6, Right: true, Drop: 10},
	{Head: "notes", Width: 12, Flex: 3, Drop: 11},
}

// tableLine draws an exchange; whole is the duration of a whole bar.
func tableLine(clock screenClock, r *view.Row, widths []int, whole float64) cells.Line {
	role, mark := stateMark(r)
	return cells.Row(tableColumns, widths, func(i, w int) cells.Line {
		if head := tableColumns[i].Head; head != "waterfall" {
			return cells.Line{tableCell(clock, head, r, role, mark)}
		}
		return cells.Bar(phases(r, clock.seconds(r)), whole, w)
	})
}

// tableCell is the text of a column.
func tableCell(clock screenClock, head string, r *view.Row, role cells.Role, mark string) cells.Span {
	faint := func(text string) cells.Span { return cells.Text(cells.Faint, text) }
	number := func(n int64, text string) cells.Span {
		if n == 0 {
			return faint("")
		}
		return faint(text)
	}
	switch head {
	case "":
		return cells.Text(role, mark)
	case "#":
		return faint(r.Key)
	case "time":
		return faint(clock.at(r.Time))
	case "client":
		return cells.Text(cells.Plain, r.Client)
	case "server":
		return cells.Text(cells.Plain, r.Server)
	case "method":
		if r.Dir == "received" {
			return cells.Text(cells.Plain, "◀ "+r.Method)
		}
		return cells.Text(cells.Plain, r.Method)
	case "name":
		return cells.Text(cells.Strong, r.Name)
	case "outcome":
		return cells.Text(role, r.Channel)
	case "http":
		return number(int64(r.Status), strconv.Itoa(r.Status))
	case "took":
		return clock.took(r)
	case "size":
		size := r.Sent + r.Received
		return number(size, term.Size(size))
	case "tokens":
		return number(r.Tokens, strconv.FormatInt(r.Tokens, 10))
	}
	return faint(notes(r))
}

// notes is what else is known of an exchange, in a few words.
func notes(r *view.Row) string {
	text := r.Notes
	add := func(more string) {
		if text != "" {
			text += ", "
		}
		text += more
	}
	if r.Note != "" {
		add("“" + r.Note + "”")
	}
	if r.Findings > 0 {
		add(counted(r.Findings, "finding", "findings"))
	}
	if r.Edited {
		add("edited")
	}
	if r.Text != "" {
		add(r.Text)
	}
	return text
}
