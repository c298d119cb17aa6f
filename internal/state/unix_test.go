//go:build unix

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stored is a store with one session on disk.
func stored(t *testing.T) (*Store, Session) {
	t.Helper()
	s := newStore(t)
	var sess Session
	update(t, s, func(st *State) error { sess = st.Put(sample("s")); return nil })
	return s, sess
}

func put(st *State) error { st.Put(Session{Name: "x"}); return nil }

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

func TestFileModesIgnoreUmask(t *testing.T) {
	for _, umask := range []int{0, 0o077, 0o777} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "mcpc")
			if umask == 0o777 { // the parents are not ours to repair
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			defer syscall.Umask(syscall.Umask(umask))
			s := openStore(t, dir)
			var sess Session
			update(t, s, func(st *State) error { sess = st.Put(sample("s")); return nil })
			if err := s.SaveTools(t.Context(), "k", ToolList{}); err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{"", idsName, toolsName} {
				if m := mode(t, s.dir.file(p)); m != 0o700 {
					t.Errorf("directory %q is %o", p, m)
				}
			}
			files := []string{stateName, lockName, filepath.Join(idsName, sess.Key), filepath.Join(toolsName, hashed("k"))}
			for _, p := range files {
				if m := mode(t, s.dir.file(p)); m != 0o600 {
					t.Errorf("file %q is %o", p, m)
				}
			}
		})
	}
}

