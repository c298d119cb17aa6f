package state

import (
	"context"
	"os"
	"time"
)

// A Private is a file of the state directory whose contents the caller defines. Only the
// user can read it: it has mode 0600, in a directory that others cannot write to, and is
// replaced as a whole.
type Private struct {
	dir  *directory
	name string
}

// holdWait is how long Lock waits: the holder may be talking to a server.
const holdWait = time.Minute

// Private names such a file. Nothing is read or written.
func (s *Store) Private(name string) *Private { return &Private{&s.dir, name} }

// Path is where the file is.
func (p *Private) Path() string { return p.dir.file(p.name) }

// Read gives what was last written, without a lock; nil where nothing was.
func (p *Private) Read() ([]byte, error) { return p.dir.read(p.name, maxState) }

// Update replaces the file under the state's lock, for which it waits at most five
// seconds. An error of change comes back as it is, and nothing is written then.
func (p *Private) Update(ctx context.Context, change func(old []byte) ([]byte, error)) error {
	unlock, err := p.dir.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := p.Read()
	if err != nil {
		return err
	}
	raw, err := change(old)
	if err != nil {
		return err
	}
	if err := replaceFile(p.Path(), p.dir.sync, raw); err != nil {
		return err
	}
	return p.dir.syncDir()
}

// Repair renames the file if it is damaged, and returns the backup's path, which is ""
// otherwise.
func (p *Private) Repair(ctx context.Context, damaged func(raw []byte) bool) (backup string, err error) {
	unlock, err := p.dir.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	raw, err := p.Read()
	if err != nil || !damaged(raw) {
		return "", err
	}
	if err := os.Chmod(p.Path(), 0o600); err != nil {
		return "", &Error{Reason: Unwritable, Path: p.Path(), Err: err}
	}
	return p.dir.setAside(p.name)
}

// Lock takes a lock of the file's own, under which it may be read and updated: for
// what only one process may do at a time, and what takes longer than an update. It
// waits at most a minute.
func (p *Private) Lock(ctx context.Context) (release func(), err error) {
	return p.dir.lockFile(ctx, p.name+".lock", holdWait)
}
