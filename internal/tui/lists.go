package tui

import (
	"cmp"

	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
	"mcpc/internal/tui/sheet"
)

// drawTable draws one line for each exchange.
func drawTable(m *model, w, h int) (lines []drawn) {
	l := m.list()
	widths := cells.Widths(sheet.TableColumns, w)
	lines = append(lines, drawn{Line: cells.Head(sheet.TableColumns, widths, l.sort)})
	h--
	l.sight(h, one)
	whole := slowest(m, l, h)
	for n := l.top; n < min(l.top+h, l.total); n++ {
		it := l.at(n)
		if it == nil {
			lines = append(lines, drawn{Line: cells.Of(paint.Faint, "  …"), Item: n + 1})
			continue
		}
		lines = append(lines, drawn{Line: sheet.TableLine(m.clock(), &it.row, widths, whole), Selected: n == l.sel, Item: n + 1})
	}
	return lines
}

// drawTalk draws blocks of arrows between client and server.
func drawTalk(m *model, w, h int) (lines []drawn) {
	l := m.list()
	c := sheet.ColumnsOf(w)
	if h >= 8 {
		lines = append(lines, drawn{Line: talkHead(m, c, w)})
		h--
	}
	l.sight(h, func(n int) int {
		if it := l.at(n); it != nil {
			return len(sheet.BlockLines(&it.row, it.lines, l.open[it.key], c))
		}
		return 1
	})
	whole := slowest(m, l, h)
	for n := l.top; n < l.total && h > 0; n++ {
		it := l.at(n)
		if it == nil {
			lines, h = append(lines, drawn{Line: cells.Of(paint.Faint, "  …"), Item: n + 1}), h-1
			continue
		}
		for i, line := range sheet.BlockLines(&it.row, it.lines, l.open[it.key], c) {
			if h--; h < 0 {
				break
			}
			lines = append(lines, drawn{Line: sheet.TalkLine(m.clock(), &it.row, line, i, c, whole), Selected: n == l.sel, Item: n + 1})
		}
	}
	return lines
}

// drawDocs draws the table of a view of documents, and below it what the selected one has to
// say.
func drawDocs(m *model, w, h int) (lines []drawn) {
	l := m.list()
	columns := sheet.DocColumns[viewNames[m.view]]
	widths := cells.Widths(columns, w)
	var foot []cells.Line
	if it := l.selected(); it != nil && h >= 8 {
		foot = sheet.DocText(it.doc, w-2)
		foot = foot[:min(len(foot), h/3)]
	}
	lines = append(lines, drawn{Line: cells.Head(columns, widths, l.sort)})
	room := h - 1
	if len(foot) > 0 {
		room -= len(foot) + 1
	}
	l.sight(room, one)
	for n := l.top; n < min(l.top+room, l.total); n++ {
		it := l.at(n)
		if it == nil {
			continue
		}
		line := cells.Row(columns, widths, func(i int) cells.Span { return sheet.DocCell(m.clock(), it.doc, columns[i].Head) })
		lines = append(lines, drawn{Line: line, Selected: n == l.sel, Item: n + 1})
	}
	for len(foot) > 0 && len(lines) < h-len(foot)-1 {
		lines = append(lines, drawn{})
	}
	if len(foot) > 0 {
		lines = append(lines, drawn{Line: cells.Line{cells.Rule(w)}})
	}
	for _, f := range foot {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, f...)})
	}
	return lines
}

// talkHead names the two sides.
func talkHead(m *model, c sheet.TalkColumns, w int) cells.Line {
	client, server := "CLIENT", "SERVER"
	if t := m.current(); t != nil {
		client, server = cmp.Or(t.Client, client), cmp.Or(t.Server, t.Target, server)
	}
	return sheet.TalkHead(c, client, server, w)
}
