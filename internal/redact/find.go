package redact

import (
	"cmp"
	"slices"
)

// A Found is a secret in a text, and how it was recognized.
type Found struct {
	From, To int
	Kind     FoundKind
	// Secret is the value to hide, which must never be shown. It is "" if the secret was found by
	// its form.
	Secret string
}

// A FoundKind says how a secret was recognized.
type FoundKind string

// FoundKnown is a known value, FoundURL a parameter or the user information of a URL or a form,
// FoundName a value with the name of a secret, FoundToken a token of a well-known service, and
// FoundKey a private key.
const (
	FoundKnown FoundKind = "known"
	FoundURL   FoundKind = "url"
	FoundName  FoundKind = "name"
	FoundToken FoundKind = "token"
	FoundKey   FoundKind = "key"
)

// Find returns the ranges that Bytes would hide, sorted and without overlap. It learns values as
// Bytes does.
func (s *Secrets) Find(raw []byte) []Found {
	var all []Found
	addKnown := func(learn bool) {
		sightings, _ := s.findSightings(raw, learn)
		for _, p := range sightings {
			all = append(all, Found{p.begin, p.end, p.kind, p.secret})
		}
	}
	const learnNamed = true
	addKnown(!learnNamed)
	for _, rule := range byForm {
		e := rule.hide(raw, s.Variables)
		s.learnEdit(e)
		for _, place := range e.replaced {
			all = append(all, Found{From: place[0], To: place[1], Kind: rule.kind})
		}
	}
	addKnown(learnNamed) // values learned from their names may occur elsewhere, too
	return mergeFinds(all)
}

// mergeFinds merges overlapping finds and sorts them by position. A merged find has the kind and
// the secret of the find that is first in each, because each begins with the surest finds.
func mergeFinds(each []Found) []Found {
	order := make([]int, len(each))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(each[a].From, each[b].From) })
	first := 0 // the index in each of the find whose kind the last merged one has
	var all []Found
	for _, i := range order {
		last := len(all) - 1
		if last < 0 || each[i].From >= all[last].To {
			all = append(all, each[i])
			first = i
			continue
		}
		all[last].To = max(all[last].To, each[i].To)
		if i < first {
			all[last].Kind = each[i].Kind
			all[last].Secret = each[i].Secret
			first = i
		}
	}
	return all
}
