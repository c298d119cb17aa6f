package view_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the clock of the tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A fake is a store over captures that do not grow.
type fake struct{ captures []*capture.Capture }

func (f *fake) rows() (all []*capture.Row) {
	for _, c := range f.captures {
		all = append(all, c.Rows()...)
	}
	return all
}

func (f *fake) selected(q live.Query) (rows []*capture.Row, err error) {
	wanted, err := filter.Parse(q.Filter, now, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range f.rows() {
		talk := live.Talk{Run: cmp.Or(r.Run, -(r.RunIndex() + 1)), Conn: r.Conn}
		ok, err := wanted.Match(r)
		if err != nil {
			return nil, err
		}
		if ok && (q.Talk == live.Talk{} || q.Talk == talk) && (q.Only == nil || slices.Contains(q.Only, live.KeyOf(r))) {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func (f *fake) Find(_ context.Context, q live.Query) (found live.Found, err error) {
	rows, err := f.selected(q)
	if key, down := strings.CutPrefix(q.Sort, "-"); key == "took" {
		slices.SortStableFunc(rows, func(a, b *capture.Row) int {
			if down {
				a, b = b, a
			}
			return cmp.Compare(a.Duration, b.Duration)
		})
	}
	for _, r := range rows {
		found.Keys = append(found.Keys, live.KeyOf(r))
	}
	return found, err
}

func (f *fake) Look(keys []live.Key, look func(i int, r *capture.Row)) {
	all := map[live.Key]*capture.Row{}
	for _, r := range f.rows() {
		all[live.KeyOf(r)] = r
	}
	for i, k := range keys {
		look(i, all[k])
	}
}

func (f *fake) Each(q live.Query, look func(r *capture.Row) bool) error {
	rows, err := f.selected(q)
	for _, r := range rows {
		if !look(r) {
			break
		}
	}
	return err
}

func (f *fake) Conversations() []live.Conversation          { return nil }
func (f *fake) Status() live.Status                         { return live.Status{Seq: 1, Rows: len(f.rows())} }
func (f *fake) Wait(_ context.Context, after uint64) uint64 { return 1 }

func open(t testing.TB, path string) *fake {
	t.Helper()
	c, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &fake{[]*capture.Capture{c}}
}

// views are over a capture.
func views(t testing.TB, path string, o view.Options) *view.Views {
	t.Helper()
	o.Now = func() time.Time { return now }
	return view.New(open(t, path), o)
}

// document is a value as golden files have it.
func document(t testing.TB, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares a text with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", path, got)
	}
}
