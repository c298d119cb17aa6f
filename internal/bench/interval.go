package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Intervals contain the true value with 95 % confidence. They are computed by a bootstrap over the
// seconds of a run, and widened for short runs and for seconds that resemble their neighbours.
const (
	minBlocks    = 5 // shorter runs have no intervals
	maxResamples = 1000
	minResamples = 200
	maxWork      = 200_000_000 // additions of counts
)

// An Interval contains the true value with 95 % confidence.
type Interval struct{ Low, High float64 }

// overlaps reports whether two intervals have a common value.
func (i Interval) overlaps(other Interval) bool { return i.Low <= other.High && other.Low <= i.High }

// A statistic computes numbers from the blocks of a run.
type statistic struct {
	// evaluate returns the numbers if block i counts times[i] times.
	evaluate func(times []int64) []float64
	// series has one number for each block, to measure how similar neighbours are.
	series []float64
	// cost is the number of additions of one evaluation.
	cost int
}

// intervals returns the intervals of the numbers, or nil if there are too few blocks. Each resample
// draws as many blocks as the run has, with repetition.
func (s statistic) intervals() []*Interval {
	blocks := len(s.series)
	if blocks < minBlocks {
		return nil
	}
	// Large statistics get fewer resamples.
	resamples := min(maxResamples, max(minResamples, maxWork/max(1, s.cost)))
	random := rand.New(rand.NewPCG(1, 2)) // the same run gives the same intervals
	times := make([]int64, blocks)
	for i := range times {
		times[i] = 1 // the run itself
	}
	estimates := s.evaluate(times)
	all := make([][]float64, len(estimates)) // the numbers of all resamples, by estimate
	for range resamples {
		clear(times)
		for range blocks {
			times[random.IntN(blocks)]++
		}
		for i, resampled := range s.evaluate(times) {
			all[i] = append(all[i], resampled)
		}
	}
	widen := smallSampleFactor(blocks) * correlationFactor(s.series)
	var found []*Interval
	for i, estimate := range estimates {
		slices.Sort(all[i])
		// 95 % of the resamples are between these two. Widen both sides around the estimate.
		low := all[i][resamples*25/1000]
		high := all[i][resamples*975/1000]
		below := max(0, estimate-low) * widen
		above := max(0, high-estimate) * widen
		found = append(found, &Interval{Low: max(0, estimate-below), High: estimate + above})
	}
	return found
}

// smallSampleFactor returns the factor that widens the bootstrap's interval of few blocks, which is
// too narrow. It uses the quantile of Student's distribution (Cornish and Fisher) instead of the
// normal distribution's, and n blocks instead of n-1.
func smallSampleFactor(blocks int) float64 {
	const z = 1.96
	freedom := float64(blocks - 1)
	t := z + (z*z*z+z)/(4*freedom) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*freedom*freedom)
	return t / z * math.Sqrt(float64(blocks)/freedom)
}

// maxCorrelation limits the estimated correlation.
const maxCorrelation = 0.9

// correlationFactor returns the factor that widens the bootstrap's interval, which is too narrow
// because neighbouring blocks are similar: the variance grows by (1+r)/(1-r) for a correlation r of
// neighbours. A short series underestimates r by about (1+4r)/n. Twice that is added, because too
// wide an interval does less harm.
func correlationFactor(series []float64) float64 {
	n := float64(len(series))
	mean := 0.0
	for _, v := range series {
		mean += v / n
	}
	squares := 0.0  // of the differences from the mean
	products := 0.0 // of the differences of neighbours
	for i, v := range series {
		squares += (v - mean) * (v - mean)
		if i > 0 {
			products += (v - mean) * (series[i-1] - mean)
		}
	}
	if squares == 0 {
		return 1 // equal blocks show no correlation
	}
	r := products / squares
	r += 2 * (1 + 4*r) / n
	r = min(max(0, r), maxCorrelation)
	return math.Sqrt((1 + r) / (1 - r))
}

// newQuantileStatistic returns the statistic of quantiles, which are in ascending order. Its
// evaluate computes the quantiles of a sample that has block i times[i] times; its series has the
// logarithm of each block's median, so that one slow block does not outweigh all others.
func newQuantileStatistic(blocks []counts, quantiles []float64) statistic {
	all := counts{}
	for _, block := range blocks {
		all.merge(block)
	}
	values := all.values()
	places := make(map[int64]int, len(values))
	for i, v := range values {
		places[v] = i
	}
	// The cells of a block are its counts by the place of the value in values, which is faster to
	// add up than maps.
	type cell struct {
		place int
		n     int64
	}
	cells := make([][]cell, len(blocks))
	s := statistic{cost: len(values)}
	for i, block := range blocks {
		for v, n := range block {
			cells[i] = append(cells[i], cell{places[v], n})
		}
		s.cost += len(block)
		if len(block) > 0 {
			s.series = append(s.series, math.Log(float64(block.quantile(0.5))))
		}
	}
	for len(s.series) < len(blocks) { // blocks without calls have no median
		s.series = append(s.series, math.Log(float64(all.quantile(0.5))))
	}
	sums := make([]int64, len(values))
	s.evaluate = func(times []int64) (found []float64) {
		clear(sums)
		total := int64(0)
		for i, repeats := range times {
			for _, c := range cells[i] {
				sums[c.place] += repeats * c.n
				total += repeats * c.n
			}
		}
		place := 0
		before := int64(0) // the number of calls before place
		// The next quantile is not before the last one: continue from its place.
		for _, q := range quantiles {
			for place < len(sums)-1 && before+sums[place] < quantileRank(q, total) {
				before += sums[place]
				place++
			}
			found = append(found, float64(values[place]))
		}
		return found
	}
	return s
}

// A tally is a part of a whole, counted in one block.
type tally struct{ part, whole float64 }

// newRatioStatistic returns the statistic sum of parts / sum of wholes. Its evaluate computes the
// ratio of a sample that has block i draws[i] times; its series has the ratio of each block.
func newRatioStatistic(blocks []tally) statistic {
	ratio := func(t tally) float64 { return t.part / max(t.whole, 1e-9) } // not divided by 0
	var s statistic
	for _, b := range blocks {
		s.series = append(s.series, ratio(b))
	}
	s.cost = len(blocks)
	s.evaluate = func(draws []int64) []float64 {
		var sum tally
		for i, repeats := range draws {
			sum.part += float64(repeats) * blocks[i].part
			sum.whole += float64(repeats) * blocks[i].whole
		}
		return []float64{ratio(sum)}
	}
	return s
}
