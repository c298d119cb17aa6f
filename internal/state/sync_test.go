//go:build unix

package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// syncing notes each synced file: its name, its content, and the content of state.json at that
// time.
func syncing(s *Store, synced *[]string) {
	s.dir.sync = func(f *os.File) error {
		name, _ := filepath.Rel(s.dir.path, f.Name())
		raw, _ := os.ReadFile(f.Name())
		state, _ := os.ReadFile(s.dir.file(stateName))
		*synced = append(*synced, fmt.Sprintf("%s: %s; state: %s", name, raw, state))
		return f.Sync()
	}
}

// A file is synced when it is complete and before it gets its name, then the directory is synced. A
// cache is not synced, nor is an unchanged file.
func TestStateIsSyncedAndCachesAreNot(t *testing.T) {
	s, sess := stored(t)
	before := readState(t, s)
	var got []string
	syncing(s, &got)
	step := func(name string, err error, want ...string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: synced\n%q\nwant\n%q", name, got, want)
		}
		got = nil
	}

	err := s.Update(t.Context(), put)
	after := readState(t, s)
	step("Update", err, "state.json.tmp: "+after+"; state: "+before, ".: ; state: "+after)
	step("Update without a change", s.Update(t.Context(), func(*State) error { return nil }))

	err = s.Private("p").Update(t.Context(), func([]byte) ([]byte, error) { return []byte("secret"), nil })
	step("Private.Update", err, "p.tmp: secret; state: "+after, ".: ; state: "+after)

	step("SaveTools", s.SaveTools(t.Context(), "k", ToolList{}))
	step("SaveVerdict", s.SaveVerdict(t.Context(), "k", Verdict{Revision: "r"}))

	_, err = s.Reserve(t.Context(), sess, maxReserved)
	step("Reserve", err)

	writeState(t, s, "{")
	_, err = s.Repair(t.Context())
	repaired := readState(t, s)
	step("Repair", err, "state.json.tmp: "+repaired+"; state: ", ".: ; state: "+repaired)
}

// A file that cannot be synced does not replace the old one, and the error is returned.
func TestFailedSync(t *testing.T) {
	ctx := context.Background()
	for name, write := range map[string]func(*Store, Session) error{
		"state.json.tmp": func(s *Store, _ Session) error { return s.Update(ctx, put) },
		"p.tmp": func(s *Store, _ Session) error {
			return s.Private("p").Update(ctx, func([]byte) ([]byte, error) { return []byte("secret"), nil })
		},
	} {
		s, sess := stored(t)
		if _, err := s.Reserve(ctx, sess, 1); err != nil {
			t.Fatal(err)
		}
		before := readState(t, s)
		s.dir.sync = func(f *os.File) error {
			if !strings.Contains(f.Name(), string(filepath.Separator)+name) {
				t.Errorf("%s: %s is synced", name, f.Name())
			}
			return syscall.EIO
		}
		if err := write(s, sess); !IsReason(err, Unwritable) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v", name, err)
		}
		if after := readState(t, s); after != before {
			t.Errorf("%s: the state became %s", name, after)
		}
		for _, gone := range []string{"state.json.tmp", "p.tmp", "p"} {
			if _, err := os.Lstat(s.dir.file(gone)); !os.IsNotExist(err) {
				t.Errorf("%s: %s is left: %v", name, gone, err)
			}
		}
	}
}

// A directory that the file system cannot sync is no fault; any other failure is.
func TestFailedSyncOfDirectory(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{syscall.EINVAL: false, syscall.ENOTSUP: false, syscall.EIO: true} {
		s, _ := stored(t)
		s.dir.sync = func(f *os.File) error {
			if f.Name() == s.dir.path {
				return errno
			}
			return f.Sync()
		}
		if err := s.Update(t.Context(), put); IsReason(err, Unwritable) != want || (err != nil) != want {
			t.Errorf("%v: got %v", errno, err)
		}
	}
}
