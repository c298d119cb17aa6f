package match

import "mcpc/internal/match/jsonvalue"

// items compares lists in order. If the lengths differ, it pairs the equal items at both ends
// first, so that an inserted item is one difference.
func (c *comparer) items(was, is *jsonvalue.Node, at *frame, on branches) {
	a := was.Kids
	b := is.Kids
	shorter := min(len(a), len(b))
	from := 0
	to := 0
	if len(a) != len(b) {
		same := func(i, j int) bool { return masked(a[i], on.item(i, j)) == masked(b[j], on.item(i, j)) }
		for from < shorter && same(from, from) {
			from++
		}
		for to < shorter-from && same(len(a)-1-to, len(b)-1-to) {
			to++
		}
	}
	pair := func(i, j int) {
		c.pair(a[i], b[j], &frame{up: at, was: i, is: j, item: true}, on.item(i, j))
	}
	for i := range shorter - to {
		pair(i, i)
	}
	for i := shorter - to; i < len(a)-to; i++ {
		c.differ(&frame{up: at, was: i, is: i, item: true}, a[i], nil, Removed, float64(a[i].Leaves))
	}
	for i := shorter - to; i < len(b)-to; i++ {
		c.differ(&frame{up: at, was: i, is: i, item: true}, nil, b[i], Added, float64(b[i].Leaves))
	}
	for i := to; i > 0; i-- {
		pair(len(a)-i, len(b)-i)
	}
}

// unordered pairs the items with the same key. Items that share a key are paired in order. If items
// moved and the lists are equally long, it counts the list as accepted.
func (c *comparer) unordered(was, is *jsonvalue.Node, at *frame, on branches, rule *Rule) {
	a := was.Kids
	b := is.Kids
	inner := on.item(-1, -1)
	places := map[uint64][]int{}
	for j, item := range b {
		key := keyOf(item, rule.Matcher.Arg, inner)
		places[key] = append(places[key], j)
	}
	paired := make([]bool, len(b))
	moved := false
	for i, item := range a {
		key := keyOf(item, rule.Matcher.Arg, inner)
		if len(places[key]) == 0 {
			c.differ(&frame{up: at, was: i, is: i, item: true}, item, nil, Removed, float64(item.Leaves))
			continue
		}
		j := places[key][0]
		places[key] = places[key][1:]
		paired[j] = true
		moved = moved || i != j
		c.pair(item, b[j], &frame{up: at, was: i, is: j, item: true}, inner)
	}
	for j, item := range b {
		if !paired[j] {
			c.differ(&frame{up: at, was: j, is: j, item: true}, nil, item, Added, float64(item.Leaves))
		}
	}
	if moved && len(a) == len(b) {
		c.pass(at, Unordered, rule)
	}
}

// keyOf returns the hash of an item's key, which is the value at pointer. It returns 0 if the item
// has no key. If pointer is "", the key is the whole item without the values that matchers ignore.
func keyOf(item *jsonvalue.Node, pointer string, on branches) uint64 {
	if pointer == "" {
		return masked(item, on)
	}
	if key := item.Find(pointer); key != nil {
		return key.Hash
	}
	return 0
}
