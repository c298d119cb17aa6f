package tui

import (
	"fmt"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// A Clock says what time it is, and when the documents were read. Still is set where open
// exchanges do not count up.
type screenClock struct {
	now, fetched time.Time
	still        bool
}

// duration is a number of seconds as a duration.
func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// timer writes how long something has been open: 0:47.
func timer(d time.Duration) string {
	d = max(d, 0)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d/time.Minute%60, d/time.Second%60)
	}
	return fmt.Sprintf("%d:%02d", d/time.Minute, d/time.Second%60)
}

// State is the role and the mark of an exchange, which differ without colours too.
func stateMark(r *view.Row) (cells.Role, string) {
	switch {
	case r.State == "held":
		return cells.Bad, "‖"
	case r.State == "asking":
		return cells.Warn, "?"
	case r.State == "open":
		return cells.Accent, "…"
	case r.Failed:
		return cells.Bad, "!"
	case r.Findings > 0:
		return cells.Warn, "⚠"
	case r.Mark:
		return cells.Accent, "★"
	}
	return cells.Plain, " "
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

// Title is what an exchange asks for.
func rowTitle(r *view.Row) string {
	if r.Method == "tools/call" && r.Name != "" {
		return "call " + r.Name
	}
	if r.Name != "" {
		return r.Method + " " + r.Name
	}
	return r.Method
}

// seconds is how long an exchange has taken by now.
func (c screenClock) seconds(r *view.Row) float64 {
	if r.State == "done" || c.still {
		return r.Seconds
	}
	return r.Seconds + max(0, c.now.Sub(c.fetched).Seconds())
}

// at is the time of day of a moment, in the zone of the user.
func (c screenClock) at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.now.Location()).Format("15:04:05")
}

// took is how long an exchange took, or has been open.
func (c screenClock) took(r *view.Row) cells.Span {
	s := c.seconds(r)
	switch r.State {
	case "done":
		return cells.Text(cells.Plain, tookText(s))
	case "held":
		return cells.Text(cells.Bad, "‖ "+timer(duration(s)))
	case "asking":
		return cells.Text(cells.Warn, "? "+timer(duration(s)))
	}
	return cells.Text(cells.Accent, "… "+timer(duration(s)))
}

// Took is a duration for a column.
func tookText(seconds float64) string { return term.Duration(duration(seconds)) }

// counted writes a number with the word for what is counted.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", english.Thousands(n), many)
}
