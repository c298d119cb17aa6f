package mcp

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// Names are those of a list that may be too long for memory. It finds the few of which more is
// to be said than of one name alone.
type Names struct {
	// kept has the hash of each name's look, whose last bit is set where the name is not ASCII,
	// the length of the name and the name.
	kept  *spool.Buffer
	count int
	look  []byte
	err   error
}

// NewNames returns Names that keep many in a file in dir.
func NewNames(dir spool.Dir) *Names { return &Names{kept: dir.NewLong()} }

// Add adds the next name.
func (n *Names) Add(name string) {
	n.look = appendLook(n.look[:0], foldToASCII(name))
	hash := maphash.Bytes(seed, n.look) &^ 1
	if !jsonraw.IsASCII(name) {
		hash |= 1
	}
	n.look = binary.AppendUvarint(binary.LittleEndian.AppendUint64(n.look[:0], hash), uint64(len(name)))
	n.look = append(n.look, name...)
	n.count++
	if n.err == nil {
		_, n.err = n.kept.Write(n.look)
	}
}

// Count is the number of names.
func (n *Names) Count() int { return n.count }

// Empty forgets all names.
func (n *Names) Empty() { _ = n.kept.Close() } // what was in it is not needed

// atOnce is about how many names are compared with each other at once: so many hashes are in
// memory. Tests have a smaller one.
var maxHashes = 50_000

// Special returns those names that stand several times in the list, look like another one, or
// are not of ASCII, and the number of each in the list, from 0. Lookalikes and Confusable say of
// them what they say of them among all, and nothing of the others. No name can be added any more.
func (n *Names) Special() (names []string, numbers []int, err error) {
	if n.err != nil {
		return nil, nil, n.err
	}
	all, err := n.kept.Bytes()
	if err != nil {
		return nil, nil, err
	}
	twice := map[uint64]bool{}
	parts := uint64(n.count/maxHashes + 1)
	each := n.count / int(parts)
	looks := make([]uint64, 0, each+each/16+64) // the parts are about as large as each other
	for part := range parts {
		looks = looks[:0]
		for look := range eachName(all) {
			if look>>32*parts>>32 == part {
				looks = append(looks, look&^1)
			}
		}
		slices.Sort(looks)
		for i := 1; i < len(looks); i++ {
			if looks[i] == looks[i-1] {
				twice[looks[i]] = true
			}
		}
	}
	number := 0
	for look, name := range eachName(all) {
		if look&1 != 0 || twice[look&^1] {
			names = append(names, string(name))
			numbers = append(numbers, number)
		}
		number++
	}
	return names, numbers, nil
}

// eachName gives what was kept of each name. The memory of a file is released behind it.
func eachName(all []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(look uint64, name []byte) bool) {
		released := 0
		for at := 0; at < len(all); {
			look := binary.LittleEndian.Uint64(all[at:])
			length, size := binary.Uvarint(all[at+8:])
			from := at + 8 + size
			at = from + int(length)
			if !yield(look, all[from:at]) {
				return
			}
			released = spool.Passed(all, released, at)
		}
	}
}
