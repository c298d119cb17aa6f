// Package english formats counts and times in English.
package english

import (
	"fmt"
	"strconv"
	"time"
)

// Plural returns "1 tool" or "2 tools" for one "tool".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Thousands formats a number with a comma between each three digits.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Ago formats the time from then to now: "5 min ago". It returns "-" for the zero time.
func Ago(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	d := now.Sub(then)
	if d < time.Minute {
		return "just now"
	}
	if d < time.Hour {
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	if d < 24*time.Hour {
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return then.Format("2006-01-02")
}

// Duration formats a duration without parts that are 0: 10m and not 10m0s.
func Duration(d time.Duration) string {
	text := d.Round(time.Second).String()
	if d < time.Second {
		text = d.String()
	}
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return text
}
