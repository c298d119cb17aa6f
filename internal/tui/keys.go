package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/tui/cells"
)

// An action is the effect of a key. The command line runs it by name.
type action struct {
	name string
	keys []string
	help string
	run  change
}

// handleKey handles a key: by the open dialog or the focused pane, or by a global action if these
// do not use the key.
func (m *model) handleKey(press tea.KeyPressMsg) tea.Cmd {
	name := press.String()
	switch name {
	case "ctrl+c":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	}
	m.statusLine.flash = ""
	m.start = start{}
	if m.dialog != nil {
		return m.dialogKey(press)
	}
	if m.focus == paneFilter && m.view == viewTry {
		return m.searchKey(press)
	}
	if m.focus == paneFilter {
		return m.filterKey(press)
	}
	isTyped := press.Text != "" && name != "space"
	isForButton := m.focus == paneForm && m.act.request != nil && m.act.form.hasButtonFocus() && isTyped
	isForForm := !isForButton && name != "ctrl+o" && name != "f1" // a button takes no text
	if m.focus == paneForm && isForForm {
		return m.formKey(press)
	}
	if m.focus == paneDetail && m.detailKey(name) {
		return nil
	}
	if m.view == viewTime && m.focus == paneMain {
		used, windowChanged := m.list().timeKey(name)
		if windowChanged {
			return m.loadList(newQuery)
		}
		if used {
			return nil
		}
	}
	if step := map[string]int{"left": -1, "right": 1}[name]; step != 0 && m.view == viewTry && m.try.catalog != nil {
		return m.showKind(step)
	}
	for _, a := range actions() {
		if slices.Contains(a.keys, name) {
			return a.run(m)
		}
	}
	if press.Text != "" {
		return m.showMessage("no key does this: " + press.Text + "; ? lists the keys")
	}
	return nil
}

// dialogKey passes a key to the open dialog.
func (m *model) dialogKey(k tea.KeyPressMsg) tea.Cmd {
	run, closes := m.dialog.key(k.String(), k.Text)
	if closes {
		m.dialog = nil
	}
	if run == nil {
		return nil
	}
	return run(m)
}

// paste types text from the clipboard into a line. It never runs actions.
func (m *model) paste(text string) tea.Cmd {
	if p, ok := m.dialog.(interface{ paste(string) }); ok {
		p.paste(text)
		return nil
	}
	switch m.focus {
	case paneFilter:
		if m.view == viewTry {
			m.try.search.Type(text)
			m.listMatches()
			return nil
		}
		m.query.line.Type(text)
		return m.applyFilter()
	case paneForm:
		m.act.form.Paste(text)
		return m.formTyped()
	}
	return nil
}

// actions returns all actions in the order of the help.
func actions() []action {
	return append([]action{
		{"down", []string{"j", "down"}, "next line", selectLine(1)},
		{"up", []string{"k", "up"}, "line before", selectLine(-1)},
		{
			"page-down",
			[]string{"pgdown", "ctrl+f", "ctrl+d"},
			"next page",
			func(m *model) tea.Cmd { return m.moveSelection(max(m.h/2, 1)) },
		},
		{
			"page-up",
			[]string{"pgup", "ctrl+b", "ctrl+u"},
			"page before",
			func(m *model) tea.Cmd { return m.moveSelection(-max(m.h/2, 1)) },
		},
		{"first", []string{"g", "home"}, "first line", selectLine(-farStep)},
		{"newest", []string{"G", "end"}, "newest, and follow new ones", selectLine(farStep)},
		{"open", []string{"enter"}, "show what is selected", (*model).openSelected},
		{"back", []string{"esc"}, "go back out", (*model).goBack},
		{"pane", []string{"tab"}, "next pane", func(m *model) tea.Cmd { return m.nextPane(1) }},
		{"pane-before", []string{"shift+tab"}, "pane before", func(m *model) tea.Cmd { return m.nextPane(-1) }},
		{"talk", []string{"1"}, "conversation: requests and answers", showView(viewTalk)},
		{"table", []string{"2"}, "table with phases", showView(viewTable)},
		{"time", []string{"3"}, "lanes over time", showView(viewTime)},
		{"tools", []string{"4"}, "tools: listed, usable, called", showView(viewTools)},
		{"streams", []string{"5"}, "streams: open, cut, resumed", showView(viewStreams)},
		{"secrets", []string{"6"}, "secrets that were hidden", showView(viewSecrets)},
		{"conversation-before", []string{"["}, "conversation before in the list", stepConversation(-1)},
		{"conversation-next", []string{"]"}, "next conversation in the list", stepConversation(1)},
		{"new", []string{"w"}, "go to a conversation that began since you looked", (*model).showNewConversation},
		{"home", []string{"H"}, "home: the servers, their state, try one", (*model).showHome},
		{"offers", []string{"T"}, "try: what a server offers, with a form", (*model).showTry},
		{
			"fold",
			[]string{"space"},
			"show all lines of a block, or fold it",
			func(m *model) tea.Cmd { m.list().toggleFold(); return nil },
		},
		{"search", []string{"/"}, "filter the list; in the detail, search", (*model).search},
		{"errors", []string{"!"}, "show the exchanges that failed", (*model).showFailed},
		{"next", []string{"n"}, "next match of a search, else a note", (*model).nextMatchOrNote},
		{"before", []string{"N"}, "match before", func(m *model) tea.Cmd { return m.findNext(-1) }},
		{"quit", []string{"q"}, "end the view", func(*model) tea.Cmd { return tea.Quit }},
	}, changingActions()...)
}

