package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Request ids. "The request ID MUST NOT have been previously used by the
// requestor within the same session" (basic, "Requests"), and a session is
// shared by every process that the user starts. Each session therefore has a
// counter in a file of its own, 79 bytes that are changed in place under the
// lock:
//
//	1 0000000000000000042 0000000000000001027 3f08a03f-15f6-461e-9611-40137b21fd8e
//	| next                limit               boot
//	version
//
// A write into the page cache is seen by every other process and survives a
// kill, so that handing out ids needs no sync, except for a power cut: then the
// disk may hold an older "next". That is what the limit is for: every id that
// was ever handed out is below a limit that was synced before. The record names
// the boot of the operating system in which it is exact; in any other boot the
// ids up to the limit are skipped. Where boots have no name, each reservation
// is synced.

const (
	// idBlock is how many ids are handed out between two syncs, and the most
	// that a power cut skips.
	idBlock = 1024
	// maxID is the largest integer that every JSON reader keeps exact.
	maxID = 1<<53 - 1
	// counterSize is the length of a counter's record.
	counterSize = 79
)

// Reserve hands out n request ids of a stored session: first, first+1, …
// first+n-1. No other call, in any process, gets one of them. An error with
// reason [Gone] means that the session has ended and a new one must be opened.
func (s *Store) Reserve(ctx context.Context, sess Session, n int) (first int64, err error) {
	if n < 0 || n > idBlock {
		return 0, fmt.Errorf("reserving %d request ids: not between 0 and %d", n, idBlock)
	}
	if !validKey(sess.Key) {
		return 0, goneSession(sess.Name, "is not stored")
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	f, err := openFile(s.path(idsName, sess.Key), os.O_RDWR, Unwritable)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, goneSession(sess.Name, "was closed or replaced")
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	c, ok := readCounter(f)
	if !ok {
		return 0, goneSession(sess.Name, "has lost its request ids")
	}
	first, ok, err = c.reserve(f, n, s.boot(), s.sync)
	if err != nil {
		return 0, &Error{Reason: Unwritable, Path: f.Name(), Err: err}
	}
	if !ok {
		return 0, goneSession(sess.Name, "has used up its request ids")
	}
	return first, nil
}

// LastUsed is when a request id of the session was last reserved, by the file
// system's clock; the zero time if that is not known.
func (s *Store) LastUsed(sess Session) time.Time {
	if !validKey(sess.Key) {
		return time.Time{}
	}
	fi, err := os.Lstat(s.path(idsName, sess.Key))
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// createCounters makes a counter for each key of after that is not in before.
// Those values are the sessions' first ids.
func (s *Store) createCounters(before, after map[string]int64) error {
	for key, first := range after {
		if _, ok := before[key]; ok {
			continue
		}
		if err := s.createCounter(key, first); err != nil {
			return err
		}
	}
	return nil
}

// createCounter writes the counter of a new session. One that is there already
// is kept: a session that is put back goes on counting.
func (s *Store) createCounter(key string, first int64) error {
	if !validKey(key) {
		return fmt.Errorf("storing a session: its key is not from Put")
	}
	dir := s.path(idsName)
	if err := makeSubdir(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path(idsName, key), os.O_RDWR|os.O_CREATE|os.O_EXCL|openSafely, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return &Error{Reason: Unwritable, Path: dir, Err: err}
	}
	defer f.Close()
	if err := errors.Join(f.Chmod(0o600), newCounter(first, s.boot()).write(f)); err != nil {
		_ = os.Remove(f.Name())
		return &Error{Reason: Unwritable, Path: f.Name(), Err: err}
	}
	return nil
}

// counter is the record of a session's ids.
type counter struct {
	next, limit int64
	boot        string // "" when nothing is known but the limit
}

// newCounter is not synced when it is written: if a power cut takes the file,
// the session is gone, and if it leaves the file, the first limit is in it.
func newCounter(first int64, boot string) counter {
	first = min(max(first, 1), maxID)
	c := counter{next: first, limit: first, boot: boot}
	if boot != "" {
		c.limit = min(first+idBlock, maxID)
	}
	return c
}

// reserve takes n ids and writes the record; ok is false when there are no more.
func (c counter) reserve(f *os.File, n int, boot string, sync func(*os.File) error) (first int64, ok bool, err error) {
	if boot == "" || c.boot != boot {
		c.next = c.limit
	}
	first = c.next
	c.next += int64(n)
	if c.next > maxID {
		return 0, false, nil
	}
	if c.boot == boot && boot != "" && c.next <= c.limit {
		return first, true, c.write(f)
	}
	// The new limit is synced before anybody relies on it. Until then the
	// record names no boot, in case this process is killed in between.
	c.boot = ""
	c.limit = c.next
	if boot != "" {
		c.limit = min(c.next+idBlock, maxID)
	}
	if err := c.write(f); err != nil {
		return 0, false, err
	}
	if err := sync(f); err != nil {
		return 0, false, err
	}
	if boot != "" {
		c.boot = boot
		err = c.write(f)
	}
	return first, true, err
}

// write replaces the record with one system call, which a kill cannot cut.
func (c counter) write(f *os.File) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "1 %019d %019d %-36s\n", c.next, c.limit, orDash(c.boot)), 0)
	return err
}

func readCounter(f *os.File) (counter, bool) {
	buf := make([]byte, counterSize+1)
	n, _ := f.ReadAt(buf, 0)
	return parseCounter(string(buf[:n]))
}

func parseCounter(s string) (counter, bool) {
	fields := strings.Fields(s)
	if len(s) != counterSize || s[counterSize-1] != '\n' || len(fields) != 4 || fields[0] != "1" {
		return counter{}, false
	}
	next, err1 := strconv.ParseInt(fields[1], 10, 64)
	limit, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err1 != nil || err2 != nil || next < 1 || limit < next || limit > maxID {
		return counter{}, false
	}
	c := counter{next: next, limit: limit}
	if fields[3] != "-" {
		c.boot = fields[3]
	}
	return c, true
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
