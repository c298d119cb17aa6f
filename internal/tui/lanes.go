package tui

import (
	"slices"
	"strings"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A level is a line of a lane. Its exchanges do not overlap in time.
type level struct {
	title string
	bars  []view.Bar
}

// maxLevel is the highest level of a lane that has a line.
const maxLevel = 63

// levels returns the levels of lanes. The first level of a lane has its title. Bars above maxLevel
// share that level, in which drawBars leaves out bars without room.
func levels(lanes []view.Lane) []*level {
	var all []*level
	for _, lane := range lanes {
		highest := 0
		for _, b := range lane.Bars {
			highest = max(highest, b.Level)
		}
		own := make([]level, min(highest, maxLevel)+1)
		own[0].title = lane.Title
		for _, b := range lane.Bars {
			l := &own[min(b.Level, len(own)-1)]
			l.bars = append(l.bars, b)
		}
		for i := range own {
			all = append(all, &own[i])
		}
	}
	return all
}

// describeBar describes one bar.
func describeBar(clock screenClock, b *view.Bar) cells.Line {
	took := formatSeconds(b.To.Sub(b.From).Seconds())
	text := " " + clock.formatTime(b.From) + "  " + b.Label + "  " + b.Channel + "  " + took
	if b.Times > 1 {
		text += "  stands for " + countNoun(b.Times, "exchange", "exchanges")
	}
	return cells.TextLine(cells.Strong, text)
}

// noBar is the index of the selected bar of a line that is not selected.
const noBar = -1

// drawBars draws the bars of a line within a period, in width columns. Each bar has at least one
// column; a bar without room is left out. The label of a bar follows it if there is room before the
// next bar. selected is an index, or noBar.
func drawBars(bars []view.Bar, period timeWindow, width, selected int) cells.Line {
	seconds := period.end.Sub(period.start).Seconds()
	if seconds <= 0 { // a single moment: avoid a division by 0
		seconds = 1
	}
	columnOf := func(t time.Time) int {
		share := t.Sub(period.start).Seconds() / seconds
		return max(0, min(int(share*float64(width)), width))
	}
	used := 0
	label := "" // of the bar before
	var line cells.Line
	for i := range bars {
		b := &bars[i]
		start := max(columnOf(b.From), used)
		end := min(max(columnOf(b.To), columnOf(b.From)+1), width)
		isOutside := b.To.Before(period.start) || b.From.After(period.end)
		if end <= start || isOutside {
			continue
		}
		line = append(line, drawLabel(label, start-used)...)
		line = append(line, drawBar(b, end-start, i == selected)...)
		used = end
		label = strings.TrimPrefix(b.Label, "tools/call ")
	}
	return append(line, drawLabel(label, width-used)...)
}

// drawLabel draws the label of a bar in the gap of width columns after it, which stays empty if the label
// does not fit.
func drawLabel(label string, width int) cells.Line {
	text := cells.TextLine(cells.Faint, " "+strings.TrimSpace(label)+" ")
	if label == "" || text.Width() > width {
		return cells.Line{cells.Blank(width)}
	}
	return text.FitTo(width)
}

// drawBar draws a bar in width columns. A bar without phases has one pattern.
func drawBar(b *view.Bar, width int, isSelected bool) cells.Line {
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
	line := cells.Bar(parts, whole, width)
	if isSelected {
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
// last finished exchange. Open exchanges extend it by at most a tenth, so that an exchange that is
// open for hours leaves room for the others. Without bars the result is the zero value.
func (l *list) window() timeWindow {
	if !l.zoomed.start.IsZero() {
		return l.zoomed
	}
	var shown timeWindow
	var latestOpen time.Time // the latest end of an open bar
	for i := range l.items {
		lane, ok := l.items[i].doc.(*level)
		if !ok {
			continue
		}
		for _, b := range lane.bars {
			if shown.start.IsZero() || b.From.Before(shown.start) {
				shown.start = b.From
			}
			end := b.To
			if isOpen := b.State != "done" || b.Channel == "open"; isOpen {
				end = b.From
				latestOpen = later(latestOpen, b.To)
			}
			shown.end = later(shown.end, end)
		}
	}
	tenth := shown.end.Sub(shown.start) / 10
	if tenth > 0 && latestOpen.After(shown.end.Add(tenth)) {
		shown.end = shown.end.Add(tenth)
	} else {
		shown.end = later(shown.end, latestOpen)
	}
	return shown
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// selectedBar returns the selected bar of a lane, or nil.
func (l *list) selectedBar() *view.Bar {
	it := l.selected()
	if it == nil {
		return nil
	}
	lane, ok := it.doc.(*level)
	if !ok || len(lane.bars) == 0 {
		return nil
	}
	return &lane.bars[max(0, min(l.bar, len(lane.bars)-1))]
}

// selectedBarKey returns the key of the selected bar's exchange, or "".
func (l *list) selectedBarKey() string {
	if b := l.selectedBar(); b != nil {
		return b.Key
	}
	return ""
}

// selectWantedBar selects the bar of the exchange that was selected in another view, if it has one.
func (l *list) selectWantedBar() {
	for i := range l.items {
		lane, ok := l.items[i].doc.(*level)
		if !ok || l.wantedBar == "" {
			continue
		}
		bar := slices.IndexFunc(lane.bars, func(b view.Bar) bool { return b.Key == l.wantedBar })
		if bar >= 0 {
			l.selectIndex(i)
			l.bar = bar
		}
	}
	l.wantedBar = ""
}

// timeKey handles the keys of the Time view. It reports whether it used the key, and whether the
// window changed.
func (l *list) timeKey(name string) (used, windowChanged bool) {
	barCount := 0
	if it := l.selected(); it != nil {
		if lane, ok := it.doc.(*level); ok {
			barCount = len(lane.bars)
		}
	}
	switch name {
	case "left", "h":
		// l.bar may come from a longer lane.
		l.bar = max(0, min(l.bar, barCount-1)-1)
	case "right", "l":
		l.bar = max(0, min(l.bar+1, barCount-1))
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

// zoom scales the window by a factor around the selected bar: around its middle, or from its start if
// it is longer than the new window. It reports whether a bar is selected.
func (l *list) zoom(factor float64) bool {
	old := l.window()
	b := l.selectedBar()
	if b == nil {
		return false
	}
	length := max(time.Duration(float64(old.end.Sub(old.start))*factor), time.Millisecond)
	middle := b.From.Add(b.To.Sub(b.From) / 2)
	if b.To.Sub(b.From) > length {
		middle = b.From.Add(length / 2)
	}
	l.zoomed = timeWindow{middle.Add(-length / 2), middle.Add(length / 2)}
	return true
}

// phaseLegend draws an explanation of the patterns of bars.
func phaseLegend() cells.Line {
	legend := cells.Line{cells.Blank(1)}
	for _, name := range []string{"wait", "first", "events", "person", "held"} {
		legend = append(legend, cells.PhaseMark(name), cells.Text(cells.Faint, " "+name+"   "))
	}
	return legend
}

// drawTime draws lanes with a line for each level and bars with patterns.
func (l *list) drawTime(clock screenClock, w, h int) []drawn {
	period := l.window()
	titleWidth := max(10, min(28, w/4))
	barsWidth := max(8, w-titleWidth-2)
	start := cells.TextLine(cells.Faint, clock.formatTime(period.start))
	length := formatSeconds(period.end.Sub(period.start).Seconds())
	end := cells.TextLine(cells.Faint, clock.formatTime(period.end)+" · "+length)
	axis := append(cells.Line{cells.Blank(titleWidth + 2)}, cells.Justify(start, end, barsWidth)...)
	lines := []drawn{{Line: axis}}
	h -= 3 // the axis, the legend, and the description of the selected bar
	l.scrollToSelected(h, oneLine)
	for n := l.top; n < min(l.top+h, l.total); n++ {
		item := l.itemAt(n)
		if item == nil {
			continue
		}
		lane, _ := item.doc.(*level)
		line := cells.Line{cells.Fit(cells.Plain, lane.title, titleWidth), cells.Blank(2)}
		selected := noBar
		if n == l.sel {
			line[0] = cells.Fit(cells.Strong, "› "+lane.title, titleWidth)
			selected = max(0, min(l.bar, len(lane.bars)-1))
		}
		line = append(line, drawBars(lane.bars, period, barsWidth, selected)...)
		lines = append(lines, drawn{Line: line, Item: n + 1})
	}
	for len(lines) < h+1 {
		lines = append(lines, drawn{})
	}
	lines = append(lines, drawn{Line: phaseLegend()})
	if b := l.selectedBar(); b != nil {
		lines = append(lines, drawn{Line: describeBar(clock, b)})
	}
	return lines
}
