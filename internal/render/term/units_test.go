package term

import (
	"testing"
)

func TestSize(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 9949: "9.9 kB", 31_033: "31 kB",
		999_400: "999 kB", 999_600: "1.0 MB", 16 << 20: "17 MB", 2e9: "2.0 GB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
