package tui

import (
	"slices"
	"strconv"

	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// tableColumns are the columns of the Table view. A head is also the name of the sort order, unless
// Sort has another one.
var tableColumns = []cells.Column{
	{Head: "", Width: 1},
	{Head: "#", Width: 9, Right: true, DropOrder: 3},
	{Head: timeHead, Width: len(timeFormat), DropOrder: 2},
	{Head: "client", Width: 10, Flex: 1, DropOrder: 8},
	{Head: "server", Width: 10, Flex: 1, DropOrder: 7},
	{Head: "method", Width: 12, Flex: 1},
	{Head: "name", Width: 11, Flex: 6, DropOrder: 1},
	{Head: "arguments", Width: 16, Flex: 4, DropOrder: 6},
	{Head: "outcome", Sort: "channel", Width: 10, Flex: 1, DropOrder: 4},
	{Head: "http", Width: 4, Right: true, DropOrder: 10},
	{Head: "took", Width: 8, Right: true},
	{Head: "phases", Width: 9, Flex: 2, DropOrder: 5},
	{Head: "size", Width: 7, Right: true, DropOrder: 9},
	{Head: "tokens", Width: 6, Right: true, DropOrder: 11},
	{Head: "notes", Width: 12, Flex: 3, DropOrder: 12},
}

// timeHead is the head of the column with the time.
const timeHead = "time"

// wideTable is the width in columns from which on the times show milliseconds.
const wideTable = 100

// tableWidths returns the widths of the columns in w columns.
func tableWidths(w int) []int {
	columns := slices.Clone(tableColumns)
	for i := range columns {
		if columns[i].Head == timeHead && w >= wideTable {
			columns[i].Width = len(exactTimeFormat)
		}
	}
	return cells.Widths(columns, w)
}

// drawTableLine draws an exchange. whole is the duration of a full bar in seconds.
func drawTableLine(clock screenClock, r *view.Row, widths []int, whole float64) cells.Line {
	role, mark := stateMark(r)
	return cells.Row(tableColumns, widths, func(i, w int) cells.Line {
		if head := tableColumns[i].Head; head != "phases" {
			return cells.Line{tableCell(clock, head, w, r, role, mark)}
		}
		return cells.Bar(barParts(r, clock.elapsedSeconds(r)), whole, w)
	})
}

// tableCell returns the text of the column with a head and the width w. role and mark come from stateMark.
func tableCell(clock screenClock, head string, w int, r *view.Row, role cells.Role, mark string) cells.Span {
	faint := func(text string) cells.Span { return cells.Text(cells.Faint, text) }
	emptyIfZero := func(n int64, text string) cells.Span {
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
	case timeHead:
		if w < len(exactTimeFormat) {
			return faint(clock.formatTime(r.Time))
		}
		return faint(clock.formatExactTime(r.Time))
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
	case "arguments":
		return faint(r.Arguments)
	case "outcome":
		return cells.Text(role, r.Channel)
	case "http":
		return emptyIfZero(int64(r.Status), strconv.Itoa(r.Status))
	case "took":
		return clock.drawDuration(r)
	case "size":
		size := r.Sent + r.Received
		return emptyIfZero(size, term.Size(size))
	case "tokens":
		return emptyIfZero(r.Tokens, strconv.FormatInt(r.Tokens, 10))
	}
	return faint(notes(r)) // the column "notes"
}

// notes returns further facts about an exchange in a few words.
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
		add(countNoun(r.Findings, "finding", "findings"))
	}
	if r.Edited {
		add("edited")
	}
	if r.Text != "" {
		add(r.Text)
	}
	return text
}

// draw draws the list of a view in w columns and h lines. client and server name the sides of the
// conversation.
func (l *list) draw(view int, clock screenClock, client, server string, w, h int) []drawn {
	switch view {
	case viewTalk:
		return l.drawTalk(clock, client, server, w, h)
	case viewTable:
		return l.drawTable(clock, w, h)
	case viewTime:
		return l.drawTime(clock, w, h)
	}
	return l.drawDocs(docColumns()[viewNames[view]], clock, w, h)
}

