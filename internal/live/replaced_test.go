package live

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
)

// A view shows the recording that replaced another, and nothing of the replaced one: for a file,
// for a run that continues, for an ended run, and for a run that was not read because enough rows
// are kept.
func TestARecordingThatIsReplaced(t *testing.T) {
	end := capture.AppendEnd(nil, capture.End{Time: noon})
	for name, c := range map[string]struct {
		most   int
		others [][]byte // of runs 2 and on
		before []byte
	}{
		"goes on":  {before: calls(capture.Head{Started: noon, Run: 1, By: capture.ByTap}, 0, 20)},
		"ended":    {before: append(calls(capture.Head{Started: noon, Run: 1, By: capture.ByTap}, 0, 20), end...)},
		"not read": {most: 10, before: calls(capture.Head{Started: noon.Add(-1e15), Run: 1, By: capture.ByTap}, 0, 20), others: [][]byte{calls(capture.Head{Started: noon, Run: 2, By: capture.ByTap}, 0, 12)}},
		"a file":   {before: calls(capture.Head{Started: noon, By: capture.ByTap}, 0, 20)},
	} {
		for _, count := range []int{5, 20, 40} {
			ring := capture.NewRing(t.TempDir())
			path := ring.Path(1)
			o := Options{Ring: ring, MaxRows: c.most, Open: rows.Open, Now: stopped}
			if name == "a file" {
				path = filepath.Join(t.TempDir(), "a.jsonl")
				o = Options{Path: path, Open: rows.Open, Now: o.Now}
			}
			write(t, path, c.before)
			if c.most > 0 {
				old := noon.Add(-1e15)
				if err := os.Chtimes(path, old, old); err != nil {
					t.Fatal(err)
				}
			}
			for i, lines := range c.others {
				write(t, ring.Path(2+i), lines)
			}
			s, err := NewStepped(o)
			if err != nil {
				t.Fatal(err)
			}
			head := capture.Head{Started: noon, Run: 1, By: capture.ByProxy}
			if o.Path != "" {
				head.Run = 0
			}
			head.Started = head.Started.Add(1e13)
			other := bytes.ReplaceAll(calls(head, 0, count), []byte("tool-"), []byte("other-"))
			write(t, path+".new", other)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			s.Step()
			want := count
			if c.most > 0 {
				want = min(count+12, c.most)
			}
			found, err := s.Find(context.Background(), Query{})
			if err != nil || len(found.Keys) != want || s.Status().Rows != want {
				t.Errorf("%s, by %d: %d rows, %v, want %d", name, count, len(found.Keys), err, want)
			}
			of := 0
			s.Look(found.Keys, func(i int, r *rows.Row) {
				frames, err := r.Frames()
				if err != nil || len(frames) == 0 {
					t.Fatalf("%s, by %d: %v, %v", name, count, found.Keys[i], err)
				}
				if strings.Contains(string(frames[0].Raw), "other-") != strings.HasPrefix(r.Name, "other-") {
					t.Fatalf("%s, by %d: the row of %s has the frames %s", name, count, r.Name, frames[0].Raw)
				}
				if strings.HasPrefix(r.Name, "other-") {
					of++
				}
			})
			if of != min(count, max(want, c.most)) {
				t.Errorf("%s, by %d: %d rows of the other one", name, count, of)
			}
			same(t, s)
			s.Close()
		}
	}
}

// Lines after the end of a run are shown: a recorder writes all frames until it is closed.
func TestLinesAfterEndOfRunAreShown(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	head := capture.Head{Started: noon, Run: 1, By: capture.ByTap}
	write(t, ring.Path(1), append(calls(head, 0, 3), capture.AppendEnd(nil, capture.End{Time: noon})...))
	s, err := NewStepped(Options{Ring: ring, Open: rows.Open, Now: stopped})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 3 {
		write(t, ring.Path(1), calls(head, 3+i, 1))
		if s.Step(); s.Status().Rows != 4+i {
			t.Errorf("%d rows, want %d", s.Status().Rows, 4+i)
		}
	}
}

// stopped returns noon: it is a stopped clock.
func stopped() time.Time { return noon }
