package state

import (
	"os"
	"strings"
	"testing"
	"time"
)

func reserve(t *testing.T, s *Store, sess Session, n int) int64 {
	t.Helper()
	first, err := s.Reserve(t.Context(), sess, n)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func withSession(t *testing.T, sess Session) (*Store, Session) {
	t.Helper()
	s := newStore(t)
	update(t, s, func(st *State) error { sess = st.Put(sess); return nil })
	return s, sess
}

func TestIDsCount(t *testing.T) {
	s, sess := withSession(t, sample("s"))
	if !s.LastUsed(Session{Name: "x"}).IsZero() || s.LastUsed(sess).IsZero() {
		t.Error("a stored session has a last use, another one has not")
	}
	want := sess.NextID
	for _, n := range []int{1, 8, 1, 0, 1, maxReserved, 500, 600, 1} {
		if got := reserve(t, s, sess, n); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		want += int64(n)
	}
	for _, n := range []int{-1, maxReserved + 1} {
		if _, err := s.Reserve(t.Context(), sess, n); err == nil {
			t.Errorf("reserved %d", n)
		}
	}
}

func TestIDsStartAtOne(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s"})
	if got := reserve(t, s, sess, 1); got != 1 {
		t.Errorf("got %d", got)
	}
}

// "After a re-initialize (session lost) keep counting."
func TestReopenedSessionKeepsCounting(t *testing.T) {
	s, sess := withSession(t, sample("s"))
	first := reserve(t, s, sess, 5)
	update(t, s, func(st *State) error {
		again, _ := st.Session("s")
		again.SessionID, again.NextID = "another", 1
		st.Put(again)
		return nil
	})
	if got := reserve(t, s, sess, 1); got != first+5 {
		t.Errorf("got %d, want %d", got, first+5)
	}
}

func TestEndedSessionHasNoIDs(t *testing.T) {
	ends := map[string]func(st *State) error{
		"closed":   func(st *State) error { st.Remove("s"); return nil },
		"replaced": func(st *State) error { st.Put(sample("s")); return nil },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s, sess := withSession(t, sample("s"))
			if err := s.SaveTools(t.Context(), sess.Key, ToolList{}); err != nil {
				t.Fatal(err)
			}
			update(t, s, end)
			if _, err := s.Reserve(t.Context(), sess, 1); !IsReason(err, Gone) {
				t.Errorf("got %v", err)
			}
			if list, err := s.Tools(sess.Key); list != nil || err != nil {
				t.Errorf("its tools: %v, %v", list, err)
			}
			st := load(t, s)
			if again, ok := st.Session("s"); ok {
				if got := reserve(t, s, again, 1); got != 3 {
					t.Errorf("the new session starts at %d", got)
				}
			}
		})
	}
	s := newStore(t)
	if _, err := s.Reserve(t.Context(), sample("s"), 1); !IsReason(err, Gone) {
		t.Errorf("never stored: %v", err)
	}
}

// A failed write leaves no session, so it must leave no counter either.
func TestFailedWriteLeavesNoCounter(t *testing.T) {
	s := newStore(t)
	// A directory in the place of the temporary file makes the write fail.
	if err := os.MkdirAll(s.dir.file(stateName+".tmp", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(st *State) error { st.Put(sample("s")); return nil })
	if !IsReason(err, Unwritable) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(s.dir.file(idsName)); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestBrokenCounter(t *testing.T) {
	good := "1 0000000000000000042\n"
	for _, counts := range []string{good, good + "of an older record", "1 0000000000000000042 0000000000000001066 3f08a03f-15f6-461e-9611-40137b21fd8e\n"} {
		s, sess := withSession(t, Session{Name: "s"})
		if err := os.WriteFile(s.dir.file(idsName, sess.Key), []byte(counts), 0o600); err != nil {
			t.Fatal(err)
		}
		for want := range int64(2) {
			if got := reserve(t, s, sess, 1); got != 42+want {
				t.Errorf("%q: got %d", counts, got)
			}
		}
	}
	for _, bad := range []string{
		"", "\n", good[:20], good[:len(good)-1], strings.Repeat("\x00", len(good)),
		strings.Replace(good, "1 ", "2 ", 1),
		strings.Replace(good, "00042", "-0042", 1),
		strings.Replace(good, "00042", "0x042", 1),
		strings.Replace(good, "0000000000000000042", "9999999999999999999", 1),
	} {
		s, sess := withSession(t, Session{Name: "s"})
		if err := os.WriteFile(s.dir.file(idsName, sess.Key), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reserve(t.Context(), sess, 1); !IsReason(err, Gone) {
			t.Errorf("%q: got %v", bad, err)
		}
		if raw, _ := os.ReadFile(s.dir.file(idsName, sess.Key)); string(raw) != bad {
			t.Errorf("%q was overwritten", bad)
		}
	}
}

func TestExhaustedIDs(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s", NextID: maxID - 2})
	if got := reserve(t, s, sess, 2); got != maxID-2 {
		t.Errorf("got %d", got)
	}
	if _, err := s.Reserve(t.Context(), sess, 1); !IsReason(err, Gone) {
		t.Errorf("got %v", err)
	}
}

func TestUpdateWithinUpdateIsLocked(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s"})
	s.dir.wait = 20 * time.Millisecond
	err := s.Update(t.Context(), func(*State) error {
		_, err := s.Reserve(t.Context(), sess, 1)
		return err
	})
	if !IsReason(err, Locked) {
		t.Errorf("got %v", err)
	}
}
