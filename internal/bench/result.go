package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Format is the format of the documents that this package writes and reads.
const Format = "mcpc-bench/1"

// A Document is the result of a benchmark. Members with a name in _us are times in microseconds.
type Document struct {
	Format  string    `json:"format"`
	Version string    `json:"mcpc"`
	At      time.Time `json:"at"`
	Tool    string    `json:"tool"`
	// Arguments are the arguments of the tool, without secrets.
	Arguments json.RawMessage `json:"arguments"`
	Machine   Machine         `json:"machine"`
	Load      Load            `json:"load"`
	// Results has one target, or two that are compared.
	Results      []*Result     `json:"results"`
	Comparison   []Change      `json:"comparison,omitempty"`
	Expectations []Expectation `json:"expectations,omitempty"`
	// Invalid is the reason why the result does not describe the server, or "".
	Invalid string `json:"invalid,omitempty"`
}

// A Machine is the computer that made the calls.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// ThisMachine returns the computer that this program runs on.
func ThisMachine() Machine { return Machine{runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0)} }

// A Load is the plan of a benchmark, in words and numbers.
type Load struct {
	Model   string  `json:"model"`
	Meaning string  `json:"latencies"`
	Rate    float64 `json:"rate,omitempty"`
	Poisson bool    `json:"poisson,omitempty"`
	Users   int     `json:"users,omitempty"`
	ThinkUS int64   `json:"think_us,omitempty"`
	MaxRate float64 `json:"most_per_second,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Calls   int     `json:"calls,omitempty"`
}

// The meanings of latencies in the two models.
const (
	OpenMeaning   = "response times, from the planned start of each call"
	ClosedMeaning = "service times; closed loop: a slow server slows the load"
)

// LoadOf returns the description of a plan.
func LoadOf(p Plan) Load {
	if p.IsOpen() {
		return Load{
			Model:   "open",
			Meaning: OpenMeaning,
			Rate:    p.Rate,
			Poisson: p.Poisson,
			Seconds: p.Duration.Seconds(),
			Calls:   p.Requests,
		}
	}
	return Load{
		Model:   "closed",
		Meaning: ClosedMeaning,
		Users:   p.Users,
		ThinkUS: p.Think.Microseconds(),
		MaxRate: p.MaxRate,
		Seconds: p.Duration.Seconds(),
		Calls:   p.Requests,
	}
}

// A Result is the measurement of one target.
type Result struct {
	Target string `json:"target"`
	// Server is the name and version that the server gives.
	Server    string `json:"server,omitempty"`
	Revision  string `json:"protocol,omitempty"`
	Transport string `json:"transport,omitempty"`
	// Setup are the steps before the calls. Their times are in no latency.
	Setup    []Step             `json:"setup"`
	Seconds  float64            `json:"seconds"`
	Warmup   int64              `json:"warmup_calls,omitempty"`
	Channels map[string]Channel `json:"channels"`
	Errors   Value              `json:"error_rate"`
	// Response is nil in the closed model.
	Response  *Latency           `json:"response,omitempty"`
	Service   *Latency           `json:"service"`
	Stages    map[string]Latency `json:"stages,omitempty"`
	Generator GeneratorStats     `json:"generator"`
	// EndReason is the reason why the run ended early, or "".
	EndReason string `json:"ended,omitempty"`
}

// A Step was done one or more times before the calls.
type Step struct {
	Name     string `json:"name"`
	MedianUS int64  `json:"median_us"`
	Times    int    `json:"times"`
}

// A Channel counts the calls with one outcome.
type Channel struct {
	Calls int64   `json:"calls"`
	Rate  float64 `json:"per_second"`
	// Low and High are the interval of the rate; they are 0 if the run was too short.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// A Value is a number with its interval. Low and High are nil if the run was too short. Latencies are
// in microseconds.
type Value struct {
	Value float64 `json:"value"`
	// AtLeast is set if calls timed out before they could take longer.
	AtLeast bool     `json:"at_least,omitempty"`
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
}

// widened returns the interval of the value, widened by a factor. It returns false if the value has
// no interval.
func (v Value) widened(factor float64) (Interval, bool) {
	if v.Low == nil || v.High == nil {
		return Interval{}, false
	}
	return Interval{v.Value - (v.Value-*v.Low)*factor, v.Value + (*v.High-v.Value)*factor}, true
}

// newValue returns a value with its interval; i may be nil.
func newValue(value float64, i *Interval) Value {
	if i == nil {
		return Value{Value: value}
	}
	return Value{Value: value, Low: &i.Low, High: &i.High}
}

// A Latency is the distribution of the calls that succeeded or timed out. A call that timed out
// took at least as long as its limit.
type Latency struct {
	Calls int64 `json:"calls"`
	// Quantiles has max, and each quantile that at least ten calls exceed.
	Quantiles map[string]Value `json:"quantiles_us"`
	Bars      []Bar            `json:"bars"`
	raw       counts
}

// WriteHistogram writes the percentiles in the plot format of the HDR tools (.hgrm), in
// milliseconds.
func (l *Latency) WriteHistogram(w io.Writer) error {
	h := hdrhistogram.New(1, maxLatency.Microseconds(), digits)
	for v, n := range l.raw {
		if err := h.RecordValues(v, n); err != nil {
			return err
		}
	}
	const stepsPerHalf = 5 // lines until the number of slower calls is halved
	const microsInMilli = 1000
	_, err := h.PercentilesPrint(w, stepsPerHalf, microsInMilli)
	return err
}

// GeneratorStats describe how well this machine generated the calls.
type GeneratorStats struct {
	// CPU is the fraction of all processors that this process used.
	CPU   float64 `json:"cpu"`
	LagUS int64   `json:"lag_p99_us"`
	// Late counts the calls that began more than 5 ms late because of this machine, Missed the calls
	// that could not be sent, and Held the calls that were not sent because the server asked for a
	// pause. Pauses counts the responses that asked for a pause.
	Late   int64 `json:"late"`
	Missed int64 `json:"missed"`
	Held   int64 `json:"held_back"`
	// Waited counts the planned calls that waited because too many were in flight.
	Waited int64 `json:"waited,omitempty"`
	Pauses int64 `json:"pauses"`
}

// Quantiles are the names of the quantiles, in ascending order.
var Quantiles = []string{"p50", "p90", "p95", "p99", "p99.9"}

var quantiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}

// minCallsBeyond is how many calls must exceed a quantile that is shown.
const minCallsBeyond = 10

// NeededCalls returns the number of calls that a metric needs. For a quantile these are enough that
// minCallsBeyond calls exceed it; any other metric needs one.
func NeededCalls(name string) int64 {
	for i, n := range Quantiles {
		if n == name {
			return int64(math.Round(minCallsBeyond / (1 - quantiles[i])))
		}
	}
	return 1
}

// Result returns the result of the recorded calls.
func (r *Recorder) Result() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := &Result{
		Target:    r.target,
		EndReason: r.endReason,
		Seconds:   r.earlierRuns.Seconds(),
		Channels:  r.channelsLocked(),
		Errors:    r.errorRateLocked(),
		Stages:    map[string]Latency{},
		Generator: r.generator.summarize(r.earlierRuns),
	}
	var response, service []counts
	for _, b := range r.blocks {
		response = append(response, b.response)
		service = append(service, b.service)
	}
	res.Service = newLatency(service, r.minTimeout.service)
	if r.isOpen {
		res.Response = newLatency(response, r.minTimeout.response)
	}
	for name, c := range r.stages {
		res.Stages[name] = *newLatency([]counts{c}, noTimeout)
	}
	return res
}

// channelsLocked returns the calls by channel. OK is a channel even without calls. r.mu is locked.
func (r *Recorder) channelsLocked() map[string]Channel {
	calls := map[string]int64{OK: 0}
	for _, b := range r.blocks {
		for name, n := range b.channels {
			calls[name] += n
		}
	}
	channels := map[string]Channel{}
	for name, n := range calls {
		var perSecond []tally
		for i, b := range r.blocks {
			if i < len(r.blocks)-1 { // the last block may not be a whole second
				perSecond = append(perSecond, tally{part: float64(b.channels[name]), whole: blockTime.Seconds()})
			}
		}
		channels[name] = newChannel(n, r.earlierRuns.Seconds(), perSecond)
	}
	return channels
}

// errorRateLocked returns the fraction of the calls that failed, or a zero Value without calls. r.mu
// is locked.
func (r *Recorder) errorRateLocked() Value {
	if r.calls == 0 {
		return Value{}
	}
	var perBlock []tally
	for _, b := range r.blocks {
		calls := int64(0)
		for _, n := range b.channels {
			calls += n
		}
		perBlock = append(perBlock, tally{part: float64(calls - b.channels[OK]), whole: float64(calls)})
	}
	rate := float64(r.failed) / float64(r.calls)
	return newValue(rate, firstInterval(newRatioStatistic(perBlock).intervals()))
}

// firstInterval returns the first interval, or nil if the run was too short for intervals.
func firstInterval(all []*Interval) *Interval {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// newChannel returns a channel with its rate. perSecond has its calls in each whole second.
func newChannel(calls int64, seconds float64, perSecond []tally) Channel {
	c := Channel{Calls: calls, Rate: float64(calls) / max(seconds, 1e-9)}
	if interval := firstInterval(newRatioStatistic(perSecond).intervals()); interval != nil {
		// The rate includes the last, incomplete second; the interval does not.
		c.Low = min(interval.Low, c.Rate)
		c.High = max(interval.High, c.Rate)
	}
	return c
}

// noTimeout is the minTimeout of a run without a call that timed out.
const noTimeout = 0

// newLatency returns the distribution of the calls in blocks of a second, with the quantiles that
// the number of calls suffices for. minTimeout is the shortest time of a call that timed out, or
// noTimeout: no latency from there on is known exactly.
func newLatency(seconds []counts, minTimeout int64) *Latency {
	l := &Latency{raw: counts{}, Quantiles: map[string]Value{}}
	for _, second := range seconds {
		l.raw.merge(second)
	}
	l.Calls = l.raw.total()
	if l.Calls == 0 {
		return l
	}
	values := l.raw.values()
	valueAt := func(us int64, interval *Interval) Value {
		if interval != nil { // no call took less than the shortest one
			interval.Low = max(interval.Low, float64(values[0]))
		}
		v := newValue(float64(us), interval)
		v.AtLeast = minTimeout != noTimeout && us >= minTimeout
		return v
	}
	intervals := newQuantileStatistic(seconds, quantiles).intervals()
	// Later quantiles need more calls.
	for i, name := range Quantiles {
		if l.Calls < NeededCalls(name) {
			break
		}
		var interval *Interval
		if intervals != nil {
			interval = intervals[i]
		}
		l.Quantiles[name] = valueAt(l.raw.quantile(quantiles[i]), interval)
	}
	l.Quantiles["max"] = valueAt(values[len(values)-1], nil) // the bootstrap gives no interval of a maximum
	l.Bars = l.raw.histogram()
	return l
}

// lateThreshold is how much later than planned a call may begin.
const lateThreshold = 5 * time.Millisecond

// summarize returns the numbers for the result of runs that took so long in all.
func (g *generator) summarize(took time.Duration) GeneratorStats {
	made := GeneratorStats{
		LagUS: g.lag.quantile(0.99), Missed: g.missed, Held: g.heldBack, Waited: g.waited, Pauses: g.pauses,
		CPU: g.cpu.Seconds() / max(took.Seconds(), 1e-9) / float64(runtime.GOMAXPROCS(0)),
	}
	for v, n := range g.lag {
		if v > lateThreshold.Microseconds() {
			made.Late += n
		}
	}
	return made
}

// A run that exceeds any of these limits did not follow its plan.
const (
	maxCPU    = 0.7
	maxMissed = 0.001
	maxLate   = 0.01
)

// GeneratorLimit returns the reason why the result describes the generator and not the server, or
// "". isInProcess is set if the server runs in this process; the CPU time is not checked then. Up
// to minCallsBeyond late calls are always allowed.
func (r *Result) GeneratorLimit(isInProcess bool) string {
	calls := r.Generator.Missed
	for _, c := range r.Channels {
		calls += c.Calls
	}
	const prefix = "the generator was the limit: "
	generator := r.Generator
	if float64(generator.Missed) > maxMissed*float64(calls) {
		return fmt.Sprintf(prefix+"%d of %d planned calls could not be sent", generator.Missed, calls)
	}
	if generator.Late > minCallsBeyond && float64(generator.Late) > maxLate*float64(calls) {
		return fmt.Sprintf(prefix+"%d of %d calls began more than %s late", generator.Late, calls, lateThreshold)
	}
	if generator.CPU > maxCPU && !isInProcess {
		return fmt.Sprintf(prefix+"this process used %.0f %% of all processors", 100*generator.CPU)
	}
	return ""
}

// minLag is by how much response times may always be longer, in microseconds: timers are not
// exact.
const minLag = 1000

// FellBehind reports whether response times are more than a tenth longer than service times at p99,
// or at the highest known quantile below it.
func (r *Result) FellBehind() bool {
	if r.Response == nil {
		return false
	}
	name := "p50"
	for _, q := range Quantiles[:len(Quantiles)-1] { // up to p99
		if _, ok := r.Service.Quantiles[q]; ok {
			name = q
		}
	}
	service, ok := r.Service.Quantiles[name]
	lag := r.Response.Quantiles[name].Value - service.Value
	return ok && lag > 0.1*service.Value && lag > minLag
}

// MainLatency returns the latency of the model: response times in the open model, service times in the
// closed one.
func (r *Result) MainLatency() *Latency {
	if r.Response != nil {
		return r.Response
	}
	return r.Service
}

// ReadDocument parses the result of an earlier run. It returns an error for any other document, and
// for another format.
func ReadDocument(raw []byte) (*Document, error) {
	var d Document
	err := json.Unmarshal(raw, &d)
	if err != nil {
		return nil, errors.New("not JSON of mcpc bench")
	}
	if d.Format == "" {
		return nil, errors.New("not a result of mcpc bench")
	}
	if d.Format != Format {
		return nil, fmt.Errorf("its format is %q, and this mcpc reads %q", d.Format, Format)
	}
	if len(d.Results) == 0 || d.Results[0] == nil || d.Results[0].Service == nil {
		return nil, errors.New("it has no result")
	}
	return &d, nil
}
