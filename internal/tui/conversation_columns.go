package tui

import (
	"slices"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A conversationColumns has the column widths of the list of conversations. A column without room
// has width 0.
type conversationColumns struct {
	title, time, revision, failed, rows int
	hasHeads                            bool // each column has its name above it
}

const (
	timeWidth = 9  // a blank and a time of day
	minTitle  = 12 // the smallest width of a title beside a time
)

// conversationColumnsFor computes the layout of the list for w columns. titles are the titles of
// the conversations, and sum has the total counts. Without room for column names the counts are
// narrow. Titles are cut to show the times if conversations have equal titles.
func conversationColumnsFor(
	all []view.Conversation,
	titles []string,
	sum *view.Conversation,
	w int,
) conversationColumns {
	title := len("conversations")
	revision := len("revision")
	hasEqualTitles := false
	seen := map[string]bool{}
	for i := range all {
		own := titles[i]
		hasEqualTitles = hasEqualTitles || seen[own]
		seen[own] = true
		title = max(title, 2+cells.TextLine(cells.Plain, own).Width())
		revision = max(revision, cells.TextLine(cells.Plain, all[i].Revision).Width())
	}
	c := conversationColumns{rows: 1 + len(english.Thousands(sum.Rows))}
	if sum.Failed > 0 {
		c.failed = 2 + len(english.Thousands(sum.Failed))
	}
	// These are the widths with names above the counts.
	rows := max(c.rows, 2+len("total"))
	failed := max(c.failed, 2+len("failed"))
	if w-rows-failed-timeWidth-1 >= title {
		c = conversationColumns{time: timeWidth + 1, failed: failed, rows: rows, hasHeads: true}
	}
	c.title = w - c.time - c.rows - c.failed
	// The times are shown if all titles fit beside them, or to distinguish equal titles.
	room := c.title - timeWidth
	needsTimes := hasEqualTitles && room >= minTitle
	if !c.hasHeads && len(all) > 0 && (room >= title || needsTimes) {
		c.time = timeWidth
		c.title = room
	}
	if room := c.title - revision - 2; c.hasHeads && room >= title {
		c.revision = revision + 2
		c.title = room
	}
	return c
}

// drawHead draws the names of the columns.
func (c *conversationColumns) drawHead() cells.Line {
	if !c.hasHeads {
		w := c.title + c.time + c.failed + c.rows
		return cells.Justify(cells.TextLine(cells.Faint, "conversations"), cells.TextLine(cells.Faint, "!failed total"), w)
	}
	return c.joinCells(
		cells.Fit(cells.Faint, "conversations", c.title),
		"began",
		"revision",
		cells.Right(cells.Faint, "failed", c.failed),
		cells.Right(cells.Faint, "total", c.rows),
	)
}

// drawEntry draws a conversation: its title, its start, and the numbers of failed and all rows.
func (c *conversationColumns) drawEntry(title, began string, talk *view.Conversation, role cells.Role) cells.Line {
	failed := ""
	if talk.Failed > 0 {
		failed = "!" + english.Thousands(talk.Failed)
	}
	return c.joinCells(
		cells.Fit(role, title, c.title),
		began,
		talk.Revision,
		cells.Right(cells.Bad, failed, c.failed),
		cells.Right(cells.Faint, english.Thousands(talk.Rows), c.rows),
	)
}

func (c *conversationColumns) joinCells(title cells.Span, began, revision string, failed, rows cells.Span) cells.Line {
	line := cells.Line{title, cells.Right(cells.Faint, began, c.time)}
	if c.revision > 0 {
		line = append(line, cells.Blank(2), cells.Fit(cells.Faint, revision, c.revision-2))
	}
	return slices.Concat(line, cells.Line{failed, rows})
}
