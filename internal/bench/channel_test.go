package bench

import "testing"

// The rate of a run is within its interval, even if the last responses are late.
func TestRateIsWithinItsInterval(t *testing.T) {
	seconds := make([]tally, 10)
	for i := range seconds {
		seconds[i] = tally{part: 20, whole: 1}
	}
	if c := newChannel(200, 12.5, seconds); c.Rate != 16 || c.Low > c.Rate || c.High < 20 {
		t.Errorf("%+v", c)
	}
}
