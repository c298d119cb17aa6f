package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/adrg/xdg"
)

func TestRoundTrip(t *testing.T) {
	s := newStore(t)
	if st := load(t, s); len(st.Names()) != 0 || st.Version != 0 {
		t.Errorf("no directory: got %+v", st)
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load made something: %v", err)
	}
	want := sample("local")
	stdio := Session{Name: "time", Command: []string{"uvx", "mcp server", "*"}, Transport: "stdio"}
	update(t, s, func(st *State) error {
		want = st.Put(want)
		stdio = st.Put(stdio)
		if st.SetCurrent("nobody") || !st.SetCurrent("local") {
			t.Error("SetCurrent takes the names that there are")
		}
		return nil
	})
	st := load(t, s)
	for _, w := range []Session{want, stdio} {
		if got, ok := st.Session(w.Name); !ok || !reflect.DeepEqual(got, w) {
			t.Errorf("got  %#v\nwant %#v", got, w)
		}
	}
	if st.Current() != "local" || st.Generation != 1 || st.Version != formatVersion {
		t.Errorf("got %+v", st)
	}
	if got := st.Names(); !reflect.DeepEqual(got, []string{"local", "time"}) {
		t.Errorf("got %q", got)
	}
	update(t, s, func(st *State) error {
		if !st.Remove("local") || st.Remove("local") {
			t.Error("Remove reports whether there was one")
		}
		return nil
	})
	if st := load(t, s); st.Current() != "" || len(st.Names()) != 1 || st.Generation != 2 {
		t.Errorf("got %+v", st)
	}
}

