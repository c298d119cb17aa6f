package traffic

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// following is a follower of a state's recordings, whose clock stands still.
func following(f *cmdutil.Factory, at time.Time, most int) *follower {
	f.Now = func() time.Time { return at }
	return newFollower(f, logOptions{count: most}, func(*rows.Row) bool { return true })
}

func inWords(rows []*rows.Row) string {
	var all []string
	for _, row := range rows {
		all = append(all, strings.TrimSpace(row.Number()+" "+row.Method+" "+row.Channel))
	}
	return strings.Join(all, ", ")
}

func grow(t *testing.T, path string, more []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(more); err != nil {
		t.Fatal(err)
	}
}

// What is under way when the list is made comes when it ends, and is not listed.
func TestFollowedOnceThatIsUnderWay(t *testing.T) {
	f := recordings(t, []string{"proxy", "initialize 1 2", "slow 3 -", "logging/setLevel 4 5"}, []string{"command", "ping 3 4"})
	minute := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	follow := following(f, minute.Add(10*time.Second), 0)
	rows, out := follow.openAll(context.Background())
	if got, want := inWords(rows), "1.1 initialize ok, 1.2 slow open, 2 ping ok, 1.3 logging/setLevel ok"; got != want || !out.OK() {
		t.Fatalf("listed: %s, want %s", got, want)
	}
	if got := inWords(follow.nextRows()); got != "" {
		t.Errorf("nothing happened, and %s came", got)
	}
	follow.factory.Now = func() time.Time { return minute.Add(3500 * time.Millisecond) }
	follow.printedOpen = map[openKey]bool{}
	if got := inWords(follow.nextRows()); got != "" {
		t.Errorf("it takes half a second so far, and %s came", got)
	}
	follow.factory.Now = func() time.Time { return minute.Add(10 * time.Second) }
	if got, again := inWords(follow.nextRows()), inWords(follow.nextRows()); got != "1.2 slow open" || again != "" {
		t.Errorf("it hangs, and %q came, then %q", got, again)
	}
	path := filepath.Join(f.State, host.TrafficDir, "000001.jsonl")
	grow(t, path, capture.AppendFrame(nil, wire.Frame{
		Seq: 9, Time: minute.Add(9 * time.Second), Dir: wire.Received, Kind: wire.Body,
		Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`),
	}))
	if got := inWords(follow.nextRows()); got != "" {
		t.Errorf("it may not be at rest, and %s came", got)
	}
	if got := inWords(follow.nextRows()); got != "1.2 slow ok" {
		t.Errorf("it ended, and %q came", got)
	}
	if got := inWords(follow.nextRows()); got != "" {
		t.Errorf("all was told, and %s came", got)
	}
	// Where no frame comes for so long, the recorder may have been killed.
	f = recordings(t, []string{"command", "ping 1 2", "killed 3 -"})
	rows, _ = following(f, minute.Add(time.Hour), 0).openAll(context.Background())
	if got := inWords(rows); got != "1.1 ping ok, 1.2 killed open" {
		t.Errorf("listed: %s", got)
	}
}

// A command's exchange ends as the command does, although its answer came before.
func TestFollowedAsTheCommandEnds(t *testing.T) {
	f := recordings(t, []string{"command", "tools/call 1 2"})
	minute := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	follow := following(f, minute.Add(2*time.Second), 0)
	if rows, _ := follow.openAll(context.Background()); len(rows) > 0 {
		t.Errorf("listed: %s", inWords(rows))
	}
	grow(t, filepath.Join(f.State, host.TrafficDir, "000001.jsonl"), capture.AppendEnd(nil, capture.End{Time: minute, Exit: 10, Kind: wire.OutputInvalid, Method: "tools/call"}))
	if got := inWords(follow.nextRows()); got != "1 tools/call output_invalid" {
		t.Errorf("it ended, and %q came", got)
	}
}

// What waits for its answer while a run beside it ends comes when it is answered.
func TestFollowedBesideARunThatEnds(t *testing.T) {
	minute := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	recorded := func(in string, frames ...wire.Frame) [][]byte {
		file := filepath.Join(t.TempDir(), in)
		r := capture.NewRecorder(capture.Recording{Open: capture.File(file), Head: capture.Head{Started: minute, By: capture.ByTap, Mark: in}})
		for _, frame := range frames {
			frame.Time = minute
			r.Tap(frame)
		}
		r.End(capture.End{Time: minute})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Collect(bytes.Lines(raw))
	}
	long := recorded("long", wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)},
		wire.Frame{Dir: wire.Received, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"isError":true}}`)})
	short := recorded("short", wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		wire.Frame{Dir: wire.Received, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
	file := filepath.Join(t.TempDir(), "both.jsonl")
	grow(t, file, slices.Concat(slices.Concat(long[:2]...), slices.Concat(short...)))
	f := following(cmdutil.New(nil, nil, nil), minute.Add(time.Second), 0)
	f.options.file = file
	if rows, _ := f.openAll(context.Background()); inWords(rows) != "2 ping ok" {
		t.Errorf("listed: %s", inWords(rows))
	}
	grow(t, file, slices.Concat(long[2:]...))
	if got := inWords(f.nextRows()); got != "1 tools/call tool_error" {
		t.Errorf("it was answered, and %q came", got)
	}
}

// A growth is bytes that are appended to a file.
type growth struct {
	file  string
	bytes []byte
}

// turned is a recording that goes on in several files, as it is written: beside what
// comes and goes a call is under way all the time.
func turned(t *testing.T) (all []growth) {
	t.Helper()
	ring := capture.NewRing(t.TempDir())
	turning := capture.Rotation{Ring: ring, Bytes: 8 << 10, Files: 100, Carry: rows.Carry}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := capture.NewRecorder(capture.Recording{Open: ring.Create, Rotation: turning, Head: capture.Head{Mcpc: "0", Started: noon, Target: "t", By: capture.ByTap}})
	seq := uint64(0)
	cross := func(dir wire.Direction, format string, args ...any) {
		seq++
		r.Tap(wire.Frame{
			Seq: seq, Time: noon.Add(time.Duration(seq) * time.Millisecond), Dir: dir, Kind: wire.Body,
			Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...),
		})
	}
	cross(wire.Sent, `"id":"i","method":"initialize","params":{"protocolVersion":"v"}`)
	cross(wire.Received, `"id":"i","result":{"protocolVersion":"v","capabilities":{}}`)
	cross(wire.Sent, `"id":"long","method":"tools/call","params":{"name":"long"}`)
	for i := range 80 {
		cross(wire.Sent, `"id":%d,"method":"ping","params":{"fill":"%s"}`, i, strings.Repeat("x", 100))
		if i%10 > 0 {
			cross(wire.Received, `"id":%d,"result":{}`, i)
		}
	}
	cross(wire.Received, `"id":"long","result":{"content":[]}`)
	r.End(capture.End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	runs, err := ring.Runs()
	if err != nil || len(runs) < 3 {
		t.Fatalf("%d files, %v", len(runs), err)
	}
	var next []byte // the line that ends the file before
	for _, run := range runs {
		raw, err := os.ReadFile(run.Path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(run.Path)
		if at := bytes.Index(raw, []byte(`{"carried":`)); at >= 0 {
			at += bytes.IndexByte(raw[at:], '\n') + 1
			all = append(all, growth{name, raw[:at]}, growth{all[len(all)-1].file, next})
			raw = raw[at:]
		}
		if at := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1; bytes.HasPrefix(raw[at:], []byte(`{"next":`)) {
			raw, next = raw[:at], raw[at:]
		}
		all = append(all, growth{name, raw})
	}
	return all
}

// Wherever a recorder is when its file is read, within a line as well, each exchange is
// given once: the rows that follow are those listed in the end.
func TestFollowedOnceWhereARecordingTurns(t *testing.T) {
	all := turned(t)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 5))
		f := cmdutil.New(nil, nil, nil)
		f.State = t.TempDir()
		dir := filepath.Join(f.State, host.TrafficDir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		follow := following(f, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 0)
		seen := map[string]int{}
		count := func(listed []*rows.Row) {
			for _, row := range listed {
				seen[fmt.Sprintf("%d.%d %s", row.Run, row.Index, row.ID)]++
			}
		}
		begin, begun := random.IntN(20), false
		look := func() {
			if begin--; begin > 0 {
				return
			}
			if !begun {
				begun = true
				listed, _ := follow.openAll(context.Background())
				count(listed)
			}
			count(follow.nextRows())
		}
		for _, g := range all {
			path := filepath.Join(dir, g.file)
			for rest := g.bytes; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(1500))
				if lines := bytes.IndexByte(rest, '\n'); random.IntN(3) == 0 && lines > 0 {
					n = lines // all but the end of the line
				}
				grow(t, path, rest[:n])
				rest = rest[n:]
				look()
			}
		}
		begin = 0
		look()
		look()
		want := map[string]int{}
		listed, _ := readRows(context.Background(), f, "", selection{follow.matches, func(rows.Page) bool { return true }}, 0)
		for _, row := range listed {
			want[fmt.Sprintf("%d.%d %s", row.Run, row.Index, row.ID)] = 1
		}
		if !maps.Equal(seen, want) || len(want) != 82 {
			for _, key := range slices.Sorted(maps.Keys(seen)) {
				if seen[key] != want[key] {
					t.Errorf("%s came %d times", key, seen[key])
				}
			}
			t.Fatalf("seed %d: %d exchanges came, %d are listed", seed, len(seen), len(want))
		}
	}
}
