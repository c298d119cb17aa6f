package state

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
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
	for _, n := range []int{1, 8, 1, 0, 1, idBlock, 500, 600, 1} {
		if got := reserve(t, s, sess, n); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		want += int64(n)
	}
	for _, n := range []int{-1, idBlock + 1} {
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
	if err := os.MkdirAll(s.path(stateName+".tmp", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(st *State) error { st.Put(sample("s")); return nil })
	if !IsReason(err, Unwritable) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(s.path(idsName)); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// After a power cut the disk may hold any record that was ever written. None
// of them may lead to an id that was handed out before.
func TestPowerCutReusesNoID(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s"})
	boot := "11111111-2222-3333-4444-555555555555"
	s.boot = func() string { return boot }
	path := s.path(idsName, sess.Key)
	reserve(t, s, sess, 1)
	// What a sync has made durable is at least the record as it was when the
	// limit was last raised.
	onDisk, _ := os.ReadFile(path)
	for range 20 {
		limit := record(t, path).limit
		handedOut := reserve(t, s, sess, 100) + 99
		if record(t, path).limit != limit {
			onDisk, _ = os.ReadFile(path)
		}
		power := openStore(t, s.Dir())
		power.boot = func() string { return "99999999-2222-3333-4444-555555555555" }
		inCache, _ := os.ReadFile(path)
		if err := os.WriteFile(path, onDisk, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := reserve(t, power, sess, 1); got <= handedOut || got > handedOut+1+idBlock {
			t.Fatalf("got %d after %d", got, handedOut)
		}
		if err := os.WriteFile(path, inCache, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that was killed between writing a new limit and syncing it has left
// a record that names no boot: the limit counts, the rest does not.
func TestUnsyncedRecordIsSkipped(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s"})
	path := s.path(idsName, sess.Key)
	raw := "1 0000000000000000042 0000000000000001066 -                                   \n"
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := reserve(t, s, sess, 1); got != 1066 {
		t.Errorf("got %d", got)
	}
}

func TestUnknownBootSyncsEachTime(t *testing.T) {
	s := newStore(t)
	s.boot = func() string { return "" }
	var sess Session
	update(t, s, func(st *State) error { sess = st.Put(Session{Name: "s"}); return nil })
	for want := range int64(5) {
		if got := reserve(t, s, sess, 1); got != want+1 {
			t.Errorf("got %d, want %d", got, want+1)
		}
		if c := record(t, s.path(idsName, sess.Key)); c.limit != c.next || c.boot != "" {
			t.Errorf("promises more than is synced: %+v", c)
		}
	}
}

func TestBrokenCounter(t *testing.T) {
	good := "1 0000000000000000042 0000000000000001066 3f08a03f-15f6-461e-9611-40137b21fd8e\n"
	if c, ok := parseCounter(good); !ok || c.next != 42 || c.limit != 1066 || len(good) != counterSize {
		t.Fatalf("the good one: %+v, %v", c, ok)
	}
	for _, bad := range []string{
		"", "\n", good[:40], good + "x", good[:len(good)-1] + " ", strings.Repeat("\x00", counterSize),
		strings.Replace(good, "1 ", "2 ", 1),
		strings.Replace(good, "1066", "0041", 1),
		strings.Replace(good, "00042", "-0042", 1),
		strings.Replace(good, "00042", "0x042", 1),
		strings.Replace(good, "0000000000000001066", "9999999999999999999", 1),
	} {
		s, sess := withSession(t, Session{Name: "s"})
		if err := os.WriteFile(s.path(idsName, sess.Key), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reserve(t.Context(), sess, 1); !IsReason(err, Gone) {
			t.Errorf("%q: got %v", bad, err)
		}
		if raw, _ := os.ReadFile(s.path(idsName, sess.Key)); string(raw) != bad {
			t.Errorf("%q was overwritten", bad)
		}
	}
}

func TestIDsEnd(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s", NextID: maxID - 2})
	if got := reserve(t, s, sess, 2); got != maxID-2 {
		t.Errorf("got %d", got)
	}
	if _, err := s.Reserve(t.Context(), sess, 1); !IsReason(err, Gone) {
		t.Errorf("got %v", err)
	}
}

// The boot is the one that the kernel names, the same in every process, and stands in
// the records of the ids.
func TestBootID(t *testing.T) {
	want := kernelBoot(t)
	if got := bootID(); got != want {
		t.Errorf("got %q, the kernel says %q", got, want)
	}
	if want != "" && !regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`).MatchString(want) {
		t.Errorf("%q is no UUID", want)
	}
	s, sess := withSession(t, Session{Name: "s"})
	if got := record(t, s.path(idsName, sess.Key)).boot; got != want {
		t.Errorf("the record names the boot %q, want %q", got, want)
	}
}

// kernelBoot is what the system itself says of this boot, "" where it has no name for it.
func kernelBoot(t *testing.T) string {
	t.Helper()
	var said []byte
	var err error
	switch runtime.GOOS {
	case "linux":
		said, err = os.ReadFile("/proc/sys/kernel/random/boot_id")
	case "darwin":
		said, err = exec.Command("sysctl", "-n", "kern.bootsessionuuid").Output()
	default:
		return ""
	}
	if err != nil || len(said) == 0 {
		t.Fatalf("the system does not name its boot: %q, %v", said, err)
	}
	return strings.TrimSpace(string(said))
}

// In another boot a session goes on above each id that it may have handed out before,
// and leaves out one block at most; within a boot it leaves out none.
func TestSessionOfAnotherBoot(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s"})
	boots := map[string]*Store{}
	for _, boot := range []string{"11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"} {
		boots[boot[:1]] = openStore(t, s.Dir())
		boots[boot[:1]].boot = func() string { return boot }
	}
	path := s.path(idsName, sess.Key)
	last := int64(0)
	for i, boot := range []string{"1", "1", "9", "9", "1"} {
		before := record(t, path)
		got := reserve(t, boots[boot], sess, 1)
		if want := last + 1; before.boot == boots[boot].boot() && got != want {
			t.Errorf("%d. reservation, in the same boot: got %d, want %d", i+1, got, want)
		}
		if before.boot != boots[boot].boot() && (got != before.limit || got <= last || got > last+1+idBlock) {
			t.Errorf("%d. reservation, in another boot: got %d after %d, want the limit %d", i+1, got, last, before.limit)
		}
		last = got
	}
}

func TestLockedByItself(t *testing.T) {
	s, sess := withSession(t, Session{Name: "s"})
	s.wait = 20 * time.Millisecond
	err := s.Update(t.Context(), func(*State) error {
		_, err := s.Reserve(t.Context(), sess, 1)
		return err
	})
	if !IsReason(err, Locked) {
		t.Errorf("got %v", err)
	}
}

func record(t *testing.T, path string) counter {
	t.Helper()
	raw, err := os.ReadFile(path)
	c, ok := parseCounter(string(raw))
	if err != nil || !ok {
		t.Fatalf("%q, %v", raw, err)
	}
	return c
}
