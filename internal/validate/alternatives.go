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
	// distance is the distance of nearest. If it is otherTag or more, the report lists the expected
	// values.
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

// An alternative is one branch of an anyOf or oneOf, with the problems that the value has with it.
type alternative struct {
	problemList
	distance int
	tagIndex int // for otherTag: the index of the tag's problem
}

// chooseAlternative returns the most helpful problems of alternatives that all failed: the problems
// of the closest alternative, or one problem that lists what the alternatives expect.
func chooseAlternative(e *jsonschema.ValidationError, kw string) problemList {
	alts := make([]alternative, len(e.Causes))
	best := otherType
	for i, cause := range e.Causes {
		alts[i] = measureDistance(collectProblems(cause), len(e.InstanceLocation))
		best = min(best, alts[i].distance)
	}
	c := &choice{total: len(alts), nearest: alts, distance: best}
	whole := problem{path: e.InstanceLocation, rule: kw, err: e, choice: c}
	if best >= otherValue { // a list of the expected values or types says most
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
	if winner := closest(c.nearest); winner != nil {
		return winner.markClosest(alts)
	}
	return singleProblem(whole)
}

func singleProblem(p problem) problemList { return problemList{first: []problem{p}, total: 1} }

func (a *alternative) tagProblem() problem { return a.first[a.tagIndex] }

// measureDistance returns the distance of an alternative with these problems from a value at a depth.
func measureDistance(t problemList, depth int) alternative {
	a := alternative{problemList: t}
	for i, p := range t.first {
		if len(p.path) == depth { // the problem is about the value itself
			a.distance = max(a.distance, problemDistance(p))
		}
		_, isConst := p.err.ErrorKind.(*kind.Const)
		isTag := isConst && len(p.path) == depth+1
		if isTag && a.distance <= otherTag {
			a.distance = otherTag
			a.tagIndex = i
		}
	}
	return a
}

// problemDistance returns how far a problem with the value itself makes an alternative.
func problemDistance(p problem) int {
	switch p.err.ErrorKind.(type) {
	case *kind.Type, *kind.FalseSchema:
		return otherType
	case *kind.Const, *kind.Enum:
		return otherValue
	case *kind.AnyOf, *kind.OneOf:
		if p.choice != nil && p.choice.distance >= otherTag {
			return otherValue
		}
	}
	return sameKind
}

// closest returns the alternative with the fewest problems, or nil if several have as few.
func closest(alts []alternative) *alternative {
	var best *alternative
	isTie := false
	for i := range alts {
		if best == nil || alts[i].total < best.total {
			best = &alts[i]
			isTie = false
		} else if alts[i].total == best.total {
			isTie = true
		}
	}
	if isTie {
		return nil
	}
	return best
}

// markClosest returns the problems of a, marked as problems of the closest of alts. It does not mark them
// if all other alternatives expect a different JSON type: ["null", {…}] leaves an object no choice.
func (a *alternative) markClosest(alts []alternative) problemList {
	sameType := 0 // alternatives that expect the value's JSON type
	for _, b := range alts {
		if b.distance != otherType {
			sameType++
		}
	}
	marked := problemList{first: slices.Clone(a.first), total: a.total}
	for i := range marked.first {
		p := &marked.first[i]
		if p.closestOf == 0 && sameType > 1 { // an inner choice keeps its mark
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

// wants returns the values and types that the nearest alternatives expect, each once; nil if their
// problems are of another kind.
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
	return slices.DeleteFunc(wants, func(want string) bool {
		isRepeated := seen[want]
		seen[want] = true
		return isRepeated
	})
}
