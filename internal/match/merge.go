package match

import (
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
)

// Merge merges rules that were proposed for several messages with one method and name. The result
// accepts everything that any of them accepts: of two matchers for one place it keeps the wider.
func Merge(proposals ...[]Rule) []Rule {
	var all []Rule
	var proposalOf []int // the index of each rule's proposal
	for set, rules := range proposals {
		for _, rule := range rules {
			rule.Path = slices.Clone(rule.Path)
			all = append(all, rule)
			proposalOf = append(proposalOf, set)
		}
	}
	// A value with parts in one message may have no parts in another. The key of a list in one
	// message may not identify the items of the list in another. Both need the matcher type.
	for i, whole := range all {
		for j, rule := range all {
			if proposalOf[i] != proposalOf[j] && isBelow(whole, rule) && !acceptsSameWith(whole, rule) {
				all[i].Matcher = Matcher{Kind: Type}
			}
		}
	}
	// If items are paired by a key, their indexes have no meaning.
	for _, list := range all {
		for _, rule := range all {
			if list.Matcher.Kind == Unordered && isBelow(list, rule) && rule.Path[len(list.Path)].Item {
				rule.Path[len(list.Path)] = jsonvalue.Step{All: true}
			}
		}
	}
	var merged []Rule
	for i, rule := range all {
		for _, other := range all {
			if other.Part != rule.Part || !other.Path.Overlaps(rule.Path) {
				continue
			}
			// Of two paths to one value, the path that covers the other decides.
			decidesAlone := rule.Path.Covers(other.Path) && !other.Path.Covers(rule.Path)
			if !decidesAlone {
				all[i].Matcher = wider(all[i].Matcher, other.Matcher)
			}
		}
		hasSamePlace := func(m Rule) bool { return m.Part == rule.Part && slices.Equal(m.Path, rule.Path) }
		if !slices.ContainsFunc(merged, hasSamePlace) {
			merged = append(merged, all[i])
		}
	}
	return merged
}

// isBelow reports whether rule is for a part of a value that whole may be for.
func isBelow(whole, rule Rule) bool {
	n := len(whole.Path)
	return rule.Part == whole.Part && len(rule.Path) > n && whole.Path.Overlaps(rule.Path[:n])
}

// acceptsSameWith reports whether whole accepts the same values as before if rule, from a different
// message, is added below it. This holds for Ignore, and for a list with a key if rule is for its
// items and does not cover the key.
func acceptsSameWith(whole, rule Rule) bool {
	first := rule.Path[len(whole.Path)]
	rest := rule.Path[len(whole.Path)+1:]
	if whole.Matcher.Kind != Unordered {
		return whole.Matcher.Kind == Ignore
	}
	pointer := ""
	for _, step := range rest {
		pointer = jsonraw.Pointer(pointer, step.Name)
	}
	key := whole.Matcher.Arg // a JSON pointer in the item; "" is the whole item
	coversKey := strings.HasPrefix(key+"/", pointer+"/")
	return (first.All || first.Item) && key != "" && !coversKey
}
