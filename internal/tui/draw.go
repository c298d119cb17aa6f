package tui

import (
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/tui/cells"
)

type drawn = cells.Drawn

// The minimum sizes for dividing the screen, in columns and lines.
const (
	wideMinWidth            = 100 // the conversations are drawn beside the list
	detailBesideMinWidth    = 160 // the detail is drawn beside the list
	detailBelowMinHeight    = 30  // on a narrower screen, the detail is drawn below the list
	widerMinWidth           = 132 // the conversations have room for a time
	conversationsWidth      = 28
	widerConversationsWidth = 34
	widestConversations     = 40
	kindsWidth              = 22 // at least, of the Try view, in place of the conversations
	headWithFilterMinHeight = 16 // the header has the filter line
	headWithRuleMinHeight   = 20 // the header ends with a rule
)

func (m *model) isWide() bool { return m.w >= wideMinWidth }

// A screenLayout is the division of the screen into panes. Heights count lines, widths columns.
type screenLayout struct {
	head                  int // lines above the panes
	body                  int // lines of the panes
	left                  int // columns of the conversations, 0 if they are not shown
	main, detail          int // columns, 0 if not shown
	mainHeight, detailTop int // lines of the list, and the first line of a detail below it
}

// layout computes the layout of the screen from its size, the focus and the open panes. On a narrow
// screen one pane has it all.
func (m *model) layout() screenLayout {
	screen := screenLayout{head: 1}
	if m.h >= headWithFilterMinHeight || m.focus == paneFilter || m.query.line.Text() != "" {
		screen.head = 2
	}
	if m.h >= headWithRuleMinHeight {
		screen.head++
	}
	screen.head += m.alarmLines()
	// The footer has the last line.
	screen.body = max(0, m.h-screen.head-1)
	screen.main = m.w
	screen.mainHeight = screen.body
	if !m.isWide() {
		if m.detail.key != "" && m.focus == paneDetail {
			screen.main = 0
			screen.detail = m.w
		} else if m.focus == paneConversations {
			screen.main = 0
			screen.left = m.w
		}
		return screen
	}
	screen.left = conversationsWidth
	if m.w >= detailBesideMinWidth {
		screen.left = widestConversations
	} else if m.w >= widerMinWidth {
		screen.left = widerConversationsWidth
	}
	isBeside := m.w >= detailBesideMinWidth
	if m.view == viewTry { // the result is beside the form
		screen.left = max(kindsWidth, m.w/5)
		isBeside = true
	}
	screen.main -= screen.left + 1
	if m.detail.key == "" {
		return screen
	}
	if isBeside {
		screen.detail = screen.main * 9 / 20 // the list has a little more than half
		screen.main -= screen.detail + 1
	} else if m.h >= detailBelowMinHeight {
		screen.detail = screen.main
		screen.mainHeight = screen.body * 2 / 5
		screen.detailTop = screen.mainHeight + 1
	} else {
		screen.detail = screen.main
		screen.main = 0
	}
	return screen
}

// inDetail reports whether a position below the head is in the detail.
func (p *screenLayout) inDetail(x, y int) bool {
	if p.main == 0 {
		return true // the detail has the place of the list
	}
	if p.detail == 0 {
		return false
	}
	if p.detailTop > 0 {
		return y >= p.detailTop
	}
	return x > p.left+p.main+1
}

// frame draws the whole screen as text.
func (m *model) frame() string {
	if m.w < 20 || m.h < 4 {
		return "too small"
	}
	layout := m.layout()
	rows := make([][]drawn, 0, m.h)
	for _, l := range m.drawHeader(layout) {
		rows = append(rows, []drawn{{Line: l.FitTo(m.w)}})
	}
	if m.dialog != nil {
		for _, line := range cells.Fill(m.dialog.draw(m.w, layout.body), m.w, layout.body) {
			rows = append(rows, []drawn{line})
		}
	} else {
		rows = append(rows, m.drawPanes(layout)...)
	}
	rows = append(rows, []drawn{{Line: m.drawFooter().FitTo(m.w)}})
	var b strings.Builder
	for i, row := range rows[:min(len(rows), m.h)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, part := range row {
			part.Line.Write(&b, m.palette, part.Selected)
		}
	}
	return b.String()
}

