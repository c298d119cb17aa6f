package state

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"

	"mcpc/internal/wire"
)

const (
	stateName      = "state.json"
	lockName       = "state.lock"
	idsName        = "ids"
	toolsName      = "tools"
	negotiatedName = "verdicts"

	// maxState limits what is read into memory. A real file has a few kilobytes.
	maxState = 64 << 20
	// lockWait is how long a writer waits for another writer.
	lockWait = 5 * time.Second
)

// A Store is a state directory. It keeps no file open between calls. Many goroutines and processes
// may use the same directory.
type Store struct {
	dir        directory
	isDirGiven bool // the user named dir
}

// DefaultDir returns the default state directory. Without a home directory it returns an [Error]
// with reason [NoHome].
func DefaultDir() (string, error) {
	home := xdg.StateHome
	// Without HOME the library returns a directory in "/", where no state should be.
	if !filepath.IsAbs(home) || home == filepath.FromSlash("/.local/state") {
		return "", &Error{Reason: NoHome, what: "no state directory: the home directory is unknown"}
	}
	return filepath.Join(home, "mcpc"), nil
}

// Open returns the store of a directory; "" is the default directory. It does not access the
// directory, which need not exist. The error has reason [NoHome].
func Open(dir string) (*Store, error) {
	if dir == "" {
		path, err := DefaultDir()
		if err != nil {
			return nil, err
		}
		return &Store{dir: directory{path, lockWait, (*os.File).Sync}}, nil
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		what := fmt.Sprintf("finding the state directory %s: %v", dir, err)
		return nil, &Error{Reason: NoHome, Path: dir, Err: err, what: what}
	}
	return &Store{dir: directory{path, lockWait, (*os.File).Sync}, isDirGiven: true}, nil
}

// Dir returns the absolute path of the state directory.
func (s *Store) Dir() string { return s.dir.path }

// Load reads the state without a lock. It returns an empty State if there is no directory or file.
// With an error the State is empty too, so that a caller can continue.
func (s *Store) Load() (State, error) {
	_, st, err := s.read()
	return st, err
}

// read returns the file's bytes, or nil without a file, and the state in them.
func (s *Store) read() ([]byte, State, error) {
	raw, err := s.dir.read(stateName, maxState)
	if raw == nil {
		return nil, State{}, err
	}
	st, err := decode(raw)
	if err != nil {
		return raw, State{}, s.damaged(err)
	}
	return raw, st, nil
}

// damaged returns the error for a state.json that cannot be parsed.
func (s *Store) damaged(why error) *Error {
	repair := "sessions repair"
	if s.isDirGiven {
		repair += " --state " + quoted(s.dir.path)
	}
	what := "is damaged: " + why.Error()
	return &Error{Reason: Damaged, Path: s.dir.file(stateName), what: what, hint: wire.Run(repair)}
}

// Update changes the state: it locks the directory (waiting at most five seconds), loads the state,
// calls change, and replaces the file. If change returns an error, Update returns that error and
// writes nothing. It also writes nothing if the state is unchanged. change must not use the Store.
func (s *Store) Update(ctx context.Context, change func(*State) error) error {
	wrote, err := s.update(ctx, change)
	if err != nil || !wrote {
		return err
	}
	// The directory is synced without the lock, so that other writers need not wait.
	return s.dir.syncDir()
}

// Try returns the error that Update would return, except an error of change. It changes nothing: it
// creates the temporary file of an update and deletes it.
func (s *Store) Try(ctx context.Context) error {
	_, unlock, err := s.lockState(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	path := s.dir.file(stateName)
	tmp := path + tmpSuffix
	_ = os.Remove(tmp) // as replaceFile does
	err = writeNew(tmp, nil)
	_ = os.Remove(tmp)
	if err != nil {
		return &Error{Reason: Unwritable, Path: path, Err: err}
	}
	return nil
}

// update changes the state as Update describes, but does not sync the directory. It reports whether
// it wrote the file.
func (s *Store) update(ctx context.Context, change func(*State) error) (wrote bool, err error) {
	st, unlock, err := s.lockState(ctx)
	defer unlock()
	if err != nil {
		return false, err
	}
	oldKeys := st.keys()
	st.Generation++ // in both encodings, so that only other changes make them differ
	before, err := encode(&st)
	if err != nil {
		return false, err
	}
	if err := change(&st); err != nil {
		return false, err
	}
	after, err := encode(&st)
	if err != nil || bytes.Equal(before, after) {
		return false, err
	}
	return true, s.writeLocked(after, oldKeys, st.keys())
}

// lockState locks the directory and loads the state for writing. unlock is never nil; the caller
// calls it also after an error.
func (s *Store) lockState(ctx context.Context) (st State, unlock func(), err error) {
	unlock, err = s.dir.lock(ctx)
	if err != nil {
		return State{}, func() {}, err
	}
	raw, st, err := s.read()
	if err == nil && raw != nil {
		err = s.prepare(raw, &st)
	}
	return st, unlock, err
}

// prepare prepares a loaded state for writing. It returns an error if a newer mcpc wrote the file.
func (s *Store) prepare(raw []byte, st *State) error {
	if st.Version > formatVersion {
		what := fmt.Sprintf("has version %d, this mcpc writes version %d", st.Version, formatVersion)
		return &Error{Reason: Newer, Path: s.dir.file(stateName), what: what}
	}
	if err := setExtras(raw, st); err != nil {
		return s.damaged(describe(raw, err))
	}
	return nil
}

// writeLocked replaces state.json. before and after are the sessions' keys, see [State.keys]: it
// creates the counters of new sessions and deletes the files of deleted ones. A kill after any step
// leaves a valid directory, because a counter is created before its session is stored, and deleted
// after it.
func (s *Store) writeLocked(raw []byte, before, after map[string]int64) error {
	err := createCounters(s.dir.file(idsName), before, after)
	if err == nil {
		err = replaceFile(s.dir.file(stateName), s.dir.sync, raw)
	}
	if err != nil {
		s.dropKeys(after, before) // the counters that were just created
		return err
	}
	s.dropKeys(before, after)
	return nil
}

// dropKeys deletes the files of the keys that are in old and not in current. It ignores errors: a
// file that remains does no harm.
func (s *Store) dropKeys(old, current map[string]int64) {
	for key := range old {
		if _, ok := current[key]; !ok {
			_ = os.Remove(s.dir.file(idsName, key))
			_ = s.DropTools(key)
		}
	}
}

// Repair replaces a damaged state.json by an empty state and returns the path of the backup. It
// returns "" if the file can be read. A file with the reason [Newer] or [Unsafe] is returned as that
// error.
func (s *Store) Repair(ctx context.Context) (backup string, err error) {
	_, unlock, err := s.lockState(ctx)
	defer unlock()
	if !IsReason(err, Damaged) {
		return "", err
	}
	backup, err = s.dir.setAside(stateName)
	if err != nil {
		return "", err
	}
	fresh, err := encode(&State{Generation: 1})
	if err != nil {
		return backup, err
	}
	// Without keys no counter is deleted: the user may restore the sessions from the backup.
	if err := s.writeLocked(fresh, nil, nil); err != nil {
		return backup, err
	}
	return backup, s.dir.syncDir()
}
