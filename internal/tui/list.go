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

// shownTalk returns the ID of the shown conversation, or "" for all.
func (m *model) shownTalk() string {
	return m.talks.shown(m.view == viewTalk && m.query.tried == "" && m.query.only == nil)
}

// current returns the shown conversation, or nil for all.
func (m *model) current() *view.Conversation { return m.talks.find(m.shownTalk()) }

// request returns the query of the current view without a part.
func (m *model) request() view.Query {
	return view.Query{Filter: m.query.tried, Sort: m.list().sort, Talk: m.shownTalk(), Only: m.query.only}
}

// askList reads the visible part of the list. If the query has changed, anew cancels a running
// read.
func (m *model) askList(anew bool) tea.Cmd {
	q := m.request()
	n := m.view
	r := m.opt.Reader
	q.From, q.Count = m.list().part(max(m.h, 10))
	window := m.list().zoomed
	ask := m.ask.refresh
	if anew {
		ask = m.ask.restart
	}
	return ask(askList, func(ctx context.Context) change {
		p, err := load(ctx, r, n, q, window)
		return func(m *model) tea.Cmd { return m.listed(n, p, err, q, window) }
	})
}

// listed applies a part of the list of view n, which need not be shown any more.
func (m *model) listed(n int, p part, err error, q view.Query, window timeWindow) tea.Cmd {
	wrong, isFilter := errors.AsType[*filter.Error](err)
	if isFilter {
		m.query.wrong = wrong
		m.query.tried = m.query.good
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return m.fail(err)
	}
	m.query.pending = p.pending
	if q.Filter == strings.TrimSpace(m.query.line.Text()) {
		m.query.wrong = nil
		m.query.good = q.Filter
	}
	m.bar.fetched = m.opt.Now()
	l := &m.lists[n]
	l.take(p)
	if n == viewTime && l.zoomed != window {
		return m.askList(true)
	}
	if n == m.view && l.lacks(m.h) && !l.follow {
		return m.askList(false)
	}
	return nil
}

// askTalks reads the conversations.
func (m *model) askTalks() tea.Cmd {
	r := m.opt.Reader
	return m.ask.refresh(askTalks, func(context.Context) change {
		all := r.Conversations()
		return func(m *model) tea.Cmd {
			// A filter asks for all conversations.
			follow := m.view == viewTalk && m.lists[viewTalk].follow && !m.bar.paused && m.focus != paneTalks
			if m.talks.take(all, m.query.tried == "" && m.query.only == nil, follow) {
				return m.changeQuery()
			}
			return nil
		}
	})
}

// chooseTalk shows the selected conversation, or toggles the selected filter.
func (m *model) chooseTalk() tea.Cmd {
	if filter := m.talks.choose(); filter != "" {
		return m.setFilter(toggleWord(m.query.line.Text(), filter))
	}
	m.focus = paneMain
	return m.changeQuery()
}

// toggleWord adds a term to a filter, or removes it if the filter has it.
func toggleWord(text, word string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if w == word {
			return strings.Join(append(words[:i:i], words[i+1:]...), " ")
		}
	}
	return strings.TrimSpace(text + " " + word)
}

func (m *model) drawTalks(w, h int) []drawn {
	return m.talks.draw(m.clock(), m.focus == paneTalks, m.shownTalk(), strings.Fields(m.query.line.Text()), w, h)
}

// drawMain draws the list of the view, or a hint if it is empty.
func (m *model) drawMain(w, h int) []drawn {
	words := m.drawWords(w, h)
	if m.list().total == 0 {
		return append(words, m.drawEmpty(w)...)
	}
	client := "CLIENT"
	server := "SERVER"
	if t := m.current(); t != nil {
		client = cmp.Or(t.Client, client)
		server = cmp.Or(t.Server, t.Target, server)
	}
	return append(words, m.list().draw(m.view, m.clock(), client, server, w, h-len(words))...)
}

// drawEmpty draws the reason why the list is empty, and a hint for the user.
func (m *model) drawEmpty(w int) (lines []drawn) {
	head := ""
	hint := ""
	l := m.list()
	switch {
	case !l.loaded || m.status.Loading:
		head = "reading…"
	case m.query.pending > 0:
		head = "searching, " + counted(m.query.pending, "row", "rows") + " left"
	case l.absent != "":
		head = l.absent
		hint = "C shows everything"
	case m.shownTalk() != "" && m.current() == nil:
		head = "no row of this conversation is kept"
		hint = "C shows everything"
	case m.query.only != nil:
		head = "the exchange is not kept any more"
		hint = "o shows all again"
	case m.status.Hint != "" && m.query.tried == m.opt.Filter:
		head = "nothing recorded yet"
		hint = m.status.Hint
	case m.query.tried != "":
		head = "nothing matches " + m.query.tried
		hint = "C shows everything; ? lists the keys"
		if m.view >= viewTools { // exchanges may match
			head = "no " + strings.ToLower(viewNames[m.view]) + " match " + m.query.tried
		}
		if words := strings.Fields(m.query.tried); len(words) > 1 && !slices.Contains(words, "or") {
			hint = "All words of a filter must match; a or b finds either. " + hint
		}
		if m.shownTalk() != "" {
			head += " in this conversation"
		}
	case m.shownTalk() != "" && m.view >= viewTools:
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
		hint = "tokens and passwords that cross are listed here by their hash"
	default:
		head = "nothing recorded yet"
		hint = "Start a client through mcpc tap or mcpc proxy, or send a request:\n\n" +
			"  mcpc tap install CLIENT SERVER\n  mcpc proxy --to URL\n  mcpc -s demo list"
	}
	lines = append(lines, drawn{}, drawn{Line: cells.Line{cells.Blank(2), cells.Text(cells.Strong, head)}}, drawn{})
	for _, line := range cells.Wrap(cells.Faint, hint, min(w-4, 76)) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(2)}, line...)})
	}
	return lines
}
