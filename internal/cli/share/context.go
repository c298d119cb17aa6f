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
			byTalk[live.TalkOf(r)] = &surroundings{lastIndex: i}
		}
	}
	pages := view.NewLists()
	for i, r := range c.Rows() {
		talk := live.TalkOf(r)
		a := byTalk[talk]
		opens := mcp.IsOpening(r.Method)
		switch {
		case a == nil:
		case opens && (talk.Conn >= 0 || len(a.openings) == 0):
			a.openings = append(a.openings, r)
		case opens && r.Channel == exchange.ChannelOK && i < a.lastIndex:
			// The client opens a connection for each request.
			a.openings = []*rows.Row{r}
		case r.Method == view.ToolsList:
			a.addListPage(pages.Page(r), r, i)
		}
	}
	for _, a := range byTalk {
		for _, r := range append(a.openings, a.bestList()...) {
			included[r] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Rows()), func(r *rows.Row) bool { return !included[r] })
}

// An around has the rows that are added to the listed rows of one conversation. last is the index
// of the last listed row in the capture.
type surroundings struct {
	lastIndex int
	openings  []*rows.Row
	// lists are the pages of each tools/list. early is how many lists began before the last listed
	// row.
	lists      [][]*rows.Row
	earlyLists int
}

// addListPage adds a page of tools/list. A page without a cursor begins a new list. at is the index of r
// in the capture.
func (a *surroundings) addListPage(page *view.ListPage, r *rows.Row, index int) {
	switch {
	case page == nil:
	case page.Cursor != "" && len(a.lists) > 0:
		a.lists[len(a.lists)-1] = append(a.lists[len(a.lists)-1], r)
	default:
		a.lists = append(a.lists, []*rows.Row{r})
		if index <= a.lastIndex {
			a.earlyLists = len(a.lists)
		}
	}
}

// bestList returns the newest list with the most pages. It prefers lists before the last row.
func (a *surroundings) bestList() (best []*rows.Row) {
	lists := a.lists
	if a.earlyLists > 0 {
		lists = lists[:a.earlyLists]
	}
	for _, list := range lists {
		if len(list) >= len(best) {
			best = list
		}
	}
	return best
}
