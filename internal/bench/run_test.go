package bench

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpc/internal/pause"
)

// virtual is the clock of a synctest bubble, where only sleeping takes time.
var virtual = Clock{Now: time.Now, Sleep: pause.For}

// A behavior is how long a call takes that arrives at a time.
type behavior func(n int, at time.Duration) time.Duration

// fixed always takes 20 ms.
func fixed(int, time.Duration) time.Duration { return 20 * time.Millisecond }

// stalling takes a second for each hundredth call.
func stalling(n int, _ time.Duration) time.Duration {
	if n%100 == 99 {
		return time.Second
	}
	return 20 * time.Millisecond
}

// freezing answers nothing between the tenth and the fifteenth second.
func freezing(_ int, at time.Duration) time.Duration {
	if at >= 10*time.Second && at < 15*time.Second {
		return 15*time.Second - at + 20*time.Millisecond
	}
	return 20 * time.Millisecond
}

// measure runs a plan against a server in virtual time.
func measure(t *testing.T, p Plan, takes behavior) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began, n := time.Now(), 0
		var mu sync.Mutex
		rec := NewRecorder(virtual, nil, "server")
		Run(t.Context(), p, rec, func(ctx context.Context) CallOutcome {
			mu.Lock()
			takes := takes(n, time.Since(began))
			n++
			mu.Unlock()
			time.Sleep(takes)
			return CallOutcome{Channel: OK}
		})
		r = rec.Result()
	})
	return r
}

// truthOf returns the times that the calls of an open plan take, if no call waits for another.
func truthOf(p Plan, takes behavior) (truth []float64) {
	next := p.arrivals()
	for n := 0; ; n++ {
		at := next()
		if at >= p.Duration {
			break
		}
		truth = append(truth, float64(takes(n, at).Microseconds()))
	}
	slices.Sort(truth)
	return truth
}

// near reports that a number is within 2 % of another.
func near(got, want float64) bool { return math.Abs(got-want) <= 0.02*want }

func TestOpenModelMeasuresTrueLatency(t *testing.T) {
	for name, takes := range map[string]behavior{"fixed": fixed, "stalling": stalling, "freezing": freezing} {
		for _, poisson := range []bool{false, true} {
			p := Plan{Rate: 400, Poisson: poisson, Duration: 30 * time.Second, InFlight: mostCallsAtOnce}
			r, truth := measure(t, p, takes), truthOf(p, takes)
			if r.Response.Calls != int64(len(truth)) {
				t.Errorf("%s: %d calls were measured, want %d", name, r.Response.Calls, len(truth))
			}
			for i, q := range Quantiles {
				want := truth[quantileRank(quantiles[i], int64(len(truth)))-1]
				got, ok := r.Response.Quantiles[q]
				if !ok || !near(got.Value, want) {
					t.Errorf("%s (poisson %t): %s is %.0f µs, want %.0f", name, poisson, q, got.Value, want)
				}
			}
			if why := r.GeneratorLimit(true); why != "" || r.FellBehind() {
				t.Errorf("%s: %q, behind %t", name, why, r.FellBehind())
			}
		}
	}
}

// mostCallsAtOnce is more than the calls that wait at the same time in any test.
const mostCallsAtOnce = 4096

// A server that freezes shows in the open model, and not in the closed one.
func TestClosedModelHidesStalls(t *testing.T) {
	open := measure(t, Plan{Rate: 50, Duration: 30 * time.Second, InFlight: 256}, freezing)
	if p99 := open.Response.Quantiles["p99"].Value; p99 < 4e6 {
		t.Errorf("the open model has %.0f µs at p99, want more than 4 s", p99)
	}
	closed := measure(t, Plan{Users: 1, Duration: 30 * time.Second}, freezing)
	if p99 := closed.Service.Quantiles["p99"].Value; !near(p99, 20_000) {
		t.Errorf("the closed model has %.0f µs at p99, want 20 ms", p99)
	}
	if most := closed.Service.Quantiles["max"].Value; !near(most, 5.02e6) {
		t.Errorf("the longest call of the closed model took %.0f µs, want 5 s", most)
	}
	if closed.Response != nil {
		t.Error("the closed model has response times")
	}
}

