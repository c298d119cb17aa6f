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

// Compare compares two results: the quantiles that both have, the rate in the closed model, and the
// error rate. A number has changed if its 99 % intervals do not overlap and the shift is more than
// 5 %.
func Compare(before, after *Result) []Change {
	beforeLatency := before.MainLatency()
	afterLatency := after.MainLatency()
	var changes []Change
	for _, name := range Quantiles {
		beforeValue, inBefore := beforeLatency.Quantiles[name]
		afterValue, inAfter := afterLatency.Quantiles[name]
		if inBefore && inAfter {
			changes = append(changes, compareValues(name, beforeValue, afterValue, lessIsBetter))
		}
	}
	if before.Response == nil { // in the open model the plan determines the rate
		beforeRate := before.Channels[OK].value()
		afterRate := after.Channels[OK].value()
		changes = append(changes, compareValues(callRate, beforeRate, afterRate, moreIsBetter))
	}
	return append(changes, compareValues(errorRate, before.Errors, after.Errors, lessIsBetter))
}

// value returns the rate of the channel with its interval.
func (c Channel) value() Value {
	if c.High == 0 { // the run was too short for an interval
		return Value{Value: c.Rate}
	}
	return Value{Value: c.Rate, Low: &c.Low, High: &c.High}
}

// The directions that make a number better.
const (
	lessIsBetter = true
	moreIsBetter = false
)

// compareValues compares one number. A smaller one is better if isLessBetter is set. The verdict is
// Unknown if a value has no interval.
func compareValues(metric string, before, after Value, isLessBetter bool) Change {
	c := Change{Metric: metric, Before: before, After: after, Verdict: Same}
	if before.Value != after.Value {
		const smallest = 1e-9 // in place of 0, by which nothing can be divided
		const maxShift = 1000
		c.Shift = math.Min(after.Value/max(before.Value, smallest)-1, maxShift)
	}
	beforeInterval, hasBefore := before.widened(widenTo99)
	afterInterval, hasAfter := after.widened(widenTo99)
	if !hasBefore || !hasAfter {
		c.Verdict = Unknown
		return c
	}
	if beforeInterval.overlaps(afterInterval) || math.Abs(c.Shift) <= minShift {
		return c
	}
	c.Verdict = Worse
	isLess := after.Value < before.Value
	if isLess == isLessBetter {
		c.Verdict = Better
	}
	return c
}
