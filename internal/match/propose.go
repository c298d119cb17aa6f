package match

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/hidden"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/sliceutil"
)

// The limits of Propose.
const (
	// maxProposed bounds the rules for the parts of one value. If there would be more, one rule
	// for the whole value is proposed.
	maxProposed = maxRules
	// maxKeys bounds the members that are tried as the key of a list.
	maxKeys = 16
)

// Propose returns the narrowest rules that make the first of several responses to one request equal
// to all others. From narrow to wide, the matchers are uuid, time, number with the largest distance
// from the first value, unordered, type and ignore. It proposes nothing for differences that c
// accepts already. The rules are for c.Part. It returns an error if a value is not JSON or too
// large.
func Propose(values []json.RawMessage, c Comparison) ([]Rule, error) {
	nodes := make([]*jsonvalue.Node, len(values))
	for i, raw := range values {
		var err error
		nodes[i], err = jsonvalue.Parse(raw)
		if err != nil {
			return nil, err
		}
	}
	if len(nodes) < 2 {
		return nil, nil
	}
	scope := compile(c.Rules, c.Part, c.Method, c.Name, c.RecordedRevision, c.CurrentRevision)
	p := proposer{weakestFit: c.weakestFit()}
	var rules []Rule
	for _, proposal := range p.propose(nodes, scope, 0) {
		slices.Reverse(proposal.path)
		rules = append(rules, Rule{Part: c.Part, Path: proposal.path, Matcher: proposal.matcher})
	}
	return rules, nil
}

// A proposer proposes rules. weakestFit is the weakest fit that lets a hidden value match.
type proposer struct{ weakestFit hidden.Fit }

// A proposal is a matcher and a reversed path.
type proposal struct {
	path    jsonvalue.Path
	matcher Matcher
}

// propose proposes rules for the values at one place. A missing value is nil. depth is the number of
// steps to the place.
func (p *proposer) propose(all []*jsonvalue.Node, scope branches, depth int) []proposal {
	first := all[0]
	if slices.Contains(all, nil) {
		kind := scope.kind()
		isEmpty := func(n *jsonvalue.Node) bool { return n == nil || isHollow(n, scope) }
		isIgnored := kind == Ignore || kind == Protocol
		emptyEqualsMissing := scope.allowsEmpty() && allMatch(all, isEmpty)
		if isIgnored || emptyEqualsMissing {
			return nil
		}
		return []proposal{{matcher: Matcher{Kind: Ignore}}} // no other matcher accepts a missing value
	}
	needsNoRule := func(n *jsonvalue.Node) bool {
		if n.Is(first) {
			return true
		}
		hasParts := scope.kind() == "" && len(first.Kids)+len(n.Kids) > 0 // parts are compared one by one below
		return !hasParts && compareNodes(first, n, scope, p.weakestFit).Same()
	}
	if allMatch(all, needsNoRule) {
		return nil
	}
	isOneKind := allMatch(all, func(n *jsonvalue.Node) bool { return n.Kind == first.Kind })
	var parts []proposal
	switch {
	case !isOneKind || depth == jsonvalue.MostSteps || first.IsLeaf(): // no rule can be for a part
		return []proposal{{matcher: narrowest(all)}}
	case first.Kind == jsonvalue.Object:
		parts = p.proposeMembers(all, scope, depth+1)
	default:
		parts = p.proposeItems(all, scope, depth+1)
	}
	if len(parts) > maxProposed {
		return []proposal{{matcher: narrowest(all)}}
	}
	return parts
}

// allMatch reports whether a condition is true for all nodes.
func allMatch(all []*jsonvalue.Node, matches func(*jsonvalue.Node) bool) bool {
	return !slices.ContainsFunc(all, func(n *jsonvalue.Node) bool { return !matches(n) })
}

// narrowest returns the narrowest matcher for values without common parts.
func narrowest(all []*jsonvalue.Node) Matcher {
	first := all[0]
	for _, kind := range []Kind{UUID, Time, Type} {
		m := Matcher{Kind: kind}
		if kind == Type && first.Kind == jsonvalue.Number { // a tolerance is narrower than the type
			m = toleranceMatcher(all)
		}
		if allMatch(all, func(n *jsonvalue.Node) bool { return n.Is(first) || m.accepts(first, n) }) {
			return m
		}
	}
	return Matcher{Kind: Ignore}
}