// drawPanes draws the panes between the head and the footer.
func (m *model) drawPanes(p screenLayout) [][]drawn {
	rows := make([][]drawn, p.body)
	const atTop = 0
	const afterBar = true
	// add appends the lines of a pane to the rows from top on, after a vertical bar if hasBar is set.
	add := func(pane []drawn, top int, hasBar bool) {
		for i, line := range pane {
			if hasBar {
				rows[top+i] = append(rows[top+i], drawn{Line: cells.TextLine(cells.Faint, "│")})
			}
			rows[top+i] = append(rows[top+i], line)
		}
	}
	if p.left > 0 {
		add(cells.Fill(m.drawConversations(p.left, p.body), p.left, p.body), atTop, !afterBar)
	}
	if p.main > 0 {
		form := m.drawForm(p)
		height := p.mainHeight - len(form)
		list := cells.Fill(m.drawMain(p.main, height), p.main, height)
		form = cells.Fill(form, p.main, len(form))
		add(append(list, form...), atTop, p.left > 0)
	}
	if p.detail > 0 && p.detailTop > 0 {
		add([]drawn{{Line: cells.Line{cells.Rule(p.detail)}}}, p.mainHeight, afterBar)
		height := p.body - p.detailTop
		add(cells.Fill(m.drawDetail(p.detail, height), p.detail, height), p.detailTop, afterBar)
	} else if p.detail > 0 {
		add(cells.Fill(m.drawDetail(p.detail, p.body), p.detail, p.body), atTop, m.isWide())
	}
	return rows
}

// drawHeader draws the names of the views, the counts, the filter line and what waits for the user.
func (m *model) drawHeader(p screenLayout) []cells.Line {
	tabs := m.drawTabs()
	counts := m.drawCounts(withWords)
	if tabs.Width()+counts.Width() > m.w {
		counts = m.drawCounts(withoutWords)
	}
	lines := []cells.Line{cells.Justify(tabs, counts, m.w)}
	lines = append(lines, m.drawAlarms()...)
	if p.head-m.alarmLines() >= 2 {
		lines = append(lines, m.drawFilter(m.w))
	}
	for len(lines) < p.head {
		lines = append(lines, cells.Line{cells.Rule(m.w)})
	}
	return lines
}

// drawTabs draws the names of the views.
func (m *model) drawTabs() cells.Line {
	var line cells.Line
	for i, name := range viewNames {
		if i == viewHome && !m.status.Home || i == viewTry && !m.act.powers.Call {
			continue
		}
		text := " " + viewKeys[i] + " "
		if i == m.view || m.w >= 80 {
			text += name + " "
		}
		role := cells.Faint
		if i == m.view {
			role = cells.Cursor
		}
		line = append(line, cells.Text(role, text))
	}
	return line
}

// The two forms of the counts in the header.
const (
	withWords    = false
	withoutWords = true
)

// drawCounts draws the counts, the most important last. isShort leaves out the words: it is
// withWords or withoutWords.
func (m *model) drawCounts(isShort bool) cells.Line {
	s := m.status
	var line cells.Line
	add := func(r cells.Role, text string) { line = append(line, cells.Text(r, text), cells.Blank(1)) }
	switch {
	case m.statusLine.isPaused && m.statusLine.hasChanged:
		add(cells.Warn, "‖ paused, more came")
	case m.statusLine.isPaused:
		add(cells.Warn, "‖ paused")
	case s.File:
		add(cells.Faint, "file")
	case s.Loading:
		add(cells.Faint, "reading…")
	default:
		add(cells.Good, "● live")
	}
	count := func(r cells.Role, sign string, n int, text string) {
		if n == 0 {
			return
		}
		if isShort {
			add(r, sign+strconv.Itoa(n))
			return
		}
		add(r, sign+english.Thousands(n)+" "+text)
	}
	if m.isWide() {
		noun := "exchanges "
		if s.Rows == 1 {
			noun = "exchange "
		}
		count(cells.Faint, "", s.Rows, noun)
		count(cells.Faint, "", s.Dropped, "older left out ")
	}
	count(cells.Accent, "…", s.Open, "open ")
	count(cells.Bad, "!", s.Failed, "failed ")
	count(cells.Warn, "?", len(m.act.questions), "asking you ")
	count(cells.Bad, "-", s.Lost, "lost ")
	return line
}

// drawFooter draws the message of the status line, and the most useful keys.
func (m *model) drawFooter() cells.Line {
	line := cells.Line{cells.Blank(1)}
	if m.statusLine.flash != "" {
		role := cells.Strong
		if m.statusLine.isError {
			role = cells.Bad
		}
		line = append(line, cells.Text(role, m.statusLine.flash), cells.Blank(3))
	}
	hints := m.footerHints()
	isFormWaiting := m.act.form != nil && m.dialog == nil && m.focus <= paneDetail // open, without the keys
	if isFormWaiting {
		hints = append([]string{"a back to the form"}, hints...)
	}
	for _, hint := range hints {
		key, text, _ := strings.Cut(hint, " ")
		next := cells.Line{cells.Text(cells.Strong, key), cells.Text(cells.Faint, " "+text+"  ")}
		if line.Width()+next.Width() > m.w {
			break
		}
		line = append(line, next...)
	}
	return line
}

