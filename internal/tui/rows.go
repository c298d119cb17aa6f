package tui

import (
	"strings"

	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
	"mcpc/internal/tui/sheet"
)

// slowest is the longest duration of the items on the screen: bars are drawn against it. Open
// exchanges count only where nothing else is there, for they have no end.
func slowest(m *model, l *list, height int) (most float64) {
	open := 0.0
	for n := l.top; n < l.top+height; n++ {
		if it := l.at(n); it != nil {
			if s := m.clock().Seconds(&it.row); it.row.State == "done" {
				most = max(most, s)
			} else {
				open = max(open, s)
			}
		}
	}
	if most == 0 {
		return open
	}
	return most
}

// sight moves the top of a list so that the selected item is visible; high is the number of
// lines of an item.
func (l *list) sight(height int, high func(n int) int) {
	l.top = max(0, min(l.top, l.sel))
	used := 0
	for n := l.sel; n >= l.top; n-- {
		if used += high(n); used > height && n < l.sel {
			l.top = n + 1
			return
		}
	}
	for l.top > 0 && l.follow {
		if used += high(l.top - 1); used > height {
			return
		}
		l.top--
	}
}

func one(int) int { return 1 }

// drawMain draws the list of the view, or what to do where it is empty.
func drawMain(m *model, w, h int) []drawn {
	words := drawWords(m, w, h)
	return append(words, drawList(m, w, h-len(words))...)
}

func drawList(m *model, w, h int) []drawn {
	if m.list().total == 0 {
		return drawEmpty(m, w)
	}
	switch m.view {
	case viewTalk:
		return drawTalk(m, w, h)
	case viewTable:
		return drawTable(m, w, h)
	case viewTime:
		return drawTime(m, w, h)
	}
	return drawDocs(m, w, h)
}

// drawEmpty says why there is nothing, and what to do.
func drawEmpty(m *model, w int) (lines []drawn) {
	head, hint := "", ""
	switch l := m.list(); {
	case !l.loaded || m.status.Loading:
		head = "reading…"
	case m.query.pending > 0:
		head = "searching, " + sheet.Counted(m.query.pending, "row", "rows") + " left"
	case m.query.only != nil:
		head, hint = "the exchange is not kept any more", "o shows all again"
	case m.status.Hint != "" && m.query.tried == m.opt.Filter:
		head, hint = "nothing recorded yet", m.status.Hint
	case m.query.tried != "":
		head, hint = "nothing matches "+m.query.tried, "C shows everything; ? lists the keys"
		if shownTalk(m) != "" {
			head += " in this conversation"
		}
	case shownTalk(m) != "" && m.view >= viewTools:
		head, hint = "no "+strings.ToLower(viewNames[m.view])+" in this conversation", "C shows everything"
	case m.view == viewTools:
		head, hint = "no server listed tools yet", "tools appear when a client sends tools/list"
	case m.view == viewStreams:
		head, hint = "no streams yet", "streams appear with Streamable HTTP, and with subscriptions"
	case m.view == viewSecrets:
		head, hint = "no secrets were hidden", "tokens and passwords that cross are listed here by their hash"
	default:
		head = "nothing recorded yet"
		hint = "Start a client through mcpc tap or mcpc proxy, or send a request:\n\n  mcpc tap install CLIENT SERVER\n  mcpc proxy --to URL\n  mcpc -s demo list"
	}
	lines = append(lines, drawn{}, drawn{Line: cells.Line{cells.Blank(2), cells.Text(paint.Strong, head)}}, drawn{})
	for _, line := range cells.Wrap(paint.Faint, hint, min(w-4, 76)) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(2)}, line...)})
	}
	return lines
}

// clock is the time for what is drawn.
func (m *model) clock() sheet.Clock {
	return sheet.Clock{Now: m.opt.Now(), Fetched: m.bar.fetched, Still: m.status.File || m.bar.paused}
}
