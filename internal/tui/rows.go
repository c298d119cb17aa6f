package tui

import (
	"fmt"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
)

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// seconds is how long an exchange has taken by now.
func (m *model) seconds(r *view.Row) float64 {
	if r.State == "done" || m.status.File || m.bar.paused {
		return r.Seconds
	}
	return r.Seconds + max(0, m.opt.Now().Sub(m.bar.fetched).Seconds())
}

// clock is the time of day of a moment, in the zone of the user.
func (m *model) clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(m.opt.Now().Location()).Format("15:04:05")
}

// timer writes how long something has been open: 0:47.
func timer(d time.Duration) string {
	d = max(d, 0)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d/time.Minute%60, d/time.Second%60)
	}
	return fmt.Sprintf("%d:%02d", d/time.Minute, d/time.Second%60)
}

// tookCell is how long an exchange took, or has been open.
func (m *model) tookCell(r *view.Row) cells.Span {
	s := m.seconds(r)
	switch r.State {
	case "done":
		return cells.Text(paint.Plain, took(s))
	case "held":
		return cells.Text(paint.Bad, "‖ "+timer(duration(s)))
	case "asking":
		return cells.Text(paint.Warn, "? "+timer(duration(s)))
	}
	return cells.Text(paint.Accent, "… "+timer(duration(s)))
}

// state is the role and the mark of an exchange, which differ without colours too.
func state(r *view.Row) (paint.Role, string) {
	switch {
	case r.State == "held":
		return paint.Bad, "‖"
	case r.State == "asking":
		return paint.Warn, "?"
	case r.State == "open":
		return paint.Accent, "…"
	case r.Failed:
		return paint.Bad, "!"
	case r.Findings > 0:
		return paint.Warn, "⚠"
	case r.Mark:
		return paint.Accent, "★"
	}
	return paint.Plain, " "
}

// phases are the parts of the bar of an exchange.
func phases(r *view.Row, seconds float64) (parts []cells.Part) {
	left := seconds
	for _, p := range r.Phases {
		parts = append(parts, cells.Part{Name: p.Name, Size: p.Seconds})
		left -= p.Seconds
	}
	if left > 0 {
		name := "wait"
		if len(parts) > 0 {
			name = "events"
		}
		parts = append(parts, cells.Part{Name: name, Size: left})
	}
	return parts
}

// slowest is the longest duration of the items on the screen: bars are drawn against it.
func (m *model) slowest(l *list, height int) (most float64) {
	for n := l.top; n < l.top+height; n++ {
		if it := l.at(n); it != nil {
			most = max(most, m.seconds(&it.row))
		}
	}
	return most
}

// title is what an exchange asks for.
func title(r *view.Row) string {
	switch {
	case r.Method == "tools/call" && r.Name != "":
		return "call " + r.Name
	case r.Name != "":
		return r.Method + " " + r.Name
	}
	return r.Method
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
		head = "searching, " + counted(m.query.pending, "row", "rows") + " left"
	case m.query.only != nil:
		head, hint = "the exchange is not kept any more", "o shows all again"
	case m.query.tried != "":
		head, hint = "nothing matches "+m.query.tried, "Esc in the filter line (/) clears it; F1 or ? lists the keys"
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
	lines = append(lines, drawn{}, drawn{line: cells.Line{cells.Blank(2), cells.Text(paint.Strong, head)}}, drawn{})
	for _, line := range cells.Wrap(paint.Faint, hint, min(w-4, 76)) {
		lines = append(lines, drawn{line: append(cells.Line{cells.Blank(2)}, line...)})
	}
	return lines
}
