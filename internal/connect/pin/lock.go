package pin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/diff/lockfile"
	"mcpc/internal/jsonraw"
	"mcpc/internal/state"
)

// maxLockFile limits the size of a lock file, in bytes.
const maxLockFile = 64 << 20

// A Lock is a lock file. The one in the current directory may have come with another author's
// project. It therefore replaces what the user approved only after the user has confirmed its hash.
type Lock struct {
	Path  string
	Tools []json.RawMessage
	hash  string
}

// ReadLock reads a lock file. An error about its contents is a *lockfile.Error. It does not look
// whether the user has confirmed the file.
func ReadLock(e *host.Env, path string) (*Lock, error) {
	raw, err := e.ReadFile(path, maxLockFile)
	if err != nil {
		return nil, err
	}
	snapshot, err := lockfile.Parse(raw)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// The prefix makes this hash differ from the hashes of servers, which are stored beside it.
	sum := sha256.Sum256(append([]byte(lockfile.Name+"\n"), raw...))
	return &Lock{Path: absolute, Tools: snapshot.Tools, hash: hex.EncodeToString(sum[:])}, nil
}

// LockWith returns the lock file of the current directory if it contains the tool's present
// definition. Otherwise it returns nil, with a warning if the file is invalid.
func LockWith(c *connect.Conn, tool *connect.Definition) *Lock {
	if c.Store == nil { // the confirmation of the file cannot be stored
		return nil
	}
	if info, err := os.Stat(lockfile.Name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	l, err := ReadLock(c.Env, lockfile.Name)
	if failed, ok := errors.AsType[*lockfile.Error](err); ok {
		c.Env.UI.Warn(lockfile.Name + " was not used: " + failed.Text)
	}
	if err != nil {
		return nil
	}
	hash := lockfile.Hash(tool.Raw)
	isLocked := slices.ContainsFunc(l.Tools, func(entry json.RawMessage) bool {
		name, _ := jsonraw.Text(jsonraw.First(entry, "name"))
		return name == tool.Name && lockfile.Hash(entry) == hash
	})
	if !isLocked {
		return nil
	}
	return l
}

// IsConfirmed reports whether the user has confirmed the lock file as it is now.
func (l *Lock) IsConfirmed(e *host.Env, store *state.Store) bool {
	return slices.ContainsFunc(e.Trusts(store), func(t state.Trust) bool {
		return t.Server == lockfile.Name && t.Fingerprint == l.hash
	})
}

// Confirm stores that the user has confirmed the lock file as it is now.
func (l *Lock) Confirm(ctx context.Context, e *host.Env, store *state.Store) error {
	return store.Trusts().Save(ctx, state.Trust{Fingerprint: l.hash, Server: lockfile.Name, File: l.Path, At: e.Now()})
}

// RevokeLock deletes the approvals of the lock file at path, and the approvals of other lock files
// with the same contents, which would approve it too. The file need not exist any more. It returns
// the number of deleted approvals.
func RevokeLock(ctx context.Context, e *host.Env, store *state.Store, path string) (int, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	hash := ""
	if l, err := ReadLock(e, path); err == nil {
		hash = l.hash
	}
	return store.Trusts().Drop(ctx, func(t state.Trust) bool {
		return t.Server == lockfile.Name && (t.File == absolute || t.Fingerprint == hash)
	})
}
