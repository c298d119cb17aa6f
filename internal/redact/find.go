package redact

import (
	"cmp"
	"slices"
)

// A Found is a secret in a text, and what it is told by.
type Found struct {
	From, To int
	Kind     FoundKind
	// Secret is the known value, which must never be shown. It is "" where there is none.
	Secret string
}

// A FoundKind says by what a secret is told.
type FoundKind string

// The kinds of what is found: a known value, a parameter or the user information of a
// URL or a form, what is named like a secret, what looks like a token, and a private key.
const (
	FoundKnown FoundKind = "known"
	FoundURL   FoundKind = "url"
	FoundName  FoundKind = "name"
	FoundToken FoundKind = "token"
	FoundKey   FoundKind = "key"
)

// Find returns the ranges that Bytes would hide, sorted and without overlap.
func (s *Secrets) Find(raw []byte) []Found {
	known := func(learn bool) (all []Found) {
		places, _ := s.sightings(raw, learn)
		for _, p := range places {
			all = append(all, Found{p.from, p.to, p.kind, p.secret})
		}
		return all
	}
	all := known(false)
	for _, look := range byForm {
		e := look.hide(raw, s.Variables)
		s.learnEdit(e)
		for _, at := range e.replaced {
			all = append(all, Found{From: at[0], To: at[1], Kind: look.kind})
		}
	}
	return joined(append(all, known(true)...)) // what was learnt by its name may stand elsewhere, too
}

// joined merges overlapping finds, in order of position. A merged find has the kind of the
// one that was found first.
func joined(each []Found) (all []Found) {
	order := make([]int, len(each))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(each[a].From, each[b].From) })
	first := 0
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