// showView returns the action that switches to a view.
func showView(viewIndex int) change {
	return func(m *model) tea.Cmd { return m.switchView(viewIndex) }
}

// selectLine returns the action that moves the selection by step lines.
func selectLine(step int) change {
	return func(m *model) tea.Cmd { return m.moveSelection(step) }
}

// switchView switches to a view.
func (m *model) switchView(viewIndex int) tea.Cmd {
	if it := m.list().selected(); it != nil && m.view < viewTime {
		m.lists[viewTime].wantedBar = it.key
	}
	if m.act.request != nil && viewIndex != m.view {
		m.leaveForm()
	}
	m.view = viewIndex
	m.focus = paneMain
	return m.loadList(newQuery)
}

// farStep is a step that is longer than any list.
const farStep = 1 << 30

// moveSelection moves the selection of the focused pane by step lines. A list that is moved by
// farStep follows new rows.
func (m *model) moveSelection(step int) tea.Cmd {
	switch m.focus {
	case paneConversations:
		if m.view == viewTry && m.try.catalog != nil {
			m.try.kind = max(0, min(m.try.kind+step, len(m.try.catalog.Lists)-1))
			m.lists[viewTry].reset(false)
			m.listOffers()
			return nil
		}
		m.conversations.sel = max(0, min(m.conversations.sel+step, m.conversations.last()))
		return nil
	case paneDetail:
		m.detail.sel = max(0, min(m.detail.sel+step, len(m.detail.lines)-1))
		return nil
	case paneHeld:
		m.act.sel = max(0, min(m.act.sel+step, len(m.act.held)-1))
		return nil
	}
	list := m.list()
	list.selectIndex(min(max(list.sel+step, 0), max(list.total-1, 0)))
	if step >= farStep {
		list.follow = true
	}
	var cmds []tea.Cmd
	if list.needsLoading(m.h) || list.follow {
		cmds = append(cmds, m.loadList(sameQuery))
	}
	detailIsBeside := m.detail.key != "" && m.isWide() // it follows the selection
	if item := list.selected(); item != nil && item.key != "" && detailIsBeside {
		cmds = append(cmds, m.showDetail(item.key, m.detail.tab))
	}
	return tea.Batch(cmds...)
}

// openSelected opens the selected item.
func (m *model) openSelected() tea.Cmd {
	switch m.focus {
	case paneConversations:
		return m.chooseConversation()
	case paneHeld:
		if h := m.selectedHeld(); h != nil {
			return m.release(h.ID)
		}
		return m.showNoHeld()
	}
	it := m.list().selected()
	if it == nil {
		return nil
	}
	if m.view == viewHome || m.view == viewTry {
		return m.tryTool()
	}
	if m.view == viewTime {
		return m.openDetail(m.list().selectedBarKey())
	}
	return m.openDetail(it.key)
}

// goBack goes one step back: from a search to the detail, and from the detail or another pane to the list.
func (m *model) goBack() tea.Cmd {
	listIsBesideDetail := m.focus == paneMain && m.detail.key != "" && m.isWide()
	switch {
	case m.focus == paneDetail && m.statusLine.search != "":
		m.statusLine.search = ""
	case m.focus == paneDetail || listIsBesideDetail:
		wasDetail := m.focus == paneDetail
		m.closeDetail()
		m.focus = paneMain
		if wasDetail && m.view == viewTry && m.act.request != nil { // the detail is the result of the form
			m.focus = paneForm
		}
	case m.focus == paneHeld || m.focus == paneConversations:
		m.focus = paneMain
	case m.focus == paneMain && m.view == viewTry && m.try.search.Text() != "":
		m.setSearch("")
	case m.focus == paneMain:
		m.closeDetail()
	}
	return nil
}

// closeDetail removes the detail from the screen.
func (m *model) closeDetail() {
	m.detail.key = ""
	m.detail.doc = nil
}

