package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// How sure a number is: a 95 % interval by the bootstrap over the seconds of a run, made wider
// where there are few of them, and where one second is like the one before.
const (
	fewestBlocks = 5 // below these there is no interval
	mostResamples,
	fewestResamples = 1000, 200
	mostWork = 200_000_000 // counts that are added
)

// An Interval has the true value with 95 % probability.
type Interval struct{ Low, High float64 }

// overlaps reports that two numbers may be the same.
func (i Interval) overlaps(other Interval) bool { return i.Low <= other.High && other.Low <= i.High }

// A statistic computes numbers from the blocks of a run.
type statistic struct {
	// of gives the numbers if each block counts as often as times says.
	of func(times []int64) []float64
	// series has one number for each block, by which they are compared with their neighbours.
	series []float64
	// cost is how many counts one evaluation adds.
	cost int
}

// intervals are those of the numbers of a statistic; nil where there are too few blocks.
func (s statistic) intervals() (found []*Interval) {
	blocks := len(s.series)
	if blocks < fewestBlocks {
		return nil
	}
	resamples := min(mostResamples, max(fewestResamples, mostWork/max(1, s.cost)))
	random := rand.New(rand.NewPCG(1, 2)) // the same run gives the same intervals
	times := make([]int64, blocks)
	for i := range times {
		times[i] = 1
	}
	estimates := s.of(times)
	all := make([][]float64, len(estimates))
	for range resamples {
		clear(times)
		for range blocks {
			times[random.IntN(blocks)]++
		}
		for i, v := range s.of(times) {
			all[i] = append(all[i], v)
		}
	}
	widen := fewness(blocks) * likeness(s.series)
	for i, estimate := range estimates {
		slices.Sort(all[i])
		low := all[i][resamples*25/1000]
		high := all[i][resamples*975/1000]
		found = append(found, &Interval{max(0, estimate-max(0, estimate-low)*widen), estimate + max(0, high-estimate)*widen})
	}
	return found
}

// fewness is by how much the bootstrap of a few blocks is too narrow: the quantile of Student's
// distribution (by Cornish and Fisher) in place of the normal one, and n blocks in place of n-1.
func fewness(blocks int) float64 {
	const z = 1.96
	free := float64(blocks - 1)
	t := z + (z*z*z+z)/(4*free) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*free*free)
	return t / z * math.Sqrt(float64(blocks)/free)
}

// mostLikeness bounds the correlation that is believed.
const mostLikeness = 0.9

// likeness is by how much the bootstrap is too narrow because blocks are like their neighbours:
// (1+r)/(1-r) is the factor of the variance for a correlation r of neighbours. A short series
// shows less of r than there is, by about (1+4r)/n, which is added twice: too wide an interval does
// less harm.
func likeness(series []float64) float64 {
	n := float64(len(series))
	mean := 0.0
	sum := 0.0
	neighbours := 0.0
	for _, v := range series {
		mean += v / n
	}
	for i, v := range series {
		sum += (v - mean) * (v - mean)
		if i > 0 {
			neighbours += (v - mean) * (series[i-1] - mean)
		}
	}
	if sum == 0 {
		return 1
	}
	r := neighbours / sum
	r = min(max(0, r+2*(1+4*r)/n), mostLikeness)
	return math.Sqrt((1 + r) / (1 - r))
}

// quantilesOf is the statistic of quantiles, from the smallest.
func quantilesOf(blocks []counts, quantiles []float64) (s statistic) {
	all := counts{}
	for _, block := range blocks {
		all.merge(block)
	}
	values := all.values()
	places := make(map[int64]int, len(values))
	for i, v := range values {
		places[v] = i
	}
	type cell struct {
		place int
		n     int64
	}
	cells := make([][]cell, len(blocks))
	s.cost = len(values)
	for i, block := range blocks {
		for v, n := range block {
			cells[i] = append(cells[i], cell{places[v], n})
		}
		s.cost += len(block)
		if len(block) > 0 {
			s.series = append(s.series, math.Log(float64(block.quantile(0.5))))
		}
	}
	for len(s.series) < len(blocks) { // those without calls have no median
		s.series = append(s.series, math.Log(float64(all.quantile(0.5))))
	}
	sums := make([]int64, len(values))
	s.of = func(times []int64) (found []float64) {
		clear(sums)
		total := int64(0)
		for i, k := range times {
			for _, c := range cells[i] {
				sums[c.place] += k * c.n
				total += k * c.n
			}
		}
		at := 0
		before := int64(0)
		for _, q := range quantiles {
			for at < len(sums)-1 && before+sums[at] < rank(q, total) {
				before += sums[at]
				at++
			}
			found = append(found, float64(values[at]))
		}
		return found
	}
	return s
}

// A tally is what is counted in a block: a part of a whole.
type tally struct{ part, whole float64 }

// ratioOf is the statistic of one ratio of sums.
func ratioOf(blocks []tally) (s statistic) {
	ratio := func(t tally) float64 { return t.part / max(t.whole, 1e-9) }
	for _, b := range blocks {
		s.series = append(s.series, ratio(b))
	}
	s.cost = len(blocks)
	s.of = func(times []int64) []float64 {
		var sum tally
		for i, k := range times {
			sum.part, sum.whole = sum.part+float64(k)*blocks[i].part, sum.whole+float64(k)*blocks[i].whole
		}
		return []float64{ratio(sum)}
	}
	return s
}
