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

// canMap reports whether this system can map a file into memory.
const canMap = true

// mappings are the mapped files of Buffers. Release frees the memory of no other slice. A reader
// loads the pointer without a lock; mappingsMu serializes the changes.
var (
	mappings   atomic.Pointer[[]mapping]
	mappingsMu sync.Mutex
)

// A mapping is a file that is mapped into memory.
type mapping struct {
	// start is the address of bytes[0].
	start uintptr
	bytes []byte
	// dir is the directory of the file.
	dir Dir
	// notes has the facts that Annotate stored, by offset in bytes.
	notes *sync.Map
}

// findMapping returns the mapping that has the bytes of p, and their offset there.
func findMapping(p []byte) (m mapping, offset int, ok bool) {
	all := mappings.Load()
	if all == nil || len(p) == 0 {
		return m, 0, false
	}
	address := addressOf(p)
	for _, m := range *all {
		if address >= m.start && address-m.start < uintptr(len(m.bytes)) {
			return m, int(address - m.start), true
		}
	}
	return m, 0, false
}

// Annotate stores a fact about the bytes that begin at p, if p is in a mapped file, whose bytes never
// change.
func Annotate(p []byte, fact any) {
	if m, offset, ok := findMapping(p); ok {
		m.notes.Store(offset, fact)
	}
}

// Annotation returns the fact about the bytes that begin at p, or nil.
func Annotation(p []byte) any {
	if m, offset, ok := findMapping(p); ok {
		fact, _ := m.notes.Load(offset)
		return fact
	}
	return nil
}

// NewBeside returns a Buffer of about size bytes for a value made from p. Its file is in the directory
// of p's file; if p is in no file, it stays in memory.
func NewBeside(p []byte, size int64) *Buffer {
	m, _, _ := findMapping(p)
	return m.dir.New(size)
}

// Free unmaps p, if p is a whole slice that Bytes returned from a file. That Buffer must not be
// closed then. It does nothing for any other slice.
func Free(p []byte) {
	if m, offset, ok := findMapping(p); ok && offset == 0 && len(p) == len(m.bytes) {
		_ = unmap(m.bytes)
	}
}

// mapFile maps f, which the caller may close afterwards.
func mapFile(f *os.File, dir Dir, size int) ([]byte, error) {
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	editMappings(func(all []mapping) []mapping {
		return append(all, mapping{start: addressOf(mapped), bytes: mapped, dir: dir, notes: new(sync.Map)})
	})
	return mapped, nil
}

// unmap removes the mapping of a file from mappings, and then unmaps the file.
func unmap(mapped []byte) error {
	start := addressOf(mapped)
	editMappings(func(all []mapping) []mapping {
		return slices.DeleteFunc(all, func(m mapping) bool { return m.start == start })
	})
	return unix.Munmap(mapped)
}

// editMappings replaces mappings by the result of edit, which gets a copy.
func editMappings(edit func([]mapping) []mapping) {
	mappingsMu.Lock()
	defer mappingsMu.Unlock()
	var all []mapping
	if old := mappings.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = edit(all)
	if len(all) == 0 {
		mappings.Store(nil) // findMapping then compares no addresses
		return
	}
	mappings.Store(&all)
}

// addressOf returns the address of the first byte of p. It allocates no memory.
func addressOf(p []byte) uintptr { return reflect.ValueOf(&p[0]).Pointer() }

// Release frees the memory of p, if p is in a mapped file. The system reads it again from the file
// when it is used. It does nothing for any other slice.
func Release(p []byte) {
	m, from, ok := findMapping(p)
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
