package state

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTryChecksTheState(t *testing.T) {
	s := newStore(t)
	if err := s.Try(t.Context()); err != nil {
		t.Fatal("there is no state yet:", err)
	}
	if _, err := os.Stat(s.dir.file(stateName)); !os.IsNotExist(err) {
		t.Errorf("a state was written: %v", err)
	}
	update(t, s, func(st *State) error { st.Put(sample("s")); return nil })
	before, err := os.ReadFile(s.dir.file(stateName))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Try(t.Context()); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(s.dir.file(stateName)); string(after) != string(before) {
		t.Errorf("the state changed:\n%s\n%s", before, after)
	}
	// A folder in the place of the new file is what cannot be written, also for root.
	if err := os.MkdirAll(filepath.Join(s.dir.file(stateName)+tmpSuffix, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Try(t.Context()); !IsReason(err, Unwritable) {
		t.Errorf("got %v, want %s", err, Unwritable)
	}
	if err := os.WriteFile(s.dir.file(stateName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Try(t.Context()); !IsReason(err, Damaged) {
		t.Errorf("got %v, want %s", err, Damaged)
	}
}
