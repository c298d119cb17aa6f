package state

import (
	"context"
	"os"
	"time"
)

// A Private is a file in the state directory whose contents the caller defines. Only the user can
// read it: it has mode 0600 in a directory that others cannot write to. It is replaced as a whole.
type Private struct {
	dir  *directory
	name string
}

// privateLockWait is how long Lock waits: the process that holds the lock may be waiting for a
// server.
const privateLockWait = time.Minute

// Private returns the private file with that name. It does not access the file.
func (s *Store) Private(name string) *Private { return &Private{&s.dir, name} }

// Path returns the path of the file.
func (p *Private) Path() string { return p.dir.file(p.name) }

// Read returns the file's contents without a lock, or nil if it does not exist.
func (p *Private) Read() ([]byte, error) { return p.dir.read(p.name, maxState) }

// Update replaces the file under the state's lock. It waits for the lock for at most five seconds.
// If change returns an error, Update returns that error and writes nothing.
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

// Repair renames the file if isDamaged returns true for its contents, so that the next Update
// writes a new one. It returns the backup's path, or "" if it renamed nothing.
func (p *Private) Repair(ctx context.Context, isDamaged func(raw []byte) bool) (backup string, err error) {
	unlock, err := p.dir.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	raw, err := p.Read()
	if err != nil || !isDamaged(raw) {
		return "", err
	}
	// The backup has the file's secrets, so only the user may read it.
	if err := os.Chmod(p.Path(), 0o600); err != nil {
		return "", &Error{Reason: Unwritable, Path: p.Path(), Err: err}
	}
	return p.dir.setAside(p.name)
}

// Lock locks a separate lock of the file. While it is held, the file can still be read and updated.
// It is for work that only one process may do at a time and that takes longer than an update. It
// waits at most a minute.
func (p *Private) Lock(ctx context.Context) (release func(), err error) {
	return p.dir.lockFile(ctx, p.name+".lock", privateLockWait)
}
