package tui

import (
	"strconv"
	"strings"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

// folded is how many lines of a block are shown until it is opened.
const folded = 8

// drawTalk draws blocks of arrows between client and server.
func drawTalk(m *model, w, h int) (lines []drawn) {
	l := m.list()
	c := columnsOf(w)
	if h >= 8 {
		lines = append(lines, drawn{line: m.talkHead(c, w)})
		h--
	}
	l.sight(h, func(n int) int {
		if it := l.at(n); it != nil {
			return len(blockLines(l, it, c))
		}
		return 1
	})
	whole := m.slowest(l, h)
	for n := l.top; n < l.total && h > 0; n++ {
		it := l.at(n)
		if it == nil {
			lines, h = append(lines, drawn{line: cells.Of(paint.Faint, "  …"), item: n + 1}), h-1
			continue
		}
		for i, line := range blockLines(l, it, c) {
			if h--; h < 0 {
				break
			}
			lines = append(lines, drawn{line: m.talkLine(it, line, i, c, whole), selected: n == l.sel, item: n + 1})
		}
	}
	return lines
}

// talkColumns are the widths of the columns of the Talk view.
type talkColumns struct{ time, lane, answer, took, bar int }

func columnsOf(w int) (c talkColumns) {
	c = talkColumns{time: 8, took: 8}
	if w >= 76 {
		c.bar = 10 + (w-76)/10
	}
	if w < 56 {
		c.time = 0
	}
	rest := w - 2 - c.time - c.took - 2
	if c.time > 0 {
		rest -= 2
	}
	if c.bar > 0 {
		rest -= c.bar + 2
	}
	c.lane = rest
	if rest >= 44 {
		c.lane = rest * 11 / 20
		c.answer = rest - c.lane - 1
	}
	return c
}

// talkHead names the two sides.
func (m *model) talkHead(c talkColumns, w int) cells.Line {
	client, server := "CLIENT", "SERVER"
	if t := m.talks.current(); t != nil {
		client, server = t.Client, t.Server
	}
	line := cells.Line{cells.Blank(2)}
	if c.time > 0 {
		line = append(line, cells.Fit(paint.Faint, "time", c.time+2))
	}
	if c.answer > 0 {
		line = append(line, cells.Fit(paint.Strong, client, c.lane), cells.Blank(1), cells.Fit(paint.Strong, server, c.answer))
	} else {
		line = append(line, cells.Fit(paint.Strong, client+" → "+server, c.lane))
	}
	line = append(line, cells.Blank(2), cells.Right(paint.Faint, "took", c.took))
	return line.To(w)
}

// An arrow is a line of a block; Reply is the text that stands beside a request.
type arrow struct {
	view.Line
	reply *view.Line
	more  int
}

// blockLines are the arrows of a block as they are drawn: a request and a response that directly
// follows it share a line, and of many lines the middle is folded.
func blockLines(l *list, it *item, c talkColumns) (arrows []arrow) {
	lines := it.lines
	if len(lines) == 0 {
		dir := it.row.Dir
		lines = []view.Line{{Dir: dir, Kind: "request", Text: title(&it.row), Time: it.row.Time}}
	}
	if len(lines) == 2 && lines[0].Dir == "sent" && lines[1].Kind == "response" && c.answer > 0 {
		return []arrow{{Line: lines[0], reply: &lines[1]}}
	}
	for i, line := range lines {
		if len(lines) > folded && !l.open[it.key] && i >= folded-3 && i < len(lines)-2 {
			if i == folded-3 {
				arrows = append(arrows, arrow{more: len(lines) - folded + 1})
			}
			continue
		}
		arrows = append(arrows, arrow{Line: line})
	}
	return arrows
}

// talkLine draws one arrow. The first line of a block has the time, how long it took and the
// bar.
func (m *model) talkLine(it *item, a arrow, i int, c talkColumns, whole float64) (line cells.Line) {
	r := &it.row
	role, mark := state(r)
	if i > 0 {
		mark = " "
	}
	line = append(line, cells.Fit(role, mark, 2))
	if c.time > 0 {
		clock := ""
		if i == 0 {
			clock = m.clock(r.Time)
		}
		line = append(line, cells.Fit(paint.Faint, clock, c.time+2))
	}
	body := c.lane
	if c.answer > 0 {
		body += c.answer + 1
	}
	line = append(line, arrowLine(a, i, c, body, r)...)
	if i > 0 {
		return line
	}
	span := m.tookCell(r)
	line = append(line, cells.Blank(2))
	line = append(line, cells.RightSpan(span, c.took))
	if c.bar > 0 {
		line = append(line, cells.Blank(2))
		line = append(line, cells.Bar(phases(r, m.seconds(r)), whole, c.bar)...)
	}
	return line
}

// arrowLine draws the arrow itself in width columns.
func arrowLine(a arrow, i int, c talkColumns, width int, r *view.Row) cells.Line {
	role := levelRole(a.Level, a.Kind)
	text := a.Text
	if a.Times > 1 {
		text += " ×" + strconv.Itoa(a.Times)
	}
	switch {
	case a.more > 0:
		return cells.Line{cells.Fit(paint.Faint, "    ⋮ "+counted(a.more, "line", "lines")+" more: Space", width)}
	case a.reply != nil:
		left := leader(text, c.lane, paint.Plain, true)
		reply := levelRole(a.reply.Level, a.reply.Kind)
		return append(left, cells.Blank(1), cells.Fit(reply, a.reply.Text, c.answer))
	case a.Kind == "request" && a.Dir == "sent" && c.answer > 0:
		return append(leader(text, c.lane, paint.Plain, true), cells.Fit(paint.Faint, "", width-c.lane))
	case i == 0 && a.Dir == "received":
		return cells.Line{cells.Fit(role, "◀ "+text, width)}
	case a.Dir == "received" && a.Kind == "response" && c.answer > 0:
		head := cells.Line{cells.Blank(2), cells.Text(paint.Faint, "◀"+strings.Repeat("─", max(c.lane-3, 0))), cells.Blank(1)}
		return append(head, cells.Fit(role, text, c.answer))
	case a.Dir == "received":
		return cells.Line{cells.Fit(role, "  ◀ "+text, width)}
	case a.Dir == "sent" && i == 0:
		return cells.Line{cells.Fit(role, "▶ "+text, width)}
	case a.Dir == "sent":
		return cells.Line{cells.Fit(role, "  ▶ "+text, width)}
	}
	return cells.Line{cells.Fit(role, "    "+text, width)}
}

// leader writes a text with an arrow behind it that leads to the server.
func leader(text string, width int, role paint.Role, arrow bool) cells.Line {
	head := cells.Of(role, text)
	if head.Width() > width-4 {
		head = head.To(width - 4)
	}
	return append(head, cells.Blank(1), cells.Text(paint.Faint, strings.Repeat("─", width-head.Width()-2)+"▶"))
}

// levelRole is how a line of a block is drawn.
func levelRole(level, kind string) paint.Role {
	switch {
	case level == "error":
		return paint.Bad
	case level == "warning" || kind == "question":
		return paint.Warn
	case kind == "progress" || kind == "log" || kind == "remark" || kind == "notification":
		return paint.Faint
	}
	return paint.Plain
}
