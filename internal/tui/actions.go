package tui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture/filter"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
)

// changingActions returns the actions that change something or what is shown.
func changingActions() []action {
	return []action{
		{"resend", []string{"r"}, "send the request again", (*model).resend},
		{"edit-resend", []string{"E"}, "edit the request and send it again", (*model).editResend},
		{"answer", []string{"a"}, "answer what a server asks", (*model).answerNext},
		{"intercept", []string{"i"}, "hold messages that match a filter", (*model).intercept},
		{"intercept-off", []string{"I"}, "release all held messages", func(m *model) tea.Cmd {
			release := func(ctx context.Context, a view.Actor) error { return a.Intercept(ctx, false, "") }
			return m.runAction("nothing is held", release)
		}},
		{"edit", []string{"e"}, "edit a held message and release it", (*model).editHeld},
		{"drop", []string{"d"}, "drop the held message that is selected", (*model).dropHeld},
		{"reveal", []string{"v"}, "show a held message with its secrets", (*model).reveal},
		{"fault", []string{"b"}, "set a fault for the next such request", (*model).faultMenu},
		{"faults", []string{"B"}, "list the faults that this view has set, to remove them", (*model).listFaults},
		{"try", []string{"t"}, "call a tool by a form; in Home, try a server", (*model).tryTool},
		{"cancel", []string{"X"}, "cancel the request or the task of Try", (*model).cancelOffer},
		{"subscribe", []string{"u"}, "follow the updates of a resource of Try", (*model).toggleSubscription},
		{"add", []string{"A"}, "connect to a URL or demo", (*model).addServer},
		{"login", []string{"L"}, "log in to a server, and see each step", (*model).logIn},
		{"output", []string{"O", "ctrl+o"}, "what the server wrote to standard error", (*model).showOutput},
		{"check", []string{"R"}, "ask the servers of Home, or that of Try, again", (*model).checkAgain},
		{"copy", []string{"y"}, "copy: then a letter", (*model).copyMenu},
		{"mark", []string{"m"}, "mark, or remove the mark", (*model).toggleMark},
		{"like", []string{"f"}, "only such exchanges: adds to the filter", func(m *model) tea.Cmd {
			return m.likeMenu(noSign)
		}},
		{"unlike", []string{"F"}, "no such exchanges: adds to the filter", func(m *model) tea.Cmd {
			return m.likeMenu(excludeSign)
		}},
		{"sort", []string{"s"}, "sort: then the column", (*model).sortMenu},
		{"slowest", []string{"S"}, "slowest first, or fastest", func(m *model) tea.Cmd { return m.sortBy("-took") }},
		{"only", []string{"o"}, "only this exchange, or all again", (*model).toggleOnly},
		{"export", []string{"x"}, "write what is shown to a file", (*model).exportMenu},
		{"compare", []string{"D"}, "compare two conversations", (*model).compareMenu},
		{"pause", []string{"p"}, "stop the screen; recording continues", (*model).togglePause},
		{"clear", []string{"c"}, "hide all exchanges until now", (*model).clearView},
		{"everything", []string{"C"}, "no filter, all conversations again", (*model).showEverything},
		{"help", []string{"?", "f1"}, "all keys", (*model).helpMenu},
		{"command", []string{":"}, "run an action by its name", (*model).commandLine},
	}
}

// target returns the exchange that actions apply to: the exchange of the detail if it has the focus or the
// list has no exchanges, else the selected exchange. row is nil if only its key is known, and key is "" without an
// exchange.
func (m *model) target() (key string, row *view.Row) {
	isOfDetail := m.focus == paneDetail || m.view > viewTime
	if isOfDetail && m.detail.doc != nil {
		return m.detail.key, &m.detail.doc.Row
	}
	item := m.list().selected()
	if item == nil {
		return "", nil
	}
	if m.view == viewTime {
		return m.list().selectedBarKey(), nil
	}
	// The documents of these views have only the key of an exchange.
	if m.view > viewTime {
		return item.key, nil
	}
	return item.key, &item.row
}

func (m *model) showNoTarget() tea.Cmd { return m.showMessage("select an exchange first") }

// toggleMark marks the target exchange, or removes its mark.
func (m *model) toggleMark() tea.Cmd {
	key, row := m.target()
	if key == "" || row == nil {
		return m.showNoTarget()
	}
	isMarked := !row.Mark
	note := row.Note
	text := "mark taken away"
	if isMarked {
		m.act.marked = key
		text = "marked; m removes the mark, n writes a note"
	}
	return m.runAction(text, func(_ context.Context, a view.Actor) error { return a.Mark(key, isMarked, note) })
}

func (m *model) editNote() tea.Cmd {
	key, row := m.target()
	if key == "" || row == nil {
		return m.showNoTarget()
	}
	return m.promptLine("note about "+rowTitle(row), row.Note, func(m *model, text string) tea.Cmd {
		return m.runAction("noted", func(_ context.Context, a view.Actor) error { return a.Mark(key, true, text) })
	})
}