// A call that has to wait for a place in flight is late since its planned start.
func TestCallsWaitingForSlotCountFromPlannedStart(t *testing.T) {
	p := Plan{Rate: 200, Duration: 30 * time.Second, InFlight: 256}
	r, truth := measure(t, p, freezing), truthOf(p, freezing)
	want := truth[quantileRank(0.9, int64(len(truth)))-1]
	if got := r.Response.Quantiles["p90"].Value; !near(got, want) {
		t.Errorf("p90 is %.0f µs, want %.0f", got, want)
	}
	if service := r.Service.Quantiles["p90"].Value; !near(service, 20_000) {
		t.Errorf("the service time at p90 is %.0f µs, want 20 ms", service)
	}
	if why := r.GeneratorLimit(true); why != "" {
		t.Error(why)
	}
}

func TestPlannedCallsThatCannotBeSentMakeTheResultInvalid(t *testing.T) {
	hour := func(int, time.Duration) time.Duration { return time.Minute }
	r := measure(t, Plan{Rate: 100, Duration: 5 * time.Second, InFlight: 10}, hour)
	if r.Generator.Missed != 490 || r.Service.Calls != 10 {
		t.Errorf("%d calls were missed and %d made, want 490 and 10", r.Generator.Missed, r.Service.Calls)
	}
	if why := r.GeneratorLimit(true); !strings.Contains(why, "490 of 500 planned calls could not be sent") {
		t.Errorf("the limit is %q", why)
	}
}

func TestUsersPauseBetweenCalls(t *testing.T) {
	r := measure(t, Plan{Users: 3, Think: 80 * time.Millisecond, Duration: 10 * time.Second}, fixed)
	if r.Service.Calls != 300 {
		t.Errorf("%d calls, want 300", r.Service.Calls)
	}
	r = measure(t, Plan{Users: 3, Requests: 100}, fixed)
	if r.Service.Calls != 100 || math.Abs(r.Seconds-0.68) > 0.001 {
		t.Errorf("%d calls in %f s, want 100 in 0.68", r.Service.Calls, r.Seconds)
	}
}

// ends runs a plan whose n-th call ends as given, and returns the result and when each call
// started.
func ends(t *testing.T, p Plan, ending func(n int) CallOutcome) (r *Result, starts []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		rec := NewRecorder(virtual, nil, "server")
		Run(t.Context(), p, rec, func(ctx context.Context) CallOutcome {
			mu.Lock()
			n := len(starts)
			starts = append(starts, time.Since(began))
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			return ending(n)
		})
		r = rec.Result()
	})
	return r, starts
}

func TestARunEndsWhenMostCallsFail(t *testing.T) {
	every := func(k, of int) func(int) CallOutcome {
		return func(n int) CallOutcome {
			if n%of < k {
				return CallOutcome{Channel: "tool_error"}
			}
			return CallOutcome{Channel: OK}
		}
	}
	for _, c := range []struct {
		failing, of int
		ends        bool
	}{{1, 1, true}, {6, 10, true}, {4, 10, false}, {0, 1, false}} {
		r, _ := ends(t, Plan{Rate: 50, Duration: 30 * time.Second, InFlight: 256}, every(c.failing, c.of))
		if early := r.Seconds < 12; early != c.ends || (r.EndReason != "") != c.ends {
			t.Errorf("%d of %d fail: it lasted %.1f s: %q", c.failing, c.of, r.Seconds, r.EndReason)
		}
		if want := float64(c.failing) / float64(c.of); math.Abs(r.Errors.Value-want) > 0.02 {
			t.Errorf("the error rate is %f, want %f", r.Errors.Value, want)
		}
		if c.failing == c.of && (r.Service.Calls != 0 || len(r.Service.Quantiles) != 0) {
			t.Errorf("failures have latencies: %+v", r.Service)
		}
	}
}

// A call that timed out took at least the limit: it is in the latencies, so that an expectation of a
// latency does not hold because the slowest calls were given up.
func TestCallsThatTimeOutTookTheLimit(t *testing.T) {
	for name, p := range map[string]Plan{
		"closed": {Users: 1, Requests: 200}, "open": {Rate: 50, Requests: 200, InFlight: 256},
	} {
		for channel, want := range map[string]map[string]string{
			Timeout: {
				"max<500ms": "at least 999.936ms", "p95<500ms": "at least 999.936ms", "p50<500ms": "held",
				"max<1s": "at least 999.936ms", "max<1.1s": "held", "p90<10ms": "20ms", "max>500ms": "held",
			},
			// Any other failure may be faster than a call that succeeds.
			"tool_error": {"max<500ms": "held", "p50<500ms": "held", "p95<500ms": "p95 needs 200 calls that succeed or time out, and there were 180"},
		} {
			var r *Result
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				rec := NewRecorder(virtual, nil, "server")
				Run(t.Context(), p, rec, func(context.Context) CallOutcome {
					if n.Add(1)%10 == 0 {
						time.Sleep(time.Second)
						return CallOutcome{Channel: channel}
					}
					time.Sleep(20 * time.Millisecond)
					return CallOutcome{Channel: OK}
				})
				r = rec.Result()
			})
			for text, want := range want {
				e, err := ParseExpectation(text)
				if err != nil {
					t.Fatal(err)
				}
				if e = e.Judge(r); e.Met != (want == "held") || !e.Met && e.Got+e.UnknownReason != want {
					t.Errorf("%s, %s: %s: %+v, want %s", name, channel, text, e, want)
				}
			}
		}
	}
}

