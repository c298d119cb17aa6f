package tui

import (
	"fmt"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// A screenClock has the current time and the time when the documents were read. If still is set,
// open exchanges do not count up.
type screenClock struct {
	now, fetched time.Time
	still        bool
}

// duration converts seconds to a duration.
func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// timer formats how long something has been open: 0:47.
func timer(d time.Duration) string {
	d = max(d, 0)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d/time.Minute%60, d/time.Second%60)
	}
	return fmt.Sprintf("%d:%02d", d/time.Minute, d/time.Second%60)
}

// stateMark returns the role and the mark of an exchange. The marks differ even without colours.
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

// phases returns the parts of an exchange's bar.
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

// rowTitle returns the request of a row in a few words.
func rowTitle(r *view.Row) string {
	if r.Method == "tools/call" && r.Name != "" {
		return "call " + r.Name
	}
	if r.Name != "" {
		return r.Method + " " + r.Name
	}
	return r.Method
}

// seconds returns how long an exchange has taken by now.
func (c screenClock) seconds(r *view.Row) float64 {
	if r.State == "done" || c.still {
		return r.Seconds
	}
	return r.Seconds + max(0, c.now.Sub(c.fetched).Seconds())
}

// at formats a time of day in the user's time zone.
func (c screenClock) at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.now.Location()).Format("15:04:05")
}

// took formats how long an exchange took or has been open.
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

// tookText formats a duration for a column.
func tookText(seconds float64) string { return term.Duration(duration(seconds)) }

// counted formats a number with the noun that it counts.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", english.Thousands(n), many)
}
