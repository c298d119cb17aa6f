package live_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/live"
	"mcpc/internal/wire"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A recorder records calls in conversations; one or two are open most of the time.
type recorder struct {
	*capture.Recorder
	clock *time.Time
	seq   uint64
	ids   int
	open  []call
}

type call struct{ conn, id int }

func begin(ring *capture.Ring, clock *time.Time, by string, bytes int64) *recorder {
	r := &recorder{clock: clock}
	r.Recorder = capture.NewRecorder(capture.Recording{
		Open: ring.Create, Rotation: capture.Rotation{Ring: ring, Bytes: bytes, Files: 4, Carry: rows.Carry},
		Head: capture.Head{Mcpc: "0", Started: *clock, Target: "t", By: by},
	})
	return r
}

func (r *recorder) cross(conn int, dir wire.Direction, format string, args ...any) {
	r.seq++
	*r.clock = r.clock.Add(time.Millisecond)
	r.Tap(wire.Frame{Seq: r.seq, Time: *r.clock, Conn: conn, Dir: dir, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...)})
}

// ask sends a call, and answers it unless it is to stay open.
func (r *recorder) ask(conn int, fill int, answer bool) {
	r.ids++
	r.cross(conn, wire.Sent, `"id":%d,"method":"tools/call","params":{"name":"tool-%d","arguments":{"fill":"%s"}}`, r.ids, r.ids%7, strings.Repeat("x", fill))
	r.open = append(r.open, call{conn, r.ids})
	if answer {
		r.answer(len(r.open) - 1)
	}
}

func (r *recorder) answer(i int) {
	c := r.open[i]
	r.open = append(r.open[:i], r.open[i+1:]...)
	r.cross(c.conn, wire.Received, `"id":%d,"result":{"content":[],"isError":%t}`, c.id, c.id%10 == 9)
}

// record sends some calls, and answers some open calls.
func (r *recorder) record(random *rand.Rand, calls, fill int) {
	for range calls {
		for len(r.open) > 2 || len(r.open) > 0 && random.IntN(4) == 0 {
			r.answer(random.IntN(len(r.open)))
		}
		r.ask(1+random.IntN(3), fill, random.IntN(8) > 0)
	}
	r.Flush()
}

// index opens all runs like another command, which writes the indexes of the runs at rest.
func index(t *testing.T, ring *capture.Ring) {
	t.Helper()
	runs, err := ring.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(run.Path, old, old); err != nil {
			t.Fatal(err)
		}
		c, err := rows.OpenIndexed(run.Path, "")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// remove deletes a run with its index, as pruning does.
func remove(t *testing.T, ring *capture.Ring, random *rand.Rand) {
	t.Helper()
	runs, err := ring.Runs()
	if err != nil || len(runs) == 0 {
		return
	}
	run := runs[random.IntN(len(runs))]
	os.Remove(strings.TrimSuffix(strings.TrimSuffix(run.Path, ".zst"), ".jsonl") + ".idx")
	if err := os.Remove(run.Path); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, s *live.Store, dir string, most int, what string) {
	t.Helper()
	s.Step()
	got, want := shown(t, s), fresh(t, dir, most)
	if text := difference(got, want); text != "" {
		t.Fatalf("%s: the view shows (+), a fresh one (-):\n%s", what, text)
	}
}

// After any change of the recordings, a view shows after each step the same as a new view.
func TestContinuedViewEqualsFreshView(t *testing.T) {
	// Recordings are small, so that a schedule takes little time.
	before := rows.SetSizes(rows.Sizes{IndexFrom: 16 << 10, CompressFrom: 16 << 10, PageRows: 32})
	defer rows.SetSizes(before)
	for seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 38))
			ring := capture.NewRing(t.TempDir())
			most, fill := []int{0, 25, 100}[seed%3], []int{10, 400}[seed%2]
			clock := noon
			var recorders []*recorder
			defer func() {
				for _, r := range recorders {
					r.Close()
				}
			}()
			more := func() {
				by := []string{capture.ByTap, capture.ByProxy, capture.ByCommand}[random.IntN(3)]
				r := begin(ring, &clock, by, []int64{8 << 10, 50 << 10}[random.IntN(2)])
				recorders = append(recorders, r)
				r.record(random, 1+random.IntN(20), fill)
			}
			more()
			views := []*live.Store{openView(t, ring.Dir(), most), openView(t, ring.Dir(), most)}
			for step := range 25 {
				what := ""
				switch n := random.IntN(14); {
				case n == 0 || len(recorders) == 0:
					what = "another recorder"
					more()
				case n < 3:
					what = "index"
					index(t, ring)
				case n == 3:
					what = "deleted"
					remove(t, ring, random)
				case n == 4:
					what = "compressed"
					runs, err := ring.Runs()
					if err != nil {
						t.Fatal(err)
					}
					ring.CompressEnded(runs, time.Now().Add(time.Hour))
				case n == 5:
					what = "ended"
					i := random.IntN(len(recorders))
					recorders[i].End(capture.End{Time: clock})
					recorders[i].Close()
					recorders = append(recorders[:i], recorders[i+1:]...)
				case n < 8:
					what = "another view" // which takes rows from the indexes
					index(t, ring)
					views[random.IntN(len(views))] = openView(t, ring.Dir(), most)
				default:
					what = "calls"
					recorders[random.IntN(len(recorders))].record(random, 1+random.IntN(25), fill)
				}
				for i, s := range views {
					compare(t, s, ring.Dir(), most, fmt.Sprintf("step %d, %s, view %d", step, what, i))
				}
			}
		})
	}
}

