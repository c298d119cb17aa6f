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
	in := map[*rows.Row]bool{}
	for _, r := range listed {
		in[r] = true
	}
	all := map[live.Talk]*around{}
	for i, r := range c.Rows() {
		if in[r] {
			all[live.TalkOf(r)] = &around{last: i}
		}
	}
	pages := view.NewLists()
	for i, r := range c.Rows() {
		talk := live.TalkOf(r)
		a := all[talk]
		opens := mcp.IsOpening(r.Method)
		switch {
		case a == nil:
		case opens && (talk.Conn >= 0 || len(a.opens) == 0):
			a.opens = append(a.opens, r)
		case opens && r.Channel == exchange.ChannelOK && i < a.last:
			// The client opens a connection for each request.
			a.opens = []*rows.Row{r}
		case r.Method == view.ToolsList:
			a.list(pages.Page(r), r, i)
		}
	}
	for _, a := range all {
		for _, r := range append(a.opens, a.best()...) {
			in[r] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Rows()), func(r *rows.Row) bool { return !in[r] })
}

// An around has the rows that are added to the listed rows of one conversation. last is the index
// of the last listed row in the capture.
type around struct {
	last  int
	opens []*rows.Row
	// lists are the pages of each tools/list. early is how many lists began before the last listed
	// row.
	lists [][]*rows.Row
	early int
}

// list adds a page of tools/list. A page without a cursor begins a new list. at is the index of r
// in the capture.
func (a *around) list(p *view.ListPage, r *rows.Row, at int) {
	switch {
	case p == nil:
	case p.Cursor != "" && len(a.lists) > 0:
		a.lists[len(a.lists)-1] = append(a.lists[len(a.lists)-1], r)
	default:
		a.lists = append(a.lists, []*rows.Row{r})
		if at <= a.last {
			a.early = len(a.lists)
		}
	}
}

// best returns the newest list with the most pages. It prefers lists before the last row.
func (a *around) best() (best []*rows.Row) {
	lists := a.lists
	if a.early > 0 {
		lists = lists[:a.early]
	}
	for _, list := range lists {
		if len(list) >= len(best) {
			best = list
		}
	}
	return best
}
