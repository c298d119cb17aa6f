package tui

import (
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// docColumns has the columns of the views of documents: tools, streams, secrets, servers, offers.
var docColumns = sync.OnceValue(func() map[string][]cells.Column {
	return map[string][]cells.Column{
		"Tools": {
			{Head: "", Width: 1},
			{Head: "tool", Width: 18, Flex: 4},
			{Head: "server", Width: 10, Flex: 1, DropOrder: 5},
			{Head: "listed", Width: 8, Flex: 2},
			{Head: "page", Width: 9, DropOrder: 4},
			{Head: "schema", Width: 8, Flex: 1, DropOrder: 1},
			{Head: "called", Width: 6, Right: true},
			{Head: "failed", Width: 6, Right: true, DropOrder: 2},
			{
				Head:      "p50",
				Width:     8,
				Right:     true,
				DropOrder: 7,
			},
			{Head: "p95", Width: 8, Right: true, DropOrder: 6},
			{Head: "size", Width: 7, Right: true, DropOrder: 8},
			{Head: "changed", Width: 8, Flex: 1, DropOrder: 9},
		},
		"Streams": {
			{Head: "", Width: 1},
			{Head: "opened", Width: 8},
			{Head: "stream", Width: 16, Flex: 3},
			{Head: "client", Width: 10, Flex: 1, DropOrder: 4},
			{Head: "server", Width: 10, Flex: 1, DropOrder: 3},
			{
				Head:  "events",
				Width: 6,
				Right: true,
			},
			{Head: "last id", Width: 8, DropOrder: 2},
			{Head: "silent", Width: 8, Right: true, DropOrder: 1},
			{Head: "how it went", Width: 18, Flex: 6, DropOrder: 1},
		},
		"Secrets": {
			{Head: "", Width: 1},
			{Head: "hash", Width: 8},
			{Head: "kind", Width: 10, Flex: 1},
			{Head: "times", Width: 5, Right: true},
			{Head: "places", Width: 10, Flex: 2, DropOrder: 1},
			{Head: "servers", Width: 10, Flex: 2},
		},
		"Try": {
			{Head: "", Width: 1},
			{Head: "name", Width: 16, Flex: 3},
			{Head: "title", Width: 10, Flex: 2, DropOrder: 2},
			{Head: "type", Width: 10, DropOrder: 3},
			{Head: "description", Width: 16, Flex: 5, DropOrder: 1},
		},
		"Home": {
			{Head: "", Width: 1},
			{Head: "server", Width: 18, Flex: 6},
			{Head: "configured in", Width: 13, Flex: 1, DropOrder: 3},
			{Head: "state", Width: 12},
			{Head: "protocol", Width: 10, DropOrder: 2},
			{Head: "tools", Width: 5, Right: true, DropOrder: 1},
			{Head: "time", Width: 8, Right: true, DropOrder: 4},
			{Head: "what helps", Width: 20, Flex: 2, DropOrder: 5},
		},
	}
})

// docCell returns the text of a document's column.
func docCell(clock screenClock, doc any, head string) cells.Span {
	switch d := doc.(type) {
	case *view.Tool:
		return toolCell(d, head)
	case *view.Stream:
		return streamCell(clock, d, head)
	case *view.Secret:
		return secretCell(d, head)
	case *view.Server:
		return serverCell(d, head)
	case *view.Offer:
		return offerCell(d, head)
	}
	return cells.Blank(0)
}

// toolCell returns the text of the column of a tool with this head.
func toolCell(t *view.Tool, head string) cells.Span {
	dash := cells.Text(cells.Faint, "–")
	dashIfZero := func(n int, text string) cells.Span {
		if n == 0 {
			return dash
		}
		return cells.Text(cells.Plain, text)
	}
	switch head {
	case "":
		if t.Reason != "" {
			return cells.Text(cells.Bad, "!")
		}
		if t.Failed > 0 {
			return cells.Text(cells.Warn, "⚠")
		}
		return cells.Text(cells.Good, "✓")
	case "tool":
		return cells.Text(cells.Strong, t.Name)
	case "server":
		return cells.Text(cells.Plain, t.Server)
	case "listed":
		return goodOrWarn(t.Listed, "yes")
	case "page":
		if t.ShortPage != "" {
			return cells.Text(cells.Faint, t.ShortPage)
		}
		return cells.Text(cells.Faint, t.Page)
	case "schema":
		return goodOrWarn(t.Schema, "usable")
	case "called":
		return dashIfZero(t.Called, strconv.Itoa(t.Called))
	case "failed":
		if t.Failed > 0 {
			return cells.Text(cells.Bad, strconv.Itoa(t.Failed))
		}
		return dash
	case "p50":
		return dashIfZero(t.Called, formatSeconds(t.P50))
	case "p95":
		return dashIfZero(t.Called, formatSeconds(t.P95))
	case "size":
		return cells.Text(cells.Faint, term.Size(t.Bytes))
	}
	return cells.Text(cells.Warn, t.Changed) // the column "changed"
}

// goodOrWarn returns a text as good if it is the wanted text, which a working tool has, or else as
// a warning.
func goodOrWarn(text, wanted string) cells.Span {
	if text == wanted {
		return cells.Text(cells.Good, "✓ "+text)
	}
	return cells.Text(cells.Warn, text)
}

// shortWhat returns what a stream is, for a narrow column.
func shortWhat(s *view.Stream) string {
	if !s.IsResponse {
		return s.What
	}
	if s.Method == "tools/call" && s.Name != "" {
		return "call " + s.Name
	}
	return strings.TrimSpace(s.Method + " " + s.Name)
}

// streamCell returns the text of a stream's column.
func streamCell(clock screenClock, s *view.Stream, head string) cells.Span {
	switch head {
	case "":
		if s.Problem {
			return cells.Text(cells.Bad, "!")
		}
		if s.Open {
			return cells.Text(cells.Accent, "…")
		}
		return cells.Text(cells.Good, "✓")
	case "opened":
		return cells.Text(cells.Faint, clock.formatTime(s.Opened))
	case "stream":
		return cells.Text(cells.Strong, shortWhat(s))
	case "client":
		return cells.Text(cells.Plain, s.Client)
	case "server":
		return cells.Text(cells.Plain, s.Server)
	case "events":
		return cells.Text(cells.Plain, english.Thousands(s.Events))
	case "last id":
		return cells.Text(cells.Faint, s.LastID)
	case "silent":
		return cells.Text(cells.Plain, formatTimer(secondsToDuration(s.Quiet)))
	}
	role := cells.Plain
	if s.Problem {
		role = cells.Bad
	}
	return cells.Text(role, s.Text) // the column "how it went"
}

// secretCell returns the text of a secret's column.
func secretCell(s *view.Secret, head string) cells.Span {
	switch head {
	case "":
		if len(s.Servers) > 1 {
			return cells.Text(cells.Bad, "!")
		}
		return cells.Text(cells.Plain, " ")
	case "hash":
		return cells.Text(cells.Strong, s.Hash)
	case "kind":
		return cells.Text(cells.Plain, s.Kind)
	case "times":
		return cells.Text(cells.Plain, strconv.Itoa(s.Times))
	case "places":
		return cells.Text(cells.Faint, strings.Join(s.Places, ", "))
	}
	role := cells.Plain
	if len(s.Servers) > 1 {
		role = cells.Bad
	}
	return cells.Text(role, strings.Join(s.Servers, ", ")) // the column "servers"
}

// docText describes a document in whole sentences.
func docText(doc any, w int) []cells.Line {
	var lines []cells.Line
	add := func(r cells.Role, text string) {
		if text != "" {
			lines = append(lines, cells.Wrap(r, text, w)...)
		}
	}
	switch d := doc.(type) {
	case *view.Tool:
		add(cells.Bad, d.Reason)
		if d.LastError != "" {
			add(cells.Warn, "last error: "+d.LastError)
		}
		add(cells.Faint, d.Description)
	case *view.Stream:
		add(cells.Strong, d.What)
		add(cells.Plain, d.Text)
	case *view.Secret:
		if len(d.Servers) > 1 {
			count := countNoun(len(d.Servers), "server", "servers")
			add(cells.Bad, "This secret was sent to "+count+": "+strings.Join(d.Servers, ", "))
		}
		add(cells.Plain, strings.Join(d.Places, ", "))
		add(cells.Faint, "f shows all exchanges with it")
	case *view.Server:
		serverText(d, add)
	case *view.Offer:
		offerText(d, add)
	}
	return lines
}
