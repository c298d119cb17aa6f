// Package sheet draws the documents of the live inspector as lines: rows of a table, arrows of a
// conversation, tools, streams, secrets, bars of a time line, and the tabs of one exchange. It
// knows neither the screen nor keys.
package sheet

import (
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// The tabs of a Detail.
const (
	TabSummary = iota
	TabRequest
	TabAnswer
	TabEvents
	TabWire
	TabTime
	TabFindings
	TabDiff
	TabCount
)

// TabNames are the names of the tabs.
var TabNames = [TabCount]string{"Summary", "Request", "Answer", "Events", "Wire", "Time", "Findings", "Diff"}

// EmptyTab is what a tab says that has no lines.
var EmptyTab = [TabCount]string{"nothing is known", "the request was not recorded", "no response yet", "no events", "no frames",
	"no times", "no findings: no rule of mcpc check is broken here", "there is no earlier call of the same to compare with; mark one with m"}

// A Detail is one exchange and how it is looked at.
type Detail struct {
	Key   string
	Doc   *view.Detail
	Tab   int
	Raw   bool // bytes in place of the tree
	Folds map[string]bool
	Diff  Diff
}

// Title says which exchange it is, and how it ended.
func (d *Detail) Title(clock Clock) cells.Line {
	key := cells.Text(cells.Faint, d.Key)
	if d.Doc == nil {
		return cells.Line{cells.Blank(1), key}
	}
	r := &d.Doc.Row
	role, mark := State(r)
	return cells.Line{cells.Text(role, " "+strings.TrimSpace(mark+" "+strings.ReplaceAll(r.Channel, "_", " "))), cells.Blank(2), cells.Text(cells.Strong, Title(r)),
		cells.Blank(2), key, cells.Blank(2), clock.Took(r)}
}

// Tabs are the names of the tabs in w columns, as many as fit around the open one.
func (d *Detail) Tabs(w int, active bool) (line cells.Line) {
	name := func(i int) string {
		text := TabNames[i]
		if i == TabFindings && d.Doc != nil && len(d.Doc.Findings) > 0 {
			text += " " + english.Thousands(len(d.Doc.Findings))
		}
		return " " + text + " "
	}
	from, used := 0, 0
	for i := range d.Tab + 1 {
		used += len(name(i))
	}
	for ; used > w-2 && from < d.Tab; from++ {
		used -= len(name(from))
	}
	for i := from; i < TabCount; i++ {
		role := cells.Faint
		if i == d.Tab {
			if role = cells.Strong; active {
				role = cells.Cursor
			}
		}
		line = append(line, cells.Text(role, name(i)))
	}
	return line
}

// A Diff is what differs between two exchanges.
type Diff struct {
	With              string
	Request, Response []view.Change
	Err               error
}

// A Fact is a line of a tab; Pointer and Value are those of the JSON value in it.
type Fact struct {
	Line    cells.Line
	Pointer string
	Value   string
	Fold    bool // it can be folded
}
