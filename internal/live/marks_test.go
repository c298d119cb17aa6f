package live

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
)

// Marks are there when the recording is opened again, and in no other recording.
func TestMarksSurviveReopening(t *testing.T) {
	dir := t.TempDir()
	files, err := state.Open(filepath.Join(dir, "live"))
	if err != nil {
		t.Fatal(err)
	}
	marks := files.Private("marks.json")
	ring := capture.NewRing(filepath.Join(dir, "ring"))
	recording := func(run, begin int) []byte {
		return calls(capture.Head{Started: noon.AddDate(0, 0, begin), Target: "t", By: capture.ByTap, Run: run}, 0, 5)
	}
	mkdir(t, ring.Dir())
	write(t, ring.Path(1), recording(1, 0))
	write(t, ring.Path(2), recording(2, 1))
	s := open(t, Options{Ring: ring, Marks: marks})
	loaded(t, s)
	for _, test := range []struct {
		key  Key
		set  bool
		note string
		err  error
	}{{Key{1, 3}, true, "why?", nil}, {Key{2, 1}, true, "", nil}, {Key{2, 2}, false, "later", nil}, {Key{2, 9}, true, "", ErrGone}, {Key{2, 1}, false, "", nil}} {
		if err := s.Mark(test.key, test.set, test.note); !errors.Is(err, test.err) {
			t.Errorf("%v: %v", test.key, err)
		}
		if set, note := s.MarkOf(test.key); test.err == nil && (set != test.set || note != test.note) {
			t.Errorf("%v: %v %q", test.key, set, note)
		}
	}
	same := func(s *Store, want string) {
		t.Helper()
		loaded(t, s)
		if got := words(marked(s)); got != want {
			t.Errorf("marked: %s, want %s", got, want)
		}
	}
	same(s, "1.3")
	again := open(t, Options{Ring: ring, Marks: marks})
	same(again, "1.3")
	if _, note := again.MarkOf(Key{2, 2}); note != "later" {
		t.Errorf("the note is %q", note)
	}
	copied := filepath.Join(dir, "copied.jsonl")
	write(t, copied, recording(1, 0))
	same(open(t, Options{Path: copied, Marks: marks}), "1.3")
	other := filepath.Join(dir, "other.jsonl")
	write(t, other, recording(1, 3))
	same(open(t, Options{Path: other, Marks: marks}), "")
	raw, err := marks.Read()
	if err != nil || bytes.Contains(raw, []byte(`"index":1,`)) {
		t.Errorf("%v: %s", err, raw)
	}
	if err := marks.Update(context.Background(), func([]byte) ([]byte, error) { return []byte("no JSON"), nil }); err != nil {
		t.Fatal(err)
	}
	same(open(t, Options{Ring: ring, Marks: marks}), "")
}

// marked are the keys of the rows that are marked, in the order of their runs.
func marked(s *Store) (keys []Key) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	for key, x := range s.marks.byKey {
		if x.Mark && s.kept.byKey[key] != nil {
			keys = append(keys, key)
		}
	}
	sliceutil.Sort(keys, func(x, y Key) int { return byTime(s.kept.byKey[x], s.kept.byKey[y]) })
	return keys
}
