package live

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// fold returns everything about a row, its frames included.
func fold(r *rows.Row) string {
	frames, err := r.Frames()
	cancel := ""
	if r.Cancel != nil {
		cancel = fmt.Sprintf("%+v", *r.Cancel)
	}
	return fmt.Sprint(r.Number(), r.Time, r.Target, r.Dir, r.IsSeparate, r.GuessedNumbers(), r.Method, r.Name, r.ID, r.Channel, cancel, r.Exit, r.Code, r.Duration, r.TimeToFirst,
		r.Conn, r.Sent, r.Received, r.Revision, r.Era, r.Status, r.By, r.ReplayOf, r.Notes, r.Kinds, r.ListedElsewhere, r.CancelledEarlier, r.Orphan, len(r.Findings), r.Text, r.Client(), r.Server(),
		r.Within != nil, len(frames), err)
}

// listed are the folds of the rows of a ring or a file, as commands list them.
func listed(t testing.TB, o Options) (folds []string) {
	t.Helper()
	tail, err := NewTail(o)
	if err != nil {
		t.Fatal(err)
	}
	for tail.CountUnread() > 0 {
		c, _, err := tail.OpenOlder()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rows() {
			if !r.ListedElsewhere {
				folds = append(folds, fold(r))
			}
		}
		c.Close()
	}
	slices.Sort(folds)
	return folds
}

func kepts(t testing.TB, s *Store) (folds []string) {
	t.Helper()
	if err := s.Each(Query{}, func(r *rows.Row) bool {
		folds = append(folds, fold(r))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(folds)
	return folds
}

// step looks once, as the goroutine of a Store does.
func (s *Store) step() { s.tail.Step(&s.mu, s.apply) }

// still is a Store without a goroutine: a test takes its steps.
func still(t testing.TB, o Options) *Store {
	t.Helper()
	tail, err := NewTail(o)
	if err != nil {
		t.Fatal(err)
	}
	tail.readsInSteps = true
	s := newStore(o, tail)
	t.Cleanup(s.Close)
	for tail.CountUnread() > 0 {
		before := tail.CountUnread()
		s.readOlder(0)
		s.step()
		if tail.CountUnread() == before {
			break
		}
	}
	return s
}

// Whether a file grows by whole lines or by parts of lines, the rows equal the rows of the whole
// file, and a query finds the same rows as a new query.
func TestRowsDoNotDependOnChunking(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "capture", "rows", "testdata", "*.jsonl"))
	all := map[string][]byte{"calls": calls(capture.Head{Started: noon, By: capture.ByTap}, 0, 60)}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if _, bad := rows.Open(name); err == nil && bad == nil {
			all[filepath.Base(name)] = raw
		}
	}
	ring := capture.NewRing(t.TempDir())
	turn(t, ring, rand.New(rand.NewPCG(1, 1)), 1<<20)
	all["turned"], _ = os.ReadFile(ring.Path(1))
	if len(all) < 4 {
		t.Fatalf("%d recordings", len(all))
	}
	for name, raw := range all {
		for seed := range uint64(6) {
			random := rand.New(rand.NewPCG(seed, 1))
			path := filepath.Join(t.TempDir(), "a.jsonl")
			first := bytes.IndexByte(raw, '\n') + 1
			write(t, path, raw[:first])
			o := Options{Path: path, Open: rows.Open, Now: func() time.Time { return noon }}
			s := still(t, o)
			queries := []Query{{}, {Sort: "-took"}, {Filter: "is:error"}, {Filter: "-is:open", Sort: "size"}, {Filter: "body:e", Sort: "-method"}, {Talk: Talk{-1, 1}}}
			for rest := raw[first:]; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(1+len(raw)/5))
				write(t, path, rest[:n])
				rest = rest[n:]
				s.step()
				if random.IntN(2) == 0 {
					found(t, s, queries[random.IntN(len(queries))])
				}
			}
			if got, want := kepts(t, s), listed(t, o); !slices.Equal(got, want) {
				t.Fatalf("%s, seed %d: %s", name, seed, difference(got, want))
			}
			for _, q := range queries {
				got := found(t, s, q)
				s.queries.recent = nil
				if want := found(t, s, q); got != want {
					t.Fatalf("%s, seed %d: %+v finds %s, want %s", name, seed, q, got, want)
				}
			}
			same(t, s)
			s.Close()
		}
	}
}

func difference(got, want []string) string {
	var b strings.Builder
	for _, x := range got {
		if !slices.Contains(want, x) {
			b.WriteString("\n+ " + x)
		}
	}
	for _, x := range want {
		if !slices.Contains(got, x) {
			b.WriteString("\n- " + x)
		}
	}
	return b.String()
}

