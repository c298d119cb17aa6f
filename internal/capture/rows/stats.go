package rows

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// Stats count rows by method and name. They keep the duration of each row, 8 bytes, so percentiles
// are exact.
type Stats struct {
	all    Group
	groups map[[2]string]*Group
}

// A Group counts the rows with one method and name.
type Group struct {
	// Method and Name are the requests': "tools/call", "get-sum". Both are empty in the group of
	// all rows.
	Method, Name string
	// Count is the number of rows.
	Count int
	// Open counts the rows without a response.
	Open int
	// Cancelled counts the cancelled rows. They count neither as failures nor in the durations.
	Cancelled int
	// failed counts the failures by their channel.
	failed map[string]int
	// Sent and Received are the bytes of all messages.
	Sent, Received int64
	// durations are the durations in nanoseconds of the exchanges that were sent and ended.
	durations []int64
}

// Add counts a row. It ignores a row that is no exchange.
func (s *Stats) Add(r *Row) {
	if r.IsSeparate {
		return
	}
	if s.groups == nil {
		s.groups = map[[2]string]*Group{}
	}
	key := [2]string{r.Method, r.Name}
	g := s.groups[key]
	if g == nil {
		g = &Group{Method: r.Method, Name: r.Name}
		s.groups[key] = g
	}
	g.add(r)
	s.all.add(r)
}

// add counts a row.
func (g *Group) add(r *Row) {
	g.Count++
	g.Sent += r.Sent
	g.Received += r.Received
	switch r.Channel {
	case exchange.ChannelOpen:
		g.Open++
		return
	case exchange.ChannelCancelled:
		g.Cancelled++
		return
	}
	if r.Size() > 0 {
		// A capture may have any duration.
		t := min(max(int64(r.Duration), 0), math.MaxInt64-1) // so that a bucket ends after it
		g.durations = append(g.durations, t)
	}
	if r.Failed() {
		if g.failed == nil {
			g.failed = map[string]int{}
		}
		g.failed[r.Channel]++
	}
}

// All returns the group of all rows.
func (s *Stats) All() *Group { return &s.all }

// Groups returns a group for each method and name, the most frequent first.
func (s *Stats) Groups() []*Group {
	return slices.SortedFunc(maps.Values(s.groups), func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name))
	})
}

// A Failure counts the rows that ended in a channel.
type Failure struct {
	Channel string
	Count   int
}

// Failures counts the failed rows by channel, in the order of the exit codes. It leaves out
// channels without failures.
func (g *Group) Failures() []Failure {
	var all []Failure
	for _, e := range wire.ExitCodes {
		if n := g.failed[string(e.Kind)]; n > 0 {
			all = append(all, Failure{string(e.Kind), n})
		}
	}
	return all
}

// Timed returns how many rows have a duration: rows of requests that were sent and ended.
func (g *Group) Timed() int { return len(g.durations) }

// Percentile returns the shortest duration that at least p percent of the rows did not exceed (the
// nearest rank, so it is always a measured duration). p is from 0 to 100. It returns 0 if no row
// has a duration.
func (g *Group) Percentile(p float64) time.Duration {
	if len(g.durations) == 0 {
		return 0
	}
	slices.Sort(g.durations)
	rank := int(math.Ceil(p / 100 * float64(len(g.durations))))
	return time.Duration(g.durations[min(max(rank, 1), len(g.durations))-1])
}

// Tokens estimates how many tokens a model counts for the messages: one for four bytes. That is
// near for English and JSON, and too low for many other scripts.
func (g *Group) Tokens() int64 { return (g.Sent + g.Received + 3) / 4 }

// A Bucket counts the rows whose duration is at least From and less than To.
type Bucket struct {
	From  time.Duration `json:"fromNs"`
	To    time.Duration `json:"toNs"`
	Count int           `json:"count"`
}

// Histogram counts the durations in buckets with bounds of 1, 2, 5 and 10 microseconds and so on,
// from the shortest duration to the longest. Empty buckets in between are included.
func (g *Group) Histogram() []Bucket {
	if len(g.durations) == 0 {
		return nil
	}
	slices.Sort(g.durations)
	from := time.Duration(0)
	counted := 0
	var buckets []Bucket
	for to := range durationSteps {
		end, _ := slices.BinarySearch(g.durations, int64(to))
		if end > 0 { // not before the shortest duration
			buckets = append(buckets, Bucket{from, to, end - counted})
		}
		counted = end
		if end == len(g.durations) {
			break
		}
		from = to
	}
	return buckets
}

// durationSteps yields the bounds of buckets: 1, 2, 5, 10 microseconds and so on, and last the
// longest duration.
func durationSteps(yield func(time.Duration) bool) {
	for unit := time.Microsecond; unit < math.MaxInt64/10; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if !yield(n * unit) {
				return
			}
		}
	}
	yield(math.MaxInt64)
}
