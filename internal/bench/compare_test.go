package bench

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A simulation is a server with noise: the calls of a second share a factor that drifts, as on
// a machine that does other work too.
type simulation struct {
	random *rand.Rand
	drift  float64
	// perSecond is how many calls there are in a second, faster how much slower than 20 ms the
	// median is, and failing the part of the calls that fail.
	perSecond int
}

// second records the calls of one second.
func (s *simulation) second(r *Recorder, i int, slower, failing float64) {
	s.drift = 0.7*s.drift + 0.07*s.random.NormFloat64()
	for k := range s.perSecond {
		start := r.runStart.Add(time.Duration(i)*time.Second + time.Duration(k)*time.Second/time.Duration(s.perSecond))
		took := time.Duration(20e6 * slower * math.Exp(s.drift+0.3*s.random.NormFloat64()))
		channel := OK
		if s.random.Float64() < failing {
			channel = "tool_error"
		}
		r.add(Sample{Intended: start, Start: start, End: start.Add(took), CallOutcome: CallOutcome{Channel: channel}})
	}
}

// recorder is one without a clock.
func recorder() *Recorder {
	r := NewRecorder(Clock{Now: func() time.Time { return time.Time{} }}, nil, "server")
	return r
}

// pair measures two servers one after the other, or in turns.
func (s *simulation) pair(seconds int, inTurns bool, slower, failing float64) (a, b *Result) {
	first, second := recorder(), recorder()
	for i := range seconds {
		s.second(first, i, 1, 0.01)
		if inTurns {
			s.second(second, i, slower, failing)
		}
	}
	s.drift = 0.1 * s.random.NormFloat64()
	for i := 0; i < seconds && !inTurns; i++ {
		s.second(second, i, slower, failing)
	}
	for _, r := range []*Recorder{first, second} {
		r.earlierRuns = time.Duration(seconds) * time.Second
	}
	return first.Result(), second.Result()
}

// A server beside itself: at least 19 of 20 comparisons say that nothing changed.
func TestComparingServerWithItselfFindsNoChange(t *testing.T) {
	for _, inTurns := range []bool{false, true} {
		for seconds, pairs := range map[int]int{10: 40, 30: 20} {
			changed := map[string]int{}
			all := 0
			for seed := range uint64(pairs) {
				s := &simulation{random: rand.New(rand.NewPCG(seed, 7)), perSecond: 50}
				a, b := s.pair(seconds, inTurns, 1, 0.01)
				found := 0
				for _, c := range Compare(a, b) {
					if c.Verdict == Better || c.Verdict == Worse {
						changed[c.Metric]++
						found = 1
					}
				}
				all += found
			}
			t.Logf("%d s, in turns %t: %d of %d differ: %v", seconds, inTurns, all, pairs, changed)
			if all > pairs/20 {
				t.Errorf("%d s, in turns %t: %d of %d comparisons of a server with itself find a change: %v", seconds, inTurns, all, pairs, changed)
			}
		}
	}
}

// A server that is slower, or fails more often, is found.
func TestAChangeIsFound(t *testing.T) {
	for _, c := range []struct {
		metric          string
		slower, failing float64
		want            Verdict
	}{{"p50", 1.5, 0.01, Worse}, {"p99", 1.5, 0.01, Worse}, {"p50", 0.6, 0.01, Better}, {errorRate, 1, 0.1, Worse}, {errorRate, 1, 0, Better}} {
		s := &simulation{random: rand.New(rand.NewPCG(1, 1)), perSecond: 50}
		a, b := s.pair(30, true, c.slower, c.failing)
		for _, change := range Compare(a, b) {
			if change.Metric == c.metric && change.Verdict != c.want {
				t.Errorf("slower by %.1f, %.2f fail: %s: %s %+v %+v, want %s", c.slower, c.failing, change.Metric, change.Verdict, change.Before, change.After, c.want)
			}
		}
	}
}

// A change counts if the intervals do not overlap and the shift is more than 5 %.
func TestWhatCountsAsAChange(t *testing.T) {
	value := func(v, low, high float64) Value { return newValue(v, &Interval{low, high}) }
	for _, c := range []struct {
		before, after Value
		less          bool
		want          Verdict
	}{
		{value(100, 99, 101), value(110, 109, 111), true, Worse},
		{value(100, 99, 101), value(110, 109, 111), false, Better},
		{value(100, 99, 101), value(90, 89, 91), true, Better},
		{value(100, 99.5, 100.5), value(104, 103.5, 104.5), true, Same},
		{value(100, 90, 110), value(120, 109, 130), true, Same},
		{value(0, 0, 0), value(0, 0, 0), true, Same},
		{value(0, 0, 0), value(0.1, 0.05, 0.2), true, Worse},
		{value(100, 99, 101), Value{Value: 500}, true, Unknown},
	} {
		if got := compareValues("p50", c.before, c.after, c.less); got.Verdict != c.want {
			t.Errorf("%+v to %+v: %s, want %s", c.before, c.after, got.Verdict, c.want)
		}
	}
}

// Of the intervals of many runs, about 95 % have the true value in them.
func TestIntervalsContainTheTrueValue(t *testing.T) {
	for seconds, runs := range map[int]int{6: 40, 10: 40, 30: 20} {
		held := map[string]int{}
		truth := map[string]float64{"p50": 20_000, "p90": 20_000 * math.Exp(0.3*1.2816)}
		for seed := range uint64(runs) {
			random := rand.New(rand.NewPCG(seed, 3))
			r := recorder()
			for i := range seconds * 100 {
				start := r.runStart.Add(time.Duration(i) * time.Second / 100)
				took := time.Duration(20e6 * math.Exp(0.3*random.NormFloat64()))
				r.add(Sample{Intended: start, Start: start, End: start.Add(took), CallOutcome: CallOutcome{Channel: OK}})
			}
			res := r.Result()
			for name, want := range truth {
				if in, ok := res.Service.Quantiles[name].widened(1); ok && in.Low <= want && want <= in.High {
					held[name]++
				}
			}
		}
		for name, n := range held {
			t.Logf("%d s: %s: %d of %d", seconds, name, n, runs)
			if n < runs*90/100 {
				t.Errorf("%d s: %d of %d intervals hold %s", seconds, n, runs, name)
			}
		}
	}
}

func TestFewBlocksWidenIntervals(t *testing.T) {
	// Student's t at 97.5 % for n-1 degrees of freedom, by 1.96.
	for blocks, table := range map[int]float64{6: 2.571, 11: 2.228, 31: 2.042, 101: 1.984} {
		want := table / 1.96 * math.Sqrt(float64(blocks)/float64(blocks-1))
		if got := smallSampleFactor(blocks); math.Abs(got-want) > 0.01*want {
			t.Errorf("%d blocks: %f, want %f", blocks, got, want)
		}
	}
	if newQuantileStatistic(make([]counts, 4), quantiles).intervals() != nil {
		t.Error("four blocks have an interval")
	}
}
