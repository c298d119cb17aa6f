package live_test

// These functions compare a view that continues to read while recordings change with a view that
// reads them for the first time.

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/live"
)

// A shownView is what a view shows.
type shownView struct {
	// Rows are the exchanges in their order, Talks the conversations, the oldest first: a line of text each.
	Rows, Talks []string
	// Counts are the rows, how many are open, failed, and left out because there are too many, and how
	// many frames recorders lost.
	Counts struct{ Rows, Open, Failed, Dropped, Lost int }
}

// now is the clock of the views; Step checks all files, whatever the time.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// openView opens the recordings of a folder like a view that keeps at most most rows; 0 keeps the
// usual number. It reads further when Step is called.
func openView(t testing.TB, dir string, most int) *live.Store {
	t.Helper()
	s, err := live.NewStepped(live.Options{Ring: capture.NewRing(dir), MaxRows: most, Open: rows.Open, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// fresh is what a view shows that opens the recordings of a folder now.
func fresh(t testing.TB, dir string, most int) shownView {
	t.Helper()
	s, err := live.NewStepped(live.Options{Ring: capture.NewRing(dir), MaxRows: most, Open: rows.Open, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return shown(t, s)
}

// shown is what a view shows.
func shown(t testing.TB, s *live.Store) (v shownView) {
	t.Helper()
	found, err := s.Find(context.Background(), live.Query{})
	if err != nil {
		t.Fatal(err)
	}
	s.Look(found.Keys, func(i int, r *rows.Row) {
		if r == nil {
			v.Rows = append(v.Rows, found.Keys[i].String()+" is gone")
			return
		}
		frames, err := r.Frames()
		v.Rows = append(v.Rows, fmt.Sprint(found.Keys[i], " ", live.TalkOf(r), r.Time.UTC(), r.Method, " ", r.Name, " ", r.ID, " ", r.Channel, " ", r.Duration, r.Notes, r.Sent, r.Received,
			" ", r.Target, " ", r.By, r.Head().Run, len(frames), err))
	})
	for _, c := range s.Conversations() {
		v.Talks = append(v.Talks, fmt.Sprintf("%v %s %s %s %s %v %v: %d rows, %d open, %d failed, over %t, first %t", c.Talk, c.Client, c.Server, c.Target, c.By,
			c.Began.UTC(), c.Last.UTC(), c.Rows, c.Open, c.Failed, c.Over, c.First))
	}
	st := s.Status()
	v.Counts.Rows, v.Counts.Open, v.Counts.Failed, v.Counts.Dropped, v.Counts.Lost = st.Rows, st.Open, st.Failed, st.Dropped, st.Lost
	return v
}

// difference describes how two views differ, or returns "".
func difference(got, want shownView) (text string) {
	for _, list := range []struct{ got, want []string }{{got.Rows, want.Rows}, {got.Talks, want.Talks}} {
		if slices.Equal(list.got, list.want) {
			continue
		}
		text += fmt.Sprintf("%d lines, want %d\n", len(list.got), len(list.want))
		text += notIn("+ ", list.got, list.want) + notIn("- ", list.want, list.got)
	}
	if got.Counts != want.Counts {
		text += fmt.Sprintf("counts are %+v, want %+v\n", got.Counts, want.Counts)
	}
	return text
}

// notIn are the lines that others lack, at most ten.
func notIn(sign string, lines, others []string) (text string) {
	known := make(map[string]bool, len(others))
	for _, line := range others {
		known[line] = true
	}
	more := 0
	for _, line := range lines {
		switch {
		case known[line]:
		case more < 10:
			text += sign + line + "\n"
			more++
		default:
			more++
		}
	}
	if more > 10 {
		text += fmt.Sprintf("%s%d more\n", sign, more-10)
	}
	return text
}
