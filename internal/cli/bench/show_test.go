package bench

import (
	"bytes"
	"testing"

	"mcpc/internal/bench"
	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
)

func value(v, low, high float64) bench.Value { return bench.Value{Value: v, Low: &low, High: &high} }

// document returns a result with everything that can occur.
func document() *bench.Document {
	service := &bench.Latency{
		Calls: 2990, Quantiles: map[string]bench.Value{
			"p50": value(20_100, 20_000, 20_300), "p90": value(31_000, 29_000, 33_500), "p95": value(62_000, 60_100, 64_000),
			"p99": value(104_000, 98_700, 110_000), "max": {Value: 1_203_000, AtLeast: true},
		},
		Bars: []bench.Bar{{UpTo: 20_000, Calls: 1400}, {UpTo: 50_000, Calls: 1500}, {UpTo: 100_000, Calls: 0}, {UpTo: 2_000_000, Calls: 90}},
	}
	response := &bench.Latency{
		Calls: 2990, Quantiles: map[string]bench.Value{
			"p50": value(20_400, 20_100, 20_900), "p90": value(45_000, 39_000, 52_000), "p95": value(70_000, 65_000, 74_000),
			"p99": value(1_020_000, 870_000, 1_190_000), "max": {Value: 1_230_000, AtLeast: true},
		},
		Bars: service.Bars,
	}
	return &bench.Document{
		Format: bench.Format, Tool: "get-sum" + rendertest.HostileText, Load: bench.Load{Model: "open", Meaning: bench.OpenMeaning, Rate: 100, Poisson: true, Seconds: 30},
		Results: []*bench.Result{{
			Target: "http://127.0.0.1:3001/mcp" + rendertest.HostileText, Transport: "http", Seconds: 30, Warmup: 500,
			Setup: []bench.Step{{Name: "connect", MedianUS: 3210, Times: 1}, {Name: "cold start", MedianUS: 412_000, Times: 5}},
			Channels: map[string]bench.Channel{
				"ok": {Calls: 2990, Rate: 99.7, Low: 99.1, High: 100}, "tool_error": {Calls: 10, Rate: 0.33, Low: 0.1, High: 0.6}, "timeout": {Calls: 2, Rate: 0.07},
				"bad_response" + rendertest.HostileText: {Calls: 1, Rate: 0.03},
			},
			Response: response, Service: service, EndReason: "more than half of the calls failed for 10 s",
			Stages:    map[string]bench.Latency{"first progress": {Calls: 120, Quantiles: map[string]bench.Value{"p50": {Value: 9870}, "max": {Value: 12_000}}}},
			Generator: bench.GeneratorStats{Pauses: 2, Held: 40},
		}},
		Comparison: []bench.Change{
			{Metric: "p50", Before: value(20_000, 19_900, 20_100), After: value(30_100, 29_800, 30_500), Shift: 0.505, Verdict: bench.Worse},
			{Metric: "error_rate", Before: bench.Value{Value: 0.001}, After: bench.Value{Value: 0.0033}, Shift: 2.3, Verdict: bench.Unknown},
		},
		Expectations: []bench.Expectation{{Text: "p99<200ms", Got: "1.02s"}, {Text: "p99.9<1s", UnknownReason: "p99.9 needs 10000 calls"}, {Text: "error_rate<1%", Got: "0.33%", Met: true}},
		Invalid:      "the generator was the limit: 40 of 3000 planned calls could not be sent",
	}
}

func TestResultTextGolden(t *testing.T) {
	for name, st := range map[string]term.Style{"terminal.golden": {Terminal: true, Width: 100}, "narrow.golden": {Terminal: true, Width: 50, ASCII: true}, "pipe.golden": {Width: 80}} {
		var b bytes.Buffer
		if err := writeText(&b, st, document()); err != nil {
			t.Fatal(err)
		}
		rendertest.Golden(t, name, b.Bytes())
		for line := range bytes.Lines(b.Bytes()) {
			rendertest.AssertVisible(t, string(bytes.ReplaceAll(line, []byte("\t"), nil)))
		}
	}
}

// Numbers have three digits, or all of those before the point.
func TestNumbersHaveThreeDigits(t *testing.T) {
	for us, want := range map[float64]string{0: "0 us", 7: "7 us", 999: "999 us", 1234: "1.23 ms", 12_340: "12.3 ms", 20_000: "20 ms", 123_400: "123 ms", 1_000_000: "1 s", 61_500_000: "61.5 s", 100_000: "100 ms", 9_996: "10 ms"} {
		if got := formatMicros(term.Style{ASCII: true}, us); got != want {
			t.Errorf("%f is %q, want %q", us, got, want)
		}
	}
}
