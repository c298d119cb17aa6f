package state

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

func pinned(t *testing.T, s *Store, key, tool string) string {
	t.Helper()
	pins, err := s.Pins(key).Of(tool)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range pins {
		all = append(all, p.Revision+" "+string(p.Definition))
	}
	return strings.Join(all, ", ")
}

func savePin(t *testing.T, s *Store, key, server string, pin Pin) {
	t.Helper()
	if err := s.Pins(key).Save(context.Background(), []string{server}, pin); err != nil {
		t.Fatal(err)
	}
}

func TestPins(t *testing.T) {
	s, err := Open(t.TempDir() + "/state")
	if err != nil {
		t.Fatal(err)
	}
	if got := pinned(t, s, "k", "a"); got != "" {
		t.Errorf("got %q before anything was saved", got)
	}
	pin := func(tool, revision, definition string) Pin {
		return Pin{Tool: tool, Revision: revision, Definition: json.RawMessage(definition)}
	}
	savePin(t, s, "k", "one", pin("a", "1", `{"n":1.0}`))
	savePin(t, s, "k", "one", pin("a", "2", `{"n":2}`))
	savePin(t, s, "k", "one", pin("b", "1", `{}`))
	savePin(t, s, "other", "two", pin("a", "1", `{"n":3}`))
	savePin(t, s, "k", "one", pin("a", "1", `{"n":4}`))
	if got := pinned(t, s, "k", "a"); got != `2 {"n":2}, 1 {"n":4}` {
		t.Errorf("got %s", got)
	}
	if got := pinned(t, s, "other", "a"); got != `1 {"n":3}` {
		t.Errorf("got %s", got)
	}
	if n, err := DropPins(context.Background(), s, []string{"none", "one"}); n != 3 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	if pinned(t, s, "k", "a") != "" || pinned(t, s, "other", "a") == "" {
		t.Error("the pins of another server were dropped")
	}
}

// The stored definitions are bounded: the tools of a server, and the size of a definition.
func TestPinsAreBounded(t *testing.T) {
	s, err := Open(t.TempDir() + "/state")
	if err != nil {
		t.Fatal(err)
	}
	savePin(t, s, "k", "one", Pin{Tool: "huge", Definition: json.RawMessage(`"` + strings.Repeat("x", maxPinnedSize) + `"`)})
	if got := pinned(t, s, "k", "huge"); got != "" {
		t.Errorf("a definition of %d bytes is remembered", len(got))
	}
	large := json.RawMessage(`"` + strings.Repeat("x", maxPinnedSize-2) + `"`)
	for i := range 10 {
		savePin(t, s, "k", "one", Pin{Tool: fmt.Sprint(i), Definition: large})
	}
	if pinned(t, s, "k", "0") != "" || pinned(t, s, "k", "9") == "" {
		t.Error("the oldest has to go first")
	}
	if fi, err := os.Stat(s.dir.file(pinsName, hashed("k"))); err != nil || fi.Size() > maxPinFile || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}

// A damaged file is not treated as missing, and not overwritten.
func TestDamagedPins(t *testing.T) {
	s, err := Open(t.TempDir() + "/state")
	if err != nil {
		t.Fatal(err)
	}
	savePin(t, s, "k", "one", Pin{Tool: "a", Definition: json.RawMessage(`{}`)})
	path := s.dir.file(pinsName, hashed("k"))
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pins("k").Of("a"); !IsReason(err, Damaged) {
		t.Errorf("got %v", err)
	}
	if err := s.Pins("k").Save(context.Background(), []string{"one"}, Pin{Tool: "b", Definition: json.RawMessage(`{}`)}); !IsReason(err, Damaged) {
		t.Errorf("got %v", err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "{" {
		t.Errorf("it was overwritten: %s", raw)
	}
}
