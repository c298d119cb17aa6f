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

// mostLock bounds a lock file, in bytes.
const mostLock = 64 << 20

// A Lock is a lock file. That of the current directory may have come with another author's project, so
// it overrides what the user approved only once the user has confirmed it, as it is, by its hash.
type Lock struct {
	Path  string
	Tools []json.RawMessage
	print string
}

// ReadLock reads a lock file. An error of its contents is a *lockfile.Error.
func ReadLock(e *host.Env, path string) (*Lock, error) {
	raw, err := e.ReadFile(path, mostLock)
	if err != nil {
		return nil, err
	}
	snapshot, err := lockfile.Parse(raw)
	if err != nil {
		return nil, err
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte(lockfile.Name+"\n"), raw...))
	return &Lock{Path: whole, Tools: snapshot.Tools, print: hex.EncodeToString(sum[:])}, nil
}

// LockWith returns the lock file of the current directory if it has the tool as it is now, else nil.
func LockWith(c *connect.Conn, tool *connect.Definition) *Lock {
	if info, err := os.Stat(lockfile.Name); err != nil || !info.Mode().IsRegular() || c.Store == nil {
		return nil
	}
	l, err := ReadLock(c.Env, lockfile.Name)
	if failed, ok := errors.AsType[*lockfile.Error](err); ok {
		c.Env.UI.Warn(lockfile.Name + " was not used: " + failed.Text)
	}
	if err != nil {
		return nil
	}
	is := lockfile.Hash(tool.Raw)
	if !slices.ContainsFunc(l.Tools, func(entry json.RawMessage) bool {
		name, _ := jsonraw.Text(jsonraw.First(entry, "name"))
		return name == tool.Name && lockfile.Hash(entry) == is
	}) {
		return nil
	}
	return l
}

// IsConfirmed reports whether the user confirmed the lock file as it is now.
func (l *Lock) IsConfirmed(e *host.Env, store *state.Store) bool {
	return slices.ContainsFunc(e.Trusts(store), func(t state.Trust) bool {
		return t.Server == lockfile.Name && t.Fingerprint == l.print
	})
}

// Confirm remembers that the user confirmed the lock file as it is now.
func (l *Lock) Confirm(ctx context.Context, e *host.Env, store *state.Store) error {
	return store.Trusts().Save(ctx, state.Trust{Fingerprint: l.print, Server: lockfile.Name, File: l.Path, At: e.Now()})
}
