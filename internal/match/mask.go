package match

import (
	"hash/maphash"
	"slices"

	"mcpc/internal/match/jsonvalue"
)

// A mask computes hashes of values without the parts that matchers ignore. handles collects the
// hashes of handles. hasMatcher is set if a matcher decides on a value.
type mask struct {
	handles    maphash.Hash
	hasMatcher bool
}

// maskedHash returns the hash of a value without the parts that matchers ignore.
func maskedHash(n *jsonvalue.Node, scope branches) uint64 {
	if len(scope) == 0 {
		return n.Hash
	}
	m := mask{handles: jsonvalue.NewHash()}
	return m.hash(n, scope)
}

// hash returns the hash of a value, or 0 if a matcher decides on the value. scope has the branches
// of the value.
func (m *mask) hash(n *jsonvalue.Node, scope branches) uint64 {
	if len(scope) == 0 {
		return n.Hash
	}
	switch kind := scope.kind(); kind {
	case Ignore, Protocol:
		return 0
	case Bound:
		if !n.IsLeaf() {
			return n.Hash
		}
		jsonvalue.WriteUint(&m.handles, n.Hash)
		return 0
	case "", Unordered:
		return m.hashParts(n, scope, kind == Unordered)
	}
	m.hasMatcher = true
	return 0
}

// hashParts returns the hash of a value from its members or items.
func (m *mask) hashParts(n *jsonvalue.Node, scope branches, isUnordered bool) uint64 {
	h := jsonvalue.NewHash()
	h.WriteByte(n.Kind)
	switch n.Kind {
	case jsonvalue.Object:
		for _, kid := range n.Kids {
			under := scope.member(kid.Name)
			kind := under.kind()
			equalsMissing := kind == Ignore || kind == Protocol || under.allowsEmpty() && isHollow(kid, under)
			if equalsMissing { // the same hash with and without the member
				continue
			}
			jsonvalue.WriteName(&h, kid.Name)
			jsonvalue.WriteUint(&h, m.hash(kid, under))
		}
	case jsonvalue.Array:
		hashes := make([]uint64, len(n.Kids))
		for i, kid := range n.Kids {
			index := i
			if isUnordered {
				index = anyIndex
			}
			hashes[i] = m.hash(kid, scope.item(index, index))
		}
		if isUnordered {
			m.hasMatcher = true // items with one key are paired in order, which the hash ignores
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