// footerHints returns the keys of the focused pane.
func (m *model) footerHints() []string {
	switch {
	case m.dialog != nil:
		return m.dialog.hints()
	case m.focus == paneFilter && m.view == viewTry:
		return []string{"Enter form", "↑↓ choose", "Tab list", "Esc clear"}
	case m.focus == paneFilter:
		return []string{"Enter keep", "Tab complete", "↑↓ choose", "Esc back"}
	case m.focus == paneForm && m.act.form != nil:
		return m.formHints()
	case m.focus == paneHeld:
		return []string{"Enter release", "e edit", "d drop", "v reveal", "a answer", "Esc back"}
	case m.focus == paneConversations:
		return []string{"Enter show", "Tab list", "/ filter", "D compare", "? keys", "q quit"}
	case m.focus == paneDetail:
		return []string{
			"Esc close",
			"←→ tabs",
			"Tab " + paneNames[m.paneAfter(1)],
			"? keys",
			"t try",
			"r resend",
			"E edit",
			"b fault",
			"y copy",
			"/ search",
			"x export",
			"Space fold",
		}
	}
	return m.listHints()
}

// formHints returns the keys of the focused field or button of the form, and those of the form.
func (m *model) formHints() []string {
	f := m.act.form
	q := f.current()
	var hints []string
	if q != nil && q.keyHint() != "" {
		hints = append(hints, q.keyHint())
	}
	if f.currentItem() != nil {
		hints = append(hints, "Ctrl-A another item", "Ctrl-D remove it")
	}
	hints = append(hints, "Tab next")
	if m.act.request == nil {
		return append(hints, "Ctrl-S accept", "Ctrl-X decline", "Esc back, answers are kept", "F1 keys")
	}
	if q == nil {
		hints = []string{"Enter press", "←→ button", "Tab next", "1 talk"}
	}
	if m.try.running == m.act.request {
		hints = append([]string{"Ctrl-X cancel"}, hints...)
	}
	hints = append(hints, "Ctrl-S "+strings.ToLower(m.act.request.verb()), "Esc close")
	if q != nil && q.input.isSelected {
		hints = append(hints, "←→ edit the text, typing replaces it")
	}
	return append(hints, "F1 keys")
}

// listHints returns the keys of the list of the current view.
func (m *model) listHints() []string {
	if m.view == viewTime {
		return []string{"←→ calls", "+- zoom", "0 all", "Enter detail", "/ filter", "? keys", "q quit"}
	}
	hints := []string{
		"Enter detail",
		"/ filter",
		"? keys",
		"r resend",
		"E edit, resend",
		"x export",
		"y copy",
		"f like this",
		"s sort",
		"[] conversation",
		"q quit",
		"G newest",
	}
	switch m.view {
	case viewTools:
		hints = []string{"Enter last call", "t try", "/ filter", "? keys", "x export", "f like this", "q quit"}
	case viewTry:
		hints = []string{
			"Enter form", "/ search", "←→ kind", "y copy", "u follow", "X cancel", "R list again", "? keys", "q quit",
		}
		if m.status.Output {
			hints = slices.Insert(hints, 3, "O server output")
		}
	case viewHome:
		hints = []string{"Enter try", "y copy", "A add", "R check", "1 talk", "? keys", "q quit"}
		if s := m.selectedServer(); s != nil && s.State == needsLogin {
			hints = slices.Insert(hints, 1, "L log in")
		}
	case viewStreams, viewSecrets:
		hints = []string{"Enter detail", "/ filter", "? keys", "x export", "f like this", "q quit"}
	}
	esc := "Esc close"
	if !m.isWide() {
		esc = "Esc conversations"
	}
	if m.view == viewTry && m.detail.key == "" {
		return hints
	}
	if m.view == viewTry {
		return slices.Insert(hints, 1, "Tab "+paneNames[m.paneAfter(1)], "Esc close", "E edit, resend")
	}
	// hints[0], Enter, opens the detail, which is open already.
	if m.detail.key != "" {
		return slices.Concat([]string{"Tab " + paneNames[m.paneAfter(1)], esc}, hints[1:])
	}
	if !m.isWide() {
		return slices.Insert(hints, 1, esc)
	}
	return hints
}

// paneNames are the names of the panes in the footer.
var paneNames = [...]string{
	paneConversations: "conversations",
	paneMain:          "list",
	paneDetail:        "detail",
	paneHeld:          "held",
	paneFilter:        "filter",
	paneForm:          "form",
}