// toleranceMatcher returns the matcher for numbers with their largest distance from the first one. It
// returns Ignore if a value is not a number, and a matcher for any number if the numbers rise or
// are too large.
func toleranceMatcher(all []*jsonvalue.Node) Matcher {
	if jsonvalue.Rising(all) {
		return Matcher{Kind: Number}
	}
	largest := new(big.Rat)
	for _, n := range all {
		if n.Kind != jsonvalue.Number {
			return Matcher{Kind: Ignore}
		}
		distance := jsonvalue.Apart(all[0].Text, n.Text)
		if distance == nil {
			return Matcher{Kind: Number}
		}
		if distance.Cmp(largest) > 0 {
			largest = distance
		}
	}
	text := largest.FloatString(2 * jsonvalue.MostScale) // more digits than any distance has
	if m := numberMatcher(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")); m.Kind != "" {
		return m
	}
	return Matcher{Kind: Number}
}

// proposeMembers returns the proposals for the members of objects, by name.
func (p *proposer) proposeMembers(all []*jsonvalue.Node, scope branches, depth int) []proposal {
	var names []string
	for _, n := range all {
		for _, kid := range n.Kids {
			names = append(names, kid.Name)
		}
	}
	sliceutil.Sort(names, jsonvalue.CompareNames)
	var proposals []proposal
	for _, name := range slices.Compact(names) {
		kids := sliceutil.Map(all, func(n *jsonvalue.Node) *jsonvalue.Node { return n.Member(name) })
		proposals = append(proposals, prependStep(jsonvalue.Step{Name: name}, p.propose(kids, scope.member(name), depth))...)
	}
	return proposals
}

// prependStep adds a step at the front of the paths of proposals, which are reversed.
func prependStep(step jsonvalue.Step, proposals []proposal) []proposal {
	for i := range proposals {
		proposals[i].path = append(proposals[i].path, step)
	}
	return proposals
}

// proposeItems visits the items of lists. Lists of different lengths get one matcher.
func (p *proposer) proposeItems(all []*jsonvalue.Node, scope branches, depth int) []proposal {
	if allMatch(all, func(n *jsonvalue.Node) bool { return len(n.Kids) == len(all[0].Kids) }) {
		if proposals, ok := p.proposeReordered(all, scope, depth); ok {
			return proposals
		}
		return p.proposeInOrder(all, scope, depth)
	}
	return []proposal{{matcher: narrowest(all)}}
}

// proposeInOrder visits the items by index. Proposals for the same path in all items, with matchers
// of one kind, become one proposal with [].
func (p *proposer) proposeInOrder(all []*jsonvalue.Node, scope branches, depth int) []proposal {
	count := len(all[0].Kids)
	groups := map[string][]proposal{} // by path and kind of matcher
	var order []string                // the keys of groups
	for i := range count {
		kids := sliceutil.Map(all, func(list *jsonvalue.Node) *jsonvalue.Node { return list.Kids[i] })
		for _, found := range p.propose(kids, scope.item(i, i), depth) {
			key := string(found.matcher.Kind) + found.path.String()
			if found.matcher.Kind == Unordered {
				key += found.matcher.Arg
			}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], prependStep(jsonvalue.Step{Index: i, Item: true}, []proposal{found})...)
		}
	}
	var proposals []proposal
	for _, key := range order {
		group := groups[key]
		isForAllItems := len(group) == count && count > 1
		if !isForAllItems {
			proposals = append(proposals, group...)
			continue
		}
		widest := group[0]
		for _, other := range group {
			widest.matcher = wider(widest.matcher, other.matcher)
		}
		widest.path[len(widest.path)-1] = jsonvalue.Step{All: true} // the path is reversed: its last step is the index
		proposals = append(proposals, widest)
	}
	return proposals
}

