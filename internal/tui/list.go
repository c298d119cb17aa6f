package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// list returns the list of the current view.
func (m *model) list() *list { return &m.lists[m.view] }

// shownConversationID returns the ID of the shown conversation, or "" if all are shown.
func (m *model) shownConversationID() string {
	return m.conversations.shownID(m.isPlainConversation())
}

// isPlainConversation reports whether the Talk or the Time view is shown without a filter.
func (m *model) isPlainConversation() bool {
	isOfOne := m.view == viewTalk || m.view == viewTime
	return isOfOne && m.query.filter == "" && m.query.onlyKeys == nil
}

// shownConversation returns the shown conversation, or nil if all are shown.
func (m *model) shownConversation() *view.Conversation {
	return m.conversations.find(m.shownConversationID())
}

// currentQuery returns the query of the current view for all its rows.
func (m *model) currentQuery() view.Query {
	return view.Query{Filter: m.query.filter, Sort: m.list().sort, Talk: m.shownConversationID(), Only: m.query.onlyKeys}
}

// The values of the parameter of loadList.
const (
	newQuery  = true
	sameQuery = false
)

// loadList reads the visible part of the list. queryChanged is set if the query differs from the
// query of a running read: then that read is cancelled.
func (m *model) loadList(queryChanged bool) tea.Cmd {
	if m.view == viewTry { // the catalog has it
		m.listOffers()
		return nil
	}
	q := m.currentQuery()
	viewIndex := m.view
	q.From, q.Count = m.list().rangeToLoad(max(m.h, 10))
	window := m.list().zoomed
	start := m.loader.refresh
	if queryChanged {
		start = m.loader.restart
	}
	return start(subjectList, func(ctx context.Context) change {
		part, err := readList(ctx, m.opt, viewIndex, q, window)
		return func(m *model) tea.Cmd { return m.applyList(viewIndex, part, err, q, window) }
	})
}

// applyList applies a part of the list of a view, or the error of its read. q and window are the
// query and the window of that read; the view need not be shown any more. It returns the command
// for another read if this one does not suffice, or nil.
func (m *model) applyList(viewIndex int, part listPart, err error, q view.Query, window timeWindow) tea.Cmd {
	if filterError, ok := errors.AsType[*filter.Error](err); ok {
		m.query.err = filterError
		m.query.filter = m.query.lastValid // its rows stay on the screen
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return m.showError(err)
	}
	m.query.pending = part.pending
	if q.Filter == strings.TrimSpace(m.query.line.Text()) { // the text may have changed meanwhile
		m.query.err = nil
		m.query.lastValid = q.Filter
	}
	m.statusLine.loadedAt = m.opt.Now()
	l := &m.lists[viewIndex]
	l.replace(part)
	l.selectWantedBar()
	if viewIndex == viewTime && l.zoomed != window { // the user zoomed during the read
		return m.loadList(newQuery)
	}
	// The user may have moved the selection during the read.
	if viewIndex == m.view && l.needsLoading(m.h) && !l.follow {
		return m.loadList(sameQuery)
	}
	return nil
}

// loadConversations reads the conversations.
func (m *model) loadConversations() tea.Cmd {
	reader := m.opt.Reader
	return m.loader.refresh(subjectConversations, func(context.Context) change {
		isLoading := reader.Status().Loading // before the list, which is complete if it is false
		all := reader.Conversations()
		return func(m *model) tea.Cmd {
			m.conversations.replace(all)
			m.conversations.noteNew(isLoading)
			leftHome := m.leaveHome()
			hasNoFilter := m.query.filter == "" && m.query.onlyKeys == nil
			hasChosen := m.conversations.chooseForUser(hasNoFilter, m.followsTalk())
			if hasChosen || leftHome {
				return m.reloadLists()
			}
			return nil
		}
	})
}

// followsTalk reports whether the Talk view shows the newest exchanges and the user does nothing
// that a change of the conversation would disturb.
func (m *model) followsTalk() bool {
	if m.view != viewTalk || !m.lists[viewTalk].follow {
		return false
	}
	return !m.statusLine.isPaused && m.focus != paneConversations
}

// chooseConversation shows the selected conversation, or toggles the selected filter.
func (m *model) chooseConversation() tea.Cmd {
	if m.view == viewTry {
		m.focus = paneMain
		return nil
	}
	if term := m.conversations.chooseSelected(); term != "" {
		return m.setFilter(toggleTerm(m.query.line.Text(), term))
	}
	m.focus = paneMain
	return m.reloadLists()
}

