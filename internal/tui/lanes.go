package tui

import (
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A level is a line of a lane: the exchanges that do not run at the same time.
type level struct {
	title string
	bars  []view.Bar
}

// levels are the lines of lanes: one for each level, the first with the title.
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

// barLine tells of one bar.
func barLine(clock screenClock, b *view.Bar) cells.Line {
	text := " " + clock.at(b.From) + "  " + b.Label + "  " + b.Channel + "  " + tookText(b.To.Sub(b.From).Seconds())
	if b.Times > 1 {
		text += "  stands for " + counted(b.Times, "exchange", "exchanges")
	}
	return cells.Of(cells.Strong, text)
}

// barsLine draws the bars of a line; pick is the one that is selected.
func barsLine(bars []view.Bar, first, last time.Time, room int, pick int) (line cells.Line) {
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
		from, to := max(column(b.From), used), min(max(column(b.To), column(b.From)+1), room)
		if to <= from || b.To.Before(first) || b.From.After(last) {
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
		return line.Role(cells.Cursor)
	case b.Failed:
		return line.Role(cells.Bad)
	}
	return line
}
