package validate

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A choice is the report on an anyOf or oneOf as a whole.
type choice struct {
	total int // the number of alternatives
	// near are the closest alternatives, all at the same distance.
	near []alternative
	// distance is the distance of near. From otherTag on, the report lists the expected values.
	distance int
}

// The distances of an alternative from the value. A wrong JSON type is the largest, then a wrong
// value, then a wrong constant in a member (a tag that distinguishes kinds of objects).
const (
	sameKind = iota
	otherTag
	otherValue
	otherType
)

type alternative struct {
	tally
	distance int
	tag      int // for otherTag: the index of the tag's problem
}

// chooseAlternative returns the most helpful problems of alternatives that all failed: those of the
// closest alternative, or one problem that lists what the alternatives expect.
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
		if !slices.ContainsFunc(c.near, isOther) { // all have the same tag
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

// assess returns the distance of an alternative with these problems from a value at a depth.
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

// closest returns the alternative with the fewest problems, or nil if several have as few.
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

// markClosest returns the problems, marked as those of the closest alternative. Alternatives of a
// different JSON type do not count: ["null", {…}] leaves an object no choice.
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

// wants returns the values and types that would solve the problem.
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
