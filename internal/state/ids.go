package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Request ids. "The request ID MUST NOT have been previously used by the requestor within the same
// session" (basic, "Requests"), and all processes of the user share a session. So each session has
// a counter in a separate file: the version of the format and the next id, which are changed in
// place under the lock:
//
//	1 0000000000000000042
//
// All processes see a write into the page cache, and it survives a kill, so reserving ids
// needs no sync. After a power cut the ids of the last seconds may be reserved again.

const (
	// maxReserved is the largest number of ids that one call reserves.
	maxReserved = 1024
	// maxID is the largest integer that every JSON parser reads exactly.
	maxID = 1<<53 - 1
	// idDigits is the fixed number of digits of an id in a counter.
	idDigits = 19
)

// Reserve reserves n request ids of a stored session, first to first+n-1, and returns first. No
// other call in any process gets any of them. An error with reason [Gone] means that the session
// was closed and a new one must be opened.
func (s *Store) Reserve(ctx context.Context, sess Session, n int) (first int64, err error) {
	if n < 0 || n > maxReserved {
		return 0, fmt.Errorf("reserving %d request ids: not between 0 and %d", n, maxReserved)
	}
	if !validKey(sess.Key) {
		return 0, goneSession(sess.Name, "is not stored")
	}
	unlock, err := s.dir.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	f, err := openFile(s.dir.file(idsName, sess.Key), os.O_RDWR, Unwritable)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, goneSession(sess.Name, "was closed or replaced")
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	first, ok := readCounter(f)
	if !ok {
		return 0, goneSession(sess.Name, "has lost its request ids")
	}
	if first+int64(n) > maxID {
		return 0, goneSession(sess.Name, "has used up its request ids")
	}
	if err := writeCounter(f, first+int64(n)); err != nil {
		return 0, &Error{Reason: Unwritable, Path: f.Name(), Err: err}
	}
	return first, nil
}

// LastUsed returns when a request id of the session was last reserved, by the file system's clock,
// or the zero time if that is unknown.
func (s *Store) LastUsed(sess Session) time.Time {
	if !validKey(sess.Key) {
		return time.Time{}
	}
	fi, err := os.Lstat(s.dir.file(idsName, sess.Key))
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// createCounters creates a counter in dir for each key of after that is not in before, starting with
// the key's value.
func createCounters(dir string, before, after map[string]int64) error {
	for key, first := range after {
		if _, ok := before[key]; ok {
			continue
		}
		if err := createCounter(dir, key, first); err != nil {
			return err
		}
	}
	return nil
}

// createCounter creates the counter of a session, whose first id is first, or 1 if first is 0. It
// keeps an existing counter, so that the ids of a session that is stored again continue.
func createCounter(dir, key string, first int64) error {
	if !validKey(key) {
		return fmt.Errorf("storing a session: its key is not from Put")
	}
	if err := makeSubdir(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, key), os.O_RDWR|os.O_CREATE|os.O_EXCL|openSafely, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return &Error{Reason: Unwritable, Path: dir, Err: err}
	}
	defer f.Close()
	first = min(max(first, 1), maxID)
	if err := errors.Join(f.Chmod(0o600), writeCounter(f, first)); err != nil {
		_ = os.Remove(f.Name())
		return &Error{Reason: Unwritable, Path: f.Name(), Err: err}
	}
	return nil
}

// writeCounter replaces the counter with one system call, so that a kill cannot leave half of it.
func writeCounter(f *os.File, next int64) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "1 %0*d\n", idDigits, next), 0)
	return err
}

// readCounter reads the counter in the first line of the file. Older versions of mcpc wrote more
// after the id.
func readCounter(f *os.File) (next int64, ok bool) {
	buf := make([]byte, 80)
	n, _ := f.ReadAt(buf, 0)
	line, _, hasEnd := strings.Cut(string(buf[:n]), "\n")
	fields := strings.Fields(line)
	if !hasEnd || len(fields) < 2 || fields[0] != "1" || len(fields[1]) != idDigits {
		return 0, false
	}
	next, err := strconv.ParseInt(fields[1], 10, 64)
	return next, err == nil && next >= 1 && next <= maxID
}