// paneAfter returns the pane that is step panes away, among those on the screen. While a detail is
// open, Tab moves from it back to the list and skips the conversations.
func (m *model) paneAfter(step int) pane {
	panes := []pane{paneMain}
	if m.detail.key == "" || step < 0 {
		panes = []pane{paneConversations, paneMain}
	}
	if m.detail.key != "" {
		panes = append(panes, paneDetail)
	}
	if m.act.firstQuestion() != nil || m.act.form != nil {
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

// nextPane moves the focus by step panes.
func (m *model) nextPane(step int) tea.Cmd {
	next := m.paneAfter(step)
	if next == paneForm {
		return m.answerNext()
	}
	m.focus = next
	return nil
}

// search opens the filter line, or a text search if the detail has the focus.
func (m *model) search() tea.Cmd {
	if m.focus != paneDetail {
		return m.openFilter()
	}
	return m.promptLine(
		"search in "+strings.ToLower(tabNames[m.detail.tab]),
		m.statusLine.search,
		func(m *model, text string) tea.Cmd {
			m.statusLine.search = text
			if text == "" {
				return nil
			}
			return m.findNext(1)
		},
	)
}

// showFailed shows the exchanges that failed.
func (m *model) showFailed() tea.Cmd {
	if m.view > viewTime {
		m.view = viewTalk
	}
	m.focus = paneMain
	return m.setFilter("is:error")
}

// nextMatchOrNote selects the next match of a search in the detail, or else edits the note.
func (m *model) nextMatchOrNote() tea.Cmd {
	if m.focus == paneDetail && m.statusLine.search != "" {
		return m.findNext(1)
	}
	return m.editNote()
}

// click selects the item under the mouse, or opens it if it is selected already.
func (m *model) click(mouse tea.Mouse) tea.Cmd {
	layout := m.layout()
	if m.dialog != nil || mouse.Button != tea.MouseLeft {
		return nil
	}
	y := mouse.Y - layout.head // within the panes
	if mouse.Y == 0 {
		return m.clickTab(mouse.X)
	}
	barLine := 1
	if m.status.Trouble != "" {
		barLine = 2
		if mouse.Y == 1 {
			return m.showOutput()
		}
	}
	if mouse.Y == barLine && m.drawBar() != nil {
		return m.clickBar(mouse.X)
	}
	if y < 0 && (mouse.Y == layout.head-1 || mouse.Y == 1+m.alarmLines()) { // the filter line
		return m.openFilter()
	}
	if y < 0 || y >= layout.body {
		return nil
	}
	if layout.left > 0 && mouse.X < layout.left {
		return m.clickConversations(y, layout)
	}
	if layout.inDetail(mouse.X, y) {
		return m.clickDetail(mouse.X, y, layout)
	}
	if formTop := layout.mainHeight - len(m.drawForm(layout)); m.act.form != nil && y >= formTop {
		left := 0
		if layout.left > 0 {
			left = layout.left + 1 // the bar
		}
		return m.clickForm(mouse.X-left, y-formTop)
	}
	lines := m.drawMain(layout.main, layout.mainHeight)
	if y >= len(lines) || lines[y].Item == 0 {
		return nil
	}
	m.focus = paneMain
	index := lines[y].Item - 1
	if index == m.list().sel {
		return m.openSelected()
	}
	return m.moveSelection(index - m.list().sel)
}

// clickTab switches to the view with its name at column x.
func (m *model) clickTab(x int) tea.Cmd {
	end := 0
	for i, tab := range m.drawTabs() {
		end += (cells.Line{tab}).Width()
		if x < end && i == viewHome {
			return m.showHome()
		}
		if x < end && i == viewTry {
			return m.showTry()
		}
		if x < end {
			return m.switchView(i)
		}
	}
	return nil
}

// clickConversations chooses the conversation or the filter in line y of its pane. It chooses nothing
// if the line has no entry.
func (m *model) clickConversations(y int, p screenLayout) tea.Cmd {
	lines := m.drawConversations(p.left, p.body) // as on the screen: before the focus changes
	m.focus = paneConversations
	if y >= len(lines) || lines[y].Item == 0 {
		return nil
	}
	if m.view == viewTry {
		return m.showKind(lines[y].Item - 1 - m.try.kind)
	}
	m.conversations.sel = lines[y].Item - 1
	return m.chooseConversation()
}

// clickDetail selects the line of the detail at a position of the panes, or opens the tab there.
func (m *model) clickDetail(x, y int, p screenLayout) tea.Cmd {
	m.focus = paneDetail
	left := m.w - p.detail // the detail ends at the right edge
	lineOnScreen := y - p.detailTop - detailHead
	if lineOnScreen >= 0 {
		m.detail.sel = min(m.detail.top+lineOnScreen, max(len(m.detail.lines)-1, 0))
	} else if lineOnScreen == -1 {
		m.detail.clickTab(x-left, p.detail)
	}
	return nil
}

// wheelLines is the number of lines that a turn of the mouse wheel scrolls.
const wheelLines = 3

// wheel scrolls the pane under the mouse and keeps the focus.
func (m *model) wheel(mouse tea.Mouse) tea.Cmd {
	if m.dialog != nil {
		return nil
	}
	step := wheelLines
	if mouse.Button == tea.MouseWheelUp {
		step = -wheelLines
	}
	layout := m.layout()
	focus := m.focus
	if layout.left > 0 && mouse.X < layout.left {
		m.focus = paneConversations
	} else if layout.inDetail(mouse.X, mouse.Y-layout.head) {
		m.focus = paneDetail
	} else {
		m.focus = paneMain
	}
	cmd := m.moveSelection(step)
	m.focus = focus
	return cmd
}
