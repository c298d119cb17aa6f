package match

import (
	"hash/maphash"
	"slices"

	"mcpc/internal/match/jsonvalue"
)

// A mask computes hashes of values without the parts that matchers ignore. handles collects the
// hashes of handles. ruled is set if a matcher decides on a value.
type mask struct {
	handles maphash.Hash
	ruled   bool
}

// masked returns the hash of a value without the parts that matchers ignore.
func masked(n *jsonvalue.Node, on branches) uint64 {
	if len(on) == 0 {
		return n.Hash
	}
	m := mask{handles: jsonvalue.NewHash()}
	return m.hash(n, on)
}

// hash returns the hash of a value, 0 for a value that a matcher decides on. on are the branches of
// the value.
func (m *mask) hash(n *jsonvalue.Node, on branches) uint64 {
	if len(on) == 0 {
		return n.Hash
	}
	switch kind := on.kind(); kind {
	case Ignore, Protocol:
		return 0
	case Bound:
		if !n.IsLeaf() {
			return n.Hash
		}
		jsonvalue.WriteUint(&m.handles, n.Hash)
		return 0
	case "", Unordered:
		return m.parts(n, on, kind == Unordered)
	}
	m.ruled = true
	return 0
}

// parts returns the hash of a value from its members or items.
func (m *mask) parts(n *jsonvalue.Node, on branches, unordered bool) uint64 {
	h := jsonvalue.NewHash()
	h.WriteByte(n.Kind)
	switch n.Kind {
	case jsonvalue.Object:
		for _, kid := range n.Kids {
			under := on.member(kid.Name)
			if kind := under.kind(); kind == Ignore || kind == Protocol || under.empty() && hollow(kid, under) {
				continue
			}
			jsonvalue.WriteName(&h, kid.Name)
			jsonvalue.WriteUint(&h, m.hash(kid, under))
		}
	case jsonvalue.Array:
		hashes := make([]uint64, len(n.Kids))
		for i, kid := range n.Kids {
			at := i
			if unordered {
				at = -1
			}
			hashes[i] = m.hash(kid, on.item(at, at))
		}
		m.ruled = m.ruled || unordered
		if unordered {
			slices.Sort(hashes)
		}
		for _, hash := range hashes {
			jsonvalue.WriteUint(&h, hash)
		}
	default:
		return n.Hash
	}
	return h.Sum64()
}
