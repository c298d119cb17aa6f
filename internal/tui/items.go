package tui

import (
	"context"
	"slices"

	"mcpc/internal/live/view"
)

// The views, in the order of their keys.
const (
	viewTalk = iota
	viewTable
	viewTime
	viewTools
	viewStreams
	viewSecrets
	viewHome
	viewTry
	viewCount
)

// viewNames are the names of the views, and viewKeys their keys.
var (
	viewNames = [viewCount]string{"Talk", "Table", "Time", "Tools", "Streams", "Secrets", "Home", "Try"}
	viewKeys  = [viewCount]string{"1", "2", "3", "4", "5", "6", "H", "T"}
)

// An item is a selectable entry of a list: an exchange, a tool, a stream, a secret, a lane or a server.
type item struct {
	key   string // the key of the exchange, if any
	row   view.Row
	lines []view.Line
	doc   any
}

// A list is a loaded part of a long list, and the position of the user in it. Indexes count from
// the start of the whole list.
type list struct {
	total  int        // the number of all items, loaded or not
	sel    int        // the index of the selected item
	follow bool       // the newest item stays selected
	loaded bool       // a part was loaded, which may be empty
	sort   string     // the order of view.Query; "" orders by time
	zoomed timeWindow // of the Time view
	// absent is the reason why the shown conversation has no rows; "" if it has some.
	absent string

	items       []item          // the loaded part
	firstLoaded int             // the index of the first loaded item
	top         int             // the index of the first item on the screen
	unfolded    map[string]bool // the keys of unfolded blocks
	bar         int             // the selected bar of a lane
	wantedBar   string          // the key of the exchange to select once the lanes are read
	hidesText   bool            // the text of the selected document is not shown below the list
}

// itemAt returns an item by its index, or nil if it is not loaded.
func (l *list) itemAt(n int) *item {
	if n < l.firstLoaded || n >= l.firstLoaded+len(l.items) {
		return nil
	}
	return &l.items[n-l.firstLoaded]
}

// commonText returns a text of the rows if it is the same in all loaded ones, or "".
func (l *list) commonText(textOf func(*view.Row) string) string {
	common := ""
	for i := range l.items {
		text := textOf(&l.items[i].row)
		if i > 0 && text != common {
			return ""
		}
		common = text
	}
	return common
}

// selected returns the selected item, or nil if it is not loaded.
func (l *list) selected() *item { return l.itemAt(l.sel) }

// selectIndex selects an item. Selecting the newest one makes the list follow new items.
func (l *list) selectIndex(index int) {
	l.sel = max(0, min(index, l.total-1))
	l.follow = l.sel == l.total-1 && l.total > 0
	l.bar = 0
}

// toggleFold unfolds the selected block, or folds it.
func (l *list) toggleFold() {
	if it := l.selected(); it != nil && it.key != "" {
		if l.unfolded == nil {
			l.unfolded = map[string]bool{}
		}
		l.unfolded[it.key] = !l.unfolded[it.key]
	}
}

// A listPart is a part of a list, as read from a Reader.
type listPart struct {
	pending int // the number of rows that are not searched yet
	// absent is the reason why the conversation of the query has no rows; "" if it has some.
	absent string
	items  []item
	from   int // the index of the first item
	total  int // the number of all items
}

// replace replaces the loaded part. The selected exchange stays selected if its index changed; a
// list that follows selects the newest item.
func (l *list) replace(p listPart) {
	selectedKey := ""
	if it := l.selected(); it != nil {
		selectedKey = it.key
	}
	l.items = p.items
	l.firstLoaded = p.from
	l.total = p.total
	l.loaded = true
	l.absent = p.absent
	if l.follow {
		l.sel = max(0, l.total-1)
	} else if it := l.selected(); selectedKey != "" && (it == nil || it.key != selectedKey) {
		l.selectKey(selectedKey)
	}
	l.sel = max(0, min(l.sel, l.total-1))
	l.top = max(0, min(l.top, l.sel))
}

// selectKey selects the loaded item with a key, if there is one, and scrolls by as many items.
func (l *list) selectKey(key string) {
	i := slices.IndexFunc(l.items, func(it item) bool { return it.key == key })
	if i < 0 {
		return
	}
	index := l.firstLoaded + i
	if l.top > 0 { // a view at the top of the list does not scroll
		l.top += index - l.sel
	}
	l.sel = index
}

// reset goes back to the start of a list that gets different items.
func (l *list) reset(follow bool) {
	l.sel = 0
	l.top = 0
	l.bar = 0
	l.follow = follow
}

// rangeToLoad returns the part to load: a screen before and after the visible items. A negative from
// counts from the end of the list, as in view.Query.
func (l *list) rangeToLoad(height int) (from, count int) {
	if l.follow {
		return -2 * height, 2 * height
	}
	return max(0, l.firstVisible(height)-height), 3 * height
}

// firstVisible returns the index of the first item that can be on the screen. top may be far from
// the selection until the list is drawn again.
func (l *list) firstVisible(height int) int { return max(0, l.sel-height, min(l.top, l.sel)) }

// needsLoading reports whether an item around the selection is not loaded.
func (l *list) needsLoading(height int) bool {
	first := l.firstVisible(height)
	last := min(l.total, first+height)
	return l.total > 0 && (first < l.firstLoaded || last > l.firstLoaded+len(l.items))
}

// readList reads a part of the list of a view. window limits the lanes of the Time view.
func readList(
	ctx context.Context, o Options, viewIndex int, q view.Query, window timeWindow,
) (listPart, error) {
	reader := o.Reader
	switch viewIndex {
	case viewTalk:
		blocks, page, err := reader.Talk(ctx, q)
		page.Rows = nil // the blocks have the rows
		p := partFromPage(page)
		for _, b := range blocks {
			p.items = append(p.items, item{key: b.Row.Key, row: b.Row, lines: b.Lines})
		}
		return p, err
	case viewTable:
		q.WithArguments = true
		page, err := reader.Rows(ctx, q)
		return partFromPage(page), err
	case viewTime:
		lanes, err := reader.Lanes(ctx, q, window.start, window.end)
		p := listPart{}
		for _, l := range levels(lanes) {
			p.items = append(p.items, item{doc: l})
		}
		p.total = len(p.items)
		return p, err
	case viewTools:
		tools, err := reader.Tools(ctx, q)
		return partFromDocs(tools, func(t *view.Tool) string { return t.LastRow }), err
	case viewStreams:
		streams, err := reader.Streams(ctx, q)
		return partFromDocs(streams, func(s *view.Stream) string { return s.Row }), err
	}
	if viewIndex == viewHome {
		return partFromDocs(o.Actor.Servers(), func(*view.Server) string { return "" }), nil
	}
	secrets, err := reader.Secrets(ctx, q)
	return partFromDocs(secrets, func(s *view.Secret) string {
		if len(s.Rows) == 0 {
			return ""
		}
		return s.Rows[len(s.Rows)-1]
	}), err
}

func partFromPage(page view.Page) listPart {
	p := listPart{from: page.From, total: page.Total, pending: page.Pending, absent: page.Absent}
	for _, row := range page.Rows {
		p.items = append(p.items, item{key: row.Key, row: row})
	}
	return p
}

func partFromDocs[T any](docs []T, key func(*T) string) listPart {
	var p listPart
	for i := range docs {
		p.items = append(p.items, item{key: key(&docs[i]), doc: &docs[i]})
	}
	p.total = len(p.items)
	return p
}
