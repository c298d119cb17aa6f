package lists

import (
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"

	"mcpc/internal/tui/sheet"
)

// A Window is the part of the time that the Time view shows; the zero Window is all.
type Window struct{ From, To time.Time }

// window is the part of the time that is shown: without a zoom from the start of the first bar to the end of the last
// exchange that ended. One that is still open, for hours perhaps, would leave the others no room: it gets a tenth.
func (l *List) window() (s Window) {
	if !l.Window.From.IsZero() {
		return l.Window
	}
	var open time.Time // the end of what is open
	for i := range l.items {
		lv, ok := l.items[i].Doc.(*sheet.Level)
		if !ok {
			continue
		}
		for _, b := range lv.Bars {
			if s.From.IsZero() || b.From.Before(s.From) {
				s.From = b.From
			}
			end := b.To
			if b.State != "done" || b.Channel == "open" {
				end = b.From
				if open.Before(b.To) {
					open = b.To
				}
			}
			if s.To.Before(end) {
				s.To = end
			}
		}
	}
	if room := s.To.Sub(s.From) / 10; room > 0 && open.After(s.To.Add(room)) {
		s.To = s.To.Add(room)
	} else if open.After(s.To) {
		s.To = open
	}
	return s
}

// barAt is the bar that is selected in a lane, nil where there is none.
func (l *List) barAt() *view.Bar {
	it := l.Selected()
	if it == nil {
		return nil
	}
	lv, ok := it.Doc.(*sheet.Level)
	if !ok || len(lv.Bars) == 0 {
		return nil
	}
	return &lv.Bars[max(0, min(l.bar, len(lv.Bars)-1))]
}

// BarKey is the exchange of the selected bar, "" where there is none.
func (l *List) BarKey() string {
	if b := l.barAt(); b != nil {
		return b.Key
	}
	return ""
}

// TimeKey takes the keys of the Time view, and reports whether the Window is another one.
func (l *List) TimeKey(name string) (taken, zoomed bool) {
	bars := 0
	if it := l.Selected(); it != nil {
		if lv, ok := it.Doc.(*sheet.Level); ok {
			bars = len(lv.Bars)
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
		l.Window = Window{}
		return true, true
	default:
		return false, false
	}
	return true, false
}

// zoom shows more or less of the time around the bar that is selected.
func (l *List) zoom(by float64) bool {
	s, b := l.window(), l.barAt()
	if b == nil {
		return false
	}
	width := max(time.Duration(float64(s.To.Sub(s.From))*by), time.Millisecond)
	middle := b.From.Add(b.To.Sub(b.From) / 2)
	if b.To.Sub(b.From) > width {
		middle = b.From.Add(width / 2)
	}
	l.Window = Window{middle.Add(-width / 2), middle.Add(width / 2)}
	return true
}

// drawTime draws lanes: a line for each level, bars with patterns.
func (l *List) drawTime(clock sheet.Clock, w, h int) (lines []drawn) {
	s := l.window()
	names := max(10, min(28, w/4))
	room := max(8, w-names-2)
	left := cells.Of(cells.Faint, clock.At(s.From))
	right := cells.Of(cells.Faint, clock.At(s.To)+" · "+sheet.Took(s.To.Sub(s.From).Seconds()))
	lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(names + 2)}, cells.Between(left, right, room)...)})
	h -= 3
	l.sight(h, one)
	for n := l.top; n < min(l.top+h, l.Total); n++ {
		it := l.at(n)
		if it == nil {
			continue
		}
		lv, _ := it.Doc.(*sheet.Level)
		line := cells.Line{cells.Fit(cells.Plain, lv.Title, names), cells.Blank(2)}
		pick := -1
		if n == l.Sel {
			line[0] = cells.Fit(cells.Strong, "› "+lv.Title, names)
			pick = max(0, min(l.bar, len(lv.Bars)-1))
		}
		lines = append(lines, drawn{Line: append(line, sheet.BarsLine(lv.Bars, s.From, s.To, room, pick)...), Item: n + 1})
	}
	for len(lines) < h+1 {
		lines = append(lines, drawn{})
	}
	lines = append(lines, drawn{Line: sheet.Legend()})
	if b := l.barAt(); b != nil {
		lines = append(lines, drawn{Line: sheet.BarLine(clock, b)})
	}
	return lines
}
