package tui

import (
	"slices"
	"strings"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A comparedSide is a compared conversation with its title.
type comparedSide struct {
	title        string
	conversation *view.Conversation
}

// drawComparison draws the differences between two conversations, the older one first.
func drawComparison(clock screenClock, c *view.Comparison, sides [2]comparedSide, w int) []cells.Line {
	var lines []cells.Line
	for i, name := range []string{"A, older", "B, newer"} {
		talk := sides[i].conversation
		count := countNoun(talk.Rows, "exchange", "exchanges")
		facts := []string{clock.formatTime(talk.Began), sides[i].title, talk.Revision, count}
		text := strings.Join(slices.DeleteFunc(facts, func(f string) bool { return f == "" }), "  ")
		lines = append(lines, cells.Line{cells.Text(cells.Faint, "   "+name+"  "), cells.Text(cells.Plain, text)})
	}
	for _, part := range []struct {
		name  string
		lines []string
	}{{"tools", c.Tools}, {"schemas", c.Schemas}, {"calls", c.Calls}, {"timing", c.Timing}} {
		lines = append(lines, cells.Line{}, cells.TextLine(cells.Strong, " "+part.name))
		if len(part.lines) == 0 {
			lines = append(lines, cells.TextLine(cells.Faint, "   the same"))
		}
		for _, text := range part.lines {
			for _, l := range cells.Wrap(cells.Plain, text, w-3) {
				lines = append(lines, append(cells.Line{cells.Blank(3)}, l...))
			}
		}
	}
	return lines
}
