package validate

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A choice is what is reported of an anyOf or oneOf as a whole.
type choice struct {
	total int // alternatives
	// near are those that came equally close.
	near []alternative
	// far is how far that is. From otherTag on, values are told that would do.
	distance int
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
	distance int
	tag      int // of otherTag: which problem
}

// choose tells of alternatives, all of which failed, what helps most: the
// problems of the one that came closest, or what all of them want.
func chooseAlternative(e *jsonschema.ValidationError, kw string) tally {
	alts := make([]alternative, len(e.Causes))
	best := otherType
	for i, cause := range e.Causes {
		alts[i] = assess(collectProblems(cause), len(e.InstanceLocation))
		best = min(best, alts[i].distance)
	}
	c := &choice{total: len(alts), near: alts, distance: best}
	whole := problem{at: e.InstanceLocation, rule: kw, err: e, choice: c}
	if best >= otherValue {
		return singleProblem(whole)
	}
	c.near = slices.DeleteFunc(slices.Clone(alts), func(a alternative) bool { return a.distance != best })
	if best == otherTag && len(c.near) > 1 {
		tag := c.near[0].tagProblem().at
		isOther := func(a alternative) bool { return !slices.Equal(a.tagProblem().at, tag) }
		if !slices.ContainsFunc(c.near, isOther) { // all are told apart by the same member
			whole.at = tag
			return singleProblem(whole)
		}
	}
	c.distance = sameKind
	if won := closest(c.near); won != nil {
		return won.markClosest(alts)
	}
	return singleProblem(whole)
}

func singleProblem(p problem) tally { return tally{first: []problem{p}, total: 1} }

func (a *alternative) tagProblem() problem { return a.first[a.tag] }

// assess says how far the problems of an alternative put it from a value at
// some depth.
func assess(t tally, depth int) alternative {
	a := alternative{tally: t}
	for i, p := range t.first {
		far := sameKind
		switch p.err.ErrorKind.(type) {
		case *kind.Type, *kind.FalseSchema:
			far = otherType
		case *kind.Const, *kind.Enum:
			far = otherValue
		case *kind.AnyOf, *kind.OneOf:
			if p.choice != nil && p.choice.distance >= otherTag {
				far = otherValue
			}
		}
		if _, constant := p.err.ErrorKind.(*kind.Const); constant && len(p.at) == depth+1 && a.distance <= otherTag {
			a.distance = otherTag
			a.tag = i
		}
		if len(p.at) == depth {
			a.distance = max(a.distance, far)
		}
	}
	return a
}

// closest is the alternative with the fewest problems, if there is one.
func closest(alts []alternative) *alternative {
	var won *alternative
	tie := false
	for i := range alts {
		if won == nil || alts[i].total < won.total {
			won = &alts[i]
			tie = false
		} else if alts[i].total == won.total {
			tie = true
		}
	}
	if tie {
		return nil
	}
	return won
}

// among marks the problems as those of one alternative out of several. Those
// for another JSON type do not count: ["null", {…}] leaves an object no choice.
func (a *alternative) markClosest(alts []alternative) tally {
	others := 0
	for _, b := range alts {
		if b.distance != otherType {
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

// wants lists the values and types that a problem says would do.
func (p problem) wants() []string {
	switch k := p.err.ErrorKind.(type) {
	case *kind.Type:
		return k.Want
	case *kind.Const:
		return []string{brief(k.Want)}
	case *kind.Enum:
		var wants []string
		for _, v := range k.Want {
			wants = append(wants, brief(v))
		}
		return wants
	}
	if p.choice == nil {
		return nil
	}
	return p.choice.wants()
}

func (c *choice) wants() []string {
	var wants []string
	for _, a := range c.near {
		if c.distance == otherTag {
			wants = append(wants, a.tagProblem().wants()...)
		} else if c.distance >= otherValue {
			for _, p := range a.first {
				wants = append(wants, p.wants()...)
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(wants, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}
