package tui

import (
	"strconv"
	"strings"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// maxFoldedLines is the largest number of lines of a block that is not open.
const maxFoldedLines = 8

// A talkColumns has the column widths of the Talk view.
type talkColumns struct{ time, lane, answer, took, bar int }

// talkColumnsFor computes the layout of the Talk view for w columns.
func talkColumnsFor(w int) (c talkColumns) {
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

// drawTalkHead draws the names of the two sides.
func drawTalkHead(c talkColumns, client, server string, w int) cells.Line {
	line := cells.Line{cells.Blank(2)}
	if c.time > 0 {
		line = append(line, cells.Fit(cells.Faint, "time", c.time+2))
	}
	if c.answer > 0 {
		line = append(
			line,
			cells.Fit(cells.Strong, client, c.lane),
			cells.Blank(1),
			cells.Fit(cells.Strong, server, c.answer),
		)
	} else {
		line = append(line, cells.Fit(cells.Strong, client+" → "+server, c.lane))
	}
	line = append(line, cells.Blank(2), cells.Right(cells.Faint, "took", c.took))
	return line.FitTo(w)
}

// An arrow is a line of a block. reply is the response on the same line, or nil.
type arrow struct {
	view.Line
	reply       *view.Line
	hiddenLines int
}

// blockArrows returns the arrows of a block. A request and the response directly after it share a
// line. The middle of a long block is folded.
func blockArrows(r *view.Row, lines []view.Line, open bool, c talkColumns) (arrows []arrow) {
	if len(lines) == 0 {
		dir := r.Dir
		lines = []view.Line{{Dir: dir, Kind: "request", Text: rowTitle(r), Time: r.Time}}
	}
	if len(lines) == 2 && lines[0].Dir == "sent" && lines[1].Kind == "response" && c.answer > 0 {
		return []arrow{{Line: lines[0], reply: &lines[1]}}
	}
	for i, line := range lines {
		if len(lines) > maxFoldedLines && !open && i >= maxFoldedLines-3 && i < len(lines)-2 {
			if i == maxFoldedLines-3 {
				arrows = append(arrows, arrow{hiddenLines: len(lines) - maxFoldedLines + 1})
			}
			continue
		}
		arrows = append(arrows, arrow{Line: line})
	}
	return arrows
}

// drawTalkLine draws one arrow. The first line of a block also has the time, the duration and the bar.
func drawTalkLine(clock screenClock, r *view.Row, a arrow, i int, c talkColumns, whole float64) (line cells.Line) {
	role, mark := stateMark(r)
	if i > 0 {
		mark = " "
	}
	line = append(line, cells.Fit(role, mark, 2))
	if c.time > 0 {
		moment := ""
		if i == 0 {
			moment = clock.formatTime(r.Time)
		}
		line = append(line, cells.Fit(cells.Faint, moment, c.time+2))
	}
	body := c.lane
	if c.answer > 0 {
		body += c.answer + 1
	}
	line = append(line, drawArrow(a, i, c, body, r)...)
	if i > 0 {
		return line
	}
	span := clock.drawDuration(r)
	line = append(line, cells.Blank(2))
	line = append(line, cells.RightSpan(span, c.took))
	if c.bar > 0 {
		line = append(line, cells.Blank(2))
		line = append(line, cells.Bar(barParts(r, clock.elapsedSeconds(r)), whole, c.bar)...)
	}
	return line
}

// drawArrow draws the arrow itself in width columns.
func drawArrow(a arrow, i int, c talkColumns, width int, r *view.Row) cells.Line {
	role := levelRole(a.Level, a.Kind)
	text := a.Text
	if a.Times > 1 {
		text += " ×" + strconv.Itoa(a.Times)
	}
	switch {
	case a.hiddenLines > 0:
		return cells.Line{cells.Fit(cells.Faint, "    ⋮ "+countNoun(a.hiddenLines, "line", "lines")+" more: Space", width)}
	case a.reply != nil:
		left := drawLeader(text, c.lane, cells.Plain, true)
		reply := levelRole(a.reply.Level, a.reply.Kind)
		return append(left, cells.Blank(1), cells.Fit(reply, a.reply.Text, c.answer))
	case a.Kind == "request" && a.Dir == "sent" && c.answer > 0:
		lane := min(max(c.lane, cells.TextLine(role, text).Width()+4), width) // a longer one is alone on its line
		return append(drawLeader(text, lane, cells.Plain, true), cells.Fit(cells.Faint, "", width-lane))
	case i == 0 && a.Dir == "received":
		return cells.Line{cells.Fit(role, "◀ "+text, width)}
	case a.Dir == "received" && a.Kind == "response" && c.answer > 0:
		answer := min(max(c.answer, cells.TextLine(role, text).Width()), width-6)
		head := cells.Line{
			cells.Blank(2),
			cells.Text(cells.Faint, "◀"+strings.Repeat("─", max(width-answer-4, 0))),
			cells.Blank(1),
		}
		return append(head, cells.Fit(role, text, answer))
	case a.Dir == "received":
		return cells.Line{cells.Fit(role, "  ◀ "+text, width)}
	case a.Dir == "sent" && i == 0:
		return cells.Line{cells.Fit(role, "▶ "+text, width)}
	case a.Dir == "sent":
		return cells.Line{cells.Fit(role, "  ▶ "+text, width)}
	}
	return cells.Line{cells.Fit(role, "    "+text, width)}
}

// drawLeader draws a text followed by an arrow to the server.
func drawLeader(text string, width int, role cells.Role, arrow bool) cells.Line {
	head := cells.TextLine(role, text)
	if head.Width() > width-4 {
		head = head.FitTo(width - 4)
	}
	return append(head, cells.Blank(1), cells.Text(cells.Faint, strings.Repeat("─", width-head.Width()-2)+"▶"))
}

// levelRole returns the role in which a line of a block is drawn.
func levelRole(level, kind string) cells.Role {
	if level == "error" {
		return cells.Bad
	}
	if level == "warning" || kind == "question" {
		return cells.Warn
	}
	if kind == "progress" || kind == "log" || kind == "remark" || kind == "notification" {
		return cells.Faint
	}
	return cells.Plain
}
