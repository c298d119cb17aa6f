package rows

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// golden is a recording of real commands against real servers, made by golden.sh
// beside it.
var goldenCapture = filepath.Join("testdata", "golden.jsonl")

func openGolden(t testing.TB) *Capture {
	t.Helper()
	c, err := Open(goldenCapture)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// naive is the result of a reader that knows only the format's description, and nothing of this
// package: the requests, and the responses with the same id.
type naive struct {
	asked  string
	kind   string
	bytes  int
	at     time.Time
	took   time.Duration
	answer bool
}

func naively(t *testing.T) (all []*naive) {
	t.Helper()
	raw, err := os.ReadFile(goldenCapture)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]*naive{}
	for _, text := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		var line struct {
			Head      int       `json:"mcpc-traffic"`
			Time      time.Time `json:"time"`
			Dir, Kind string
			Raw       string
			End       *struct{ Kind, Method string }
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, URI string }
			Result *struct{ IsError bool }
			Error  *struct{}
		}
		_ = json.Unmarshal([]byte(line.Raw), &m)
		n := open[string(m.ID)]
		switch {
		case line.Head > 0:
			clear(open)
		case line.End != nil:
			for _, n := range open {
				if strings.HasPrefix(n.asked, line.End.Method+" ") && line.End.Kind != "" && n == all[len(all)-1] {
					n.kind = line.End.Kind
				}
			}
		case line.Dir == "sent" && m.Method != "" && m.ID != nil:
			n = &naive{asked: m.Method + " " + m.Params.Name + m.Params.URI, bytes: len(line.Raw), at: line.Time}
			all = append(all, n)
			open[string(m.ID)] = n
		case line.Dir == "sent" && m.Method != "": // belongs to what was asked last
			all[len(all)-1].bytes += len(line.Raw)
		case n != nil && line.Dir == "received" && (m.Result != nil || m.Error != nil):
			n.answer, n.took, n.bytes = true, line.Time.Sub(n.at), n.bytes+len(line.Raw)
			n.kind = "ok"
			if m.Error != nil {
				n.kind = "rpc_error"
			} else if m.Result.IsError {
				n.kind = "tool_error"
			}
		}
	}
	return all
}

func TestStatisticsAgreeWithIndependentComputation(t *testing.T) {
	// The exchange has only a request and a response: no notifications, no other outcomes.
	plain := func(r *Row) bool {
		folded := r.Notes
		folded.Guessed, folded.Cuts = 0, 0
		return slices.Contains([]string{"ok", "tool_error", "rpc_error", "output_invalid"}, r.Channel) && folded == exchange.Notes{}
	}
	var stats Stats
	counted := map[int]bool{}
	i := -1
	for _, r := range openGolden(t).Rows() {
		if r.IsSeparate || r.Dir == wire.Received {
			continue // only requests of the client count here
		}
		if r.Size() > 0 || r.Notes.Cuts > 0 {
			i += 1 + r.Notes.Retries + r.Notes.Rounds // a request that was never sent does not count
		}
		if plain(r) {
			stats.Add(r)
			counted[i] = true
		}
	}
	groups := map[string][]*naive{}
	for i, n := range naively(t) {
		if counted[i] {
			groups[n.asked] = append(groups[n.asked], n)
		}
	}
	want, got := map[string]string{}, map[string]string{}
	for asked, all := range groups {
		want[asked] = naiveText(t, all)
	}
	for _, g := range stats.Groups() {
		text := fmt.Sprintf("%d, %d bytes, %v %v %v", g.Count, g.Sent+g.Received, g.Percentile(50), g.Percentile(95), g.Percentile(99))
		for _, f := range g.Failures() {
			text += fmt.Sprintf(", %d %s", f.Count, f.Channel)
		}
		in := 0
		for _, b := range g.Histogram() {
			in += b.Count
		}
		if in != g.Count {
			t.Errorf("%s %s: %d in the histogram", g.Method, g.Name, in)
		}
		got[g.Method+" "+g.Name] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(got) < 8 {
		t.Errorf("only %d groups", len(got))
	}
}

func naiveText(t *testing.T, all []*naive) string {
	bytes, kinds := 0, map[string]int{}
	for _, n := range all {
		if !n.answer {
			t.Errorf("%s has no answer", n.asked)
		}
		bytes += n.bytes
		if n.kind != "ok" {
			kinds[n.kind]++
		}
	}
	// The least value that at least p of 100 values did not exceed.
	percentile := func(p int) (best time.Duration) {
		best = time.Hour
		for _, candidate := range all {
			within := 0
			for _, n := range all {
				if n.took <= candidate.took {
					within++
				}
			}
			if within*100 >= p*len(all) {
				best = min(best, candidate.took)
			}
		}
		return best
	}
	text := fmt.Sprintf("%d, %d bytes, %v %v %v", len(all), bytes, percentile(50), percentile(95), percentile(99))
	for kind, n := range kinds {
		text += fmt.Sprintf(", %d %s", n, kind)
	}
	return text
}
