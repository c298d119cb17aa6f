package tui

import (
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A level is a line of a lane. Its exchanges do not overlap in time.
type level struct {
	title string
	bars  []view.Bar
}

// levels returns the levels of lanes. The first one of a lane has its title.
func levels(lanes []view.Lane) (all []*level) {
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
			all = append(all, &levels[i])
		}
	}
	return all
}

// describeBar describes one bar.
func describeBar(clock screenClock, b *view.Bar) cells.Line {
	text := " " + clock.formatTime(b.From) + "  " + b.Label + "  " + b.Channel + "  " + formatSeconds(b.To.Sub(b.From).Seconds())
	if b.Times > 1 {
		text += "  stands for " + countNoun(b.Times, "exchange", "exchanges")
	}
	return cells.TextLine(cells.Strong, text)
}

// drawBars draws the bars of a line. pick is the index of the selected one.
func drawBars(bars []view.Bar, first, last time.Time, room int, pick int) (line cells.Line) {
	whole := last.Sub(first).Seconds()
	if whole <= 0 {
		whole = 1
	}
	column := func(t time.Time) int {
		return max(0, min(int(t.Sub(first).Seconds()/whole*float64(room)), room))
	}
	used := 0
	for i := range bars {
		b := &bars[i]
		from := max(column(b.From), used)
		to := min(max(column(b.To), column(b.From)+1), room)
		if to <= from || b.To.Before(first) || b.From.After(last) {
			continue
		}
		line = append(line, cells.Blank(from-used))
		line = append(line, drawBar(b, to-from, i == pick)...)
		used = to
	}
	return append(line, cells.Blank(room-used))
}

// drawBar draws a bar in n columns.
func drawBar(b *view.Bar, n int, picked bool) cells.Line {
	var parts []cells.BarPart
	for _, p := range b.Phases {
		parts = append(parts, cells.BarPart{Name: p.Name, Size: p.Seconds})
	}
	whole := b.To.Sub(b.From).Seconds()
	if len(parts) == 0 {
		name := "events"
		if b.State != "done" {
			name = "wait"
		}
		parts = []cells.BarPart{{Name: name, Size: 1}}
		whole = 1
	}
	line := cells.Bar(parts, whole, n)
	if picked {
		return line.WithRole(cells.Cursor)
	}
	if b.Failed {
		return line.WithRole(cells.Bad)
	}
	return line
}

// A timeWindow is the period that the Time view shows; the zero value means all.
type timeWindow struct{ start, end time.Time }

// window returns the shown period. Without a zoom it lasts from the first bar to the end of the
// last finished exchange. Open exchanges extend it by at most a tenth, so that one that is open for
// hours leaves room for the others.
func (l *list) window() (s timeWindow) {
	if !l.zoomed.start.IsZero() {
		return l.zoomed
	}
	var open time.Time // the latest end of an open bar
	for i := range l.items {
		lv, ok := l.items[i].doc.(*level)
		if !ok {
			continue
		}
		for _, b := range lv.bars {
			if s.start.IsZero() || b.From.Before(s.start) {
				s.start = b.From
			}
			end := b.To
			if b.State != "done" || b.Channel == "open" {
				end = b.From
				if open.Before(b.To) {
					open = b.To
				}
			}
			if s.end.Before(end) {
				s.end = end
			}
		}
	}
	if room := s.end.Sub(s.start) / 10; room > 0 && open.After(s.end.Add(room)) {
		s.end = s.end.Add(room)
	} else if open.After(s.end) {
		s.end = open
	}
	return s
}

// selectedBar returns the selected bar of a lane, or nil.
func (l *list) selectedBar() *view.Bar {
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

// selectedBarKey returns the key of the selected bar's exchange, or "".
func (l *list) selectedBarKey() string {
	if b := l.selectedBar(); b != nil {
		return b.Key
	}
	return ""
}

// timeKey handles the keys of the Time view. It reports whether it used the key, and whether the
// window changed.
func (l *list) timeKey(name string) (taken, zoomed bool) {
	bars := 0
	if it := l.selected(); it != nil {
		if lv, ok := it.doc.(*level); ok {
			bars = len(lv.bars)
		}
	}
	switch name {
	case "left", "h":
		l.bar = max(0, min(l.bar, bars-1)-1)
	case "right", "l":
		l.bar = max(0, min(l.bar+1, bars-1))
	case "+", "=":
		return true, l.zoom(0.5)
	case "-":
		return true, l.zoom(2)
	case "0":
		l.zoomed = timeWindow{}
		return true, true
	default:
		return false, false
	}
	return true, false
}

// zoom scales the window around the selected bar. It reports whether there is one.
func (l *list) zoom(by float64) bool {
	s := l.window()
	b := l.selectedBar()
	if b == nil {
		return false
	}
	width := max(time.Duration(float64(s.end.Sub(s.start))*by), time.Millisecond)
	middle := b.From.Add(b.To.Sub(b.From) / 2)
	if b.To.Sub(b.From) > width {
		middle = b.From.Add(width / 2)
	}
	l.zoomed = timeWindow{middle.Add(-width / 2), middle.Add(width / 2)}
	return true
}

// drawTime draws lanes with a line for each level and bars with patterns.
func (l *list) drawTime(clock screenClock, w, h int) (lines []drawn) {
	s := l.window()
	names := max(10, min(28, w/4))
	room := max(8, w-names-2)
	left := cells.TextLine(cells.Faint, clock.formatTime(s.start))
	right := cells.TextLine(cells.Faint, clock.formatTime(s.end)+" · "+formatSeconds(s.end.Sub(s.start).Seconds()))
	lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(names + 2)}, cells.Justify(left, right, room)...)})
	h -= 3
	l.scrollToSelected(h, oneLine)
	for n := l.top; n < min(l.top+h, l.total); n++ {
		it := l.itemAt(n)
		if it == nil {
			continue
		}
		lv, _ := it.doc.(*level)
		line := cells.Line{cells.Fit(cells.Plain, lv.title, names), cells.Blank(2)}
		pick := -1
		if n == l.sel {
			line[0] = cells.Fit(cells.Strong, "› "+lv.title, names)
			pick = max(0, min(l.bar, len(lv.bars)-1))
		}
		lines = append(lines, drawn{Line: append(line, drawBars(lv.bars, s.start, s.end, room, pick)...), Item: n + 1})
	}
	for len(lines) < h+1 {
		lines = append(lines, drawn{})
	}
	legend := cells.Line{cells.Blank(1)} // of the patterns of bars
	for _, name := range []string{"wait", "first", "events", "person", "held"} {
		legend = append(legend, cells.PhaseMark(name), cells.Text(cells.Faint, " "+name+"   "))
	}
	lines = append(lines, drawn{Line: legend})
	if b := l.selectedBar(); b != nil {
		lines = append(lines, drawn{Line: describeBar(clock, b)})
	}
	return lines
}
