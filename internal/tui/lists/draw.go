package lists

import (
	"mcpc/internal/tui/cells"

	"mcpc/internal/tui/sheet"
)

type drawn = cells.Drawn

// Draw draws the list of a view in w columns and h lines; client and server are the two sides
// of the conversation.
func (l *List) Draw(view int, clock sheet.Clock, client, server string, w, h int) []drawn {
	switch view {
	case Talk:
		return l.drawTalk(clock, client, server, w, h)
	case Table:
		return l.drawTable(clock, w, h)
	case Time:
		return l.drawTime(clock, w, h)
	}
	return l.drawDocs(sheet.DocColumns[Names[view]], clock, w, h)
}

// drawTable draws one line for each exchange.
func (l *List) drawTable(clock sheet.Clock, w, h int) (lines []drawn) {
	widths := cells.Widths(sheet.TableColumns, w)
	lines = append(lines, drawn{Line: cells.Head(sheet.TableColumns, widths, l.Sort)})
	h--
	l.sight(h, one)
	whole := l.slowest(clock, h)
	for n := l.top; n < min(l.top+h, l.Total); n++ {
		it := l.at(n)
		if it == nil {
			lines = append(lines, drawn{Line: cells.Of(cells.Faint, "  …"), Item: n + 1})
			continue
		}
		lines = append(lines, drawn{Line: sheet.TableLine(clock, &it.Row, widths, whole), Selected: n == l.Sel, Item: n + 1})
	}
	return lines
}

// drawTalk draws blocks of arrows between client and server.
func (l *List) drawTalk(clock sheet.Clock, client, server string, w, h int) (lines []drawn) {
	c := sheet.ColumnsOf(w)
	if h >= 8 {
		lines = append(lines, drawn{Line: sheet.TalkHead(c, client, server, w)})
		h--
	}
	l.sight(h, func(n int) int {
		if it := l.at(n); it != nil {
			return len(sheet.BlockLines(&it.Row, it.Lines, l.open[it.Key], c))
		}
		return 1
	})
	whole := l.slowest(clock, h)
	for n := l.top; n < l.Total && h > 0; n++ {
		it := l.at(n)
		if it == nil {
			lines, h = append(lines, drawn{Line: cells.Of(cells.Faint, "  …"), Item: n + 1}), h-1
			continue
		}
		for i, line := range sheet.BlockLines(&it.Row, it.Lines, l.open[it.Key], c) {
			if h--; h < 0 {
				break
			}
			lines = append(lines, drawn{Line: sheet.TalkLine(clock, &it.Row, line, i, c, whole), Selected: n == l.Sel, Item: n + 1})
		}
	}
	return lines
}

// drawDocs draws the table of a view of documents, and below it what the selected one has to
// say.
func (l *List) drawDocs(columns []cells.Column, clock sheet.Clock, w, h int) (lines []drawn) {
	widths := cells.Widths(columns, w)
	var foot []cells.Line
	if it := l.Selected(); it != nil && h >= 8 {
		foot = sheet.DocText(it.Doc, w-2)
		foot = foot[:min(len(foot), h/3)]
	}
	lines = append(lines, drawn{Line: cells.Head(columns, widths, l.Sort)})
	room := h - 1
	if len(foot) > 0 {
		room -= len(foot) + 1
	}
	l.sight(room, one)
	for n := l.top; n < min(l.top+room, l.Total); n++ {
		it := l.at(n)
		if it == nil {
			continue
		}
		line := cells.Row(columns, widths, func(i int) cells.Span { return sheet.DocCell(clock, it.Doc, columns[i].Head) })
		lines = append(lines, drawn{Line: line, Selected: n == l.Sel, Item: n + 1})
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

// slowest is the longest duration of the items on the screen: bars are drawn against it. Open
// exchanges count only where nothing else is there, for they have no end.
func (l *List) slowest(clock sheet.Clock, height int) (most float64) {
	open := 0.0
	for n := l.top; n < l.top+height; n++ {
		if it := l.at(n); it != nil {
			if s := clock.Seconds(&it.Row); it.Row.State == "done" {
				most = max(most, s)
			} else {
				open = max(open, s)
			}
		}
	}
	if most == 0 {
		return open
	}
	return most
}

// sight moves the top of a list so that the selected item is visible, and that no line is free
// while there are items above; high is the number of lines of an item.
func (l *List) sight(height int, high func(n int) int) {
	l.top = max(0, min(l.top, l.Sel))
	used := 0
	for n := l.Sel; n >= l.top; n-- {
		if used += high(n); used > height && n < l.Sel {
			l.top = n + 1
			return
		}
	}
	for n := l.Sel + 1; n < l.Total && used <= height; n++ {
		used += high(n)
	}
	for l.top > 0 {
		if used += high(l.top - 1); used > height {
			return
		}
		l.top--
	}
}

func one(int) int { return 1 }
