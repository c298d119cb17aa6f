package bench

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Expectation is what a result should be, as "p99<200ms", and what it was.
type Expectation struct {
	Text string `json:"expect"`
	Got  string `json:"got,omitempty"`
	Held bool   `json:"held"`
	// Unknown says why it could not be judged.
	Unknown string `json:"unknown,omitempty"`

	metric string
	less   bool
	limit  float64
}

// The metrics of expectations.
const (
	errorRate = "error_rate"
	callRate  = "rate"
)

// Metrics are the names that an expectation may have.
var Metrics = append(slices.Clone(Quantiles), "max", errorRate, callRate)

// ParseExpectation reads METRIC<VALUE or METRIC>VALUE, where the value is a time, a percentage
// or a number of calls a second.
func ParseExpectation(text string) (e Expectation, err error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return e, errors.New("it has neither < nor >")
	}
	e.Text, e.metric, e.less = strings.TrimSpace(text), strings.TrimSpace(text[:at]), text[at] == '<'
	value := strings.TrimSpace(strings.TrimPrefix(text[at+1:], "="))
	switch e.metric {
	case errorRate:
		number, percent := strings.CutSuffix(value, "%")
		if e.limit, err = strconv.ParseFloat(strings.TrimSpace(number), 64); percent {
			e.limit /= 100
		}
		if err == nil && e.limit >= 1 { // it would hold, or fail, always
			return e, fmt.Errorf("%s is all calls: write %s<1%%, or %s<0.01", value, errorRate, errorRate)
		}
	case callRate:
		e.limit, err = strconv.ParseFloat(strings.TrimSuffix(value, "/s"), 64)
	default:
		if !slices.Contains(Metrics, e.metric) {
			return e, fmt.Errorf("unknown metric %q", e.metric)
		}
		var d time.Duration
		if _, bare := strconv.ParseFloat(value, 64); bare == nil && value != "0" {
			return e, fmt.Errorf("%s needs a unit: %s%c%sms", value, e.metric, text[at], value)
		}
		d, err = time.ParseDuration(value)
		e.limit = float64(d.Microseconds())
	}
	if err != nil || !(e.limit >= 0) {
		return e, fmt.Errorf("not a value of %s: %q", e.metric, value)
	}
	return e, nil
}

// Needs is how many calls it takes to judge the expectation.
func (e Expectation) Needs() int64 { return Needs(e.metric) }

// calls is how many calls ended.
func (r *Result) calls() (n int64) {
	for _, c := range r.Channels {
		n += c.Calls
	}
	return n
}

// Judge compares a result with the expectation.
func (e Expectation) Judge(r *Result) Expectation {
	var got float64
	limit := e.limit
	if r.calls() == 0 {
		e.Unknown = "there were no calls"
		return e
	}
	switch e.metric {
	case errorRate:
		got = r.Errors.Value
		e.Got = strconv.FormatFloat(100*got, 'g', 4, 64) + "%"
	case callRate:
		got = r.Channels[OK].Rate
		e.Got = strconv.FormatFloat(got, 'g', 5, 64) + "/s"
	default:
		v, ok := r.Main().Quantiles[e.metric]
		if !ok {
			e.Unknown = fmt.Sprintf("%s needs %d calls that succeed or time out, and there were %d", e.metric, e.Needs(), r.Main().Calls)
			return e
		}
		got = v.Value
		e.Got = (time.Duration(got) * time.Microsecond).String()
		if v.AtLeast {
			e.Got = "at least " + e.Got
			// Both are rounded down: a call that timed out after a second did not take less than one.
			limit = float64(toUnit(time.Duration(limit) * time.Microsecond))
		}
	}
	e.Held = e.less && got < limit || !e.less && got > limit
	return e
}
