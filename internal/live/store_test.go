package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// calls returns the lines of a run: answered calls of tools. Each takes as many milliseconds as its
// number.
func calls(head capture.Head, from, count int) []byte {
	var b []byte
	if from == 0 {
		b = capture.AppendHead(nil, head)
	}
	for i := from; i < from+count; i++ {
		at := head.Started.Add(time.Duration(i) * time.Second)
		b = capture.AppendFrame(b, wire.Frame{
			Seq: uint64(2*i + 1), Time: at, Conn: 1,
			Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool-%d","arguments":{"n":"number %d"}}}`, i, i%7, i),
		})
		b = capture.AppendFrame(b, wire.Frame{
			Seq: uint64(2*i + 2), Time: at.Add(time.Duration(i%90+1) * time.Millisecond), Conn: 1, Dir: wire.Received,
			Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"answer %d"}],"isError":%t}}`, i, i, i%10 == 9),
		})
	}
	return b
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(b)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Open == nil {
		o.Open = rows.Open
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// until waits for a state of a Store.
func until(t testing.TB, s *Store, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for seq := uint64(0); !is(); {
		seq = s.Wait(ctx, seq)
		if ctx.Err() != nil {
			t.Fatalf("in a minute it did not come to: %s; %+v", what, s.Status())
		}
	}
}

func loaded(t testing.TB, s *Store) {
	t.Helper()
	until(t, s, "all is read", func() bool { return !s.Status().Loading })
}

// found are the keys of a query as words.
func found(t testing.TB, s *Store, q Query) string {
	t.Helper()
	var f Found
	until(t, s, "all is searched", func() bool {
		var err error
		if f, err = s.Find(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		return f.Pending == 0
	})
	return words(f.Keys)
}

func words(keys []Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.String())
	}
	return strings.Join(all, " ")
}

func TestFileThatGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	head := capture.Head{Started: noon, Target: "t", By: capture.ByProxy}
	write(t, path, calls(head, 0, 12))
	s := open(t, Options{Path: path})
	loaded(t, s)
	for _, test := range []struct{ query, want string }{
		{"", "1 2 3 4 5 6 7 8 9 10 11 12"}, {"is:error", "10"}, {`"answer 11"`, "12"}, {"dur:>10ms", "11 12"}, {"body:number name:tool-3", "4 11"},
	} {
		if got := found(t, s, Query{Filter: test.query}); got != test.want {
			t.Errorf("%q finds %s, want %s", test.query, got, test.want)
		}
	}
	more := calls(head, 12, 2)
	half := bytes.IndexByte(more, '\n') + 20
	write(t, path, more[:half])
	until(t, s, "13 rows", func() bool { return s.Status().Rows == 13 && s.Status().Open == 1 })
	write(t, path, more[half:])
	until(t, s, "14 rows", func() bool { return s.Status().Rows == 14 && s.Status().Open == 0 })
	for _, test := range []struct{ query, sort, want string }{
		{"dur:>11ms", "", "12 13 14"},
		{"dur:>11ms", "-took", "14 13 12"},
		{"", "-time", "14 13 12 11 10 9 8 7 6 5 4 3 2 1"},
		{"body:answer is:error or dur:14ms", "", "10 14"},
		{"is:open", "", ""},
	} {
		if got := found(t, s, Query{Filter: test.query, Sort: test.sort}); got != test.want {
			t.Errorf("%q by %q finds %s, want %s", test.query, test.sort, got, test.want)
		}
	}
	for keep, want := range map[int]string{13: "12 13 14", 3: "3 12 13 14", 99: "12 13 14"} {
		if got := found(t, s, Query{Filter: "dur:>11ms", Keep: Key{Index: keep}}); got != want {
			t.Errorf("with %d the query finds %s, want %s", keep, got, want)
		}
	}
	if got := found(t, s, Query{Filter: "dur:>11ms", Sort: "-took", Keep: Key{Index: 3}}); got != "14 13 12 3" {
		t.Errorf("the slowest and the kept row are %s", got)
	}
}

// An open exchange took until now, and not until its last frame.
func TestOpenCallsSortByTheTimeSoFar(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	head := capture.Head{Started: noon, Target: "t", By: capture.ByProxy}
	lines := calls(head, 0, 4)
	write(t, path, lines[:bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1]) // the fourth has no answer
	sent := noon.Add(3 * time.Second)
	now := sent.Add(1500 * time.Microsecond)
	s := still(t, Options{Path: path, Open: rows.Open, Now: func() time.Time { return now }})
	for _, step := range []struct {
		open     time.Duration
		up, down string
	}{{1500 * time.Microsecond, "1 4 2 3", "3 2 4 1"}, {2500 * time.Microsecond, "1 2 4 3", "3 4 2 1"}, {time.Minute, "1 2 3 4", "4 3 2 1"}} {
		now = sent.Add(step.open)
		for sort, want := range map[string]string{"took": step.up, "-took": step.down} {
			if got := found(t, s, Query{Sort: sort}); got != want {
				t.Errorf("open for %v, by %s: %s, want %s", step.open, sort, got, want)
			}
		}
	}
	if _, err := s.Find(t.Context(), Query{Sort: "-age"}); !errors.Is(err, ErrSort) || err.Error() != `rows cannot be sorted by "-age"` {
		t.Error(err)
	}
	write(t, path, lines[bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1:])
	s.step()
	for sort, want := range map[string]string{"took": "1 2 3 4", "-took": "4 3 2 1", "took -is:open": "1 2 3 4"} {
		sort, filter, _ := strings.Cut(sort, " ")
		if got := found(t, s, Query{Sort: sort, Filter: filter}); got != want {
			t.Errorf("answered, by %s: %s, want %s", sort, got, want)
		}
	}
}

func TestGrowingRing(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	begin := func(run, count int, by string) {
		head := capture.Head{Started: noon.Add(time.Duration(run) * time.Hour), Target: "t", By: by, Run: run}
		write(t, ring.Path(run), calls(head, 0, count))
	}
	for run := range 20 {
		begin(run+1, 3, capture.ByCommand)
	}
	s := open(t, Options{Ring: ring, MaxRows: 50})
	loaded(t, s)
	if st := s.Status(); st.Rows != 50 || st.Dropped+len(st.Warnings) == 0 {
		t.Errorf("%+v", st)
	}
	begin(21, 2, capture.ByTap)
	until(t, s, "the new run", func() bool { return strings.HasSuffix(found(t, s, Query{}), " 20.3 21.1 21.2") })
	if st := s.Status(); st.Rows != 50 {
		t.Errorf("%+v", st)
	}
	if err := os.Remove(ring.Path(21)); err != nil {
		t.Fatal(err)
	}
	until(t, s, "the run is gone", func() bool { return strings.HasSuffix(found(t, s, Query{}), " 20.3") })
	s.Look([]Key{{20, 3}, {21, 1}}, func(i int, r *rows.Row) {
		if (r != nil) != (i == 0) {
			t.Errorf("%d: %v", i, r)
		}
	})
	all := s.Conversations()
	if i := slices.IndexFunc(all, func(c Conversation) bool { return c.First }); all[i].Talk != (Talk{20, 1}) || all[i].Rows != 3 {
		t.Errorf("%+v", all[i])
	}
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A hidden value stays hidden in later frames.
func TestGrowingFileKeepsHiddenValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	head := capture.Head{Started: noon, Target: "t", By: capture.ByProxy}
	write(t, path, calls(head, 0, 2))
	secrets := &redact.Secrets{}
	secrets.Hide(regexp.MustCompile("tool-3"))
	s := still(t, Options{Path: path, Open: rows.Open, Now: func() time.Time { return noon }, Hide: func(c *rows.Capture) { c.Hide(secrets) }})
	write(t, path, calls(head, 2, 2))
	s.step()
	s.Look([]Key{{0, 3}, {0, 4}}, func(i int, r *rows.Row) {
		if shown := r.Name == "tool-2"; shown != (i == 0) || strings.Contains(r.Name, "tool-3") {
			t.Errorf("%d: %s", i, r.Name)
		}
	})
}

// A hidden value stays hidden in the heads and the rows of a recording that is read again.
func TestRereadFileKeepsHiddenValues(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	head := capture.Head{Started: noon, Target: "https://acme/mcp", By: capture.ByProxy, Run: 1}
	write(t, ring.Path(1), calls(head, 0, 900))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(ring.Path(1), old, old); err != nil {
		t.Fatal(err)
	}
	c, err := rows.OpenIndexed(ring.Path(1), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if names, _ := filepath.Glob(filepath.Join(ring.Dir(), "*.idx")); len(names) != 1 {
		t.Fatalf("the indexes are %v", names)
	}
	secrets := &redact.Secrets{}
	secrets.Hide(regexp.MustCompile("acme"))
	secrets.Hide(regexp.MustCompile("tool-3"))
	s, err := NewStepped(Options{Ring: ring, Now: time.Now, Hide: func(c *rows.Capture) { c.Hide(secrets) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write(t, ring.Path(1), calls(head, 900, 20)) // which makes all be read again
	s.Step()
	all := 0
	if err := s.Each(Query{}, func(r *rows.Row) bool {
		all++
		if text := r.Target + r.Head().Target + r.Name; strings.Contains(text, "acme") || strings.Contains(text, "tool-3") {
			t.Errorf("%v: %s, head %s, %s", KeyOf(r), r.Target, r.Head().Target, r.Name)
			return false
		}
		return true
	}); err != nil || all != 920 {
		t.Errorf("%d rows, %v", all, err)
	}
}
