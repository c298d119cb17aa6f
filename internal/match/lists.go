package match

import "mcpc/internal/match/jsonvalue"

// compareItems compares lists in order. If the lengths differ, it pairs the equal items at both ends
// first, so that an inserted item is one difference.
func (c *comparer) compareItems(recorded, current *jsonvalue.Node, place *frame, scope branches) {
	a := recorded.Kids
	b := current.Kids
	shorter := min(len(a), len(b))
	equalStart := 0 // only limits equalEnd: an item must not be in both
	equalEnd := 0
	if len(a) != len(b) {
		same := func(i, j int) bool { return maskedHash(a[i], scope.item(i, j)) == maskedHash(b[j], scope.item(i, j)) }
		for equalStart < shorter && same(equalStart, equalStart) {
			equalStart++
		}
		for equalEnd < shorter-equalStart && same(len(a)-1-equalEnd, len(b)-1-equalEnd) {
			equalEnd++
		}
	}
	pair := func(i, j int) {
		c.compare(a[i], b[j], place.item(i, j), scope.item(i, j))
	}
	for i := range shorter - equalEnd {
		pair(i, i)
	}
	// Between the paired start and the equal end, the longer list has items without a counterpart.
	for i := shorter - equalEnd; i < len(a)-equalEnd; i++ {
		c.addDifference(place.item(i, i), a[i], nil, Removed, float64(a[i].Leaves))
	}
	for i := shorter - equalEnd; i < len(b)-equalEnd; i++ {
		c.addDifference(place.item(i, i), nil, b[i], Added, float64(b[i].Leaves))
	}
	for i := equalEnd; i > 0; i-- {
		pair(len(a)-i, len(b)-i)
	}
}

// item returns the place of an item of the list at f, by its indexes on both sides.
func (f *frame) item(recorded, current int) *frame {
	return &frame{parent: f, recordedIndex: recorded, currentIndex: current, isItem: true}
}

// compareUnordered pairs the items with the same key. Items that share a key are paired in order.
// If items moved and the lists are equally long, it counts the list as accepted.
func (c *comparer) compareUnordered(recorded, current *jsonvalue.Node, place *frame, scope branches, rule *Rule) {
	a := recorded.Kids
	b := current.Kids
	inner := scope.item(anyIndex, anyIndex)
	places := map[uint64][]int{}
	for j, item := range b {
		key := itemKey(item, rule.Matcher.Arg, inner)
		places[key] = append(places[key], j)
	}
	paired := make([]bool, len(b)) // by index in b
	moved := false
	for i, item := range a {
		key := itemKey(item, rule.Matcher.Arg, inner)
		if len(places[key]) == 0 {
			c.addDifference(place.item(i, i), item, nil, Removed, float64(item.Leaves))
			continue
		}
		j := places[key][0]
		places[key] = places[key][1:]
		paired[j] = true
		moved = moved || i != j
		c.compare(item, b[j], place.item(i, j), inner)
	}
	for j, item := range b {
		if !paired[j] {
			c.addDifference(place.item(j, j), nil, item, Added, float64(item.Leaves))
		}
	}
	// In lists of different lengths the added or removed item alone can have moved the others.
	if moved && len(a) == len(b) {
		c.accept(place, Unordered, rule)
	}
}

// itemKey returns the hash of an item's key, which is the value at pointer. It returns 0 if the item
// has no key: all items without one share it. If pointer is "", the key is the whole item without the
// values that matchers ignore.
func itemKey(item *jsonvalue.Node, pointer string, scope branches) uint64 {
	if pointer == "" {
		return maskedHash(item, scope)
	}
	if key := item.Find(pointer); key != nil {
		return key.Hash
	}
	return 0
}
