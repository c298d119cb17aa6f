package sheet

import (
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

// ExportHead says how many secrets an export hides, and what in it may still be one.
func ExportHead(seen *view.Exported, w int) (lines []cells.Line) {
	lines = append(lines, cells.Of(paint.Plain, Counted(seen.Hidden, "secret is hidden", "secrets are hidden")))
	for i, doubt := range seen.Doubts {
		if i == 5 {
			lines = append(lines, cells.Of(paint.Warn, Counted(len(seen.Doubts)-5, "more", "more")))
			break
		}
		lines = append(lines, cells.Wrap(paint.Warn, "⚠ may be a secret: "+doubt, w)...)
	}
	return lines
}
