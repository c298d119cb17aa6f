package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// How sure a number is: a 95 % interval by the bootstrap over blocks of the run. What a server
// does in one second depends on the second before (caches, collections, other load), so the
// blocks are made longer as far as enough of them are left, and the widest interval counts.
const (
	fewestBlocks = 5 // below these there is no interval
	fewestLonger = 8 // blocks are made longer while so many are left
	mostResamples,
	fewestResamples = 1000, 200
	mostWork = 200_000_000 // counts that are added for one length of the blocks
)

// An Interval has the true value with 95 % probability. It is nil where the run was too short
// to tell.
type Interval struct{ Low, High float64 }

// overlaps reports that two numbers may be the same.
func (i Interval) overlaps(other Interval) bool { return i.Low <= other.High && other.Low <= i.High }

// A statistic computes numbers from the blocks of a run, each of which counts as often as
// times says.
type statistic func(times []int64) []float64

// intervals computes those of a statistic of some blocks. of makes the statistic of the blocks
// that each span a number of seconds, and says how many there are and what one evaluation
// costs.
func intervals(of func(length int) (s statistic, blocks, cost int)) (widest []*Interval) {
	for length := 1; ; length *= 2 {
		s, blocks, cost := of(length)
		if blocks < fewestBlocks || length > 1 && blocks < fewestLonger {
			return widest
		}
		if cost > mostWork/fewestResamples {
			continue
		}
		for i, found := range bootstrap(s, blocks, min(mostResamples, max(fewestResamples, mostWork/max(1, cost)))) {
			if len(widest) <= i {
				widest = append(widest, &found)
			} else if found.High-found.Low > widest[i].High-widest[i].Low {
				widest[i] = &found
			}
		}
	}
}

func bootstrap(s statistic, blocks, resamples int) (found []Interval) {
	random := rand.New(rand.NewPCG(1, 2)) // the same run gives the same intervals
	times := make([]int64, blocks)
	for i := range times {
		times[i] = 1
	}
	estimates := s(times)
	all := make([][]float64, len(estimates))
	for range resamples {
		clear(times)
		for range blocks {
			times[random.IntN(blocks)]++
		}
		for i, v := range s(times) {
			all[i] = append(all[i], v)
		}
	}
	widen := correction(blocks)
	for i, estimate := range estimates {
		slices.Sort(all[i])
		low, high := all[i][resamples*25/1000], all[i][resamples*975/1000]
		found = append(found, Interval{max(0, estimate-(estimate-min(low, estimate))*widen), estimate + (max(high, estimate)-estimate)*widen})
	}
	return found
}

// correction is by how much the bootstrap of a few blocks is too narrow: the quantile of
// Student's distribution (by Cornish and Fisher) in place of the normal one, and n blocks in
// place of n-1.
func correction(blocks int) float64 {
	const z = 1.96
	free := float64(blocks - 1)
	t := z + (z*z*z+z)/(4*free) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*free*free)
	return t / z * math.Sqrt(float64(blocks)/free)
}

// quantilesOf makes the statistic of quantiles for intervals.
func quantilesOf(seconds []counts, quantiles []float64) func(length int) (statistic, int, int) {
	return func(length int) (statistic, int, int) {
		all := counts{}
		var blocks []counts
		for i := 0; i < len(seconds); i += length {
			block := counts{}
			for _, second := range seconds[i:min(i+length, len(seconds))] {
				block.merge(second)
			}
			blocks = append(blocks, block)
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
		cells, cost := make([][]cell, len(blocks)), len(values)
		for i, block := range blocks {
			for v, n := range block {
				cells[i] = append(cells[i], cell{places[v], n})
			}
			cost += len(block)
		}
		sums := make([]int64, len(values))
		return func(times []int64) (found []float64) {
			clear(sums)
			total := int64(0)
			for i, k := range times {
				for _, c := range cells[i] {
					sums[c.place] += k * c.n
					total += k * c.n
				}
			}
			at, before := 0, int64(0)
			for _, q := range quantiles { // from the smallest
				for at < len(sums) && before+sums[at] < rank(q, total) {
					before += sums[at]
					at++
				}
				found = append(found, float64(values[min(at, len(values)-1)]))
			}
			return found
		}, len(blocks), cost
	}
}

// A tally is what is counted in a second: parts of a whole.
type tally struct{ part, whole float64 }

// ratioOf makes the statistic of one ratio for intervals: of sums of tallies.
func ratioOf(seconds []tally) func(length int) (statistic, int, int) {
	return func(length int) (statistic, int, int) {
		var blocks []tally
		for i := 0; i < len(seconds); i += length {
			var b tally
			for _, second := range seconds[i:min(i+length, len(seconds))] {
				b.part, b.whole = b.part+second.part, b.whole+second.whole
			}
			blocks = append(blocks, b)
		}
		return func(times []int64) []float64 {
			var sum tally
			for i, k := range times {
				sum.part, sum.whole = sum.part+float64(k)*blocks[i].part, sum.whole+float64(k)*blocks[i].whole
			}
			return []float64{sum.part / max(sum.whole, 1e-9)}
		}, len(blocks), len(blocks)
	}
}
