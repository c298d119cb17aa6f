package match

import (
	"encoding/json"
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
			all, of = append(all, rule), append(of, set)
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
			if other.Part == rule.Part && overlap(other.Path, rule.Path) && (covers(other.Path, rule.Path) || !covers(rule.Path, other.Path)) {
				all[i].Matcher = wider(all[i].Matcher, other.Matcher)
			}
		}
		if !slices.ContainsFunc(merged, func(m Rule) bool { return m.Part == rule.Part && slices.Equal(m.Path, rule.Path) }) {
			merged = append(merged, all[i])
		}
	}
	return merged
}

// ProposeFor gives rules with which a recorded value is the same as each of several answers to the
// same request, for what differs between these. What differs from the recording in all of them
// alike is proposed for only where it is a time or a UUID on all sides: else it may be a fault.
func ProposeFor(was json.RawMessage, answers []json.RawMessage, c Comparison) ([]Rule, error) {
	now := c
	now.WasRevision = c.IsRevision
	varied, err := Propose(answers, now)
	if err != nil {
		return nil, err
	}
	all, err := Propose(append([]json.RawMessage{was}, answers...), c)
	if err != nil {
		return varied, nil // the recorded value cannot be compared
	}
	var kept []Rule
	for _, rule := range all {
		varies := slices.ContainsFunc(varied, func(v Rule) bool {
			n := len(v.Path)
			return n <= len(rule.Path) && covers(v.Path, rule.Path[:n]) && (n == len(rule.Path) || v.Matcher.Kind != Unordered)
		})
		if varies || rule.Matcher.Kind == Time || rule.Matcher.Kind == UUID {
			kept = append(kept, rule)
		}
	}
	return Merge(kept, varied), nil
}

// covers reports that each value to which the path leads is one to which wide leads.
func covers(wide, path jsonvalue.Path) bool {
	return slices.EqualFunc(wide, path, func(w, s jsonvalue.Step) bool { return w == s || w.All && s.Item })
}

// overlap reports that both paths may lead to one value.
func overlap(a, b jsonvalue.Path) bool {
	return slices.EqualFunc(a, b, func(s, o jsonvalue.Step) bool { return s == o || s.All && o.Item || s.Item && o.All })
}

// isBelow reports a rule for a part of a value that another rule may be for.
func isBelow(whole, rule Rule) bool {
	n := len(whole.Path)
	return rule.Part == whole.Part && len(rule.Path) > n && overlap(whole.Path, rule.Path[:n])
}

// staysAbove reports that a matcher lets pass what it did before where a rule of another
// message is below it: one for lists, if the rule is for their items and their key is equal.
func staysAbove(whole, rule Rule) bool {
	first, rest := rule.Path[len(whole.Path)], rule.Path[len(whole.Path)+1:]
	if whole.Matcher.Kind != Unordered {
		return whole.Matcher.Kind == Ignore
	}
	pointer := ""
	for _, step := range rest {
		pointer = jsonraw.Pointer(pointer, step.Name)
	}
	return (first.All || first.Item) && whole.Matcher.Arg != "" && !strings.HasPrefix(whole.Matcher.Arg+"/", pointer+"/")
}
