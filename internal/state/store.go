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
	stateName    = "state.json"
	lockName     = "state.lock"
	idsName      = "ids"
	toolsName    = "tools"
	verdictsName = "verdicts"

	// maxState bounds what is read into memory; a real file has kilobytes.
	maxState = 64 << 20
	// lockWait is how long a writer waits for another one.
	lockWait = 5 * time.Second
)

// A Store is a state directory. It holds nothing open between calls and may be
// used by many goroutines and processes at once.
type Store struct {
	dir   directory
	given bool // dir was asked for, and is not the default
}

// DefaultDir is where state is kept unless the user says otherwise. Without a
// home directory there is no such place: an [Error] with reason [NoHome].
func DefaultDir() (string, error) {
	home := xdg.StateHome
	// Without HOME the library falls back to "/": better no state than one in
	// the root directory.
	if !filepath.IsAbs(home) || home == filepath.FromSlash("/.local/state") {
		return "", &Error{Reason: NoHome, what: "no state directory: the home directory is unknown"}
	}
	return filepath.Join(home, "mcpc"), nil
}

// Open names the state directory; "" is the default one. Nothing is read,
// written or locked, and the directory need not exist. The error is [NoHome].
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
	return &Store{dir: directory{path, lockWait, (*os.File).Sync}, given: true}, nil
}

// Dir is the absolute path of the state directory.
func (s *Store) Dir() string { return s.dir.path }

// Load reads the last whole state, without a lock. No directory or no file is
// an empty State and no error. With every error the State is empty, so that a
// caller may go on without.
func (s *Store) Load() (State, error) {
	_, st, err := s.read()
	return st, err
}

// read returns the file's bytes (nil if there is none) and what they say.
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

func (s *Store) damaged(why error) *Error {
	repair := "state repair"
	if s.given {
		repair += " --state " + quoted(s.dir.path)
	}
	return &Error{Reason: Damaged, Path: s.dir.file(stateName), what: "is damaged: " + why.Error(), hint: wire.Run(repair)}
}

// Update changes the state: it takes the lock (waiting at most five seconds),
// loads, calls change, and replaces the file. When change returns an error,
// that error is returned as it is and nothing is written; when it changes
// nothing, nothing is written either. Change must not use the Store.
func (s *Store) Update(ctx context.Context, change func(*State) error) error {
	wrote, err := s.update(ctx, change)
	if err != nil || !wrote {
		return err
	}
	// The rename is made durable without the lock: the others need not wait.
	return s.dir.syncDir()
}

// Try returns the error with which Update would fail. It changes nothing.
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

// update is Update without the sync of the directory.
func (s *Store) update(ctx context.Context, change func(*State) error) (wrote bool, err error) {
	st, unlock, err := s.lockState(ctx)
	defer unlock()
	if err != nil {
		return false, err
	}
	keys := st.keys()
	st.Generation++
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
	return true, s.writeLocked(after, keys, st.keys())
}

// lockState takes the lock and loads the state, to be written back. unlock is never nil.
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

// prepare makes a loaded state ready to be written back.
func (s *Store) prepare(raw []byte, st *State) error {
	if st.Version > formatVersion {
		what := fmt.Sprintf("has version %d, this mcpc writes version %d", st.Version, formatVersion)
		return &Error{Reason: Newer, Path: s.dir.file(stateName), what: what}
	}
	if err := keepExtras(raw, st); err != nil {
		return s.damaged(describe(raw, err))
	}
	return nil
}

// writeLocked replaces the file. The order makes each step safe to be the last:
// a session's counter is there before the session is, and goes after it. Before
// and after are the keys of the sessions, see [State.keys].
func (s *Store) writeLocked(raw []byte, before, after map[string]int64) error {
	err := createCounters(s.dir.file(idsName), before, after)
	if err == nil {
		err = replaceFile(s.dir.file(stateName), s.dir.sync, raw)
	}
	if err != nil {
		s.dropKeys(after, before)
		return err
	}
	s.dropKeys(before, after)
	return nil
}

// dropKeys removes the files of the keys that are in old and not in current.
// What cannot be removed is litter, not a fault.
func (s *Store) dropKeys(old, current map[string]int64) {
	for key := range old {
		if _, ok := current[key]; !ok {
			_ = os.Remove(s.dir.file(idsName, key))
			_ = s.DropTools(key)
		}
	}
}

// Repair starts a new state.json in place of a damaged one, which is kept: it
// returns the backup's path. A file that can be read is left alone and the
// path is ""; one that is [Newer] or [Unsafe] is that error.
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
	if err := s.writeLocked(fresh, nil, nil); err != nil {
		return backup, err
	}
	return backup, s.dir.syncDir()
}
