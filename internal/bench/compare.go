package bench

import "math"

// A Change compares a number of two results.
type Change struct {
	Metric string `json:"metric"`
	Before Value  `json:"before"`
	After  Value  `json:"after"`
	// Shift is the relative change: 0.1 is an increase by a tenth.
	Shift   float64 `json:"shift"`
	Verdict Verdict `json:"verdict"`
}

// A Verdict is the outcome of comparing a number of two results.
type Verdict string

// The verdicts. Unknown is the verdict for numbers without intervals.
const (
	Same    Verdict = "no difference"
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Unknown Verdict = "too few calls to tell"
)

// minShift is the smallest relative change that counts. widenTo99 is the factor from 95 % intervals
// to 99 % ones: several numbers are compared, and runs differ in ways that one run does not show.
const (
	minShift  = 0.05
	widenTo99 = 2.576 / 1.96
)

// Compare compares two results. A number has changed if its 99 % intervals do not overlap and the
// shift is more than 5 %.
func Compare(before, after *Result) (changes []Change) {
	earlier := before.MainLatency()
	current := after.MainLatency()
	for _, name := range Quantiles {
		x, inA := earlier.Quantiles[name]
		y, inB := current.Quantiles[name]
		if inA && inB {
			changes = append(changes, compareValues(name, x, y, true))
		}
	}
	if before.Response == nil { // in the open model the plan determines the rate
		changes = append(changes, compareValues(callRate, before.Channels[OK].value(), after.Channels[OK].value(), false))
	}
	return append(changes, compareValues(errorRate, before.Errors, after.Errors, true))
}

// value returns the rate of the channel with its interval.
func (c Channel) value() Value {
	if c.High == 0 {
		return Value{Value: c.Rate}
	}
	return Value{Value: c.Rate, Low: &c.Low, High: &c.High}
}

// compareValues compares one number. If lessIsBetter is set, a smaller number is better.
func compareValues(metric string, before, after Value, lessIsBetter bool) Change {
	c := Change{Metric: metric, Before: before, After: after, Verdict: Same}
	if before.Value != after.Value {
		c.Shift = math.Min(after.Value/max(before.Value, 1e-9)-1, 1000)
	}
	x, inA := before.widened(widenTo99)
	y, inB := after.widened(widenTo99)
	if !inA || !inB {
		c.Verdict = Unknown
		return c
	}
	if x.overlaps(y) || math.Abs(c.Shift) <= minShift {
		return c
	}
	c.Verdict = Worse
	if (after.Value < before.Value) == lessIsBetter {
		c.Verdict = Better
	}
	return c
}
