package state

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"time"

	"mcpc/internal/wire"
)

// maxToolFiles bounds the remembered lists, as mostCached does; those written longest ago go first.
const maxToolFiles = 256

// A ToolList is a server's whole list of tools, as it was when it was fetched.
type ToolList struct {
	FetchedAt time.Time
	// TTLms is the server's ttlMs, or nil if it gave none.
	TTLms *int64
	// Tools are in the server's order; a name may stand there twice.
	Tools []Tool
}

// A Tool is one definition.
type Tool struct {
	Name string
	// Raw is the definition, byte for byte as it crossed.
	Raw []byte
}

// assumedTTL is how long a list is fresh if the server gave no ttlMs.
const assumedTTL = 5 * time.Minute

// FreshUntil returns the time until which the list may be used without asking the server: for its
// ttlMs, else for assumedTTL. A ttlMs of 0 or less means that the list was stale when it arrived
// (2026-07-28 server/utilities/caching).
func (l ToolList) FreshUntil() time.Time {
	if l.TTLms == nil {
		return l.FetchedAt.Add(assumedTTL)
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	return l.FetchedAt.Add(time.Duration(min(max(*l.TTLms, 0), most)) * time.Millisecond)
}

// SaveTools remembers a list, in place of the one before. The key is a
// session's Key, or any text that names a server; only its hash is kept.
func (s *Store) SaveTools(ctx context.Context, key string, list ToolList) error {
	return SaveEach(ctx, s, key, list, len(list.Tools), slices.Values(list.Tools))
}

// SaveEach is SaveTools for tools that are not in the list: about n, which are asked for twice.
func SaveEach(ctx context.Context, s *Store, key string, list ToolList, n int, tools iter.Seq[Tool]) error {
	parts, err := encodeTools(list, n, tools)
	if err != nil {
		return err
	}
	return s.dir.saveCached(ctx, toolsName, key, parts, maxToolFiles)
}

// Tools returns a remembered list, or nil if there is none. An error means
// that there is one that cannot be used: a caller goes on as if there were
// none, and SaveTools puts a good one in its place.
func (s *Store) Tools(key string) (*ToolList, error) {
	var list ToolList
	found, err := withTools(&s.dir, key, func(t *toolsFile) error {
		list = t.list()
		return t.eachTool(func(tool Tool) { list.Tools = append(list.Tools, tool) })
	})
	if !found || err != nil {
		return nil, err
	}
	return &list, nil
}

// Tool returns the first definition of that name without reading the others:
// of 10,000 it reads one. The list says when it was fetched and has no other
// tools; it is nil if no list is remembered. The tool is nil if the list has no
// such name.
func (s *Store) Tool(key, name string) (*Tool, *ToolList, error) {
	var tool *Tool
	var list ToolList
	found, err := withTools(&s.dir, key, func(t *toolsFile) (err error) {
		list = t.list()
		tool, err = t.find(name)
		return err
	})
	if !found || err != nil {
		return nil, nil, err
	}
	if tool != nil {
		list.Tools = []Tool{*tool}
	}
	return tool, &list, nil
}

// DropTools forgets a list, for instance after a list_changed.
func (s *Store) DropTools(key string) error {
	path := s.dir.file(toolsName, hashed(key))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{Reason: Unwritable, Path: path, Err: err}
	}
	return nil
}

// withTools opens a list's file for use; found is false if there is none.
func withTools(dir *directory, key string, use func(*toolsFile) error) (found bool, err error) {
	if err := checkDir(dir.path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	path := dir.file(toolsName, hashed(key))
	f, err := openFile(path, os.O_RDONLY, Unreadable)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return true, &Error{Reason: Unreadable, Path: path, Err: err}
	}
	t, err := openTools(f, fi.Size())
	if err == nil {
		err = use(t)
	}
	if errors.Is(err, errTools) {
		what := "is damaged: " + err.Error()
		return true, &Error{Reason: Damaged, Path: path, what: what, hint: wire.Hint("rm " + quoted(path))}
	}
	if err != nil {
		return true, &Error{Reason: Unreadable, Path: path, Err: err}
	}
	return true, nil
}
