package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The counts equal the counts of an HDR histogram of 1 µs to 1 h with three digits.
func TestCountsAreAnHDRHistogram(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	c, h := counts{}, hdrhistogram.New(1, maxLatency.Microseconds(), digits)
	for range 20_000 {
		d := time.Duration(float64(time.Microsecond) * (1 + random.ExpFloat64()*float64(int64(1)<<random.IntN(28))))
		c.add(d)
		if err := h.RecordValue(min(d, maxLatency).Microseconds()); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range quantiles {
		got, want := c.quantile(q), h.ValueAtQuantile(100*q)
		if !h.ValuesAreEquivalent(got, want) {
			t.Errorf("the quantile %g is %d, want %d", q, got, want)
		}
	}
	for d, want := range map[time.Duration]int64{0: 1, 999: 1, 2047 * time.Microsecond: 2047, 2049 * time.Microsecond: 2048, 2 * maxLatency: roundToUnit(maxLatency)} {
		if got := roundToUnit(d); got != want {
			t.Errorf("%s is %d, want %d", d, got, want)
		}
	}
}

func TestBarsCountAllCalls(t *testing.T) {
	c := counts{150: 3, 900: 5, 1000: 1, 40_000: 2}
	want := []Bar{{200, 3}, {500, 0}, {1000, 6}, {2000, 0}, {5000, 0}, {10_000, 0}, {20_000, 0}, {50_000, 2}}
	if got := c.histogram(); !slices.Equal(got, want) {
		t.Errorf("the bars are %v, want %v", got, want)
	}
}

// Tools for HdrHistogram can plot the file: value, percentile, count and 1/(1-percentile).
func TestHistogramFile(t *testing.T) {
	var b bytes.Buffer
	if err := (&Latency{raw: counts{1000: 90, 2000: 9, 30_000: 1}}).WriteHistogram(&b); err != nil {
		t.Fatal(err)
	}
	var last []string
	lines := bufio.NewScanner(&b)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 4 && !strings.HasPrefix(fields[0], "#") && fields[0] != "Value" {
			last = fields
		}
	}
	value, err := strconv.ParseFloat(last[0], 64)
	if err != nil || !near(value, 30) || last[2] != "100" {
		t.Errorf("the last line is %q, want 30 ms for 100 calls", last)
	}
}

// A quantile is shown where ten calls lie beyond it.
func TestQuantilesNeedCalls(t *testing.T) {
	for calls, want := range map[int][]string{
		19: {"max"}, 20: {"max", "p50"}, 99: {"max", "p50"}, 100: {"max", "p50", "p90"}, 199: {"max", "p50", "p90"},
		200: {"max", "p50", "p90", "p95"}, 999: {"max", "p50", "p90", "p95"}, 1000: {"max", "p50", "p90", "p95", "p99"},
		10_000: {"max", "p50", "p90", "p95", "p99", "p99.9"},
	} {
		var names []string
		for name := range newLatency([]counts{{20_000: int64(calls)}}, 0).Quantiles {
			names = append(names, name)
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%d calls have %v, want %v", calls, names, want)
		}
	}
	if l := newLatency(nil, 0); l.Calls != 0 || len(l.Quantiles) != 0 {
		t.Errorf("no calls have %+v", l)
	}
}

func TestGeneratorLimit(t *testing.T) {
	result := func(made GeneratorStats) *Result {
		return &Result{Channels: map[string]Channel{OK: {Calls: 1000}}, Generator: made}
	}
	for _, c := range []struct {
		made   GeneratorStats
		inside bool
		want   string
	}{
		{GeneratorStats{CPU: 0.7, Late: 10, Missed: 1}, false, ""},
		{GeneratorStats{CPU: 0.71}, false, "the generator was the limit: this process used 71 % of all processors"},
		{GeneratorStats{CPU: 0.71}, true, ""},
		{GeneratorStats{Late: 11}, true, "the generator was the limit: 11 of 1000 calls began more than 5ms late"},
		{GeneratorStats{Missed: 2}, true, "the generator was the limit: 2 of 1002 planned calls could not be sent"},
	} {
		if got := result(c.made).GeneratorLimit(c.inside); got != c.want {
			t.Errorf("%+v: %q, want %q", c.made, got, c.want)
		}
	}
}