// seeds is how many schedules are tried: MCPC_SCHEDULES, or a few.
func seeds() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("MCPC_SCHEDULES"), 10, 32); err == nil {
		return n
	}
	return 6
}

// indexed makes a recording of three conversations that is large enough for an index, has one, and has
// an open call.
func indexed(t *testing.T, ring *capture.Ring, clock *time.Time) *recorder {
	t.Helper()
	r := begin(ring, clock, capture.ByProxy, 400<<10)
	t.Cleanup(func() { r.Close() })
	for i := range 99 {
		r.ask(1+i%3, 3000, true)
	}
	r.ask(1, 10, false)
	r.Flush()
	index(t, ring)
	if names, _ := filepath.Glob(filepath.Join(ring.Dir(), "*.idx")); len(names) != 1 {
		t.Fatalf("the indexes are %v", names)
	}
	return r
}

// A run that another command has indexed as a whole keeps its conversations when it continues.
func TestIndexedRunThatGrowsKeepsItsConversations(t *testing.T) {
	ring, clock := capture.NewRing(t.TempDir()), noon
	r := indexed(t, ring, &clock)
	s := openView(t, ring.Dir(), 0)
	r.ask(4, 10, true)
	r.Flush()
	s.Step()
	var rows []int
	for _, c := range s.Conversations() {
		rows = append(rows, c.Rows)
	}
	if !slices.Equal(rows, []int{34, 33, 33, 1}) || s.Status().Rows != 101 {
		t.Errorf("%d rows, and in the conversations %v", s.Status().Rows, rows)
	}
	compare(t, s, ring.Dir(), 0, "one more call")
}

// An open call of an indexed run that continues in the next part is one row, and ends there.
func TestOpenCallOfAnIndexedRunGoesOnOnce(t *testing.T) {
	ring, clock := capture.NewRing(t.TempDir()), noon
	r := indexed(t, ring, &clock)
	s := openView(t, ring.Dir(), 0)
	for range 80 { // beyond the part
		r.ask(2, 3000, true)
		r.Flush()
		s.Step()
	}
	if runs, err := ring.Runs(); err != nil || len(runs) != 2 {
		t.Fatalf("%d parts, %v", len(runs), err)
	}
	if st := s.Status(); st.Open != 1 || st.Rows != 180 {
		t.Errorf("%d rows, %d are open", st.Rows, st.Open)
	}
	compare(t, s, ring.Dir(), 0, "the next part")
	r.answer(0)
	r.Flush()
	compare(t, s, ring.Dir(), 0, "the answer")
	if st := s.Status(); st.Open != 0 || st.Rows != 180 {
		t.Errorf("%d rows, %d are open", st.Rows, st.Open)
	}
}

// Rows that are left out are counted once, also if their recording is read again.
func TestLeftOutRowsAreCountedOnce(t *testing.T) {
	ring, clock := capture.NewRing(t.TempDir()), noon
	r := indexed(t, ring, &clock)
	s := openView(t, ring.Dir(), 40)
	for i := range 5 {
		r.ask(4, 10, true)
		r.Flush()
		s.Step()
		if st := s.Status(); st.Rows != 40 || st.Dropped != 61+i {
			t.Fatalf("%d rows, %d left out, want 40 and %d", st.Rows, st.Dropped, 61+i)
		}
	}
}

// A run that is deleted with its index while it is opened has no rows.
func TestRunThatIsDeletedWhileItIsOpened(t *testing.T) {
	ring, clock := capture.NewRing(t.TempDir()), noon
	indexed(t, ring, &clock)
	path := ring.Path(1)
	c, err := rows.OpenIndexed(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, strings.TrimSuffix(path, ".jsonl") + ".idx"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	defer c.Close()
	for _, p := range c.Pages() {
		for _, r := range p.Select(func(r *rows.Row) bool { return !r.ListedElsewhere }) {
			t.Fatalf("a page has a row of %v", r.Time)
		}
	}
	for _, r := range c.Rows() {
		if !r.ListedElsewhere {
			t.Fatalf("a row of %v", r.Time)
		}
	}
}
