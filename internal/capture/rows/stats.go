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

// Stats count rows by what was asked. They keep 8 bytes for each row, so that
// percentiles are exact and not estimates: of a capture, that is about a
// hundredth.
type Stats struct {
	all    Group
	groups map[[2]string]*Group
}

// A Group is what is known of the rows that asked for the same.
type Group struct {
	// Method and Name are "tools/call" and "get-sum"; both are empty in the group
	// of all rows.
	Method, Name string
	Count        int
	// Open are those that were not answered, Cancelled those whose answer was no longer
	// awaited: they neither failed nor took as long as they would have.
	Open, Cancelled int
	failed          map[string]int
	// Sent and Received are the bytes of all messages.
	Sent, Received int64
	// times are how long those took that were sent and came to an end, well or not,
	// in nanoseconds.
	times []int64
}

// Add counts one row more; what is no exchange does not count.
func (s *Stats) Add(r *Row) {
	if r.Apart {
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
		// What a capture says may be nonsense.
		t := min(max(int64(r.Duration), 0), math.MaxInt64-1)
		g.times = append(g.times, t)
	}
	if r.Failed() {
		if g.failed == nil {
			g.failed = map[string]int{}
		}
		g.failed[r.Channel]++
	}
}

// All is the group of all rows.
func (s *Stats) All() *Group { return &s.all }

// Groups are those of each method and name, the most frequent first.
func (s *Stats) Groups() []*Group {
	return slices.SortedFunc(maps.Values(s.groups), func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name))
	})
}

// A Failure is how many rows ended in one channel.
type Failure struct {
	Channel string
	Count   int
}

// Failures are the channels in which rows ended that are not good, in the order
// of their exit codes.
func (g *Group) Failures() (all []Failure) {
	for _, e := range wire.Endings {
		if n := g.failed[string(e.Kind)]; n > 0 {
			all = append(all, Failure{string(e.Kind), n})
		}
	}
	return all
}

// Timed are how many have a duration: what was never sent has none, nor what is
// still open.
func (g *Group) Timed() int { return len(g.times) }

// Percentile is the least duration that at least p percent did not exceed (the
// nearest rank: always one that was measured); 0 where there is none. 0 is the
// shortest and 100 the longest.
func (g *Group) Percentile(p float64) time.Duration {
	if len(g.times) == 0 {
		return 0
	}
	slices.Sort(g.times)
	rank := int(math.Ceil(p / 100 * float64(len(g.times))))
	return time.Duration(g.times[min(max(rank, 1), len(g.times))-1])
}

// Tokens is about how many tokens a model has for the messages: one for four
// bytes, which is near for English and for JSON, and too few for many other
// scripts.
func (g *Group) Tokens() int64 { return (g.Sent + g.Received + 3) / 4 }

// A Bucket is how many rows took at least From and less than To.
type Bucket struct {
	From  time.Duration `json:"fromNs"`
	To    time.Duration `json:"toNs"`
	Count int           `json:"count"`
}

// Histogram counts the durations in steps of 1, 2, 5 and 10, from the shortest to
// the longest, empty steps between included.
func (g *Group) Histogram() (buckets []Bucket) {
	if len(g.times) == 0 {
		return nil
	}
	slices.Sort(g.times)
	from := time.Duration(0)
	counted := 0
	for to := range durationSteps {
		end, _ := slices.BinarySearch(g.times, int64(to))
		if end > 0 {
			buckets = append(buckets, Bucket{from, to, end - counted})
		}
		counted = end
		if end == len(g.times) {
			break
		}
		from = to
	}
	return buckets
}

// steps are 1, 2, 5, 10 microseconds and so on, and the longest duration last.
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