// Response times that are more than a tenth, and a millisecond, longer at p99 mean that the run
// fell behind.
func TestFellBehind(t *testing.T) {
	at := func(name string, us float64) *Latency {
		return &Latency{Quantiles: map[string]Value{"p50": {Value: 1}, name: {Value: us}}}
	}
	for _, c := range []struct {
		name              string
		response, service float64
		want              bool
	}{{"p99", 112_000, 100_000, true}, {"p99", 109_000, 100_000, false}, {"p99", 900, 100, false}, {"p99", 1200, 100, true}, {"p90", 112_000, 100_000, true}, {"p99.9", 112_000, 100_000, false}} {
		r := &Result{Response: at(c.name, c.response), Service: at(c.name, c.service)}
		if got := r.FellBehind(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if (&Result{Service: at("p99", 1)}).FellBehind() {
		t.Error("the closed model fell behind")
	}
}

func TestExpectations(t *testing.T) {
	r := &Result{
		Channels: map[string]Channel{OK: {Calls: 990, Rate: 99}}, Errors: Value{Value: 0.01},
		Service: &Latency{Calls: 990, Quantiles: map[string]Value{"p50": {Value: 20_000}, "p90": {Value: 40_000}, "max": {Value: 1e6}}},
	}
	for text, want := range map[string]string{
		"p50<200ms": "held", "p50 < 20.1ms": "held", "p50<20ms": "missed", "p90<=50ms": "held", "p50<=20ms": "held", "p50>=20ms": "held", "p50>20ms": "missed", "max<1s": "missed", "max<2s": "held", "p50>1ms": "held",
		"error_rate<0.1%": "missed", "error_rate<2%": "held", "error_rate<1%": "missed", "error_rate<=1%": "held", "error_rate<0.02": "held", "rate>50": "held", "rate>100/s": "missed", "rate<100": "held",
		"p99<1s": "p99 needs 1000 calls that succeed or time out, and there were 990",
	} {
		e, err := ParseExpectation(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		e = e.Judge(r)
		got := "missed"
		if e.Met {
			got = "held"
		}
		if e.UnknownReason != "" {
			got = e.UnknownReason
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"error_rate<1%", "rate<5", "max<1s"} {
		if e, err := ParseExpectation(text); err != nil || e.Judge(&Result{Service: &Latency{}}).UnknownReason == "" {
			t.Errorf("%s is judged without calls: %v", text, err)
		}
	}
	for _, text := range []string{"", "p99", "p99=200ms", "p98<1s", "p99<200", "p99<fast", "error_rate<x", "error_rate<-1", "rate>NaN", "p50<-1s"} {
		if e, err := ParseExpectation(text); err == nil {
			t.Errorf("%q is %+v", text, e)
		}
	}
}

// An interval that is wide because its seconds differ does not go below the fastest call.
func TestIntervalsDoNotGoBelowFastestCall(t *testing.T) {
	var seconds []counts
	for i := range 10 {
		us := int64(1000)
		if i >= 4 {
			us = 100_000
		}
		seconds = append(seconds, counts{us: 100})
	}
	if p50 := newLatency(seconds, 0).Quantiles["p50"]; p50.Value != 100_000 || p50.Low == nil || *p50.Low != 1000 {
		t.Errorf("%+v, low %v", p50, p50.Low)
	}
}

func TestDocumentsOfEarlierRuns(t *testing.T) {
	r := measure(t, Plan{Users: 2, Requests: 3000}, fixed)
	raw, err := json.Marshal(Document{Format: Format, Results: []*Result{r}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReadDocument(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Compare(d.Results[0], r) {
		if c.Verdict != Same || c.Shift != 0 {
			t.Errorf("a result beside itself: %+v", c)
		}
	}
	for text, want := range map[string]string{
		"":                          "not JSON of mcpc bench",
		`{"format":"x`:              "not JSON of mcpc bench",
		`{"p99":1}`:                 "not a result of mcpc bench",
		`{"format":"mcpc-bench/0"}`: `its format is "mcpc-bench/0", and this mcpc reads "mcpc-bench/1"`,
		`{"format":"mcpc-bench/1"}`: "it has no result",
		`{"format":"mcpc-bench/1","results":[{}]}`: "it has no result",
	} {
		if _, err := ReadDocument([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestPlanCalls(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want int
	}{
		{Plan{Rate: 100, Duration: 3 * time.Second}, 300},
		{Plan{Rate: 100, Requests: 50}, 50},
		{Plan{Rate: 100, Requests: 500, Duration: 3 * time.Second}, 300},
		{Plan{Users: 2, Requests: 50}, 50},
		{Plan{Users: 2, Duration: time.Second}, 0},
		{Plan{Users: 2, Requests: 50, Duration: time.Second}, 0},
	} {
		if got := c.plan.Calls(); got != c.want {
			t.Errorf("%+v has %d calls, want %d", c.plan, got, c.want)
		}
	}
}

func TestSamplesAreLines(t *testing.T) {
	var b bytes.Buffer
	began := time.Unix(0, 0)
	s := NewSamples(&b, began)
	s.write("server", Sample{Intended: began, Start: began.Add(time.Millisecond), End: began.Add(21 * time.Millisecond), CallOutcome: CallOutcome{Channel: OK}})
	if want := `{"target":"server","intended_us":0,"start_us":1000,"end_us":21000,"channel":"ok"}` + "\n"; b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
}