// stepConversation returns the action that shows the conversation that is step lines away in the list
// of the conversations. The line before the first one shows all.
func stepConversation(step int) change {
	return func(m *model) tea.Cmd {
		t := &m.conversations
		isShown := func(c view.Conversation) bool { return c.ID == m.shownConversationID() }
		line := slices.IndexFunc(t.all, isShown) + 1 + step
		if line < 0 || line > len(t.all) {
			return m.showMessage("there is no further conversation")
		}
		t.sel = line
		t.chooseSelected()
		title := "all conversations"
		if c := t.underCursor(); c != nil {
			title = conversationTitle(c)
		}
		m.showMessage("shown: " + title)
		return m.reloadLists()
	}
}

// toggleTerm adds a term to a filter, or removes it if the filter has it.
func toggleTerm(filter, term string) string {
	terms := strings.Fields(filter)
	for i, t := range terms {
		if t == term {
			return strings.Join(append(terms[:i:i], terms[i+1:]...), " ")
		}
	}
	return strings.TrimSpace(filter + " " + term)
}

func (m *model) drawConversations(w, h int) []drawn {
	if m.view == viewTry {
		return m.drawKinds(w)
	}
	terms := strings.Fields(m.query.line.Text())
	hasFocus := m.focus == paneConversations
	return m.conversations.draw(m.screenClock(), hasFocus, m.shownConversationID(), terms, w, h)
}

// drawMain draws the list of the view, or a hint if it is empty.
func (m *model) drawMain(w, h int) []drawn {
	words := m.drawSuggestions(w, h)
	if m.list().total == 0 && m.view == viewTry {
		return m.drawNoOffers(w)
	}
	if m.list().total == 0 {
		return append(words, m.drawEmpty(w)...)
	}
	m.list().hidesText = m.act.request != nil && m.view == viewTry // the form shows it
	client := m.list().commonText(func(r *view.Row) string { return r.Client })
	server := m.list().commonText(func(r *view.Row) string { return r.Server })
	if conversation := m.shownConversation(); conversation != nil {
		client = conversation.Client
		server = cmp.Or(conversation.Server, conversation.Target)
	}
	client = cmp.Or(client, "CLIENT")
	server = cmp.Or(server, "SERVER")
	return append(words, m.list().draw(m.view, m.screenClock(), client, server, w, h-len(words))...)
}

// drawEmpty draws the reason why the list is empty, and a hint for the user. The first reason that
// applies counts.
func (m *model) drawEmpty(w int) []drawn {
	head := ""
	hint := ""
	l := m.list()
	switch {
	case !l.loaded || m.status.Loading:
		head = "reading…"
	case m.query.pending > 0:
		head = "searching, " + countNoun(m.query.pending, "exchange", "exchanges") + " left"
	case l.absent != "":
		head = l.absent
		hint = "C shows everything"
	case m.shownConversationID() != "" && m.shownConversation() == nil:
		head = "no row of this conversation is kept"
		hint = "C shows everything"
	case m.query.onlyKeys != nil:
		head = "the exchange is no longer kept"
		hint = "o shows all again"
	case m.status.Hint != "" && m.query.filter == m.opt.Filter: // the user has not changed the filter
		head = "nothing recorded yet"
		hint = m.status.Hint
	case m.query.filter != "":
		head = "nothing matches " + m.query.filter
		hint = "C shows everything, without the filter; ? lists the keys"
		if m.view >= viewTools { // exchanges may match
			head = "no " + strings.ToLower(viewNames[m.view]) + " match " + m.query.filter
		}
		if words := strings.Fields(m.query.filter); len(words) > 1 && !slices.Contains(words, "or") {
			hint = `All words of a filter must match; a or b finds either, "a b" the phrase. ` + hint
		}
		if m.shownConversationID() != "" {
			head += " in this conversation"
		}
	case m.shownConversationID() != "" && m.view >= viewTools:
		head = "no " + strings.ToLower(viewNames[m.view]) + " in this conversation"
		hint = "C shows everything"
	case m.view == viewTools:
		head = "no server listed tools yet"
		hint = "tools appear when a client sends tools/list"
	case m.view == viewStreams:
		head = "no streams yet"
		hint = "streams appear with Streamable HTTP, and with subscriptions"
	case m.view == viewSecrets:
		head = "no secrets were hidden"
		hint = "tokens and passwords in the traffic are listed here by their hash"
	default:
		head = "nothing recorded yet"
		hint = "Start a client through mcpc tap or mcpc proxy, or send a request:\n\n" +
			"  mcpc tap install CLIENT SERVER\n  mcpc proxy --to URL\n  mcpc -s demo list"
	}
	lines := []drawn{{}, {Line: cells.Line{cells.Blank(2), cells.Text(cells.Strong, head)}}, {}}
	for _, line := range cells.Wrap(cells.Faint, hint, min(w-4, 76)) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(2)}, line...)})
	}
	return lines
}