// same checks what is counted against the rows.
func same(t testing.TB, s *Store) {
	t.Helper()
	type counts struct{ rows, open, failed int }
	want, all := map[Talk]counts{}, counts{}
	if err := s.Each(Query{}, func(r *rows.Row) bool {
		c := want[TalkOf(r)]
		for _, c := range []*counts{&c, &all} {
			c.rows++
			if r.IsOpen() && !r.IsListening() {
				c.open++
			}
			if r.Failed() {
				c.failed++
			}
		}
		want[TalkOf(r)] = c
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); (counts{st.Rows, st.Open, st.Failed}) != all {
		t.Errorf("%+v, want %+v", st, all)
	}
	first := 0
	for _, c := range s.Conversations() {
		if got := (counts{c.Rows, c.Open, c.Failed}); got != want[c.Talk] {
			t.Errorf("%+v, want %+v", c, want[c.Talk])
		}
		if delete(want, c.Talk); c.First {
			first++
		}
	}
	if len(want) > 0 || first > 1 {
		t.Errorf("%d conversations are left out, %d are the first", len(want), first)
	}
}

// Wherever a recorder is when it turns to another file, each exchange is in exactly one file.
func TestRotatedRecordingHasEachExchangeOnce(t *testing.T) {
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 2))
		whole := capture.NewRing(t.TempDir())
		turn(t, whole, random, 8<<10)
		ring := capture.NewRing(t.TempDir())
		s := still(t, Options{Ring: ring, Now: func() time.Time { return noon }})
		// The files are copied in the order they were written in: the beginning of a part, then the
		// line that ends the one before.
		runs, err := whole.Runs()
		if err != nil || len(runs) < 3 {
			t.Fatalf("%d files, %v", len(runs), err)
		}
		var next []byte
		once := func() {
			ids := map[string]int{}
			_ = s.Each(Query{}, func(r *rows.Row) bool {
				ids[r.ID]++
				return true
			})
			for id, times := range ids {
				if times > 1 {
					t.Fatalf("seed %d: %s is there %d times", seed, id, times)
				}
			}
		}
		grow := func(run int, raw []byte) {
			for len(raw) > 0 {
				n := min(len(raw), 1+random.IntN(3000))
				write(t, ring.Path(run), raw[:n])
				if raw = raw[n:]; random.IntN(2) == 0 {
					s.step()
					once()
				}
			}
		}
		for i, run := range runs {
			raw, err := os.ReadFile(run.Path)
			if err != nil {
				t.Fatal(err)
			}
			if at := bytes.Index(raw, []byte(`{"carried":`)); at >= 0 {
				at += bytes.IndexByte(raw[at:], '\n') + 1
				grow(run.Number, raw[:at])
				grow(runs[i-1].Number, next)
				raw = raw[at:]
			}
			if at := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1; bytes.HasPrefix(raw[at:], []byte(`{"next":`)) {
				raw, next = raw[:at], raw[at:]
			}
			grow(run.Number, raw)
			s.step()
			once()
		}
		if got, want := kepts(t, s), listed(t, Options{Ring: whole}); !slices.Equal(got, want) || len(want) != 82 {
			t.Fatalf("seed %d: %d of %d rows: %s", seed, len(got), len(want), difference(got, want))
		}
		same(t, s)
	}
}

// turn records in several files; one call is open all the time, besides short exchanges.
func turn(t testing.TB, ring *capture.Ring, random *rand.Rand, bytes int64) {
	t.Helper()
	r := capture.NewRecorder(capture.Recording{
		Open: ring.Create, Rotation: capture.Rotation{Ring: ring, Bytes: bytes, Files: 100, Carry: rows.Carry},
		Head: capture.Head{Mcpc: "0", Started: noon, Target: "t", By: capture.ByTap},
	})
	seq := uint64(0)
	cross := func(dir wire.Direction, format string, args ...any) {
		seq++
		r.Tap(wire.Frame{Seq: seq, Time: noon.Add(time.Duration(seq) * time.Millisecond), Dir: dir, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...)})
	}
	cross(wire.Sent, `"id":"i","method":"initialize","params":{"protocolVersion":"v"}`)
	cross(wire.Received, `"id":"i","result":{"protocolVersion":"v","capabilities":{}}`)
	cross(wire.Sent, `"id":"long","method":"tools/call","params":{"name":"long"}`)
	for i := range 80 {
		cross(wire.Sent, `"id":%d,"method":"ping","params":{"fill":"%s"}`, i, strings.Repeat("x", random.IntN(200)))
		switch {
		case i%10 > 0:
			cross(wire.Received, `"id":%d,"result":{}`, i)
		case i%20 > 0:
			cross(wire.Sent, `"method":"notifications/cancelled","params":{"requestId":%d}`, i)
		}
	}
	cross(wire.Received, `"id":"long","result":{"content":[]}`)
	r.End(capture.End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// Views may ask while rows come, and searches end with the Store.
func TestQueriesWhileFileGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	head := capture.Head{Started: noon, Target: "t", By: capture.ByProxy}
	write(t, path, calls(head, 0, 2000))
	s := open(t, Options{Path: path})
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	for i := range 4 {
		all.Go(func() {
			for n, seq := 0, uint64(0); ctx.Err() == nil; n++ {
				f, err := s.Find(ctx, Query{Filter: []string{"", "is:error", "body:answer", fmt.Sprint("body:", n)}[i], Sort: []string{"", "-took", "name"}[n%3]})
				if err != nil {
					t.Error(err)
				}
				s.Look(f.Keys[max(0, len(f.Keys)-50):], func(i int, r *rows.Row) {
					if r == nil {
						t.Error("a row is gone")
						return
					}
					s.MarkOf(KeyOf(r))
					if i%10 == 0 {
						_, _ = r.Frames()
					}
				})
				s.Conversations()
				seq = s.Wait(ctx, seq)
			}
		})
	}
	for i := range 20 {
		write(t, path, calls(head, 2000+10*i, 10))
		until(t, s, "more rows", func() bool { return s.Status().Rows == 2010+10*i })
	}
	cancel()
	all.Wait()
	if _, err := s.Find(context.Background(), Query{Filter: "body:never"}); err != nil {
		t.Error(err)
	}
}
