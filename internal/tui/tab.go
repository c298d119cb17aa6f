package tui

import (
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// The tabs of a Detail.
const (
	tabSummary = iota
	tabRequest
	tabAnswer
	tabEvents
	tabWire
	tabTime
	tabFindings
	tabDiff
	tabCount
)

// tabNames are the names of the tabs.
var tabNames = [tabCount]string{"Summary", "Request", "Answer", "Events", "Wire", "Time", "Findings", "Diff"}

// emptyTab is what a tab says that has no lines.
var emptyTab = [tabCount]string{"nothing is known", "the request was not recorded", "no response yet", "no events", "no frames",
	"no times", "no findings: no rule of mcpc check is broken here", "there is no earlier call of the same to compare with; mark one with m"}

// title says which exchange it is, and how it ended.
func (d *detail) title(clock screenClock) cells.Line {
	key := cells.Text(cells.Faint, d.key)
	if d.doc == nil {
		return cells.Line{cells.Blank(1), key}
	}
	r := &d.doc.Row
	role, mark := stateMark(r)
	return cells.Line{cells.Text(role, " "+strings.TrimSpace(mark+" "+strings.ReplaceAll(r.Channel, "_", " "))), cells.Blank(2), cells.Text(cells.Strong, rowTitle(r)),
		cells.Blank(2), key, cells.Blank(2), clock.took(r)}
}

// tabs are the names of the tabs in w columns, as many as fit around the open one.
func (d *detail) tabs(w int, active bool) (line cells.Line) {
	name := func(i int) string {
		text := tabNames[i]
		if i == tabFindings && d.doc != nil && len(d.doc.Findings) > 0 {
			text += " " + english.Thousands(len(d.doc.Findings))
		}
		return " " + text + " "
	}
	from, used := 0, 0
	for i := range d.tab + 1 {
		used += len(name(i))
	}
	for ; used > w-2 && from < d.tab; from++ {
		used -= len(name(from))
	}
	for i := from; i < tabCount; i++ {
		role := cells.Faint
		if i == d.tab {
			if role = cells.Strong; active {
				role = cells.Cursor
			}
		}
		line = append(line, cells.Text(role, name(i)))
	}
	return line
}

// A diff is what differs between two exchanges.
type diff struct {
	with              string
	request, response []view.Change
	err               error
}

// A fact is a line of a tab; Pointer and Value are those of the JSON value in it.
type fact struct {
	line    cells.Line
	pointer string
	value   string
	fold    bool // it can be folded
}
