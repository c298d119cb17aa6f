package k6

import (
	"math"
	"strconv"

	"mcpc/internal/bench"
)

// The metrics of the script, in k6.
const (
	callTime   = "mcp_call"
	failedRate = "mcp_failed"
	succeeded  = "mcp_ok"
)

// buildThresholds returns expectations as thresholds of k6. An additional threshold fails a test
// without a successful call, because such a test has no times to judge.
func buildThresholds(expect []bench.Expectation) map[string][]string {
	all := map[string][]string{succeeded: {"count>0"}}
	for _, e := range expect {
		metric := ""
		statistic := "rate"
		limit := e.Limit
		switch e.Metric {
		case "error_rate":
			metric = failedRate
		case "rate":
			metric = succeeded
		case "max":
			metric = callTime
			statistic = "max"
			limit /= 1000
		default: // p99.9
			metric = callTime
			statistic = "p(" + e.Metric[1:] + ")"
			limit /= 1000
		}
		limit = math.Round(limit*1e9) / 1e9 // 0.7% is 0.007
		all[metric] = append(all[metric], statistic+e.Operator+strconv.FormatFloat(limit, 'f', -1, 64))
	}
	return all
}
