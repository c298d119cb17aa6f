package mock

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Pace says how long a Player waits before what it sends. Its zero value does not wait.
type Pace struct {
	// Factor is that of the recorded times, Fixed the time before each response.
	Factor float64
	Fixed  time.Duration
}

// ParsePace reads none, as-recorded, a factor as x0.5, or a time as 200ms.
func ParsePace(text string) (Pace, error) {
	factor, isFactor := strings.CutPrefix(text, "x")
	switch {
	case text == "none":
		return Pace{}, nil
	case text == "as-recorded":
		return Pace{Factor: 1}, nil
	case isFactor:
		if f, err := strconv.ParseFloat(factor, 64); err == nil && f >= 0 && f <= 1000 {
			return Pace{Factor: f}, nil
		}
	default:
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return Pace{Fixed: d}, nil
		}
	}
	return Pace{}, fmt.Errorf("%q is neither none, as-recorded, a factor (x0.5) nor a time (200ms)", text)
}

// Waits reports whether there are any pauses.
func (p Pace) Waits() bool { return p.Factor > 0 || p.Fixed > 0 }

// Of is the pause before a step that came so long after the message before it.
func (p Pace) Of(recorded time.Duration, response bool) time.Duration {
	if p.Fixed > 0 && response {
		return p.Fixed
	}
	return time.Duration(float64(recorded) * p.Factor)
}
