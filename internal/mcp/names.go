package mcp

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// Names collects the names of a list that may be too long for memory, and finds the few names that
// may need a warning: they look like another name, or are not ASCII.
type Names struct {
	// entries has for each name the hash of its look, the length of the name, and the name. The last
	// bit of the hash is set if the name is not ASCII.
	entries *spool.Buffer
	count   int
	buffer  []byte
	err     error
}

// NewNames returns Names that keep many names in a file in dir.
func NewNames(dir spool.Dir) *Names { return &Names{entries: dir.NewLong()} }

// Add adds the next name.
func (n *Names) Add(name string) {
	n.buffer = appendSkeleton(n.buffer[:0], foldToASCII(name))
	hash := maphash.Bytes(seed, n.buffer) &^ 1
	if !jsonraw.IsASCII(name) {
		hash |= 1
	}
	n.buffer = binary.AppendUvarint(binary.LittleEndian.AppendUint64(n.buffer[:0], hash), uint64(len(name)))
	n.buffer = append(n.buffer, name...)
	n.count++
	if n.err == nil {
		_, n.err = n.entries.Write(n.buffer)
	}
}

// Count returns the number of names.
func (n *Names) Count() int { return n.count }

// Empty removes all names.
func (n *Names) Empty() { _ = n.entries.Close() } // the content is not needed

// maxHashes is about how many hashes are in memory at a time. Tests set a smaller one.
var maxHashes = 50_000

// Special returns the names that occur several times, look like another name, or are not ASCII, and
// the index of each in the list. Lookalikes and Confusable give the same results for these names as
// for all names, and no results for the others. No name can be added after it.
func (n *Names) Special() (names []string, numbers []int, err error) {
	if n.err != nil {
		return nil, nil, n.err
	}
	entries, err := n.entries.Bytes()
	if err != nil {
		return nil, nil, err
	}
	// The hashes are compared part by part, to bound the memory: a part has the hashes in one range of
	// values.
	isRepeated := map[uint64]bool{}
	parts := uint64(n.count/maxHashes + 1)
	partSize := n.count / int(parts)
	hashes := make([]uint64, 0, partSize+partSize/16+64) // the parts are about equal in size
	for part := range parts {
		hashes = hashes[:0]
		for hash := range eachName(entries) {
			partOfHash := hash >> 32 * parts >> 32 // the upper 32 bits, scaled to the number of parts
			if partOfHash == part {
				hashes = append(hashes, hash&^1)
			}
		}
		slices.Sort(hashes)
		for i := 1; i < len(hashes); i++ {
			if hashes[i] == hashes[i-1] {
				isRepeated[hashes[i]] = true
			}
		}
	}
	number := 0
	for hash, name := range eachName(entries) {
		if hash&1 != 0 || isRepeated[hash&^1] {
			names = append(names, string(name))
			numbers = append(numbers, number)
		}
		number++
	}
	return names, numbers, nil
}

// eachName iterates over the hashes and names in entries. It releases the memory of a file that it has
// passed.
func eachName(entries []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(hash uint64, name []byte) bool) {
		released := 0
		for offset := 0; offset < len(entries); {
			hash := binary.LittleEndian.Uint64(entries[offset:])
			length, lengthBytes := binary.Uvarint(entries[offset+8:])
			start := offset + 8 + lengthBytes
			end := start + int(length)
			if !yield(hash, entries[start:end]) {
				return
			}
			offset = end
			released = spool.ReleasePassed(entries, released, offset)
		}
	}
}
