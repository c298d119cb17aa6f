package render

import "fmt"

// Bytes is a size as a person says it: 512 B, 1.5 KiB, 64 MiB.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/(1<<10), 0
	for size >= 1000 && unit < 3 {
		size, unit = size/(1<<10), unit+1
	}
	if size < 10 {
		return fmt.Sprintf("%.1f %s", size, [...]string{"KiB", "MiB", "GiB", "TiB"}[unit])
	}
	return fmt.Sprintf("%.0f %s", size, [...]string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
