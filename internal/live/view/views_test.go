package view_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the clock of the tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// open returns a store over a capture that was read completely.
func open(t testing.TB, path string) *live.Store {
	t.Helper()
	s, err := live.New(live.Options{Path: path, Open: rows.Open, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for status := s.Status(); status.Loading && ctx.Err() == nil; status = s.Status() {
		s.Wait(ctx, status.Seq)
	}
	return s
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

// A bundle of few rows is shown as a whole: the chosen rows may belong to several conversations.
func TestSmallFileIsShownAsWhole(t *testing.T) {
	few := opened(1, "claude") + called(1, 2, 10, 5, "a", "{}", okResult) + opened(2, "cursor") + called(2, 2, 20, 5, "a", "{}", okResult)
	many := few
	for i := range 200 {
		many += called(2, i+3, 30+i, 1, "a", "{}", okResult)
	}
	for _, c := range []struct {
		name, text string
		file, want bool
	}{{"a small file", few, true, false}, {"a small capture that grows", few, false, true}, {"a large file", many, true, true}} {
		all := views(t, made(t, c.text), view.Options{File: c.file}).Conversations()
		if len(all) != 2 || all[1].First != c.want {
			t.Errorf("%s: %+v", c.name, all)
		}
	}
}
