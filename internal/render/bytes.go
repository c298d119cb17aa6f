package render

import "fmt"

// Bytes is a size as it stands in a table, in powers of ten: 512 B, 1.5 kB, 64 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	return size(n)
}
