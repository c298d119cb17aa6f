package term

import (
	"fmt"
	"strings"
	"time"
)

// Duration formats a duration for a reader: 0.4 ms, 12 ms, 1.2 s, 61 s.
func Duration(d time.Duration) string {
	if d < 10*time.Millisecond {
		return Tenths(d, time.Millisecond) + " ms"
	}
	if d < time.Second {
		return fmt.Sprint(int64(d.Round(time.Millisecond)/time.Millisecond)) + " ms"
	}
	if d < 10*time.Second {
		return Tenths(d, time.Second) + " s"
	}
	return fmt.Sprint(int64(d.Round(time.Second)/time.Second)) + " s"
}

// Tenths formats a duration in a unit, with one decimal unless it is 0.
func Tenths(d, unit time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(d)/float64(unit)), ".0")
}

// Size formats a number of bytes for a reader, in powers of ten: 31 kB.
func Size[T int | int64](n T) string {
	if n == 1 {
		return "1 byte"
	}
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return Scale(int64(n), " kB", " MB", " GB")
}

// Bytes formats a size of n bytes for a table: 512 B, 1.5 kB, 64 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	return Size(n)
}

// Scale formats a number with at least two digits, in the largest unit that fits. Each unit is a
// thousand times the one before.
func Scale(n int64, units ...string) string {
	value := float64(n)
	unit := ""
	for _, u := range units {
		if value < 999.5 {
			break
		}
		value = value / 1000
		unit = u
	}
	if unit != "" && value < 9.95 {
		return fmt.Sprintf("%.1f%s", value, unit)
	}
	return fmt.Sprintf("%.0f%s", value, unit)
}

// FineDuration formats a duration for a reader, down to microseconds.
func FineDuration(s Style, d time.Duration) string {
	if d >= time.Millisecond || d < time.Microsecond && d != 0 {
		return Duration(d)
	}
	return fmt.Sprintf("%d %s", d.Microseconds(), s.Ornament("us", "µs"))
}
