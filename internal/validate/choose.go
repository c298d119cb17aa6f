package validate

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A choice is what is told of an anyOf or oneOf as a whole.
type choice struct {
	of int // alternatives
	// values are the problems of alternatives that want other values or types.
	values []problem
	// tried has a problem of each alternative that came equally close.
	tried []problem
}

// How far an alternative is from the value. The JSON type decides first, then
// the value itself, then a member with a constant, by which schemas of several
// kinds of object tell them apart.
const (
	sameKind = iota
	otherTag
	otherValue
	otherType
)

type alternative struct {
	tally
	far int
	tag problem // of otherTag
}

// choose tells of alternatives, all of which failed, what helps most: the
// problems of the one that came closest, or what all of them want.
func choose(e *jsonschema.ValidationError, kw string) tally {
	alts := make([]alternative, len(e.Causes))
	best := otherType
	for i, cause := range e.Causes {
		alts[i] = assess(gather(cause), len(e.InstanceLocation))
		best = min(best, alts[i].far)
	}
	whole := problem{at: e.InstanceLocation, rule: kw, err: e, choice: &choice{of: len(alts)}}
	var near []alternative
	for _, a := range alts {
		if a.far == best && best < otherValue {
			near = append(near, a)
		}
	}
	switch {
	case best >= otherValue:
		for _, a := range alts {
			whole.choice.values = append(whole.choice.values, a.first...)
		}
	case best == otherTag && len(near) > 1 && sameTag(near):
		whole.at = near[0].tag.at
		for _, a := range near {
			whole.choice.values = append(whole.choice.values, a.tag)
		}
	default:
		if won := closest(near); won != nil {
			return won.among(alts)
		}
		for _, a := range near {
			whole.choice.tried = append(whole.choice.tried, a.first[0])
		}
	}
	return tally{first: []problem{whole}, total: 1}
}

// assess says how far the problems of an alternative put it from a value at
// some depth.
func assess(t tally, depth int) alternative {
	a := alternative{tally: t}
	for _, p := range t.first {
		far := sameKind
		switch p.err.ErrorKind.(type) {
		case *kind.Type, *kind.FalseSchema:
			far = otherType
		case *kind.Const, *kind.Enum:
			far = otherValue
		case *kind.AnyOf, *kind.OneOf:
			if p.choice != nil && p.choice.values != nil {
				far = otherValue
			}
		}
		if _, constant := p.err.ErrorKind.(*kind.Const); constant && len(p.at) == depth+1 && a.far <= otherTag {
			a.far, a.tag = otherTag, p
		}
		if len(p.at) == depth {
			a.far = max(a.far, far)
		}
	}
	return a
}

// closest is the alternative with the fewest problems, if there is one.
func closest(alts []alternative) *alternative {
	var won *alternative
	tie := false
	for i := range alts {
		switch {
		case won == nil || alts[i].total < won.total:
			won, tie = &alts[i], false
		case alts[i].total == won.total:
			tie = true
		}
	}
	if tie {
		return nil
	}
	return won
}

// among marks the problems as those of one alternative out of several. Those
// for another JSON type do not count: in ["null", {…}] nobody missed a choice.
func (a *alternative) among(alts []alternative) tally {
	others := 0
	for _, b := range alts {
		if b.far != otherType {
			others++
		}
	}
	marked := tally{first: slices.Clone(a.first), total: a.total}
	for i := range marked.first {
		if p := &marked.first[i]; p.closest == 0 && others > 1 {
			p.closest = len(alts)
		}
	}
	return marked
}

// sameTag says whether alternatives are told apart by the same member.
func sameTag(alts []alternative) bool {
	for _, a := range alts {
		if !slices.Equal(a.tag.at, alts[0].tag.at) {
			return false
		}
	}
	return true
}

// wants lists the values and types that a problem says would do.
func (p problem) wants() []string {
	switch k := p.err.ErrorKind.(type) {
	case *kind.Type:
		return k.Want
	case *kind.Const:
		return []string{brief(k.Want)}
	case *kind.Enum:
		return briefAll(k.Want)
	}
	if p.choice == nil {
		return nil
	}
	var wants []string
	for _, v := range p.choice.values {
		wants = append(wants, v.wants()...)
	}
	return distinct(wants)
}

// distinct drops what was there before.
func distinct(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}
