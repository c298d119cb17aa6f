package tui

import (
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// maxFoldedLines is the largest number of lines of a folded block: its first and its last lines,
// with a line between that counts the hidden ones.
const (
	maxFoldedLines  = 8
	foldedHeadLines = 5
	foldedTailLines = 2
)

// A talkColumns has the column widths of the Talk view; 0 omits a column without room. lane has the
// requests, and answer the responses beside them.
type talkColumns struct{ time, lane, answer, took, bar int }

// The sizes of the Talk view in columns.
const (
	talkTimeMinWidth   = 56 // from this width there is a time
	talkExactMinWidth  = 90 // from this width the time has milliseconds
	talkBarMinWidth    = 76 // from this width there is a bar
	talkAnswerMinWidth = 44 // if this is left, responses are beside their requests
)

// talkColumnsFor computes the layout of the Talk view for w columns.
func talkColumnsFor(w int) talkColumns {
	c := talkColumns{time: len(timeFormat), took: 8}
	if w >= talkExactMinWidth {
		c.time = len(exactTimeFormat)
	}
	if w >= talkBarMinWidth {
		c.bar = 10 + (w-talkBarMinWidth)/10
	}
	if w < talkTimeMinWidth {
		c.time = 0
	}
	room := w - 2 - c.time - c.took - 2 // the mark, and blanks before the duration
	if c.time > 0 {
		room -= 2
	}
	if c.bar > 0 {
		room -= c.bar + 2
	}
	c.lane = room
	if room >= talkAnswerMinWidth {
		c.lane = room * 11 / 20 // requests are longer than responses
		c.answer = room - c.lane - 1
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

// An arrow is a line of a block in the Talk view: a message between client and server, or the number
// of hidden lines if hiddenLines is not 0.
type arrow struct {
	view.Line
	reply       *view.Line // the response on the same line, or nil
	hiddenLines int
	isFirst     bool // of its block
}

// blockArrows returns the arrows of a block. A request and the response directly after it share a
// line. The middle of a long block is folded unless isUnfolded is set.
func blockArrows(r *view.Row, lines []view.Line, isUnfolded bool, c talkColumns) []arrow {
	if len(lines) == 0 {
		lines = []view.Line{{Dir: r.Dir, Kind: "request", Text: rowTitle(r), Time: r.Time}}
	}
	isPair := len(lines) == 2 && lines[0].Dir == "sent" && lines[1].Kind == "response"
	if isPair && c.answer > 0 {
		return []arrow{{Line: lines[0], reply: &lines[1], isFirst: true}}
	}
	var arrows []arrow
	for i, line := range lines {
		arrows = append(arrows, arrow{Line: line, isFirst: i == 0})
	}
	if isUnfolded || len(lines) <= maxFoldedLines {
		return arrows
	}
	hidden := len(lines) - foldedHeadLines - foldedTailLines
	tail := arrows[len(arrows)-foldedTailLines:]
	return slices.Concat(arrows[:foldedHeadLines], []arrow{{hiddenLines: hidden}}, tail)
}

// drawTalkLine draws one arrow. The first line of a block also has the time, the duration and the
// bar; a bar of whole seconds fills all columns.
func drawTalkLine(clock screenClock, r *view.Row, a arrow, c talkColumns, whole float64) cells.Line {
	role, mark := stateMark(r)
	startTime := clock.formatTime(r.Time)
	if c.time == len(exactTimeFormat) {
		startTime = clock.formatExactTime(r.Time)
	}
	if !a.isFirst {
		mark = " "
		startTime = ""
	}
	line := cells.Line{cells.Fit(role, mark, 2)}
	if c.time > 0 {
		line = append(line, cells.Fit(cells.Faint, startTime, c.time+2))
	}
	line = append(line, drawArrow(a, c)...)
	if !a.isFirst {
		return line
	}
	line = append(line, cells.Blank(2), cells.RightSpan(clock.drawDuration(r), c.took))
	if c.bar > 0 {
		line = append(line, cells.Blank(2))
		line = append(line, cells.Bar(barParts(r, clock.elapsedSeconds(r)), whole, c.bar)...)
	}
	return line
}

// drawArrow draws the arrow itself in the columns lane and answer. A request ends at the right of
// the lane, a response begins there; other lines have the whole width.
func drawArrow(a arrow, c talkColumns) cells.Line {
	width := c.lane
	if c.answer > 0 {
		width += c.answer + 1
	}
	role := levelRole(a.Level, a.Kind)
	text := a.Text
	if a.Times > 1 {
		text += " ×" + strconv.Itoa(a.Times)
	}
	if a.hiddenLines > 0 {
		return cells.Line{cells.Fit(cells.Faint, "    ⋮ "+countNoun(a.hiddenLines, "line", "lines")+" more: Space", width)}
	}
	if a.reply != nil {
		replyRole := levelRole(a.reply.Level, a.reply.Kind)
		return append(drawLeader(text, c.lane), cells.Blank(1), cells.Fit(replyRole, a.reply.Text, c.answer))
	}
	if a.Dir == "sent" && a.Kind == "request" && c.answer > 0 {
		lane := min(max(c.lane, cells.TextLine(role, text).Width()+4), width) // a longer one is alone on its line
		return append(drawLeader(text, lane), cells.Fit(cells.Faint, "", width-lane))
	}
	if a.Dir == "received" && a.Kind == "response" && c.answer > 0 && !a.isFirst {
		return drawResponse(role, text, c.answer, width)
	}
	indent := "  "
	if a.isFirst {
		indent = ""
	}
	switch a.Dir {
	case "received":
		return cells.Line{cells.Fit(role, indent+"◀ "+text, width)}
	case "sent":
		return cells.Line{cells.Fit(role, indent+"▶ "+text, width)}
	}
	return cells.Line{cells.Fit(role, "    "+text, width)}
}

// drawResponse draws an arrow from the server, followed by the text of a response in answerWidth
// columns or more.
func drawResponse(role cells.Role, text string, answerWidth, width int) cells.Line {
	textWidth := min(max(answerWidth, cells.TextLine(role, text).Width()), width-6)
	return cells.Line{
		cells.Blank(2),
		cells.Text(cells.Faint, "◀"+strings.Repeat("─", max(width-textWidth-4, 0))),
		cells.Blank(1),
		cells.Fit(role, text, textWidth),
	}
}

// drawLeader draws a text followed by an arrow to the server, in width columns. The arrow has at
// least a dash.
func drawLeader(text string, width int) cells.Line {
	head := cells.TextLine(cells.Plain, text)
	if head.Width() > width-4 {
		head = head.FitTo(width - 4)
	}
	return append(head, cells.Blank(1), cells.Text(cells.Faint, strings.Repeat("─", width-head.Width()-2)+"▶"))
}

// levelRole returns the role that a line of a block is drawn in.
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
