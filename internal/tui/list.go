package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/sheet"
)

// An item is what can be selected in a list: an exchange, or a tool, a stream, a secret, a lane.
type item struct {
	key   string // of the exchange; "" where there is none
	row   view.Row
	lines []view.Line
	doc   any
}

// A list is a part of a long list, and the position of the view in it. Numbers count from the
// start of the whole list.
type list struct {
	items  []item
	from   int
	total  int
	sel    int
	top    int
	follow bool
	loaded bool
	sort   string
	open   map[string]bool // blocks that are shown whole
	window span            // of the Time view
	bar    int             // the bar that is selected in a lane
}

// at returns an item by its number, nil where it is not loaded.
func (l *list) at(n int) *item {
	if n < l.from || n >= l.from+len(l.items) {
		return nil
	}
	return &l.items[n-l.from]
}

func (l *list) selected() *item { return l.at(l.sel) }

// move selects another item; the newest one is followed.
func (l *list) move(to int) {
	l.sel = max(0, min(to, l.total-1))
	l.follow = l.sel == l.total-1 && l.total > 0
	l.bar = 0
}

// take puts a new part into the list. The selected exchange stays selected where its number
// changed.
func (l *list) take(items []item, from, total int) {
	key := ""
	if it := l.selected(); it != nil {
		key = it.key
	}
	l.items, l.from, l.total, l.loaded = items, from, total, true
	switch it := l.selected(); {
	case l.follow:
		l.sel = max(0, total-1)
	case key != "" && (it == nil || it.key != key):
		for i := range items {
			if items[i].key == key {
				l.top += from + i - l.sel
				l.sel = from + i
				break
			}
		}
	}
	l.sel = max(0, min(l.sel, total-1))
	l.top = max(0, min(l.top, l.sel))
}

// reset goes back to the start of a list that will have other items.
func (l *list) reset(follow bool) {
	l.sel, l.top, l.bar, l.follow = 0, 0, 0, follow
}

// part is which items to ask for: a screen before and after the visible ones.
func (l *list) part(height int) (from, count int) {
	if l.follow {
		return -2 * height, 2 * height
	}
	return max(0, l.start(height)-height), 3 * height
}

// start is the first item that can be on the screen: top may be far from the selection until
// the list is drawn again.
func (l *list) start(height int) int { return max(0, l.sel-height, min(l.top, l.sel)) }

// lacks reports whether an item around the selection is not loaded.
func (l *list) lacks(height int) bool {
	first := l.start(height)
	last := min(l.total, first+height)
	return l.total > 0 && (first < l.from || last > l.from+len(l.items))
}

// list returns the list of the view.
func (m *model) list() *list { return &m.lists[m.view] }

// request is the query of the view, without a part.
func (m *model) request() view.Query {
	return view.Query{Filter: m.query.tried, Sort: m.list().sort, Talk: shownTalk(m), Only: m.query.only}
}

// askList asks for the visible part of the list; anew is set where the query is another one.
func (m *model) askList(anew bool) tea.Cmd {
	q, n, r := m.request(), m.view, m.opt.Reader
	q.From, q.Count = m.list().part(max(m.h, 10))
	window := m.list().window
	ask := m.ask.refresh
	if anew {
		ask = m.ask.anew
	}
	return ask(askList, func(ctx context.Context) func(*model) tea.Cmd {
		p, err := load(ctx, r, n, q, window)
		return func(m *model) tea.Cmd { return m.listed(n, p, err, q, window) }
	})
}

// A part is what a Reader gave for a list.
type part struct {
	items   []item
	from    int
	total   int
	pending int
}

// listed takes the part of a list of a view, which may be hidden by now.
func (m *model) listed(n int, p part, err error, q view.Query, window span) tea.Cmd {
	wrong, isFilter := errors.AsType[*filter.Error](err)
	switch {
	case isFilter:
		m.query.wrong, m.query.tried = wrong, m.query.good
		return nil
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return m.fail(err)
	}
	m.query.pending = p.pending
	if q.Filter == strings.TrimSpace(m.query.line.Text()) {
		m.query.wrong, m.query.good = nil, q.Filter
	}
	m.bar.fetched = m.opt.Now()
	l := &m.lists[n]
	l.take(p.items, p.from, p.total)
	if n == viewTime && l.window != window {
		return m.askList(true)
	}
	if n == m.view && l.lacks(m.h) && !l.follow {
		return m.askList(false)
	}
	return nil
}

// load asks a Reader for the part of a view.
func load(ctx context.Context, r view.Reader, n int, q view.Query, window span) (p part, err error) {
	switch n {
	case viewTalk:
		blocks, page, err := r.Talk(ctx, q)
		for _, b := range blocks {
			p.items = append(p.items, item{key: b.Row.Key, row: b.Row, lines: b.Lines})
		}
		p.from, p.total, p.pending = page.From, page.Total, page.Pending
		return p, err
	case viewTable:
		page, err := r.Rows(ctx, q)
		for _, row := range page.Rows {
			p.items = append(p.items, item{key: row.Key, row: row})
		}
		return part{p.items, page.From, page.Total, page.Pending}, err
	case viewTime:
		lanes, err := r.Lanes(ctx, q, window.from, window.to)
		for _, l := range sheet.Levels(lanes) {
			p.items = append(p.items, item{doc: l})
		}
		p.total = len(p.items)
		return p, err
	case viewTools:
		tools, err := r.Tools(ctx, q)
		return partOf(tools, func(t *view.Tool) string { return t.LastRow }), err
	case viewStreams:
		streams, err := r.Streams(ctx, q)
		return partOf(streams, func(s *view.Stream) string { return s.Row }), err
	}
	secrets, err := r.Secrets(ctx, q)
	return partOf(secrets, func(s *view.Secret) string {
		if len(s.Rows) == 0 {
			return ""
		}
		return s.Rows[len(s.Rows)-1]
	}), err
}

func partOf[T any](docs []T, key func(*T) string) (p part) {
	for i := range docs {
		p.items = append(p.items, item{key: key(&docs[i]), doc: &docs[i]})
	}
	p.total = len(p.items)
	return p
}

// A span is a part of the time; the zero span is all.
type span struct{ from, to time.Time }
