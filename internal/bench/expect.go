package bench

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Expectation is a condition on a result, such as "p99<200ms", and its outcome.
type Expectation struct {
	Text string `json:"expect"`
	Got  string `json:"got,omitempty"`
	Met  bool   `json:"held"`
	// UnknownReason is the reason why the condition could not be judged.
	UnknownReason string `json:"unknown,omitempty"`

	// Metric is an element of Metrics, Operator is "<", "<=", ">" or ">=". Limit is in
	// microseconds; for error_rate it is a fraction of all calls, for rate calls per second.
	Metric   string  `json:"-"`
	Operator string  `json:"-"`
	Limit    float64 `json:"-"`
}

// The metrics of expectations.
const (
	errorRate = "error_rate"
	callRate  = "rate"
)

// Metrics are the names that an expectation can begin with.
var Metrics = append(slices.Clone(Quantiles), "max", errorRate, callRate)

// ParseExpectation parses METRIC<VALUE or METRIC>VALUE. The value is a time, a percentage or a
// number of calls per second.
func ParseExpectation(text string) (Expectation, error) {
	index := strings.IndexAny(text, "<>")
	if index < 0 {
		return Expectation{}, errors.New("it has neither < nor >")
	}
	e := Expectation{
		Text:     strings.TrimSpace(text),
		Metric:   strings.TrimSpace(text[:index]),
		Operator: text[index : index+1],
	}
	value, orEqual := strings.CutPrefix(text[index+1:], "=")
	if orEqual {
		e.Operator += "="
	}
	limit, err := e.parseLimit(strings.TrimSpace(value))
	e.Limit = limit
	return e, err
}

// parseLimit parses the value that the metric is compared with. A time needs a unit, unless it is
// 0. It returns the limit in the unit of Expectation.Limit.
func (e Expectation) parseLimit(value string) (float64, error) {
	var limit float64
	var err error
	switch e.Metric {
	case errorRate:
		number, isPercent := strings.CutSuffix(value, "%")
		limit, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if isPercent {
			limit /= 100
		}
		if err == nil && limit >= 1 { // the condition would always or never hold
			return 0, fmt.Errorf("%s means all calls: write %s<1%%, or %s<0.01", value, errorRate, errorRate)
		}
	case callRate:
		limit, err = strconv.ParseFloat(strings.TrimSuffix(value, "/s"), 64)
	default:
		if !slices.Contains(Metrics, e.Metric) {
			return 0, fmt.Errorf("unknown metric %q", e.Metric)
		}
		_, numberErr := strconv.ParseFloat(value, 64)
		hasNoUnit := numberErr == nil && value != "0"
		if hasNoUnit {
			return 0, fmt.Errorf("%s needs a unit: %s%s%sms", value, e.Metric, e.Operator, value)
		}
		var d time.Duration
		d, err = time.ParseDuration(value)
		limit = float64(d.Microseconds())
	}
	if err != nil || !(limit >= 0) { // NaN is not >= 0
		return 0, fmt.Errorf("not a value of %s: %q", e.Metric, value)
	}
	return limit, nil
}

// NeededCalls returns the number of calls that are needed to judge the expectation.
func (e Expectation) NeededCalls() int64 { return NeededCalls(e.Metric) }

// countCalls returns the number of recorded calls.
func (r *Result) countCalls() int64 {
	var n int64
	for _, c := range r.Channels {
		n += c.Calls
	}
	return n
}

// Judge returns the expectation with its outcome for a result. If the result has too few calls to
// tell, Met is false and UnknownReason has the reason.
func (e Expectation) Judge(r *Result) Expectation {
	var got float64
	isAtLeast := false // the true value may be higher than got
	limit := e.Limit
	if r.countCalls() == 0 {
		e.UnknownReason = "there were no calls"
		return e
	}
	switch e.Metric {
	case errorRate:
		got = r.Errors.Value
		e.Got = strconv.FormatFloat(100*got, 'g', 4, 64) + "%"
	case callRate:
		got = r.Channels[OK].Rate
		e.Got = strconv.FormatFloat(got, 'g', 5, 64) + "/s"
	default:
		latency := r.MainLatency()
		v, ok := latency.Quantiles[e.Metric]
		if !ok {
			e.UnknownReason = fmt.Sprintf("%s needs %d calls that succeed or time out, and there were %d",
				e.Metric, e.NeededCalls(), latency.Calls)
			return e
		}
		got = v.Value
		e.Got = (time.Duration(got) * time.Microsecond).String()
		isAtLeast = v.AtLeast
		if isAtLeast {
			e.Got = "at least " + e.Got
			// The latency is rounded down, so the limit is too: a call with a timeout of a second did not
			// take less than a second.
			limit = float64(roundToUnit(time.Duration(limit) * time.Microsecond))
		}
	}
	switch e.Operator {
	case "<":
		e.Met = got < limit
	case "<=":
		isEqual := got == limit && !isAtLeast
		e.Met = got < limit || isEqual
	case ">":
		e.Met = got > limit
	case ">=":
		e.Met = got >= limit
	}
	return e
}
