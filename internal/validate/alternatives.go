package validate

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A choice is the report on an anyOf or oneOf as a whole.
type choice struct {
	total int // the number of alternatives
	// nearest are the closest alternatives, all at the same distance.
	nearest []alternative
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
	problemList
	distance int
	tagIndex int // for otherTag: the index of the tag's problem
}

// chooseAlternative returns the most helpful problems of alternatives that all failed: those of the
// closest alternative, or one problem that lists what the alternatives expect.
func chooseAlternative(e *jsonschema.ValidationError, kw string) problemList {
	alts := make([]alternative, len(e.Causes))
	best := otherType
	for i, cause := range e.Causes {
		alts[i] = measureDistance(collectProblems(cause), len(e.InstanceLocation))
		best = min(best, alts[i].distance)
	}
	c := &choice{total: len(alts), nearest: alts, distance: best}
	whole := problem{path: e.InstanceLocation, rule: kw, err: e, choice: c}
	if best >= otherValue {
		return singleProblem(whole)
	}
	c.nearest = slices.DeleteFunc(slices.Clone(alts), func(a alternative) bool { return a.distance != best })
	if best == otherTag && len(c.nearest) > 1 {
		tag := c.nearest[0].tagProblem().path
		isOther := func(a alternative) bool { return !slices.Equal(a.tagProblem().path, tag) }
		if !slices.ContainsFunc(c.nearest, isOther) { // all have the same tag
			whole.path = tag
			return singleProblem(whole)
		}
	}
	c.distance = sameKind
	if won := closest(c.nearest); won != nil {
		return won.markClosest(alts)
	}
	return singleProblem(whole)
}

func singleProblem(p problem) problemList { return problemList{first: []problem{p}, total: 1} }

func (a *alternative) tagProblem() problem { return a.first[a.tagIndex] }

// measureDistance returns the distance of an alternative with these problems from a value at a depth.
func measureDistance(t problemList, depth int) alternative {
	a := alternative{problemList: t}
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
		if _, constant := p.err.ErrorKind.(*kind.Const); constant && len(p.path) == depth+1 && a.distance <= otherTag {
			a.distance = otherTag
			a.tagIndex = i
		}
		if len(p.path) == depth {
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
func (a *alternative) markClosest(alts []alternative) problemList {
	others := 0
	for _, b := range alts {
		if b.distance != otherType {
			others++
		}
	}
	marked := problemList{first: slices.Clone(a.first), total: a.total}
	for i := range marked.first {
		if p := &marked.first[i]; p.closestOf == 0 && others > 1 {
			p.closestOf = len(alts)
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
	for _, a := range c.nearest {
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
