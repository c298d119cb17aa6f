package connect

import (
	"context"
	"encoding/json"

	"mcpc/internal/connect/host"
	"mcpc/internal/spool"
	"mcpc/internal/state"
)

// A list is remembered up to so many entries and bytes.
const (
	mostRemembered      = 20_000
	mostRememberedBytes = 16 << 20
)

// A keeper remembers a list: the tools for the calls that follow, and all kinds for the completion of a command line.
type keeper struct {
	c *Conn
	k Kind
	// off is set if nothing is remembered, and forget if the list before must not be used either, because the list has
	// become too large.
	off, forget bool
	// count and size are how many entries were added, and their bytes.
	count, size int
	// entries are the added entries as the state stores them, and err is what writing one returned.
	entries *spool.Buffer
	err     error
}

func (c *Conn) newKeeper(k Kind) *keeper {
	return &keeper{c: c, k: k, off: !c.remembers(k), entries: host.SpoolDir(c.Env, true).NewLong()}
}

// add adds an entry. name is the one to request it by, or "" if the entry has to be asked.
func (k *keeper) add(raw json.RawMessage, name string) {
	if k.off {
		return
	}
	k.size += len(raw)
	k.forget = k.count == mostRemembered || k.size > mostRememberedBytes
	k.off = k.forget || k.c.Env.Secrets.Holds(raw) // a server may say again what it was sent
	if k.off {
		_ = k.entries.Close() // the entries are not needed
		return
	}
	if name == "" {
		listed, ok := k.k.NameIn(raw)
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

// save remembers the added entries, and closes the keeper.
func (k *keeper) save(ctx context.Context, ttl *int64) {
	defer k.entries.Close()
	if k.forget {
		k.c.Forget(k.k)
	}
	if k.off {
		return
	}
	entries, err := k.entries.Bytes()
	k.c.Env.Record.WriteWaiting() // which learns the secrets of later messages
	if k.c.Env.Secrets.Holds(entries) {
		return
	}
	if k.err != nil {
		err = k.err
	}
	if err == nil {
		list := state.ToolList{FetchedAt: k.c.Env.Now(), TTLms: ttl}
		err = k.c.Store.SaveEntries(ctx, k.c.listKey(k.k), list, entries)
	}
	if err != nil && k.c.Env.Verbose > 0 {
		k.c.Env.WarnOfState("the list of " + k.k.Many + " could not be cached: " + err.Error())
	}
}

// Items keeps the items of a list as they were received, with a comma between them: a few in memory,
// many in a file.
type Items struct {
	buffer *spool.Buffer
	err    error
}

// NewItems keeps a list of many items in a file in dir.
func NewItems(dir spool.Dir) *Items { return &Items{buffer: dir.NewLong()} }

func (l *Items) add(item []byte) {
	if l.err == nil && l.buffer.Len() > 0 {
		_, l.err = l.buffer.Write([]byte(","))
	}
	if l.err == nil {
		_, l.err = l.buffer.Write(item)
	}
}

// Bytes returns all items; nothing can be added any more.
func (l *Items) Bytes() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	return l.buffer.Bytes()
}
