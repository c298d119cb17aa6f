// Package english counts things and says how long ago they were.
package english

import (
	"fmt"
	"strconv"
	"time"
)

func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Thousands writes a number with a comma between each three digits.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Ago is a time as a person remembers it.
func Ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return "-"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return then.Format("2006-01-02")
	}
}

// Duration is a length of time without parts that are 0: 10m and not 10m0s.
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
