package tui

import (
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// exportHead says how many secrets an export hides, and what in it may still be one.
func exportHead(seen *view.Exported, w int) (lines []cells.Line) {
	lines = append(lines, cells.Of(cells.Plain, counted(seen.Hidden, "secret is hidden", "secrets are hidden")))
	for i, doubt := range seen.Doubts {
		if i == 5 {
			lines = append(lines, cells.Of(cells.Warn, counted(len(seen.Doubts)-5, "more", "more")))
			break
		}
		lines = append(lines, cells.Wrap(cells.Warn, "⚠ may be a secret: "+doubt, w)...)
	}
	return lines
}
