package tui

import (
	"fmt"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// A screenClock has the current time and the time when the documents were read. If isStopped is set,
// open exchanges do not count up.
type screenClock struct {
	now, loadedAt time.Time
	isStopped     bool
}

// secondsToDuration converts seconds to a duration.
func secondsToDuration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}

// formatTimer formats how long something has been open: 0:47.
func formatTimer(d time.Duration) string {
	d = max(d, 0)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d/time.Minute%60, d/time.Second%60)
	}
	return fmt.Sprintf("%d:%02d", d/time.Minute, d/time.Second%60)
}

// stateMark returns the role and the mark of an exchange, by the most important of its properties.
// The marks differ even without colours.
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

// barParts returns the parts of an exchange's bar, which took seconds by now. The time that no
// phase has is a separate part.
func barParts(r *view.Row, seconds float64) []cells.BarPart {
	rest := seconds
	var parts []cells.BarPart
	for _, p := range r.Phases {
		parts = append(parts, cells.BarPart{Name: p.Name, Size: p.Seconds})
		rest -= p.Seconds
	}
	if rest > 0 {
		name := "wait"
		if len(parts) > 0 { // the response has begun
			name = "events"
		}
		parts = append(parts, cells.BarPart{Name: name, Size: rest})
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

// elapsedSeconds returns how long an exchange has taken by now.
func (c screenClock) elapsedSeconds(r *view.Row) float64 {
	if r.State == "done" || c.isStopped {
		return r.Seconds
	}
	return r.Seconds + max(0, c.now.Sub(c.loadedAt).Seconds())
}

// The formats of a time of day, without and with milliseconds.
const (
	timeFormat      = "15:04:05"
	exactTimeFormat = "15:04:05.000"
)

// formatTime formats a time of day in the user's time zone.
func (c screenClock) formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.now.Location()).Format(timeFormat)
}

// formatExactTime formats a time of day with milliseconds in the user's time zone.
func (c screenClock) formatExactTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(c.now.Location()).Format(exactTimeFormat)
}

// drawDuration formats how long an exchange took or has been open.
func (c screenClock) drawDuration(r *view.Row) cells.Span {
	s := c.elapsedSeconds(r)
	switch r.State {
	case "done":
		return cells.Text(cells.Plain, formatSeconds(s))
	case "held":
		return cells.Text(cells.Bad, "‖ "+formatTimer(secondsToDuration(s)))
	case "asking":
		return cells.Text(cells.Warn, "? "+formatTimer(secondsToDuration(s)))
	}
	return cells.Text(cells.Accent, "… "+formatTimer(secondsToDuration(s)))
}

// formatSeconds formats a duration for a column.
func formatSeconds(seconds float64) string { return term.Duration(secondsToDuration(seconds)) }

// countNoun formats a number with the noun that it counts.
func countNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", english.Thousands(n), many)
}
