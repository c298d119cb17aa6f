package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/tui/cells"
)

// An action is what a key does; the command line runs it by its name.
type action struct {
	name string
	keys []string
	help string
	run  func(*model) tea.Cmd
}

// press takes a key: for the dialog that is open, the pane that has the keys, or for all.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch name {
	case "ctrl+c":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	}
	m.bar.flash = ""
	switch {
	case m.dialog != nil:
		return dialogKey(m, k)
	case m.focus == paneFilter:
		return filterKey(m, k)
	case m.focus == paneForm:
		return formKey(m, k)
	case m.focus == paneDetail && detailKey(m, name):
		return nil
	case m.view == viewTime && m.focus == paneMain:
		taken, zoomed := m.list().timeKey(name)
		if zoomed {
			return m.askList(true)
		}
		if taken {
			return nil
		}
	}
	for _, a := range actions() {
		if slices.Contains(a.keys, name) {
			return a.run(m)
		}
	}
	return nil
}

func dialogKey(m *model, k tea.KeyPressMsg) tea.Cmd {
	run, over := m.dialog.key(k.String(), k.Text)
	if over {
		m.dialog = nil
	}
	if run == nil {
		return nil
	}
	return run(m)
}

// paste is text from the clipboard: for lines that are typed, never for keys.
func paste(m *model, text string) tea.Cmd {
	if p, ok := m.dialog.(interface{ paste(string) }); ok {
		p.paste(text)
		return nil
	}
	switch m.focus {
	case paneFilter:
		m.query.line.Type(text)
		return tryFilter(m)
	case paneForm:
		m.act.form.Paste(text)
	}
	return nil
}

// actions are all that can be done, in the order in which they are listed.
func actions() []action {
	return append([]action{
		{"down", []string{"j", "down"}, "next line", func(m *model) tea.Cmd { return step(m, 1) }},
		{"up", []string{"k", "up"}, "line before", func(m *model) tea.Cmd { return step(m, -1) }},
		{"page-down", []string{"pgdown", "ctrl+f", "ctrl+d"}, "next page", func(m *model) tea.Cmd { return step(m, max(m.h/2, 1)) }},
		{"page-up", []string{"pgup", "ctrl+b", "ctrl+u"}, "page before", func(m *model) tea.Cmd { return step(m, -max(m.h/2, 1)) }},
		{"first", []string{"g", "home"}, "first line", func(m *model) tea.Cmd { return step(m, -1<<30) }},
		{"newest", []string{"G", "end"}, "newest, and follow what comes", func(m *model) tea.Cmd { return step(m, 1<<30) }},
		{"open", []string{"enter"}, "show what is selected", enter},
		{"back", []string{"esc"}, "go back out", leave},
		{"pane", []string{"tab"}, "next pane", func(m *model) tea.Cmd { return nextPane(m, 1) }},
		{"pane-before", []string{"shift+tab"}, "pane before", func(m *model) tea.Cmd { return nextPane(m, -1) }},
		{"talk", []string{"1"}, "conversation: requests and answers", func(m *model) tea.Cmd { return show(m, viewTalk) }},
		{"table", []string{"2"}, "table with waterfall", func(m *model) tea.Cmd { return show(m, viewTable) }},
		{"time", []string{"3"}, "lanes over time", func(m *model) tea.Cmd { return show(m, viewTime) }},
		{"tools", []string{"4"}, "tools: listed, usable, called", func(m *model) tea.Cmd { return show(m, viewTools) }},
		{"streams", []string{"5"}, "streams: open, cut, resumed", func(m *model) tea.Cmd { return show(m, viewStreams) }},
		{"secrets", []string{"6"}, "secrets that were hidden", func(m *model) tea.Cmd { return show(m, viewSecrets) }},
		{"fold", []string{"space"}, "show all lines of a block, or fold it", func(m *model) tea.Cmd { m.list().fold(); return nil }},
		{"search", []string{"/"}, "filter the list; in the detail, search", search},
		{"next", []string{"n"}, "next match of a search, else a note", noteOrNext},
		{"before", []string{"N"}, "match before", func(m *model) tea.Cmd { return find(m, -1) }},
		{"quit", []string{"q"}, "end the view", func(*model) tea.Cmd { return tea.Quit }},
	}, changes()...)
}

// show changes the view.
func show(m *model, n int) tea.Cmd {
	m.view = n
	if m.focus != paneMain {
		m.focus = paneMain
	}
	return m.askList(true)
}

// step moves the selection of the pane that has the keys.
func step(m *model, n int) tea.Cmd {
	switch m.focus {
	case paneTalks:
		m.talks.sel = max(0, min(m.talks.sel+n, m.talks.last()))
		return nil
	case paneDetail:
		m.detail.sel = max(0, min(m.detail.sel+n, len(m.detail.lines)-1))
		return nil
	case paneHeld:
		m.act.sel = max(0, min(m.act.sel+n, len(m.act.held)-1))
		return nil
	}
	l := m.list()
	to := min(max(l.sel+n, 0), max(l.total-1, 0))
	l.move(to)
	if n >= 1<<20 {
		l.follow = true
	}
	var cmds []tea.Cmd
	if l.lacks(m.h) || l.follow {
		cmds = append(cmds, m.askList(false))
	}
	if it := l.selected(); it != nil && m.detail.key != "" && m.wide() && it.key != "" {
		cmds = append(cmds, showDetail(m, it.key, m.detail.tab))
	}
	return tea.Batch(cmds...)
}

