package shape

import (
	"sync"

	"mcpc/internal/jsonraw"
)

// tapes are used again: a list has many pages.
var tapes = sync.Pool{New: func() any { return new(jsonraw.Tape) }}

// conforms reports a value in which a checker finds nothing, in one pass and without memory for
// its parts. What it does not report has to be checked.
func conforms(k *kind, revision int, raw []byte) bool {
	t := tapes.Get().(*jsonraw.Tape)
	defer tapes.Put(t)
	return k != nil && len(raw) > 0 && len(raw) <= longestTape && t.Read(raw) && (&judge{revision, t}).value(k, 0)
}

// longestTape bounds a value that is taken apart at once: the memory stays in use.
const longestTape = 1 << 20

type judge struct {
	revision int
	tape     *jsonraw.Tape
}

// value judges the value of a node as checker.value does.
func (j *judge) value(k *kind, i int) bool {
	switch t := j.tape; {
	case k == nil || k.word == "any":
		return true
	case k.several != nil:
		return j.oneOf(k, i)
	case k.items != nil:
		return j.list(k, i)
	case k.values != nil:
		for at, end := i+1, t.Next(i); t.Kind(i) == '{' && at < end; at = t.Next(at + 1) {
			if !j.value(k.values, at+1) {
				return false
			}
		}
		return t.Kind(i) == '{'
	case k.members != nil:
		return t.Kind(i) == '{' && j.members(k, i)
	default:
		return k.holds(t.Raw(i))
	}
}

// oneOf judges as checker.oneOf does. Where objects name their kind, one that names none is left
// to it.
func (j *judge) oneOf(k *kind, i int) bool {
	there, name := k.union(j.revision)
	for _, o := range there {
		if (name == "" || o.word != "" || o.isNamed(name, j.revision)) && j.value(o, i) {
			return true
		}
	}
	c := &checker{revision: j.revision}
	c.value(k, j.tape.Raw(i))
	return len(c.found) == 0
}

func (j *judge) list(k *kind, i int) bool {
	t, n := j.tape, 0
	if t.Kind(i) != '[' {
		return false
	}
	for at, end := i+1, t.Next(i); at < end; at = t.Next(at) {
		if n++; !j.value(k.items, at) {
			return false
		}
	}
	return k.most == 0 || n <= k.most
}

func (j *judge) members(k *kind, i int) bool {
	for n := range k.members {
		if m := &k.members[n]; m.in(j.revision) && !j.member(m, i) {
			return false
		}
	}
	return true
}

// member judges a member of the object i.
func (j *judge) member(m *member, i int) bool {
	if at := j.tape.Member(i, m.name); at > 0 {
		return j.value(m.kind, at)
	}
	return m.may || m.kind == nil || m.kind.optional()
}