// wider returns the narrowest matcher that accepts everything that a or b accepts.
func wider(a, b Matcher) Matcher {
	if a.Kind == Ignore || b.Kind == Ignore {
		return Matcher{Kind: Ignore}
	}
	if a.Kind != b.Kind || a.Kind == Unordered && a.Arg != b.Arg {
		return Matcher{Kind: Type}
	}
	if a.Kind != Number || a.tolerance == nil { // a nil tolerance accepts any number
		return a
	}
	if b.tolerance != nil && a.tolerance.Cmp(b.tolerance) >= 0 {
		return a
	}
	return b
}

// preferredKeys are the members to prefer as the key of list items.
var preferredKeys = []string{"id", "key", "uri", "name"}

// proposeReordered proposes the matcher unordered if all lists have the items of the first list in a
// different order. It identifies items by a key or, without a key, by the whole item. It reports
// false if the items are in the same order or cannot be paired.
func (p *proposer) proposeReordered(all []*jsonvalue.Node, scope branches, depth int) ([]proposal, bool) {
	keys := []string{""}
	if items := all[0].Kids; len(items) > 0 && items[0].Kind == jsonvalue.Object { // the key must be in each item
		for _, kid := range items[0].Kids[:min(len(items[0].Kids), maxKeys)] {
			if kid.IsLeaf() {
				keys = append(keys, jsonraw.Pointer("", kid.Name))
			}
		}
	}
	rank := func(key string) int {
		if i := slices.Index(preferredKeys, strings.TrimPrefix(key, "/")); i >= 0 {
			return i - len(preferredKeys) // negative: before all others
		}
		return len(key) // "" comes before keys that are not preferred
	}
	sliceutil.Sort(keys, func(a, b string) int { return rank(a) - rank(b) })
	for _, key := range keys {
		places, moved := pairByKey(all, key, scope.item(anyIndex, anyIndex))
		if places != nil && !moved { // a worse key could only find an order by chance
			return nil, false
		}
		if places != nil {
			proposals := []proposal{{matcher: Matcher{Kind: Unordered, Arg: key}}}
			return append(proposals, p.proposePaired(all, places, scope, depth)...), true
		}
	}
	return nil, false
}

// pairByKey returns, for each list, the places of the first list's items. It returns nil if an item
// has no key, or if the keys differ or are not unique. moved is set if an item has a different place
// than in the first list.
func pairByKey(all []*jsonvalue.Node, key string, scope branches) (places [][]int, moved bool) {
	var wanted map[uint64]int
	for _, list := range all {
		indexes := map[uint64]int{}
		for i, item := range list.Kids {
			if key != "" && item.Find(key) == nil {
				return nil, false
			}
			indexes[itemKey(item, key, scope)] = i
		}
		if wanted == nil { // the first list
			wanted = indexes
		}
		isUnique := len(indexes) == len(list.Kids)
		if !isUnique || len(indexes) < len(wanted) {
			return nil, false
		}
		place := make([]int, len(list.Kids))
		for hash, i := range wanted {
			j, found := indexes[hash]
			if !found {
				return nil, false
			}
			place[i] = j
			moved = moved || i != j
		}
		places = append(places, place)
	}
	return places, moved
}

// proposePaired visits items that were paired. Their indexes have no meaning, so the proposals for
// one item apply to all items.
func (p *proposer) proposePaired(all []*jsonvalue.Node, places [][]int, scope branches, depth int) []proposal {
	var proposals []proposal
	for i := range all[0].Kids {
		items := make([]*jsonvalue.Node, len(all))
		for n, list := range all {
			items[n] = list.Kids[places[n][i]]
		}
		each := jsonvalue.Step{All: true}
		for _, found := range prependStep(each, p.propose(items, scope.item(anyIndex, anyIndex), depth)) {
			same := func(other proposal) bool { return slices.Equal(other.path, found.path) }
			if index := slices.IndexFunc(proposals, same); index >= 0 {
				proposals[index].matcher = wider(proposals[index].matcher, found.matcher)
			} else {
				proposals = append(proposals, found)
			}
		}
	}
	return proposals
}
