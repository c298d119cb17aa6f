package connect

import (
	"context"
	"encoding/json"

	"mcpc/internal/connect/host"
	"mcpc/internal/spool"
	"mcpc/internal/state"
)

// maxCached and maxCachedBytes limit the lists that are cached.
const (
	maxCached      = 20_000
	maxCachedBytes = 16 << 20
)

// A listCache stores a list in the state directory: the tools for later calls, and all kinds for
// completion.
type listCache struct {
	conn *Conn
	kind Kind
	// isDisabled is set if the list is not stored. dropsPrevious is set if also the previous list
	// must not be used, because the list became too large.
	isDisabled, dropsPrevious bool
	// count is the number of added entries, size their bytes.
	count, size int
	// entries are the added entries in the format of package state, and err is the first error of
	// writing them.
	entries *spool.Buffer
	err     error
}

// newListCache returns a cache for a list of kind k. The caller must call save or close its
// entries.
func (c *Conn) newListCache(k Kind) *listCache {
	return &listCache{conn: c, kind: k, isDisabled: !c.cachesKind(k), entries: host.SpoolDir(c.Env, true).NewLong()}
}

// add appends an entry. name is the name that requests it; if it is "", add reads the name from the
// entry, and skips an entry without a usable name. A list that is too large or has a secret disables
// the cache.
func (k *listCache) add(raw json.RawMessage, name string) {
	if k.isDisabled {
		return
	}
	k.size += len(raw)
	k.dropsPrevious = k.count == maxCached || k.size > maxCachedBytes
	k.isDisabled = k.dropsPrevious || k.conn.Env.Secrets.Holds(raw) // a server may repeat a secret
	if k.isDisabled {
		_ = k.entries.Close() // the entries are not needed
		return
	}
	if name == "" {
		listed, ok := k.kind.NameIn(raw)
		if !ok {
			return
		}
		name = listed
	}
	k.count++
	if k.err == nil {
		_, k.err = k.entries.Write(state.AppendTool(nil, name, raw))
	}
}

// save stores the added entries and releases the buffer. It stores nothing if one has a secret. It
// warns about errors only with -v, because the list itself was received.
func (k *listCache) save(ctx context.Context, ttl *int64) {
	defer k.entries.Close()
	if k.dropsPrevious {
		k.conn.Forget(k.kind)
	}
	if k.isDisabled {
		return
	}
	entries, err := k.entries.Bytes()
	k.conn.Env.Record.WriteWaiting() // learns the secrets in the waiting frames
	if k.conn.Env.Secrets.Holds(entries) {
		return // a secret that was not known yet when the entry was added
	}
	if k.err != nil { // the entries are incomplete
		err = k.err
	}
	if err == nil {
		list := state.ToolList{FetchedAt: k.conn.Env.Now(), TTLms: ttl}
		err = k.conn.Store.SaveEntries(ctx, k.conn.listKey(k.kind), list, entries)
	}
	if err != nil && k.conn.Env.Verbose > 0 {
		k.conn.Env.WarnOfState("the list of " + k.kind.Many + " could not be cached: " + err.Error())
	}
}

// Items store the items of a list as received, separated by commas: in memory, or in a file if
// there are many.
type Items struct {
	buffer *spool.Buffer
	err    error
}

// NewItems returns Items that use a file in dir for a long list.
func NewItems(dir spool.Dir) *Items { return &Items{buffer: dir.NewLong()} }

// add appends an item.
func (l *Items) add(item []byte) {
	if l.err == nil && l.buffer.Len() > 0 {
		_, l.err = l.buffer.Write([]byte(","))
	}
	if l.err == nil {
		_, l.err = l.buffer.Write(item)
	}
}

// Bytes returns all items. Nothing can be added after it.
func (l *Items) Bytes() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	return l.buffer.Bytes()
}