func TestUpdateWritesOnlyChanges(t *testing.T) {
	s := newStore(t)
	update(t, s, func(*State) error { return nil })
	if _, err := os.Stat(s.dir.file(stateName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing changed, and there is a file: %v", err)
	}
	mine := errors.New("mine")
	err := s.Update(t.Context(), func(st *State) error { st.Put(sample("s")); return mine })
	if err != mine {
		t.Errorf("got %v", err)
	}
	if st := load(t, s); len(st.Names()) != 0 {
		t.Errorf("a failed change was written: %q", st.Names())
	}
	err = s.Update(t.Context(), func(st *State) error {
		st.Put(Session{Name: "bad", Capabilities: json.RawMessage(`{`)})
		return nil
	})
	if err == nil || len(load(t, s).Names()) != 0 {
		t.Errorf("a session that is no JSON: %v", err)
	}
}

func TestMembersOfANewerMcpcSurvive(t *testing.T) {
	s := newStore(t)
	writeState(t, s, `{"version":1,"generation":7,"pins":{"a":[1, 2.50]},"sessions":{
		"a":{"key":"aaaaaaaaaaaaaaaaaaaa","endpoint":"http://a/","colour":"red <&>","since":1e400},
		"b":{"key":"bbbbbbbbbbbbbbbbbbbb","mood":null}},"":0}`)
	update(t, s, func(st *State) error {
		a, _ := st.Session("a")
		a.Endpoint = "http://b/"
		st.Put(a)
		return nil
	})
	want := `{"version":1,"generation":8,"sessions":{` +
		`"a":{"key":"aaaaaaaaaaaaaaaaaaaa","endpoint":"http://b/","colour":"red <&>","since":1e400},` +
		`"b":{"key":"bbbbbbbbbbbbbbbbbbbb","mood":null}},"":0,"pins":{"a":[1, 2.50]}}` + "\n"
	if got := readState(t, s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNewerFileIsReadNotWritten(t *testing.T) {
	for name, file := range map[string]string{
		"same shape":  `{"version":2,"sessions":{"a":{"key":"aaaaaaaaaaaaaaaaaaaa","endpoint":"http://a/"}}}`,
		"other shape": `{"version":2,"generation":"x","sessions":{"a":{"key":"aaaaaaaaaaaaaaaaaaaa","endpoint":"http://a/","command":{}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			writeState(t, s, file)
			st := load(t, s)
			if sess, _ := st.Session("a"); sess.Endpoint != "http://a/" {
				t.Errorf("got %+v", sess)
			}
			err := s.Update(t.Context(), func(st *State) error { st.Put(sample("x")); return nil })
			if !IsReason(err, Newer) {
				t.Errorf("got %v", err)
			}
			if _, err := s.Repair(t.Context()); !IsReason(err, Newer) {
				t.Errorf("repair: got %v", err)
			}
			if got := readState(t, s); got != file {
				t.Errorf("the file changed: %s", got)
			}
		})
	}
}

// canary must never be in an error's text.
const canary = "canary-session-id"

var damagedFiles = map[string]string{
	"empty":         "",
	"garbage":       "\x00\xff" + canary,
	"truncated":     `{"version":1,"sessions":{"a":{"key":"aaaaaaaaaaaaaaaaaaaa","session_id":"` + canary,
	"two documents": `{"version":1}{"session_id":"` + canary + `"}`,
	"not an object": `["` + canary + `"]`,
	"null":          `null`,
	"no version":    `{"sessions":{}}`,
	"bad version":   `{"version":"` + canary + `"}`,
	"wrong shape":   `{"version":1,"sessions":{"a":{"key":"aaaaaaaaaaaaaaaaaaaa","endpoint":["` + canary + `"]}}}`,
	"bad time":      `{"version":1,"sessions":{"a":{"key":"aaaaaaaaaaaaaaaaaaaa","opened_at":"` + canary + `"}}}`,
	"key is a path": `{"version":1,"sessions":{"a":{"key":"../../../` + canary + `"}}}`,
	"no key":        `{"version":1,"sessions":{"` + canary + `":{}}}`,
}

func TestDamagedFileIsKept(t *testing.T) {
	for name, file := range damagedFiles {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			writeState(t, s, file)
			_, err := s.Load()
			checkDamaged(t, s, err)
			err = s.Update(t.Context(), func(*State) error { t.Error("called"); return nil })
			checkDamaged(t, s, err)
			if got := readState(t, s); got != file {
				t.Errorf("the file changed: %q", got)
			}

			backup, err := s.Repair(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if kept, _ := os.ReadFile(backup); string(kept) != file || backup != s.dir.file(stateName+".bak") {
				t.Errorf("kept %q as %s", kept, backup)
			}
			update(t, s, func(st *State) error { st.Put(sample("s")); return nil })
			if backup, err := s.Repair(t.Context()); backup != "" || err != nil {
				t.Errorf("repairing a good file: %q, %v", backup, err)
			}
		})
	}
}

func checkDamaged(t *testing.T, s *Store, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Reason != Damaged || e.Path != s.dir.file(stateName) {
		t.Fatalf("got %v", err)
	}
	if !strings.HasPrefix(e.Hint().String(), "mcpc sessions repair --state ") {
		t.Errorf("hint %q", e.Hint())
	}
	if all := fmt.Sprintf("%v %+v %#v", e, e, errors.Unwrap(e)); strings.Contains(all, canary) {
		t.Errorf("the error quotes the file: %s", all)
	}
}

func TestRepairKeepsEveryBackup(t *testing.T) {
	s := newStore(t)
	for i, want := range []string{".bak", ".bak2", ".bak3"} {
		writeState(t, s, fmt.Sprint("garbage", i))
		if got, err := s.Repair(t.Context()); err != nil || got != s.dir.file(stateName+want) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if raw, _ := os.ReadFile(s.dir.file(stateName + ".bak")); string(raw) != "garbage0" {
		t.Errorf("got %q", raw)
	}
}

func TestNoHome(t *testing.T) {
	defer xdg.Reload()
	t.Setenv("XDG_STATE_HOME", "")
	homes := []string{"", "/"}
	if runtime.GOOS == "windows" {
		homes = nil // the system knows the folder without a variable
	}
	for _, home := range homes {
		t.Setenv("HOME", home)
		xdg.Reload()
		if s, err := Open(""); s != nil || !IsReason(err, NoHome) {
			t.Errorf("HOME=%q: got %v", home, err)
		}
		if _, err := Open("somewhere"); err != nil {
			t.Errorf("with a directory no home is needed: %v", err)
		}
	}
	want := t.TempDir()
	t.Setenv("XDG_STATE_HOME", want)
	xdg.Reload()
	s, err := Open("")
	if err != nil || s.Dir() != filepath.Join(want, "mcpc") {
		t.Errorf("got %v, %v", s, err)
	}
	writeState(t, s, "garbage")
	_, err = s.Load()
	var e *Error
	if !errors.As(err, &e) || e.Hint().String() != "mcpc sessions repair" {
		t.Errorf("got %v", err)
	}
}

// A path that runs through a file is as good a broken HOME as any.
func TestPathThroughFileIsUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, filepath.Join(file, "mcpc"))
	for i, r := range accesses(s) {
		if i == 0 && runtime.GOOS == "windows" && r == "ok" {
			continue // a path through a file does not exist there, so that the state is empty
		}
		if r != Unreadable && r != Unwritable && r != Gone && r != Unsafe {
			t.Errorf("access %d: %s", i, r)
		}
	}
	if _, err := openStore(t, file).Load(); !IsReason(err, Unsafe) {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	s := sample("s")
	s.SessionID = canary
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{s, &s, s.SessionID} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, canary) || strings.Contains(got, fmt.Sprintf("%x", canary)) {
				t.Errorf("%s shows it: %s", verb, got)
			}
		}
	}
	if string(s.SessionID) != canary {
		t.Error("and yet it is there")
	}
}

func TestEveryErrorHasOneHint(t *testing.T) {
	for _, r := range []Reason{NoHome, Unreadable, Unwritable, Unsafe, Newer, Locked, Gone} {
		e := &Error{Reason: r, Path: "/x", Err: os.ErrPermission, what: "is so"}
		if e.Hint() == "" || strings.HasSuffix(e.Hint().String(), ".") || strings.HasSuffix(e.Error(), ".") {
			t.Errorf("%s: %q, hint %q", r, e.Error(), e.Hint())
		}
	}
	e := &Error{Reason: Unwritable, Path: "/x/state.json", Err: &os.PathError{Op: "open", Path: "/x", Err: os.ErrPermission}}
	if got, want := e.Error(), "writing state /x/state.json: permission denied"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(e, os.ErrPermission) {
		t.Error("the cause is kept")
	}
}

// FuzzState: no file makes the reader panic, and no file that it cannot read is ever overwritten.
func FuzzState(f *testing.F) {
	for _, file := range damagedFiles {
		f.Add([]byte(file))
	}
	f.Add([]byte(`{"version":1,"generation":1,"current":"a","sessions":{"a":{"key":"aaaaaaaaaaaaaaaaaaaa","x":1}},"y":{}}`))
	f.Add([]byte(`{"version":9,"sessions":[]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		s := openStore(t, filepath.Join(dir, "mcpc"))
		writeState(t, s, string(file))
		_, loadErr := s.Load()
		err := s.Update(t.Context(), func(st *State) error { st.Put(sample("fuzz")); return nil })
		if loadErr != nil && err == nil {
			t.Fatalf("could not be read (%v), and was written", loadErr)
		}
		if err != nil {
			if got := readState(t, s); got != string(file) {
				t.Fatalf("the file changed: %q", got)
			}
			return
		}
		st := load(t, s)
		if _, ok := st.Session("fuzz"); !ok {
			t.Fatal("the update was lost")
		}
	})
}

func writeState(t testing.TB, s *Store, file string) {
	t.Helper()
	err := os.MkdirAll(s.Dir(), 0o700)
	if err == nil {
		err = os.WriteFile(s.dir.file(stateName), []byte(file), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readState(t testing.TB, s *Store) string {
	t.Helper()
	raw, err := os.ReadFile(s.dir.file(stateName))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
