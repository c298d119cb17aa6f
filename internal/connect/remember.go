package connect

import (
	"context"
	"encoding/json"

	"mcpc/internal/spool"
	"mcpc/internal/state"
)

// A list is remembered up to so many entries and bytes.
const (
	mostRemembered      = 20_000
	mostRememberedBytes = 16 << 20
)

// A keeper remembers a list: the tools for the calls that follow, and all kinds for the
// completion of a command line.
type keeper struct {
	c *Conn
	k Kind
	// off is set where nothing is remembered, and forget where what was remembered before is
	// forgotten, since the list has become too large.
	off, forget bool
	entries     []state.Tool
	// places say where the entries are in items; where items is nil, each has its bytes.
	places []span
	items  *Items
	size   int
}

// A span is where the bytes of an entry are.
type span struct{ from, to int64 }

func newKeeper(c *Conn, k Kind) *keeper { return &keeper{c: c, k: k, off: !remembers(c, k)} }

// add takes an entry that stays in memory.
func (k *keeper) add(raw json.RawMessage) {
	if name, ok := k.takes(raw, ""); ok {
		k.entries = append(k.entries, state.Tool{Name: name, Raw: raw})
	}
}

// addAt takes an entry that is kept in items. name is the one to request it by, if it is known.
func (k *keeper) addAt(raw json.RawMessage, name string, at span) {
	if name, ok := k.takes(raw, name); ok {
		k.entries, k.places = append(k.entries, state.Tool{Name: name}), append(k.places, at)
	}
}

// takes returns the name of an entry that is remembered, which may be known.
func (k *keeper) takes(raw json.RawMessage, known string) (name string, ok bool) {
	if k.off {
		return "", false
	}
	k.size += len(raw)
	switch {
	case k.c.Env.Secrets.Holds(raw): // a server may say again what it was sent
		k.off = true
	case len(k.entries) == mostRemembered || k.size > mostRememberedBytes:
		k.off, k.forget = true, true
	}
	if k.off {
		k.entries, k.places = nil, nil
		return "", false
	}
	if known != "" {
		return known, true
	}
	return k.k.NameIn(raw)
}

// save remembers what was taken. Of two tools with one name none is called, so none is
// remembered.
func (k *keeper) save(ctx context.Context, ttl *int64) {
	if k.forget {
		k.c.Forget(k.k)
	}
	if k.off {
		return
	}
	times := make(map[string]int, len(k.entries))
	for _, entry := range k.entries {
		times[entry.Name]++
	}
	var all []byte
	var err error
	if k.items != nil {
		all, err = k.items.Bytes()
	}
	kept := state.ToolList{FetchedAt: k.c.Env.Now(), TTLms: ttl, Tools: k.entries[:0]}
	for i, entry := range k.entries {
		if times[entry.Name] > 1 {
			continue
		}
		if k.items != nil && err == nil {
			entry.Raw = all[k.places[i].from:k.places[i].to]
		}
		kept.Tools = append(kept.Tools, entry)
	}
	if err == nil {
		err = k.c.Store.SaveTools(ctx, listKey(k.c, k.k), kept)
	}
	if err != nil && k.c.Env.Verbose > 0 {
		k.c.Env.UI.Warn("the list of " + k.k.Many + " could not be cached: " + err.Error())
	}
}

// Items keeps the items of a list as they crossed, with a comma between them: a few in memory,
// many in a file.
type Items struct {
	dir    spool.Dir
	buffer *spool.Buffer
	err    error
}

// NewItems keeps a list of many items in a file in dir.
func NewItems(dir spool.Dir) *Items { return &Items{dir: dir} }

// add returns where the item begins and ends.
func (l *Items) add(item []byte) (at span) {
	if l.buffer == nil {
		l.buffer = l.dir.NewLong()
	} else {
		l.write([]byte(","))
	}
	at.from = l.buffer.Len()
	l.write(item)
	at.to = l.buffer.Len()
	return at
}

func (l *Items) write(p []byte) {
	if l.err == nil {
		_, l.err = l.buffer.Write(p)
	}
}

// Bytes returns all items; nothing can be added any more.
func (l *Items) Bytes() ([]byte, error) {
	if l.err != nil || l.buffer == nil {
		return nil, l.err
	}
	return l.buffer.Bytes()
}

// empty forgets all items.
func (l *Items) empty() {
	if l.buffer != nil {
		_ = l.buffer.Close() // what was in it is not needed
	}
	*l = Items{dir: l.dir}
}
