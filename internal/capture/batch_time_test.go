package capture

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The time of a line is what time.Parse reads, whatever the line before had.
func TestQuickTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b batch
	texts := []string{"", "Z", "2026-11-27T12:06:00Z", "2026-11-27T12:06:00.Z", "2026-11-27T12:06:00,5Z", "2026-11-27T12:06:00.5", "2026-11-27T12:06:00.5+01:00",
		"2026-11-27T12:06:00.1234567890Z", "2026-11-27T12:06:00.123456789Z", "2026-11-27T12:06:00.12x4Z", "2026-11-27T12:06:60Z", "2026-13-27T12:06:00.5Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"}
	for range 5000 {
		text := texts[random.IntN(len(texts))]
		if random.IntN(2) == 0 {
			text = time.Unix(1_700_000_000+random.Int64N(3), random.Int64N(1e9)/int64([]int{1, 1000, 1e6}[random.IntN(3)])).UTC().Format(time.RFC3339Nano)
		}
		want, err := time.Parse(time.RFC3339Nano, text)
		got, ok := b.quickTime([]byte(text))
		if ok != (err == nil) || ok && (got != want && !(got.Equal(want) && got.Format(time.RFC3339Nano) == want.Format(time.RFC3339Nano))) {
			t.Fatalf("%q is %v, want %v, %v", text, got, want, err)
		}
	}
}