// likeMenu offers filter terms made from the exchange, the line under the cursor and the selected
// document. sign is excludeSign for terms that exclude it, or else noSign.
func (m *model) likeMenu(sign string) tea.Cmd {
	dialog := &menu{title: "add to the filter"}
	add := func(key, field, value string) {
		if value == "" {
			return
		}
		term := sign + field + filter.Quote(value)
		dialog.choices = append(dialog.choices, newChoice(key, term, "", func(m *model) tea.Cmd {
			return m.setFilter(toggleTerm(m.query.line.Text(), term))
		}))
	}
	_, row := m.target()
	if row != nil {
		add("m", "method:", row.Method)
		add("n", "name:", row.Name)
		add("h", "outcome:", row.Channel)
		add("s", "server:", row.Server)
		add("c", "client:", row.Client)
	}
	if line := m.lineUnderCursor(); line != nil && line.value != "" && len(line.value) < maxFilterValue {
		add("v", "body:", jsonraw.TextOrRaw(json.RawMessage(line.value)))
	}
	if it := m.list().selected(); it != nil {
		switch doc := it.doc.(type) {
		case *view.Tool:
			add("n", "name:", doc.Name)
			add("s", "server:", doc.Server)
		case *view.Stream:
			add("s", "server:", doc.Server)
			add("c", "client:", doc.Client)
		case *view.Secret:
			add("s", "secret:", doc.Hash)
		}
	}
	if len(dialog.choices) == 0 {
		return m.showNoTarget()
	}
	m.dialog = dialog
	return nil
}

const (
	// excludeSign before a term of a filter excludes the exchanges that match it.
	excludeSign = "-"
	noSign      = ""
	// maxFilterValue limits the length in bytes of a value in a term.
	maxFilterValue = 200
)

// lineUnderCursor returns the line of the detail under the cursor, or nil.
func (m *model) lineUnderCursor() *tabLine {
	if m.focus != paneDetail || m.detail.sel >= len(m.detail.lines) {
		return nil
	}
	return &m.detail.lines[m.detail.sel]
}

// sortMenu lets the user choose the column to sort by.
func (m *model) sortMenu() tea.Cmd {
	if m.view > viewTable {
		return m.showMessage("this view has its own order; 2 is the table")
	}
	d := &menu{title: "sort by"}
	for _, s := range []struct{ letter, name, note, order string }{
		{"t", "time", "as they came", "time"},
		{"d", "took", "slowest first", "-took"},
		{"z", "size", "largest first", "-size"},
		{"f", "first", "slowest first byte first", "-first"},
		{"n", "name", "", "name"},
		{"m", "method", "", "method"},
		{"h", "outcome", "", "channel"},
		{"s", "server", "", "server"},
		{"c", "client", "", "client"},
	} {
		sort := func(m *model) tea.Cmd { return m.sortBy(s.order) }
		d.choices = append(d.choices, newChoice(s.letter, s.name, s.note, sort))
	}
	m.dialog = d
	return nil
}

// sortBy sorts the list. The same order again reverses it. An order with a "-" is descending.
func (m *model) sortBy(order string) tea.Cmd {
	l := m.list()
	if m.view > viewTable {
		return m.showMessage("this view has its own order; 2 is the table")
	}
	if l.sort == order {
		ascending, isDescending := strings.CutPrefix(order, "-")
		order = "-" + order
		if isDescending {
			order = ascending
		}
	}
	l.sort = order
	l.reset(order == "time") // in order of time the newest item stays selected
	return m.loadList(newQuery)
}

// toggleOnly restricts the query to the target exchange, or lifts that restriction.
func (m *model) toggleOnly() tea.Cmd {
	if m.query.onlyKeys != nil {
		m.query.onlyKeys = nil
		return m.reloadLists()
	}
	key, _ := m.target()
	if key == "" {
		return m.showNoTarget()
	}
	m.query.onlyKeys = []string{key}
	return m.reloadLists()
}

func (m *model) togglePause() tea.Cmd {
	m.statusLine.isPaused = !m.statusLine.isPaused
	if m.statusLine.isPaused {
		return m.showMessage("paused: recording continues; p resumes")
	}
	m.statusLine.hasChanged = false
	return m.reload()
}

// clearView hides everything up to now with a term of the filter, which the user can remove again.
func (m *model) clearView() tea.Cmd {
	terms := strings.Fields(m.query.line.Text())
	terms = slices.DeleteFunc(terms, func(term string) bool { return strings.HasPrefix(term, "since:") })
	terms = append(terms, "since:"+m.opt.Now().Format("15:04:05"))
	return m.setFilter(strings.Join(terms, " "))
}

// showEverything removes all filters.
func (m *model) showEverything() tea.Cmd {
	m.query.onlyKeys = nil
	m.conversations.showAll()
	return m.setFilter("")
}

