package bench

import (
	"math/bits"
	"slices"
	"time"
)

// Latencies are kept as in an HDR histogram of 1 µs to 1 h with three digits.
const (
	longest     = time.Hour
	digits      = 3
	exactlyBits = 11 // numbers with so many bits are kept as they are
)

// counts is a histogram: how many calls took so many microseconds, to three digits.
type counts map[int64]int64

// toUnit rounds a time down to what the histogram keeps.
func toUnit(d time.Duration) int64 {
	v := min(max(d, time.Microsecond), longest).Microseconds()
	if shift := bits.Len64(uint64(v)) - exactlyBits; shift > 0 {
		v = v >> shift << shift
	}
	return v
}

func (c counts) add(d time.Duration) { c[toUnit(d)]++ }

func (c counts) merge(other counts) {
	for v, n := range other {
		c[v] += n
	}
}

func (c counts) total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// values are those that occur, from the smallest.
func (c counts) values() []int64 {
	values := make([]int64, 0, len(c))
	for v := range c {
		values = append(values, v)
	}
	slices.Sort(values)
	return values
}

// rank is the place of a quantile among n values, from 1.
func rank(quantile float64, n int64) int64 {
	return min(max(int64(quantile*float64(n)+0.5), 1), n)
}

// quantile is a value that so large a part of the calls did not exceed; 0 where there is none.
func (c counts) quantile(q float64) int64 {
	left := rank(q, c.total())
	for _, v := range c.values() {
		left -= c[v]
		if left <= 0 {
			return v
		}
	}
	return 0
}

// A Bar is how many calls took up to a time, and longer than the bar before.
type Bar struct {
	UpTo  int64 `json:"up_to_us"`
	Calls int64 `json:"calls"`
}

// bars part the calls by times that grow in steps of 1, 2, 5.
func (c counts) bars() (bars []Bar) {
	steps := []int64{1, 2, 5}
	at := 0
	upTo := func() int64 {
		limit := steps[at%3]
		for range at / 3 {
			limit *= 10
		}
		return limit
	}
	for _, v := range c.values() {
		for v > upTo() {
			at++
			if len(bars) > 0 {
				bars = append(bars, Bar{UpTo: upTo()})
			}
		}
		if len(bars) == 0 {
			bars = []Bar{{UpTo: upTo()}}
		}
		bars[len(bars)-1].Calls += c[v]
	}
	return bars
}
