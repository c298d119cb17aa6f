package trace

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

func TestGoldenQueries(t *testing.T) {
	c, err := Open(filepath.Join("testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows := c.Rows()
	if len(rows) != 58 {
		t.Fatalf("the golden capture has %d rows", len(rows))
	}
	for _, c := range []struct {
		text string
		want []int
	}{
		{"method:tools/call", []int{4, 6, 9, 13, 17, 19, 22, 28, 31, 34, 37, 46, 52, 57}},
		{"name:get-*", []int{4, 22}},
		{"name:get-sum channel:ok", []int{4}},
		{"method:tools/* -method:tools/list -name:echo", []int{4, 6, 9, 13, 17, 19, 22, 52, 57}},
		{"channel:tool_error", []int{6}},
		{"is:probe", []int{25, 39}},
		{"dir:received", []int{38, 42, 45, 58}},
		{"client:mcpc* server:*everything* channel:ok method:tools/*", []int{44, 46}},
		{"client:mcpc server:mcp-servers/everything channel:ok method:tools/*", []int{44, 46}},
		{"client:mcp or server:everything", nil},
		{"conn:1", nil},
		{"ttfb:>1s", []int{39, 43}},
		{"is:cancelled", []int{31}},
		{"session:* method:tools/list", []int{54, 55, 56}},
		{"channel:*_error target:*3901*", []int{6, 17}},
		{"channel:transport,timeout,bad_response", []int{24, 28, 31, 47}},
		{"is:error -method:server/discover", []int{6, 17, 19, 22, 24, 28, 31}},
		{"exit:5", []int{6}},
		{"exit:>=9", []int{19, 31}},
		{"http:4xx", []int{17, 24}},
		{"http:5xx", nil},
		{"has:retry", []int{27}},
		{"-http:>0 -target:server-everything*", []int{22, 31, 38, 47, 58}},
		{"dur:>=1s method:tools/call", []int{13, 31}},
		{"size:>7kb", []int{44}},
		{"size:7kb..8kb", []int{44}},
		{"has:finding", []int{19, 22, 24, 28}},
		{"has:resume", []int{34}},
		{"has:question", []int{37, 57}},
		{"has:round", []int{52}},
		{"has:notification", []int{13, 42, 45}},
		{"has:guess", []int{41, 42, 44, 45}},
		{"method:ping or method:elicitation/create", []int{38, 58}},
		{"is:orphan", []int{37}},
		{"era:legacy protocol:2025-06-18", []int{23, 24}},
		{"target:server-everything* protocol:2025-*", []int{40, 41, 42, 43, 44, 45, 46}},
		{"kind:stderr", []int{39, 43}},
		{"id:4", []int{4, 13, 17, 51, 56}},
		{"Größe", []int{6}},
		{"größe", []int{6}},
		{`"\"quoted\""`, []int{6}},
		{`"The sum of 1"`, []int{4}},
		{"body:pong or body:behind", []int{34, 37}},
		{`body~/"code":-32\d{3}/`, []int{17, 25, 39}},
		{"name~/^(fail|hang-up)$/", []int{6, 9}},
		{`"connection refused"`, []int{47}},
		{"resources/read or (name:echo -http:200)", []int{31, 41, 46}},
		{"not (target:http* or method:initialize)", []int{39, 41, 42, 44, 45, 46}},
		{"time:2020-01-01..2020-12-31", nil},
		{"run:>0", nil}, // it is no run of a ring
	} {
		f := parse(t, c.text)
		var got []int
		for i, r := range rows {
			wanted, err := f.Match(r)
			if err != nil {
				t.Fatal(err)
			}
			if wanted {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\ngot  %v\nwant %v", c.text, got, c.want)
		}
	}
}

// naive is what a reader of the format's description would compute, with nothing
// of this package: what was asked, and what came back under the same id.
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

func TestStatisticsAreWhatAnybodyElseComputes(t *testing.T) {
	// Where the answer is the whole story: no notifications, no other endings.
	plain := func(r *Row) bool {
		folded := r.Notes
		folded.Guessed, folded.Cuts = 0, 0
		return slices.Contains([]string{"ok", "tool_error", "rpc_error", "output_invalid"}, r.Channel) && folded == Notes{}
	}
	var stats Stats
	counted := map[int]bool{}
	i := -1
	for _, r := range openGolden(t).Rows() {
		if r.Apart || r.Dir == wire.Received {
			continue // what is counted here is what the client asked
		}
		if r.Size() > 0 || r.Notes.Cuts > 0 {
			i += 1 + r.Notes.Retries + r.Notes.Rounds // what was never sent is no request that crossed
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
	// The least of those that at least p of 100 did not exceed.
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
