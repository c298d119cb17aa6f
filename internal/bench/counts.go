package bench

import (
	"math/bits"
	"slices"
	"time"
)

// Latencies are rounded as in an HDR histogram of 1 µs to 1 h with three digits.
const (
	maxLatency = time.Hour
	digits     = 3
	exactBits  = 11 // numbers with at most this many bits are not rounded
)

// counts is a histogram: the number of calls by their time in microseconds, rounded to three
// digits.
type counts map[int64]int64

// roundToUnit rounds a time down to microseconds and three digits, within the range of the
// histogram.
func roundToUnit(d time.Duration) int64 {
	v := min(max(d, time.Microsecond), maxLatency).Microseconds()
	if shift := bits.Len64(uint64(v)) - exactBits; shift > 0 {
		v = v >> shift << shift
	}
	return v
}

// add counts a call that took d.
func (c counts) add(d time.Duration) { c[roundToUnit(d)]++ }

// merge adds the calls of other to c.
func (c counts) merge(other counts) {
	for v, n := range other {
		c[v] += n
	}
}

// total returns the number of calls.
func (c counts) total() int64 {
	calls := int64(0)
	for _, n := range c {
		calls += n
	}
	return calls
}

// values returns the times that occur, in ascending order.
func (c counts) values() []int64 {
	values := make([]int64, 0, len(c))
	for v := range c {
		values = append(values, v)
	}
	slices.Sort(values)
	return values
}

// quantileRank returns the position of a quantile among n sorted values, from 1.
func quantileRank(quantile float64, n int64) int64 {
	return min(max(int64(quantile*float64(n)+0.5), 1), n)
}

// quantile returns the time that the fraction q of the calls did not exceed, or 0 without calls.
func (c counts) quantile(q float64) int64 {
	remaining := quantileRank(q, c.total())
	for _, v := range c.values() {
		remaining -= c[v]
		if remaining <= 0 {
			return v
		}
	}
	return 0
}

// A Bar counts the calls that took longer than the previous bar's limit and at most UpTo.
type Bar struct {
	UpTo  int64 `json:"up_to_us"`
	Calls int64 `json:"calls"`
}

// histogram counts the calls by times in steps of 1, 2, 5, from the first bar with a call to the
// last. Bars without calls in between are included.
func (c counts) histogram() []Bar {
	steps := []int64{1, 2, 5}
	step := 0
	stepLimit := func() int64 { // of the current step: 1, 2, 5, 10, 20, 50, 100
		limit := steps[step%len(steps)]
		for range step / len(steps) {
			limit *= 10
		}
		return limit
	}
	var bars []Bar
	for _, v := range c.values() {
		for v > stepLimit() {
			step++
			if len(bars) > 0 { // no bars before the first with a call
				bars = append(bars, Bar{UpTo: stepLimit()})
			}
		}
		if len(bars) == 0 {
			bars = []Bar{{UpTo: stepLimit()}}
		}
		bars[len(bars)-1].Calls += c[v]
	}
	return bars
}