func TestRequestedPauseIsObserved(t *testing.T) {
	busy := func(n int) CallOutcome {
		if n == 50 {
			return CallOutcome{Channel: Transport, Pause: 3 * time.Second}
		}
		return CallOutcome{Channel: OK}
	}
	for _, p := range []Plan{{Rate: 50, Duration: 10 * time.Second, InFlight: 256}, {Users: 1, Duration: 10 * time.Second}} {
		r, starts := ends(t, p, busy)
		slices.Sort(starts)
		longest := time.Duration(0)
		for i := range starts[1:] {
			longest = max(longest, starts[i+1]-starts[i])
		}
		if longest < 3*time.Second || longest > 3200*time.Millisecond {
			t.Errorf("the longest gap is %s, want 3 s", longest)
		}
		if r.Generator.Pauses != 1 || p.IsOpen() && (r.Generator.Held < 148 || r.Generator.Held > 152) || r.Generator.Missed != 0 || r.EndReason != "" {
			t.Errorf("%+v %q", r.Generator, r.EndReason)
		}
	}
	r, _ := ends(t, Plan{Users: 1, Duration: time.Minute}, func(int) CallOutcome { return CallOutcome{Channel: Transport, Pause: time.Hour} })
	if r.EndReason != "the server asked for a pause of 1h0m0s" || r.Seconds > 1 {
		t.Errorf("it lasted %.1f s: %q", r.Seconds, r.EndReason)
	}
}

// The second call of such a rate is further away than a Duration can say.
func TestTinyRateMakesOneCall(t *testing.T) {
	for _, rate := range []float64{1e-9, 1e-12, 1e-300} {
		for _, poisson := range []bool{false, true} {
			p := Plan{Rate: rate, Poisson: poisson, Duration: 10 * time.Second, InFlight: 256}
			_, starts := ends(t, p, func(int) CallOutcome { return CallOutcome{Channel: OK} })
			if len(starts) > 1 || len(starts) == 0 && !poisson {
				t.Errorf("%d calls at a rate of %g", len(starts), rate)
			}
		}
	}
}

// A server that has ended is not called again as fast as it refuses.
func TestBrokenCallsAreNotRepeatedAtOnce(t *testing.T) {
	_, starts := ends(t, Plan{Users: 1, Duration: 6 * time.Second}, func(int) CallOutcome { return CallOutcome{Channel: Transport} })
	if len(starts) != 50 {
		t.Errorf("%d calls, want 50", len(starts))
	}
}

func TestAnInterruptedRunHasWhatWasMeasured(t *testing.T) {
	for _, p := range []Plan{{Rate: 50, Duration: 30 * time.Second, InFlight: 256}, {Users: 2, Duration: 30 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 3010*time.Millisecond)
			defer stop()
			rec := NewRecorder(virtual, nil, "server")
			Run(ctx, p, rec, func(ctx context.Context) CallOutcome {
				if pause.For(ctx, 20*time.Millisecond) != nil {
					return CallOutcome{}
				}
				return CallOutcome{Channel: OK}
			})
			r := rec.Result()
			if r.Seconds < 3 || r.Seconds > 3.1 || r.Service.Calls < 148 || r.Service.Calls > 302 || r.Errors.Value != 0 {
				t.Errorf("%d calls in %.2f s, error rate %f", r.Service.Calls, r.Seconds, r.Errors.Value)
			}
		})
	}
}

func TestRandomGapsAreExponential(t *testing.T) {
	next := Plan{Rate: 100, Poisson: true}.arrivals()
	var sum, squares, last float64
	const n = 20_000
	for range n {
		at := next().Seconds()
		sum, squares, last = sum+at-last, squares+(at-last)*(at-last), at
	}
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); !near(mean, 0.01) || math.Abs(deviation-0.01) > 0.0004 {
		t.Errorf("the gaps have mean %f and deviation %f, want 0.01 each", mean, deviation)
	}
}
