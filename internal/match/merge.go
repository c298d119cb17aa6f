package match

import (
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
)

// Merge makes one set of rules of those that were proposed for several messages of one
// method and name. What each of them lets pass, the merged ones do as well: of two matchers
// for one place the result is the wider one.
func Merge(proposals ...[]Rule) []Rule {
	var all []Rule
	var of []int // the set that each was in
	for set, rules := range proposals {
		for _, rule := range rules {
			rule.Path = slices.Clone(rule.Path)
			all = append(all, rule)
			of = append(of, set)
		}
	}
	// What has parts in one message may have none in another, or items in their order that
	// may not be told by the key that another message needs.
	for i, whole := range all {
		for j, rule := range all {
			if of[i] != of[j] && isBelow(whole, rule) && !staysAbove(whole, rule) {
				all[i].Matcher = Matcher{Kind: Type}
			}
		}
	}
	// Where items are told by a key no index means anything.
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
			// Of two paths to one value, that counts which the other covers.
			if other.Part == rule.Part && other.Path.Overlaps(rule.Path) &&
				(other.Path.Covers(rule.Path) || !rule.Path.Covers(other.Path)) {
				all[i].Matcher = wider(all[i].Matcher, other.Matcher)
			}
		}
		if !slices.ContainsFunc(merged, func(m Rule) bool { return m.Part == rule.Part && slices.Equal(m.Path, rule.Path) }) {
			merged = append(merged, all[i])
		}
	}
	return merged
}

// isBelow reports a rule for a part of a value that another rule may be for.
func isBelow(whole, rule Rule) bool {
	n := len(whole.Path)
	return rule.Part == whole.Part && len(rule.Path) > n && whole.Path.Overlaps(rule.Path[:n])
}

// staysAbove reports that a matcher lets pass what it did before where a rule of another
// message is below it: one for lists, if the rule is for their items and their key is equal.
func staysAbove(whole, rule Rule) bool {
	first := rule.Path[len(whole.Path)]
	rest := rule.Path[len(whole.Path)+1:]
	if whole.Matcher.Kind != Unordered {
		return whole.Matcher.Kind == Ignore
	}
	pointer := ""
	for _, step := range rest {
		pointer = jsonraw.Pointer(pointer, step.Name)
	}
	return (first.All || first.Item) && whole.Matcher.Arg != "" && !strings.HasPrefix(whole.Matcher.Arg+"/", pointer+"/")
}
