//go:build unix

package spool

import (
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mappable is set where a file can be mapped.
const mappable = true

// mappings are those that Bytes returned: the only slices that Release may take.
var (
	mappings   atomic.Pointer[[]mapping]
	mappingsMu sync.Mutex
)

type mapping struct {
	start uintptr
	bytes []byte
	// dir has the file.
	dir Dir
	// notes are by their offset.
	notes *sync.Map
}

// find returns the mapping that has the bytes of p, and their offset there.
func find(p []byte) (m mapping, offset int, ok bool) {
	all := mappings.Load()
	if all == nil || len(p) == 0 {
		return m, 0, false
	}
	at := addressOf(p)
	for _, m := range *all {
		if at >= m.start && at-m.start < uintptr(len(m.bytes)) {
			return m, int(at - m.start), true
		}
	}
	return m, 0, false
}

// Note keeps what a caller found out about what begins where p does, if p is of a file: its
// bytes do not change.
func Note(p []byte, what any) {
	if m, offset, ok := find(p); ok {
		m.notes.Store(offset, what)
	}
}

// Noted gives what was noted of what begins where p does, or nil.
func Noted(p []byte) any {
	if m, offset, ok := find(p); ok {
		what, _ := m.notes.Load(offset)
		return what
	}
	return nil
}

// Beside returns a Buffer for what is made of p, of about size bytes: if p is of a file, in the
// folder of that file, and else in memory.
func Beside(p []byte, size int64) *Buffer {
	m, _, _ := find(p)
	return m.dir.New(size)
}

// Free gives the file and the memory of p back, if p is what Bytes returned of a Buffer in a file,
// which must not be closed then. Of anything else nothing happens.
func Free(p []byte) {
	if m, at, ok := find(p); ok && at == 0 && len(p) == len(m.bytes) {
		_ = unmap(m.bytes)
	}
}

// mapFile maps f, which can be closed then.
func mapFile(f *os.File, dir Dir, size int) ([]byte, error) {
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	editMappings(func(all []mapping) []mapping {
		return append(all, mapping{addressOf(mapped), mapped, dir, new(sync.Map)})
	})
	return mapped, nil
}

func unmap(mapped []byte) error {
	start := addressOf(mapped)
	editMappings(func(all []mapping) []mapping {
		return slices.DeleteFunc(all, func(m mapping) bool { return m.start == start })
	})
	return unix.Munmap(mapped)
}

// change replaces mappings by a changed copy.
func editMappings(edit func([]mapping) []mapping) {
	mappingsMu.Lock()
	defer mappingsMu.Unlock()
	var all []mapping
	if old := mappings.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = edit(all)
	mappings.Store(&all)
	if len(all) == 0 {
		mappings.Store(nil)
	}
}

// addressOf takes no memory: a pointer is its own value.
func addressOf(p []byte) uintptr { return reflect.ValueOf(&p[0]).Pointer() }

// Release gives the memory of p back, which is read again from its file where it is needed
// once more. Of what is not the bytes of a Buffer in a file nothing happens.
func Release(p []byte) {
	m, from, ok := find(p)
	if !ok {
		return
	}
	page := os.Getpagesize()
	to := from + len(p)
	if to < len(m.bytes) {
		to &^= page - 1 // the next piece begins in that page
	}
	from &^= page - 1
	if from < to {
		_ = unix.Madvise(m.bytes[from:to], unix.MADV_DONTNEED)
	}
}

// createUnlinked makes a file and removes its name. A process that is killed in between leaves the file.
func createUnlinked(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".mcpc-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
