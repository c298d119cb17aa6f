//go:build unix

package state

import (
	"fmt"
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

func TestModes(t *testing.T) {
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
				if m := mode(t, s.path(p)); m != 0o700 {
					t.Errorf("directory %q is %o", p, m)
				}
			}
			files := []string{stateName, lockName, filepath.Join(idsName, sess.Key), filepath.Join(toolsName, hashed("k"))}
			for _, p := range files {
				if m := mode(t, s.path(p)); m != 0o600 {
					t.Errorf("file %q is %o", p, m)
				}
			}
		})
	}
}

func TestReadableFilesEndPrivate(t *testing.T) {
	s, _ := stored(t)
	for _, name := range []string{stateName, lockName} {
		if err := os.Chmod(s.path(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	update(t, s, put)
	for _, name := range []string{stateName, lockName} {
		if m := mode(t, s.path(name)); m != 0o600 {
			t.Errorf("%s is %o", name, m)
		}
	}
}

func TestSymbolicLinksAreRefused(t *testing.T) {
	for _, name := range []string{stateName, lockName, "ids/KEY", stateName + ".tmp", idsName} {
		t.Run(name, func(t *testing.T) {
			s, sess := stored(t)
			precious := filepath.Join(t.TempDir(), "authorized_keys")
			if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			link := s.path(strings.Replace(name, "KEY", sess.Key, 1))
			if err := os.RemoveAll(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(precious, link); err != nil {
				t.Fatal(err)
			}
			err := s.Update(t.Context(), put)
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
	path := s.path(stateName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
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
	if got, want := err.(*Error).Hint(), "chmod 700 "+s.Dir(); got != want {
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

func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	const nobody = 65534
	for _, name := range []string{"", stateName} {
		s, _ := stored(t)
		if err := os.Chown(s.path(name), nobody, nobody); err != nil {
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

func TestReadOnly(t *testing.T) {
	dir := filepath.Join(publicTempDir(t), "mcpc")
	s := openStore(t, dir)
	update(t, s, func(st *State) error { st.Put(sample("s")); return nil })
	want := []Reason{"ok", Unwritable, Unwritable, Unwritable}
	// Without the lock file not even the lock can be had; with it, the write
	// itself fails.
	for _, lock := range []bool{true, false} {
		if !lock {
			if err := os.Remove(s.path(lockName)); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{idsName, "."} {
			if err := os.Chmod(s.path(p), 0o500); err != nil {
				t.Fatal(err)
			}
		}
		got := asOrdinaryUser(t, s)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
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

// publicTempDir is one that every user can reach, unlike t.TempDir.
func publicTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcpc-state-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asOrdinaryUser tries each access; root may write everywhere, so it lets a
// process of another user try, who owns the directory for that time.
func asOrdinaryUser(t *testing.T, s *Store) []Reason {
	t.Helper()
	if os.Geteuid() != 0 {
		return accesses(s)
	}
	const nobody = 65534
	chownAll(t, s.Dir(), nobody)
	defer chownAll(t, s.Dir(), 0)
	cmd := child(t, "readonly", s.Dir())
	exe := filepath.Join(publicTempDir(t), "state.test")
	raw, err := os.ReadFile(cmd.Path)
	if err == nil {
		err = os.WriteFile(exe, raw, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Dir = exe, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
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

// What nobody else may read is not read where somebody else could have put it.
func TestPrivateIsOurs(t *testing.T) {
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
