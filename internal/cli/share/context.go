package share

import (
	"slices"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/mcp"
)

// WithContext returns the listed rows with the rows that are needed to understand them or to make a
// mock of them: the handshakes of their conversations, and the tools/list with the most pages,
// preferably one before the last listed row.
func WithContext(c *rows.Capture, listed []*rows.Row) []*rows.Row {
	included := map[*rows.Row]bool{}
	for _, r := range listed {
		included[r] = true
	}
	byTalk := map[live.Talk]*surroundings{}
	for i, r := range c.Rows() {
		if included[r] {
			byTalk[live.TalkOf(r)] = &surroundings{lastIndex: i} // replaces an entry with a lower index
		}
	}
	pages := view.NewLists()
	for i, r := range c.Rows() {
		talk := live.TalkOf(r)
		s := byTalk[talk]
		if s == nil {
			continue // no listed row is of this conversation
		}
		if mcp.IsOpening(r.Method) {
			hasOneConnection := talk.Conn >= 0 // a negative number stands for a group of connections
			s.addOpening(r, i, hasOneConnection)
		} else if r.Method == view.ToolsList {
			s.addListPage(pages.Page(r), r, i)
		}
	}
	for _, s := range byTalk {
		for _, r := range append(s.openings, s.bestList()...) {
			included[r] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Rows()), func(r *rows.Row) bool { return !included[r] })
}

// addOpening adds an opening request. If the conversation has several connections, because its client
// opens one for each request, it keeps only the first request, or the last successful one before the
// last listed row. index is the index of r in the capture.
func (s *surroundings) addOpening(r *rows.Row, index int, hasOneConnection bool) {
	if hasOneConnection || len(s.openings) == 0 {
		s.openings = append(s.openings, r)
	} else if r.Channel == exchange.ChannelOK && index < s.lastIndex {
		s.openings = []*rows.Row{r}
	}
}

// surroundings are the rows that are added to the listed rows of one conversation. lastIndex is the
// index of the last listed row in the capture.
type surroundings struct {
	lastIndex int
	openings  []*rows.Row
	// lists are the pages of each tools/list. earlyLists is how many lists began before the last
	// listed row.
	lists      [][]*rows.Row
	earlyLists int
}

// addListPage adds a page of tools/list; p is nil if r has no page. A page without a cursor begins a
// new list. index is the index of r in the capture.
func (s *surroundings) addListPage(p *view.ListPage, r *rows.Row, index int) {
	if p == nil {
		return
	}
	if p.Cursor != "" && len(s.lists) > 0 {
		last := len(s.lists) - 1
		s.lists[last] = append(s.lists[last], r)
		return
	}
	s.lists = append(s.lists, []*rows.Row{r})
	if index <= s.lastIndex { // the list began before the last listed row
		s.earlyLists = len(s.lists)
	}
}

// bestList returns the newest list with the most pages, nil if there is no list. It prefers lists
// that began before the last listed row.
func (s *surroundings) bestList() []*rows.Row {
	lists := s.lists
	if s.earlyLists > 0 {
		lists = lists[:s.earlyLists]
	}
	var best []*rows.Row
	for _, list := range lists {
		if len(list) >= len(best) {
			best = list
		}
	}
	return best
}
