package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

// A level is a line of a lane: the exchanges that do not run at the same time.
type level struct {
	title string
	bars  []view.Bar
}

// laneItems are the lines of lanes: one for each level, the first with the title.
func laneItems(lanes []view.Lane) (items []item) {
	for _, lane := range lanes {
		most := 0
		for _, b := range lane.Bars {
			most = max(most, b.Level)
		}
		levels := make([]level, min(most, 63)+1)
		levels[0].title = lane.Title
		for _, b := range lane.Bars {
			l := &levels[min(b.Level, len(levels)-1)]
			l.bars = append(l.bars, b)
		}
		for i := range levels {
			items = append(items, item{doc: &levels[i]})
		}
	}
	return items
}

// whole is the time from the first to the last bar.
func (l *list) whole(now time.Time) (s span) {
	for i := range l.items {
		lv, ok := l.items[i].doc.(*level)
		if !ok {
			continue
		}
		for _, b := range lv.bars {
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
	lv, ok := it.doc.(*level)
	if !ok || len(lv.bars) == 0 {
		return nil
	}
	return &lv.bars[max(0, min(l.bar, len(lv.bars)-1))]
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
	lv := &level{}
	if it := l.selected(); it != nil {
		lv, _ = it.doc.(*level)
	}
	switch name {
	case "left", "h":
		l.bar = max(0, min(l.bar, len(lv.bars)-1)-1)
	case "right", "l":
		l.bar = max(0, min(l.bar+1, len(lv.bars)-1))
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
	left := cells.Of(paint.Faint, m.clock(s.from))
	right := cells.Of(paint.Faint, m.clock(s.to)+" · "+took(s.to.Sub(s.from).Seconds()))
	lines = append(lines, drawn{line: append(cells.Line{cells.Blank(names + 2)}, cells.Between(left, right, room)...)})
	h -= 3
	l.sight(h, one)
	for n := l.top; n < min(l.top+h, l.total); n++ {
		it := l.at(n)
		if it == nil {
			continue
		}
		lv, _ := it.doc.(*level)
		line := cells.Line{cells.Fit(paint.Plain, lv.title, names), cells.Blank(2)}
		pick := -1
		if n == l.sel {
			line[0] = cells.Fit(paint.Strong, "› "+lv.title, names)
			pick = max(0, min(l.bar, len(lv.bars)-1))
		}
		lines = append(lines, drawn{line: append(line, barsLine(lv.bars, s, room, pick)...), item: n + 1})
	}
	for len(lines) < h+1 {
		lines = append(lines, drawn{})
	}
	return append(lines, drawn{line: legend()}, drawn{line: barLine(m, l)})
}

func legend() (line cells.Line) {
	line = cells.Line{cells.Blank(1)}
	for _, name := range []string{"wait", "first", "events", "person", "held"} {
		line = append(line, cells.Mark(name), cells.Text(paint.Faint, " "+name+"   "))
	}
	return line
}

// barLine tells of the bar that is selected.
func barLine(m *model, l *list) cells.Line {
	b := barAt(l)
	if b == nil {
		return nil
	}
	text := " " + m.clock(b.From) + "  " + b.Label + "  " + b.Channel + "  " + took(b.To.Sub(b.From).Seconds())
	if b.Times > 1 {
		text += "  stands for " + counted(b.Times, "exchange", "exchanges")
	}
	return cells.Of(paint.Strong, text)
}

// barsLine draws the bars of a line; pick is the one that is selected.
func barsLine(bars []view.Bar, s span, room int, pick int) (line cells.Line) {
	whole := s.to.Sub(s.from).Seconds()
	if whole <= 0 {
		whole = 1
	}
	column := func(t time.Time) int {
		return max(0, min(int(t.Sub(s.from).Seconds()/whole*float64(room)), room))
	}
	used := 0
	for i := range bars {
		b := &bars[i]
		from, to := max(column(b.From), used), min(max(column(b.To), column(b.From)+1), room)
		if to <= from || b.To.Before(s.from) || b.From.After(s.to) {
			continue
		}
		line = append(line, cells.Blank(from-used))
		line = append(line, barCells(b, to-from, i == pick)...)
		used = to
	}
	return append(line, cells.Blank(room-used))
}

func barCells(b *view.Bar, n int, picked bool) cells.Line {
	var parts []cells.Part
	for _, p := range b.Phases {
		parts = append(parts, cells.Part{Name: p.Name, Size: p.Seconds})
	}
	whole := b.To.Sub(b.From).Seconds()
	if len(parts) == 0 {
		name := "events"
		if b.State != "done" {
			name = "wait"
		}
		parts = []cells.Part{{Name: name, Size: 1}}
		whole = 1
	}
	line := cells.Bar(parts, whole, n)
	switch {
	case picked:
		return line.Role(paint.Cursor)
	case b.Channel != "" && b.Channel != "ok":
		return line.Role(paint.Bad)
	}
	return line
}