// drawTable draws one line per exchange.
func (l *list) drawTable(clock screenClock, w, h int) []drawn {
	widths := tableWidths(w)
	lines := []drawn{{Line: cells.Head(tableColumns, widths, l.sort)}}
	h--
	l.scrollToSelected(h, oneLine)
	whole := l.longestDuration(clock, h)
	for n := l.top; n < min(l.top+h, l.total); n++ {
		it := l.itemAt(n)
		if it == nil {
			lines = append(lines, drawn{Line: cells.TextLine(cells.Faint, "  …"), Item: n + 1})
			continue
		}
		lines = append(lines, drawn{Line: drawTableLine(clock, &it.row, widths, whole), Selected: n == l.sel, Item: n + 1})
	}
	return lines
}

// drawTalk draws blocks of arrows between client and server.
func (l *list) drawTalk(clock screenClock, client, server string, w, h int) []drawn {
	columns := talkColumnsFor(w)
	var lines []drawn
	if h >= 8 {
		lines = append(lines, drawn{Line: drawTalkHead(columns, client, server, w)})
		h--
	}
	l.scrollToSelected(h, func(n int) int {
		if item := l.itemAt(n); item != nil {
			return len(blockArrows(&item.row, item.lines, l.unfolded[item.key], columns))
		}
		return 1
	})
	whole := l.longestDuration(clock, h)
	for n := l.top; n < l.total && h > 0; n++ {
		item := l.itemAt(n)
		if item == nil {
			lines = append(lines, drawn{Line: cells.TextLine(cells.Faint, "  …"), Item: n + 1})
			h = h - 1
			continue
		}
		for _, arrow := range blockArrows(&item.row, item.lines, l.unfolded[item.key], columns) {
			h--
			if h < 0 {
				break
			}
			line := drawTalkLine(clock, &item.row, arrow, columns, whole)
			lines = append(lines, drawn{Line: line, Selected: n == l.sel, Item: n + 1})
		}
	}
	return lines
}

// drawDocs draws the table of a view of documents, and the texts of the selected document below it.
func (l *list) drawDocs(columns []cells.Column, clock screenClock, w, h int) []drawn {
	widths := cells.Widths(columns, w)
	var foot []cells.Line
	if item := l.selected(); item != nil && h >= 8 && !l.hidesText {
		foot = docText(item.doc, w-2)
		foot = foot[:min(len(foot), h/3)]
	}
	lines := []drawn{{Line: cells.Head(columns, widths, l.sort)}}
	room := h - 1
	if len(foot) > 0 {
		room -= len(foot) + 1
	}
	l.scrollToSelected(room, oneLine)
	for n := l.top; n < min(l.top+room, l.total); n++ {
		item := l.itemAt(n)
		if item == nil {
			continue
		}
		line := cells.Row(
			columns,
			widths,
			func(i, _ int) cells.Line { return cells.Line{docCell(clock, item.doc, columns[i].Head)} },
		)
		lines = append(lines, drawn{Line: line, Selected: n == l.sel, Item: n + 1})
	}
	for len(foot) > 0 && len(lines) < h-len(foot)-1 { // the foot is at the bottom
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

// longestDuration returns the longest duration of the items on the screen, which fills a whole bar. Open
// exchanges count only if all are open, because they have no end.
func (l *list) longestDuration(clock screenClock, height int) float64 {
	longestDone := 0.0
	longestOpen := 0.0
	for n := l.top; n < l.top+height; n++ {
		it := l.itemAt(n)
		if it == nil {
			continue
		}
		seconds := clock.elapsedSeconds(&it.row)
		if it.row.State == "done" {
			longestDone = max(longestDone, seconds)
		} else {
			longestOpen = max(longestOpen, seconds)
		}
	}
	if longestDone == 0 {
		return longestOpen
	}
	return longestDone
}

// scrollToSelected scrolls the list in height lines so that the selected item is visible and no
// lines stay empty while items are above. linesOf returns the number of lines of the item with an
// index. An item with more lines than fit begins at the top.
func (l *list) scrollToSelected(height int, linesOf func(index int) int) {
	l.top = max(0, min(l.top, l.sel))
	used := 0
	for n := l.sel; n >= l.top; n-- {
		used += linesOf(n)
		if used > height && n < l.sel {
			l.top = n + 1
			return
		}
	}
	// If lines are left after the last item, show items above.
	for n := l.sel + 1; n < l.total && used <= height; n++ {
		used += linesOf(n)
	}
	for l.top > 0 {
		used += linesOf(l.top - 1)
		if used > height {
			return
		}
		l.top--
	}
}

// oneLine returns 1: each item of most lists has one line.
func oneLine(int) int { return 1 }