// helpMenu opens a searchable menu of all keys.
func (m *model) helpMenu() tea.Cmd {
	in := newInput("")
	dialog := &menu{title: "keys: type to search, Enter does it", search: &in}
	for _, a := range actions() {
		keys := a.keys
		if m.w < 60 {
			keys = keys[:1] // no room for the others
		}
		dialog.choices = append(dialog.choices, newChoice(strings.Join(keys, " "), a.help, ":"+a.name, a.run))
	}
	dialog.choices = append(
		dialog.choices,
		newChoice("← →", "in the detail: the next tab", "", nil),
		newChoice("+ - 0", "in Time: zoom in, out, all", "", nil),
		newChoice("ctrl+s", "in a form: send it", "", nil),
		newChoice("ctrl+a", "in a list of a form: add an item", "", nil),
		newChoice("ctrl+d", "in a list of a form: remove the item", "", nil),
		newChoice("ctrl+z", "suspend; fg comes back", "", func(*model) tea.Cmd { return tea.Suspend }),
	)
	m.dialog = dialog
	return nil
}

// commandLine asks for an action and runs it, by its name or an unambiguous start of it. "filter
// TEXT" sets the filter.
func (m *model) commandLine() tea.Cmd {
	const title = "command: a name of the list of keys (?), or filter TEXT"
	return m.promptLine(title, "", func(m *model, text string) tea.Cmd {
		name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		if name == "" {
			return nil
		}
		if name == "filter" {
			return m.setFilter(rest)
		}
		var candidates []action
		for _, a := range actions() {
			if a.name == name {
				return a.run(m)
			}
			if strings.HasPrefix(a.name, name) {
				candidates = append(candidates, a)
			}
		}
		if len(candidates) == 1 {
			return candidates[0].run(m)
		}
		return m.showMessage("no command " + name + ": ? lists them")
	})
}

// compareMenu lets the user choose another conversation, and shows the differences.
func (m *model) compareMenu() tea.Cmd {
	compared := m.conversationToCompare()
	if compared == nil {
		return m.showMessage("there is no conversation yet")
	}
	selected := *compared // the list may change before the user chooses
	clock := m.screenClock()
	dialog := &menu{
		title: "compare " + conversationTitle(&selected) + " (" + clock.formatTime(selected.Began) + ") with",
	}
	all := slices.Clone(m.conversations.all)
	hasOtherServer := func(c *view.Conversation) bool { return serverName(c) != serverName(&selected) }
	slices.SortStableFunc(all, func(a, b view.Conversation) int { // conversations with the same server first
		if hasOtherServer(&a) == hasOtherServer(&b) {
			return b.Began.Compare(a.Began)
		}
		if hasOtherServer(&a) {
			return 1
		}
		return -1
	})
	for _, c := range all {
		if c.ID == selected.ID {
			continue
		}
		compare := func(m *model) tea.Cmd { return m.compare(&selected, &c) }
		rows := countNoun(c.Rows, "exchange", "exchanges")
		dialog.choices = append(dialog.choices, newChoice(clock.formatTime(c.Began), conversationTitle(&c), rows, compare))
	}
	if len(dialog.choices) == 0 {
		return m.showMessage("there is no other conversation to compare with")
	}
	m.dialog = dialog
	return nil
}

// conversationToCompare returns the selected or the shown conversation, or else the conversation of
// the selected exchange, or else the newest. It returns nil without conversations.
func (m *model) conversationToCompare() *view.Conversation {
	if c := m.conversations.underCursor(); c != nil && m.focus == paneConversations {
		return c
	}
	if c := m.shownConversation(); c != nil {
		return c
	}
	if _, row := m.target(); row != nil {
		if c := m.conversations.find(row.Talk); c != nil {
			return c
		}
	}
	if len(m.conversations.all) > 0 {
		return &m.conversations.all[0]
	}
	return nil
}

// compare shows the differences from the older conversation, A, to the newer one, B.
func (m *model) compare(earlier, later *view.Conversation) tea.Cmd {
	if later.Began.Before(earlier.Began) {
		earlier, later = later, earlier
	}
	dialog := &page{title: "comparing…"}
	m.dialog = dialog
	reader := m.opt.Reader
	width := max(m.w-4, 20)
	return m.loader.restart(subjectDialog, func(ctx context.Context) change {
		differences, err := reader.Compare(ctx, earlier.ID, later.ID)
		return func(m *model) tea.Cmd {
			if m.dialog != dialog { // the user closed it
				return nil
			}
			if err != nil {
				m.dialog = nil
				return m.showError(err)
			}
			dialog.title = "what differs in B"
			sides := [2]comparedSide{
				{title: conversationTitle(earlier), conversation: earlier},
				{title: conversationTitle(later), conversation: later},
			}
			for _, l := range drawComparison(m.screenClock(), &differences, sides, width) {
				dialog.lines = append(dialog.lines, drawn{Line: l})
			}
			return nil
		}
	})
}
