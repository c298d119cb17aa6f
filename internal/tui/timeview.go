package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
	"mcpc/internal/tui/sheet"
)

// whole is the time from the first to the last bar.
func (l *list) whole(now time.Time) (s span) {
	for i := range l.items {
		lv, ok := l.items[i].doc.(*sheet.Level)
		if !ok {
			continue
		}
		for _, b := range lv.Bars {
			if s.from.IsZero() || b.From.Before(s.from) {
				s.from = b.From
			}
			if s.to.Before(b.To) {
				s.to = b.To
			}
		}
	}
	return s
}

// barAt is the bar that is selected in a lane.
func barAt(l *list) *view.Bar {
	it := l.selected()
	if it == nil {
		return nil
	}
	lv, ok := it.doc.(*sheet.Level)
	if !ok || len(lv.Bars) == 0 {
		return nil
	}
	return &lv.Bars[max(0, min(l.bar, len(lv.Bars)-1))]
}

func barKey(l *list) string {
	if b := barAt(l); b != nil {
		return b.Key
	}
	return ""
}

// timeKey takes the keys of the Time view.
func timeKey(m *model, name string) (tea.Cmd, bool) {
	l := m.list()
	lv := &sheet.Level{}
	if it := l.selected(); it != nil {
		lv, _ = it.doc.(*sheet.Level)
	}
	switch name {
	case "left", "h":
		l.bar = max(0, min(l.bar, len(lv.Bars)-1)-1)
	case "right", "l":
		l.bar = max(0, min(l.bar+1, len(lv.Bars)-1))
	case "+", "=":
		return zoom(m, 0.5), true
	case "-":
		return zoom(m, 2), true
	case "0":
		l.window = span{}
		return m.askList(true), true
	default:
		return nil, false
	}
	return nil, true
}

// zoom shows more or less of the time around the bar that is selected.
func zoom(m *model, by float64) tea.Cmd {
	l := m.list()
	s := l.window
	if s.from.IsZero() {
		s = l.whole(m.opt.Now())
	}
	b := barAt(l)
	if b == nil {
		return nil
	}
	width := max(time.Duration(float64(s.to.Sub(s.from))*by), time.Millisecond)
	middle := b.From.Add(b.To.Sub(b.From) / 2)
	if b.To.Sub(b.From) > width {
		middle = b.From.Add(width / 2)
	}
	l.window = span{middle.Add(-width / 2), middle.Add(width / 2)}
	return m.askList(true)
}

// drawTime draws lanes: a line for each level, bars with patterns.
func drawTime(m *model, w, h int) (lines []drawn) {
	l := m.list()
	s := l.window
	if s.from.IsZero() {
		s = l.whole(m.opt.Now())
	}
	names := max(10, min(28, w/4))
	room := max(8, w-names-2)
	left := cells.Of(paint.Faint, m.clock().At(s.from))
	right := cells.Of(paint.Faint, m.clock().At(s.to)+" · "+sheet.Took(s.to.Sub(s.from).Seconds()))
	lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(names + 2)}, cells.Between(left, right, room)...)})
	h -= 3
	l.sight(h, one)
	for n := l.top; n < min(l.top+h, l.total); n++ {
		it := l.at(n)
		if it == nil {
			continue
		}
		lv, _ := it.doc.(*sheet.Level)
		line := cells.Line{cells.Fit(paint.Plain, lv.Title, names), cells.Blank(2)}
		pick := -1
		if n == l.sel {
			line[0] = cells.Fit(paint.Strong, "› "+lv.Title, names)
			pick = max(0, min(l.bar, len(lv.Bars)-1))
		}
		lines = append(lines, drawn{Line: append(line, sheet.BarsLine(lv.Bars, s.from, s.to, room, pick)...), Item: n + 1})
	}
	for len(lines) < h+1 {
		lines = append(lines, drawn{})
	}
	lines = append(lines, drawn{Line: sheet.Legend()})
	if b := barAt(l); b != nil {
		lines = append(lines, drawn{Line: sheet.BarLine(m.clock(), b)})
	}
	return lines
}