// enter goes into what is selected.
func enter(m *model) tea.Cmd {
	switch m.focus {
	case paneTalks:
		return chooseTalk(m)
	case paneHeld:
		return letGo(m)
	}
	it := m.list().selected()
	if it == nil {
		return nil
	}
	if m.view == viewTime {
		return openDetail(m, m.list().barKey())
	}
	return openDetail(m, it.key)
}

// leave goes one step back.
func leave(m *model) tea.Cmd {
	switch {
	case m.focus == paneDetail && m.bar.hits.text != "":
		m.bar.hits = hits{}
	case m.focus == paneDetail || m.detail.key != "" && m.focus == paneMain && m.wide():
		m.detail.key, m.detail.doc, m.focus = "", nil, paneMain
	case m.focus == paneHeld || m.focus == paneTalks:
		m.focus = paneMain
	case m.focus == paneMain:
		m.detail.key, m.detail.doc, m.focus = "", nil, paneTalks
	}
	return nil
}

// paneAfter is the pane that is step panes away. While a detail is open, Tab goes from it back to
// the list: the conversations are before the list only.
func paneAfter(m *model, step int) pane {
	panes := []pane{paneMain}
	if m.detail.key == "" || step < 0 {
		panes = []pane{paneTalks, paneMain}
	}
	if m.detail.key != "" {
		panes = append(panes, paneDetail)
	}
	if m.act.question() != nil || m.act.form != nil {
		panes = append(panes, paneForm)
	}
	if len(m.act.held) > 0 {
		panes = append(panes, paneHeld)
	}
	i := slices.Index(panes, m.focus)
	if i < 0 {
		return paneMain
	}
	return panes[(i+step+len(panes))%len(panes)]
}

// nextPane gives the keys to another pane.
func nextPane(m *model, step int) tea.Cmd {
	next := paneAfter(m, step)
	if next == paneForm {
		return answerNext(m)
	}
	m.focus = next
	return nil
}

// search opens the filter line, in the detail a search in its text.
func search(m *model) tea.Cmd {
	if m.focus != paneDetail {
		return openFilter(m)
	}
	return askLine(m, "search in "+strings.ToLower(tabNames[m.detail.tab]), m.bar.hits.text, func(m *model, text string) tea.Cmd {
		if m.bar.hits.text = text; text == "" {
			return nil
		}
		return find(m, 1)
	})
}

func noteOrNext(m *model) tea.Cmd {
	if m.focus == paneDetail && m.bar.hits.text != "" {
		return find(m, 1)
	}
	return note(m)
}

// click selects what is under the mouse.
func click(m *model, at tea.Mouse) tea.Cmd {
	p := placeOf(m)
	if m.dialog != nil || at.Button != tea.MouseLeft {
		return nil
	}
	y := at.Y - p.head
	switch {
	case at.Y == 0:
		return clickTab(m, at.X)
	case y < 0 && at.Y == p.head-1 || y < 0 && at.Y == 1:
		return openFilter(m)
	case y < 0 || y >= p.body:
		return nil
	case p.left > 0 && at.X < p.left:
		return clickTalks(m, y, p)
	case p.main == 0 || p.detTop == 0 && at.X > p.left+p.main+1 && p.detail > 0 || p.detTop > 0 && y >= p.detTop:
		m.focus = paneDetail
		if n := y - p.detTop - detailHead + m.detail.top; n >= m.detail.top {
			m.detail.sel = min(n, max(len(m.detail.lines)-1, 0))
		}
		return nil
	}
	lines := drawMain(m, p.main, p.mainTall)
	if y >= len(lines) || lines[y].Item == 0 {
		return nil
	}
	m.focus = paneMain
	n := lines[y].Item - 1
	if n == m.list().sel {
		return enter(m)
	}
	return step(m, n-m.list().sel)
}

func clickTab(m *model, x int) tea.Cmd {
	at := 0
	for i, s := range drawTabs(m) {
		if at += (cells.Line{s}).Width(); x < at {
			return show(m, i)
		}
	}
	return nil
}

func clickTalks(m *model, y int, p place) tea.Cmd {
	m.focus = paneTalks
	lines := drawTalks(m, p.left, p.body)
	for n := 0; n <= m.talks.last() && y < len(lines); n++ {
		m.talks.sel = n
		if drawTalks(m, p.left, p.body)[y].Selected {
			return chooseTalk(m)
		}
	}
	return nil
}

// wheel scrolls what is under the mouse.
func wheel(m *model, at tea.Mouse) tea.Cmd {
	n := 3
	if at.Button == tea.MouseWheelUp {
		n = -3
	}
	if m.dialog != nil {
		return nil
	}
	p, focus := placeOf(m), m.focus
	if p.left > 0 && at.X < p.left {
		m.focus = paneTalks
	} else if p.main == 0 || p.detail > 0 && (p.detTop > 0 && at.Y-p.head >= p.detTop || p.detTop == 0 && at.X > p.left+p.main) {
		m.focus = paneDetail
	} else {
		m.focus = paneMain
	}
	cmd := step(m, n)
	m.focus = focus
	return cmd
}
