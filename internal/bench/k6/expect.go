package k6

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The metrics of the script, in k6.
const (
	callTime   = "mcp_call"
	failedRate = "mcp_failed"
	succeeded  = "mcp_ok"
)

// statistics are what an expectation says of the times of calls, and its name in k6.
var statistics = map[string]string{"p50": "p(50)", "p90": "p(90)", "p95": "p(95)", "p99": "p(99)",
	"p99.9": "p(99.9)", "max": "max"}

// thresholds writes expectations as thresholds of k6. A test in which no call succeeds always
// crosses one: there are then no times to judge.
func thresholds(expect []string) (map[string][]string, error) {
	all := map[string][]string{succeeded: {"count>0"}}
	for _, text := range expect {
		metric, threshold, err := thresholdOf(text)
		if err != nil {
			return nil, fmt.Errorf("expectation %q: %w", text, err)
		}
		all[metric] = append(all[metric], threshold)
	}
	return all, nil
}

// thresholdOf reads METRIC<VALUE or METRIC>VALUE, also with <= and >=.
func thresholdOf(text string) (metric, threshold string, err error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return "", "", errors.New("it has neither < nor >")
	}
	name, sign, value := strings.TrimSpace(text[:at]), text[at:at+1], text[at+1:]
	if rest, ok := strings.CutPrefix(value, "="); ok {
		sign, value = sign+"=", rest
	}
	value = strings.TrimSpace(value)
	statistic, isTime := statistics[name]
	var number float64
	switch {
	case isTime:
		var d time.Duration
		d, err = time.ParseDuration(value)
		metric, number = callTime, float64(d)/float64(time.Millisecond)
	case name == "error_rate":
		digits, percent := strings.CutSuffix(value, "%")
		if number, err = strconv.ParseFloat(strings.TrimSpace(digits), 64); percent {
			number /= 100
		}
		metric, statistic = failedRate, "rate"
	case name == "rate":
		number, err = strconv.ParseFloat(strings.TrimSuffix(value, "/s"), 64)
		metric, statistic = succeeded, "rate"
	default:
		names := []string{"error_rate", "rate"}
		for known := range statistics {
			names = append(names, known)
		}
		slices.Sort(names)
		return "", "", fmt.Errorf("unknown metric %q; there are %s", name, strings.Join(names, ", "))
	}
	number = math.Round(number*1e9) / 1e9 // 0.7% is 0.007
	if err != nil || !(number >= 0) {
		return "", "", fmt.Errorf("not a value of %s: %q", name, value)
	}
	return metric, statistic + sign + strconv.FormatFloat(number, 'f', -1, 64), nil
}
