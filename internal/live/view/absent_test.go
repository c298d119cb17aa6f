package view_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/wire"
)

// A conversation without rows reports whether it is older than the kept rows, or not recorded.
func TestAbsentConversationSaysWhy(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	record := func(run, calls int) {
		t.Helper()
		began := now.Add(time.Duration(run-10) * time.Hour)
		lines := capture.AppendHead(nil, capture.Head{Started: began, Target: "t", By: capture.ByProxy, Run: run})
		for i := range calls {
			lines = capture.AppendFrame(lines, wire.Frame{
				Seq: uint64(i + 1), Time: began.Add(time.Duration(i) * time.Second), Conn: 1,
				Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i),
			})
		}
		if err := os.WriteFile(ring.Path(run), lines, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clock := now
	open := func() *live.Store {
		t.Helper()
		s, err := live.NewStepped(live.Options{Ring: ring, MaxRows: 5, Open: rows.Open, Now: func() time.Time { return clock }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	record(1, 3)
	s := open()
	v := view.New(s, view.Options{Now: func() time.Time { return clock }})
	check := func(v *view.Views, talk, filter, want string) {
		t.Helper()
		q := view.Query{Talk: talk, Filter: filter}
		if page, err := v.Rows(t.Context(), q); err != nil || page.Absent != want {
			t.Errorf("%s %s: %q %v, want %q", talk, filter, page.Absent, err, want)
		}
		if _, page, err := v.Talk(t.Context(), q); err != nil || page.Absent != want {
			t.Errorf("the lines of %s %s: %q %v, want %q", talk, filter, page.Absent, err, want)
		}
	}
	const (
		unknown = "no recording has this conversation: it was deleted, or there never was one"
		leftOut = "this conversation is older than the 5 exchanges kept"
		unread  = "this conversation is not read: it is older than the 5 exchanges kept, or its recording was deleted"
	)
	check(v, "1.1", "", "")
	check(v, "1.1", "name:none", "")
	check(v, "1.7", "", unknown)
	check(v, "x", "", unknown)
	record(2, 4)
	s.Step()
	check(v, "1.1", "", "") // one row is kept
	record(3, 600)          // this many are read before older recordings are checked
	s.Step()
	check(v, "1.1", "", leftOut)
	check(v, "1.1", "name:none", leftOut)
	check(v, "1.1", "is:open", leftOut)
	check(v, "3.1", "", "")
	check(v, "1.7", "", unknown)
	old := now.Add(-9 * time.Hour)
	if err := os.Chtimes(ring.Path(1), old.Add(10*time.Minute), old.Add(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	check(view.New(open(), view.Options{Now: func() time.Time { return clock }}), "1.1", "", unread)
	if err := os.Remove(ring.Path(1)); err != nil {
		t.Fatal(err)
	}
	s.Step()
	check(v, "1.1", "", unknown)
	if err := os.Remove(ring.Path(3)); err != nil {
		t.Fatal(err)
	}
	s.Step()
	check(v, "2.1", "", "")
	check(v, "3.1", "", unknown)
}