func TestReadableFilesEndPrivate(t *testing.T) {
	s, _ := stored(t)
	for _, name := range []string{stateName, lockName} {
		if err := os.Chmod(s.dir.file(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	update(t, s, put)
	for _, name := range []string{stateName, lockName} {
		if m := mode(t, s.dir.file(name)); m != 0o600 {
			t.Errorf("%s is %o", name, m)
		}
	}
}

func TestSymbolicLinksAreRefused(t *testing.T) {
	for _, name := range []string{stateName, lockName, "ids/KEY", stateName + ".tmp", idsName} {
		t.Run(name, func(t *testing.T) {
			s, sess := stored(t)
			precious := filepath.Join(t.TempDir(), "authorized_keys")
			err := os.WriteFile(precious, []byte("precious"), 0o644)
			if err == nil {
				err = os.Chmod(precious, 0o644) // with any umask
			}
			if err != nil {
				t.Fatal(err)
			}
			link := s.dir.file(strings.Replace(name, "KEY", sess.Key, 1))
			if err := os.RemoveAll(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(precious, link); err != nil {
				t.Fatal(err)
			}
			err = s.Update(t.Context(), put)
			if err == nil {
				_, err = s.Reserve(t.Context(), sess, 1)
			}
			// A planted temporary file is replaced; everything else is refused.
			if want := !strings.HasSuffix(name, ".tmp"); IsReason(err, Unsafe) != want {
				t.Errorf("got %v", err)
			}
			raw, _ := os.ReadFile(precious)
			if string(raw) != "precious" || mode(t, precious) != 0o644 {
				t.Errorf("the link's target was touched: %q", raw)
			}
		})
	}
}

func TestDirectoryThroughOwnLink(t *testing.T) {
	s, _ := stored(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.Dir(), link); err != nil {
		t.Fatal(err)
	}
	linked := openStore(t, link)
	update(t, linked, put)
	if n := len(load(t, s).Names()); n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestPipeDoesNotHang(t *testing.T) {
	s, _ := stored(t)
	path := s.dir.file(stateName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); !IsReason(err, Unsafe) {
		t.Errorf("got %v", err)
	}
}

func TestDirectoryOpenToOthers(t *testing.T) {
	s, _ := stored(t)
	if err := os.Chmod(s.Dir(), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load()
	if !IsReason(err, Unsafe) {
		t.Fatalf("got %v", err)
	}
	if got, want := err.(*Error).Hint().String(), "chmod 700 "+quoted(s.Dir()); got != want {
		t.Errorf("hint %q, want %q", got, want)
	}

	empty := t.TempDir()
	if err := os.Chmod(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	update(t, openStore(t, empty), put)
	if m := mode(t, empty); m != 0o700 {
		t.Errorf("an empty directory that was taken over is %o", m)
	}
}

// A file of another user is refused. As root, the test gives its files to another user; any other
// user tries files of root.
func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		if err := openStore(t, "/").Update(t.Context(), put); !IsReason(err, Unsafe) {
			t.Errorf("writing to root's directory: %v", err)
		}
		if _, err := openFile("/etc/passwd", os.O_RDONLY, Unreadable); !IsReason(err, Unsafe) {
			t.Errorf("reading root's file: %v", err)
		}
		return
	}
	for _, name := range []string{"", stateName} {
		s, _ := stored(t)
		if err := os.Chown(s.dir.file(name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(); !IsReason(err, Unsafe) {
			t.Errorf("reading foreign %q: %v", name, err)
		}
		if err := s.Update(t.Context(), put); !IsReason(err, Unsafe) {
			t.Errorf("writing foreign %q: %v", name, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(link, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(t, link).Load(); !IsReason(err, Unsafe) {
		t.Errorf("foreign link: %v", err)
	}
}

// ownedBy is the fs.FileInfo of a file that belongs to a user.
type ownedBy struct {
	fs.FileInfo
	uid int
}

func (o ownedBy) Sys() any { return &syscall.Stat_t{Uid: uint32(o.uid)} }

// A user's own link and a link of root are followed, a link of a third user is not.
func TestLinksOfOtherUsersAreRefused(t *testing.T) {
	us := os.Geteuid()
	for uid, want := range map[int][2]bool{us: {true, us == 0}, 0: {us == 0, true}, us + 1: {false, false}, nobody - 1: {false, false}} {
		if got := [2]bool{ownedByUs(ownedBy{uid: uid}), ownedByRoot(ownedBy{uid: uid})}; got != want {
			t.Errorf("user %d: owned by us, by root: %v, want %v", uid, got, want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	s := newStore(t)
	update(t, s, func(st *State) error { st.Put(sample("s")); return nil })
	want := []Reason{"ok", Unwritable, Unwritable, Unwritable}
	// Without the lock file not even the lock can be had; with it, the write
	// itself fails.
	for _, lock := range []bool{true, false} {
		if !lock {
			if err := os.Remove(s.dir.file(lockName)); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{idsName, "."} {
			if err := os.Chmod(s.dir.file(p), 0o500); err != nil {
				t.Fatal(err)
			}
		}
		got := asOrdinaryUser(t, s)
		for _, p := range []string{".", idsName} {
			if err := os.Chmod(s.dir.file(p), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if lock {
			got[1] = Unwritable // the counter itself may be written to
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("lock file %v: got %v, want %v", lock, got, want)
		}
	}
	if n := len(load(t, s).Names()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

const nobody = 65534

// asOrdinaryUser tries each access. Root may write everywhere, so that it lets a
// process of another user try, which owns the directory for that time.
func asOrdinaryUser(t *testing.T, s *Store) []Reason {
	t.Helper()
	if os.Geteuid() != 0 {
		return accesses(s)
	}
	chownAll(t, s.Dir(), nobody)
	defer chownAll(t, s.Dir(), 0)
	cmd := child(t, "readonly", s.Dir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var reasons []Reason
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		reasons = append(reasons, Reason(line))
	}
	return reasons
}

func init() { children["readonly"] = childReadOnly }

// childReadOnly prints the reason that each access fails with. It is not root, and
// the directory is all that it sees, which another user may not reach by its path.
func childReadOnly(s *Store, _ []string) error {
	err := errors.Join(syscall.Chroot(s.Dir()), os.Chdir("/"), syscall.Setgid(nobody), syscall.Setuid(nobody))
	if err != nil {
		return err
	}
	s.dir.path = "/"
	for _, r := range accesses(s) {
		fmt.Println(r)
	}
	return nil
}

func chownAll(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A private file is not read where another user could have put it there.
func TestPrivateFileOfOtherUsersIsRefused(t *testing.T) {
	s := newStore(t)
	p := s.Private("secrets.json")
	if err := p.Update(t.Context(), func([]byte) ([]byte, error) { return []byte("x"), nil }); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(p.Path())
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", fi.Mode(), err)
	}
	if err := os.Rename(p.Path(), p.Path()+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.Path()+".real", p.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(); !IsReason(err, Unsafe) {
		t.Errorf("a link was followed: %v", err)
	}
}
