package bench

import "math"

// A Change is a number of one result beside that of another.
type Change struct {
	Metric string `json:"metric"`
	Before Value  `json:"before"`
	After  Value  `json:"after"`
	// Shift is how much more it is: 0.1 is a tenth.
	Shift   float64 `json:"shift"`
	Verdict Verdict `json:"verdict"`
}

// A Verdict says whether a number changed.
type Verdict string

// The verdicts. What has no intervals cannot be told.
const (
	Same    Verdict = "no difference"
	Better  Verdict = "better"
	Worse   Verdict = "worse"
	Unknown Verdict = "too few calls to tell"
)

// leastShift is the least change that counts. surer makes 95 % intervals those of 99 %: several
// numbers are compared, and a run knows nothing of what changes from one run to the next.
const (
	leastShift = 0.05
	surer      = 2.576 / 1.96
)

// Compare compares two results: a number changed where the intervals, at 99 %, do not overlap
// and the shift is more than 5 %.
func Compare(before, after *Result) (changes []Change) {
	a := before.Main()
	b := after.Main()
	for _, name := range Quantiles {
		x, inA := a.Quantiles[name]
		y, inB := b.Quantiles[name]
		if inA && inB {
			changes = append(changes, changeOf(name, x, y, true))
		}
	}
	if before.Response == nil { // in the open model the rate is that of the plan
		changes = append(changes, changeOf(callRate, before.Channels[OK].value(), after.Channels[OK].value(), false))
	}
	return append(changes, changeOf(errorRate, before.Errors, after.Errors, true))
}

func (c Channel) value() Value {
	if c.High == 0 {
		return Value{Value: c.Rate}
	}
	return Value{Value: c.Rate, Low: &c.Low, High: &c.High}
}

// changeOf judges one number, of which less may be better.
func changeOf(metric string, before, after Value, lessIsBetter bool) Change {
	c := Change{Metric: metric, Before: before, After: after, Verdict: Same}
	if before.Value != after.Value {
		c.Shift = math.Min(after.Value/max(before.Value, 1e-9)-1, 1000)
	}
	x, inA := before.interval(surer)
	y, inB := after.interval(surer)
	switch {
	case !inA || !inB:
		c.Verdict = Unknown
	case x.overlaps(y) || math.Abs(c.Shift) <= leastShift:
	case (after.Value < before.Value) == lessIsBetter:
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}
