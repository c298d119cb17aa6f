// Package lists holds what the user selects from: the rows of each view, and the conversations.
// A list has the part that was read, the selection and the position on the screen, and draws
// itself.
package lists

import (
	"context"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/sheet"
)

// The views, in the order of their keys.
const (
	Talk = iota
	Table
	Time
	Tools
	Streams
	Secrets
	Views
)

// Names are those of the views.
var Names = [Views]string{"Talk", "Table", "Time", "Tools", "Streams", "Secrets"}

// An Item is what can be selected: an exchange, or a tool, a stream, a secret, a lane.
type Item struct {
	Key   string // of the exchange; "" where there is none
	Row   view.Row
	Lines []view.Line
	Doc   any
}

// A List is a part of a long list, and the position of the view in it. Numbers count from the
// start of the whole list.
type List struct {
	Total  int
	Sel    int
	Follow bool // the newest item stays selected
	Loaded bool
	Sort   string
	Window Window
	// Absent says why the conversation that is shown has no rows; "" if it has some.
	Absent string

	items []Item
	from  int
	top   int
	open  map[string]bool // blocks that are shown whole
	bar   int             // the bar that is selected in a lane
}

// at returns an item by its number, nil where it is not loaded.
func (l *List) at(n int) *Item {
	if n < l.from || n >= l.from+len(l.items) {
		return nil
	}
	return &l.items[n-l.from]
}

// Selected is the item that is selected, nil where it is not loaded.
func (l *List) Selected() *Item { return l.at(l.Sel) }

// Move selects another item; the newest one is followed.
func (l *List) Move(to int) {
	l.Sel = max(0, min(to, l.Total-1))
	l.Follow = l.Sel == l.Total-1 && l.Total > 0
	l.bar = 0
}

// Fold shows all lines of the selected block, or folds them.
func (l *List) Fold() {
	if it := l.Selected(); it != nil && it.Key != "" {
		if l.open == nil {
			l.open = map[string]bool{}
		}
		l.open[it.Key] = !l.open[it.Key]
	}
}

// A Part is what a Reader gave for a list.
type Part struct {
	Pending int
	// Absent says why the conversation that was asked for has no rows; "" if it has some.
	Absent string
	items  []Item
	from   int
	total  int
}

// Take puts a new part into the list. The selected exchange stays selected where its number
// changed.
func (l *List) Take(p Part) {
	key := ""
	if it := l.Selected(); it != nil {
		key = it.Key
	}
	l.items, l.from, l.Total, l.Loaded, l.Absent = p.items, p.from, p.total, true, p.Absent
	switch it := l.Selected(); {
	case l.Follow:
		l.Sel = max(0, l.Total-1)
	case key != "" && (it == nil || it.Key != key):
		for i := range l.items {
			if l.items[i].Key == key {
				if l.top > 0 { // at the top of the list the view stays there
					l.top += l.from + i - l.Sel
				}
				l.Sel = l.from + i
				break
			}
		}
	}
	l.Sel = max(0, min(l.Sel, l.Total-1))
	l.top = max(0, min(l.top, l.Sel))
}

// Reset goes back to the start of a list that will have other items.
func (l *List) Reset(follow bool) {
	l.Sel, l.top, l.bar, l.Follow = 0, 0, 0, follow
}

// Part is which items to ask for: a screen before and after the visible ones.
func (l *List) Part(height int) (from, count int) {
	if l.Follow {
		return -2 * height, 2 * height
	}
	return max(0, l.start(height)-height), 3 * height
}

// start is the first item that can be on the screen: top may be far from the selection until
// the list is drawn again.
func (l *List) start(height int) int { return max(0, l.Sel-height, min(l.top, l.Sel)) }

// Lacks reports whether an item around the selection is not loaded.
func (l *List) Lacks(height int) bool {
	first := l.start(height)
	last := min(l.Total, first+height)
	return l.Total > 0 && (first < l.from || last > l.from+len(l.items))
}

// Load asks a Reader for the part of the list of a view.
func Load(ctx context.Context, r view.Reader, n int, q view.Query, window Window) (p Part, err error) {
	switch n {
	case Talk:
		blocks, page, err := r.Talk(ctx, q)
		for _, b := range blocks {
			p.items = append(p.items, Item{Key: b.Row.Key, Row: b.Row, Lines: b.Lines})
		}
		p.from, p.total, p.Pending, p.Absent = page.From, page.Total, page.Pending, page.Absent
		return p, err
	case Table:
		page, err := r.Rows(ctx, q)
		for _, row := range page.Rows {
			p.items = append(p.items, Item{Key: row.Key, Row: row})
		}
		p.from, p.total, p.Pending, p.Absent = page.From, page.Total, page.Pending, page.Absent
		return p, err
	case Time:
		lanes, err := r.Lanes(ctx, q, window.From, window.To)
		for _, l := range sheet.Levels(lanes) {
			p.items = append(p.items, Item{Doc: l})
		}
		p.total = len(p.items)
		return p, err
	case Tools:
		tools, err := r.Tools(ctx, q)
		return partOf(tools, func(t *view.Tool) string { return t.LastRow }), err
	case Streams:
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

func partOf[T any](docs []T, key func(*T) string) (p Part) {
	for i := range docs {
		p.items = append(p.items, Item{Key: key(&docs[i]), Doc: &docs[i]})
	}
	p.total = len(p.items)
	return p
}
