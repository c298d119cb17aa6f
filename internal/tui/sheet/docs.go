package sheet

import (
	"strconv"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

// DocColumns are the columns of the views of documents: tools, streams, secrets.
var DocColumns = map[string][]cells.Column{
	"Tools": {{Head: "", Width: 1}, {Head: "tool", Width: 18, Flex: 4}, {Head: "server", Width: 10, Flex: 1, Drop: 5}, {Head: "listed", Width: 8, Flex: 2},
		{Head: "page", Width: 9, Drop: 4}, {Head: "schema", Width: 8, Flex: 1, Drop: 1}, {Head: "called", Width: 6, Right: true}, {Head: "failed", Width: 6, Right: true, Drop: 2},
		{Head: "p50", Width: 8, Right: true, Drop: 7}, {Head: "p95", Width: 8, Right: true, Drop: 6}, {Head: "size", Width: 7, Right: true, Drop: 8}, {Head: "changed", Width: 8, Flex: 1, Drop: 9}},
	"Streams": {{Head: "", Width: 1}, {Head: "opened", Width: 8}, {Head: "stream", Width: 16, Flex: 3}, {Head: "client", Width: 10, Flex: 1, Drop: 4}, {Head: "server", Width: 10, Flex: 1, Drop: 3},
		{Head: "events", Width: 6, Right: true}, {Head: "last id", Width: 8, Flex: 1, Drop: 2}, {Head: "silent", Width: 8, Right: true, Drop: 1}, {Head: "how it went", Width: 18, Flex: 4, Drop: 1}},
	"Secrets": {{Head: "", Width: 1}, {Head: "hash", Width: 8}, {Head: "kind", Width: 10, Flex: 1}, {Head: "times", Width: 5, Right: true}, {Head: "places", Width: 10, Flex: 2, Drop: 1}, {Head: "servers", Width: 10, Flex: 2}},
}

// DocCell is the text of a column of a document.
func DocCell(clock Clock, doc any, head string) cells.Span {
	switch d := doc.(type) {
	case *view.Tool:
		return toolCell(d, head)
	case *view.Stream:
		return streamCell(clock, d, head)
	case *view.Secret:
		return secretCell(d, head)
	}
	return cells.Blank(0)
}

func toolCell(t *view.Tool, head string) cells.Span {
	zero := func(n int, text string) cells.Span {
		if n == 0 {
			return cells.Text(paint.Faint, "–")
		}
		return cells.Text(paint.Plain, text)
	}
	switch head {
	case "":
		switch {
		case t.Reason != "":
			return cells.Text(paint.Bad, "!")
		case t.Failed > 0:
			return cells.Text(paint.Warn, "⚠")
		}
		return cells.Text(paint.Good, "✓")
	case "tool":
		return cells.Text(paint.Strong, t.Name)
	case "server":
		return cells.Text(paint.Plain, t.Server)
	case "listed":
		return good(t.Listed, "yes")
	case "page":
		return cells.Text(paint.Faint, strings.Replace(t.Page, " or more", "+", 1))
	case "schema":
		return good(t.Schema, "usable")
	case "called":
		return zero(t.Called, strconv.Itoa(t.Called))
	case "failed":
		if t.Failed > 0 {
			return cells.Text(paint.Bad, strconv.Itoa(t.Failed))
		}
		return zero(0, "")
	case "p50":
		return zero(t.Called, Took(t.P50))
	case "p95":
		return zero(t.Called, Took(t.P95))
	case "size":
		return cells.Text(paint.Faint, term.Size(t.Bytes))
	}
	return cells.Text(paint.Warn, t.Changed)
}

func good(text, well string) cells.Span {
	if text == well {
		return cells.Text(paint.Good, "✓ "+text)
	}
	return cells.Text(paint.Warn, text)
}

func streamCell(clock Clock, s *view.Stream, head string) cells.Span {
	switch head {
	case "":
		switch {
		case s.Problem:
			return cells.Text(paint.Bad, "!")
		case s.Open:
			return cells.Text(paint.Accent, "…")
		}
		return cells.Text(paint.Good, "✓")
	case "opened":
		return cells.Text(paint.Faint, clock.At(s.Opened))
	case "stream":
		what := strings.TrimPrefix(s.What, "response to ")
		return cells.Text(paint.Strong, strings.Replace(what, "tools/call ", "call ", 1))
	case "client":
		return cells.Text(paint.Plain, s.Client)
	case "server":
		return cells.Text(paint.Plain, s.Server)
	case "events":
		return cells.Text(paint.Plain, english.Thousands(s.Events))
	case "last id":
		return cells.Text(paint.Faint, s.LastID)
	case "silent":
		return cells.Text(paint.Plain, Timer(Duration(s.Quiet)))
	}
	role := paint.Plain
	if s.Problem {
		role = paint.Bad
	}
	return cells.Text(role, s.Text)
}

func secretCell(s *view.Secret, head string) cells.Span {
	switch head {
	case "":
		if len(s.Servers) > 1 {
			return cells.Text(paint.Bad, "!")
		}
		return cells.Text(paint.Plain, " ")
	case "hash":
		return cells.Text(paint.Strong, s.Hash)
	case "kind":
		return cells.Text(paint.Plain, s.Kind)
	case "times":
		return cells.Text(paint.Plain, strconv.Itoa(s.Times))
	case "places":
		return cells.Text(paint.Faint, strings.Join(s.Places, ", "))
	}
	role := paint.Plain
	if len(s.Servers) > 1 {
		role = paint.Bad
	}
	return cells.Text(role, strings.Join(s.Servers, ", "))
}

// DocText is what a document has to say in whole sentences.
func DocText(doc any, w int) (lines []cells.Line) {
	add := func(r paint.Role, text string) {
		if text != "" {
			lines = append(lines, cells.Wrap(r, text, w)...)
		}
	}
	switch d := doc.(type) {
	case *view.Tool:
		add(paint.Bad, d.Reason)
		if d.LastError != "" {
			add(paint.Warn, "last error: "+d.LastError)
		}
		add(paint.Faint, d.Description)
	case *view.Stream:
		add(paint.Strong, d.What)
		add(paint.Plain, d.Text)
	case *view.Secret:
		if len(d.Servers) > 1 {
			add(paint.Bad, "This secret was sent to "+Counted(len(d.Servers), "server", "servers")+": "+strings.Join(d.Servers, ", "))
		}
		add(paint.Plain, strings.Join(d.Places, ", "))
		add(paint.Faint, "f shows all exchanges with it")
	}
	return lines
}
