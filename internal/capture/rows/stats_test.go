package rows

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/exchange"
)

func timed(all ...time.Duration) *Group {
	g := &Group{}
	for _, d := range all {
		g.add(&Row{State: exchange.State{Channel: "ok", Sent: 1, Duration: d}})
	}
	return g
}

func TestPercentilesAreDurationsThatWereMeasured(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, c := range []struct {
		of   *Group
		p    float64
		want time.Duration
	}{
		{timed(), 50, 0},
		{timed(7), 0, 7},
		{timed(7), 50, 7},
		{timed(7), 100, 7},
		{timed(9, 1), 50, 1},
		{timed(9, 1), 51, 9},
		{timed(9, 1, 5), 50, 5},
		{timed(hundred...), 50, 50},
		{timed(hundred...), 95, 95},
		{timed(hundred...), 99, 99},
		{timed(hundred...), 99.9, 100},
		{timed(hundred...), 0, 1},
	} {
		if got := c.of.Percentile(c.p); got != c.want {
			t.Errorf("p%v of %d: got %d, want %d", c.p, c.of.Timed(), got, c.want)
		}
	}
}

func TestHistogramHasEveryStepFromTheShortestToTheLongest(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, c := range []struct {
		of   *Group
		want []Bucket
	}{
		{timed(), nil},
		{timed(0), []Bucket{{0, us, 1}}},
		{timed(us), []Bucket{{us, 2 * us, 1}}},
		{timed(3*ms, 2*ms, 5*ms-1, 5*ms, 60*ms), []Bucket{{2 * ms, 5 * ms, 3}, {5 * ms, 10 * ms, 1}, {10 * ms, 20 * ms, 0}, {20 * ms, 50 * ms, 0}, {50 * ms, 100 * ms, 1}}},
		{timed(math.MaxInt64), []Bucket{{5e17, math.MaxInt64, 1}}},
	} {
		if diff := cmp.Diff(c.want, c.of.Histogram()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStatsCountByMethodAndName(t *testing.T) {
	var s Stats
	for _, r := range []Row{
		{State: exchange.State{Method: "tools/list", Channel: "ok", Sent: 10, Duration: 5}},
		{State: exchange.State{Method: "tools/call", Name: "b", Channel: "tool_error", Sent: 20, Duration: 7}},
		{State: exchange.State{Method: "tools/call", Name: "a", Channel: "timeout", Sent: 1, Duration: 9}},
		{State: exchange.State{Method: "tools/call", Name: "a", Channel: "tool_error", Sent: 2, Duration: 3}},
		{State: exchange.State{Method: "tools/call", Name: "a", Channel: "open", Sent: 4}},
		{State: exchange.State{Method: "tools/call", Name: "a", Channel: "invalid_arguments"}},
	} {
		s.Add(&r)
	}
	var names []string
	for _, g := range s.Groups() {
		names = append(names, g.Method+" "+g.Name)
	}
	if want := []string{"tools/call a", "tools/call b", "tools/list "}; !slices.Equal(names, want) {
		t.Errorf("groups: got %q, want %q", names, want)
	}
	all := s.All()
	if all.Count != 6 || all.Open != 1 || all.Timed() != 4 || all.Sent != 37 || all.Tokens() != 10 {
		t.Errorf("all: got %+v, %d tokens", all, all.Tokens())
	}
	if diff := cmp.Diff([]Failure{{"invalid_arguments", 1}, {"tool_error", 2}, {"timeout", 1}}, all.Failures()); diff != "" {
		t.Error(diff)
	}
}

// A cancelled or open exchange has no duration, and did not fail.
func TestStatsOfUnfinishedExchanges(t *testing.T) {
	for _, c := range []struct {
		channel                        string
		timed, failed, cancelled, open int
	}{
		{exchange.ChannelOK, 1, 0, 0, 0}, {"tool_error", 1, 1, 0, 0}, {exchange.ChannelCancelled, 0, 0, 1, 0}, {exchange.ChannelOpen, 0, 0, 0, 1},
	} {
		g := &Group{}
		g.add(&Row{State: exchange.State{Channel: c.channel, Sent: 10, Duration: 5}})
		if g.Count != 1 || g.Timed() != c.timed || len(g.Failures()) != c.failed ||
			g.Cancelled != c.cancelled || g.Open != c.open {
			t.Errorf("%s: %+v", c.channel, g)
		}
	}
}
