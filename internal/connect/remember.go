package connect

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

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
	size        int
	// names are those of all entries, one behind the other: there are many. ends says where each
	// ends.
	names []byte
	ends  []int32
	// raws are the entries, or where items is not nil places where they are in it.
	raws   []json.RawMessage
	places []span
	items  *Items
}

// A span is where the bytes of an entry are.
type span struct{ from, to int64 }

func (c *Conn) newKeeper(k Kind) *keeper { return &keeper{c: c, k: k, off: !c.remembers(k)} }

// add takes an entry that stays in memory.
func (k *keeper) add(raw json.RawMessage) {
	if k.takes(raw, "") {
		k.raws = append(k.raws, raw)
	}
}

// addAt takes an entry that is kept in items. name is the one to request it by, if it is known.
func (k *keeper) addAt(raw json.RawMessage, name string, at span) {
	if k.takes(raw, name) {
		k.places = append(k.places, at)
	}
}

// takes reports an entry that is remembered, and keeps its name, which may be known.
func (k *keeper) takes(raw json.RawMessage, name string) (ok bool) {
	if k.off {
		return false
	}
	k.size += len(raw)
	switch {
	case k.c.Env.Secrets.Holds(raw): // a server may say again what it was sent
		k.off = true
	case len(k.ends) == mostRemembered || k.size > mostRememberedBytes:
		k.off, k.forget = true, true
	}
	if k.off {
		k.names, k.ends, k.raws, k.places = nil, nil, nil, nil
		return false
	}
	if name == "" {
		if name, ok = k.k.NameIn(raw); !ok {
			return false
		}
	}
	k.names = append(k.names, name...)
	k.ends = append(k.ends, int32(len(k.names)))
	return true
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
	var all []byte
	var err error
	if k.items != nil {
		all, err = k.items.Bytes()
	}
	k.c.Env.Record.WriteWaiting() // which learns the secrets that stand behind an entry
	if holds := k.c.Env.Secrets.Holds; holds(all) || slices.ContainsFunc(k.raws, func(raw json.RawMessage) bool { return holds(raw) }) {
		return
	}
	if err == nil {
		list := state.ToolList{FetchedAt: k.c.Env.Now(), TTLms: ttl}
		err = state.SaveEach(ctx, k.c.Store, k.c.listKey(k.k), list, len(k.ends), k.tools(all))
	}
	if err != nil && k.c.Env.Verbose > 0 {
		k.c.Env.WarnOfState("the list of " + k.k.Many + " could not be cached: " + err.Error())
	}
}

// tools are those whose name no other has; all are the bytes of items.
func (k *keeper) tools(all []byte) iter.Seq[state.Tool] {
	names, sorted := string(k.names), make([]string, 0, len(k.ends))
	for i := range k.ends {
		sorted = append(sorted, k.name(names, i))
	}
	slices.Sort(sorted) // a map takes more memory than all that is kept
	twice := map[string]bool{}
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			twice[sorted[i]] = true
		}
	}
	return func(yield func(state.Tool) bool) {
		for i := range k.ends {
			tool := state.Tool{Name: k.name(names, i)}
			if k.items != nil {
				tool.Raw = all[k.places[i].from:k.places[i].to]
			} else {
				tool.Raw = k.raws[i]
			}
			if !twice[tool.Name] && !yield(tool) {
				return
			}
		}
	}
}

// name is that of an entry, among all names.
func (k *keeper) name(names string, i int) string {
	from := int32(0)
	if i > 0 {
		from = k.ends[i-1]
	}
	return names[from:k.ends[i]]
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
