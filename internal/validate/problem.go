package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// MaxFindings is how many violations Check tells; a person reads no more, and
// a hostile value has any number of them.
const MaxFindings = 20

// RuleMore is the rule of the finding that says how many violations were left
// out. Its Got is the number.
const RuleMore = wire.RuleMore

// A problem is one violation. Its text is not written before it is known to be
// among those that are told.
type problem struct {
	at   []string // where in the value
	rule string
	// err is the library's error; of an anyOf or oneOf it has the branches.
	err *jsonschema.ValidationError
	// member is the one of several names in err that this problem is about, and
	// with the one that makes it one.
	member, with string
	// closest, if not 0, is how many alternatives there were to choose from.
	closest int
	// choice is set where the alternatives are told together.
	choice *choice
}

// A tally is the first problems in order, and how many there are in all. It
// stays small however large a tree of errors it is made from.
type tally struct {
	first []problem
	total int
}

func (t *tally) add(p problem) {
	if len(t.first) == MaxFindings && compareProblems(p, t.first[MaxFindings-1]) > 0 {
		t.total++
		return
	}
	i, known := slices.BinarySearchFunc(t.first, p, compareProblems)
	if known {
		return // the same subschema, by two ways
	}
	t.total++
	t.first = slices.Insert(t.first, i, p)
	t.first = t.first[:min(len(t.first), MaxFindings)]
}

func (t *tally) merge(other tally) {
	if t.total == 0 {
		*t = other
		return
	}
	before := t.total
	for _, p := range other.first {
		t.add(p)
	}
	added := t.total - before
	t.total = before + added + other.total - len(other.first)
}

// compareProblems orders by place. The library goes through objects in no
// particular order; findings must come out the same in every run.
func compareProblems(a, b problem) int {
	byPlace := slices.CompareFunc(a.at, b.at, func(x, y string) int {
		if len(x) != len(y) && isIndex(x) && isIndex(y) {
			return cmp.Compare(len(x), len(y)) // 9 comes before 10
		}
		return cmp.Compare(x, y)
	})
	return cmp.Or(
		byPlace,
		cmp.Compare(a.rule, b.rule),
		cmp.Compare(a.member, b.member),
		cmp.Compare(a.with, b.with),
		cmp.Compare(a.err.SchemaURL, b.err.SchemaURL),
	)
}

// findings returns what a tree of errors says, and how many violations there are.
func (x explainer) findings(root *jsonschema.ValidationError) (out []wire.Finding, total int) {
	t := collectProblems(root)
	same := map[wire.Finding]bool{}
	for _, p := range t.first {
		f := x.finding(p)
		if !same[f] {
			out = append(out, f)
		}
		same[f] = true
	}
	if rest := t.total - len(t.first); rest > 0 {
		out = append(out, wire.Finding{
			Rule:  RuleMore,
			Level: wire.Info,
			Text:  fmt.Sprintf("%d more violations are not shown", rest),
			Got:   strconv.Itoa(rest),
		})
	}
	return out, len(out) + max(0, t.total-len(t.first)-1)
}

// gather collects the problems in a tree of errors. What only groups others is
// left out; of alternatives, what is worth telling is kept.
func collectProblems(e *jsonschema.ValidationError) tally {
	var t tally
	t.collect(e)
	return t
}

func (t *tally) collect(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			t.collect(cause)
		}
	case *kind.AnyOf:
		t.merge(chooseAlternative(e, "anyOf"))
	case *kind.OneOf:
		if k.Subschemas == nil {
			t.merge(chooseAlternative(e, "oneOf"))
			return
		}
		t.add(problem{at: e.InstanceLocation, rule: "oneOf", err: e})
	case *kind.FalseSchema:
		t.add(falseSchemaProblem(e))
	default:
		names, with := memberNames(e.ErrorKind)
		for _, name := range names {
			t.add(problem{at: e.InstanceLocation, rule: keyword(e), err: e, member: name, with: with})
		}
		if names == nil {
			t.add(problem{at: e.InstanceLocation, rule: keyword(e), err: e})
		}
	}
}

// members are the names of which each is a problem of its own, and the one that
// they are required with.
func memberNames(k jsonschema.ErrorKind) (names []string, with string) {
	switch k := k.(type) {
	case *kind.Required:
		return k.Missing, ""
	case *kind.AdditionalProperties:
		return k.Properties, ""
	case *kind.DependentRequired:
		return k.Missing, k.Prop
	case *kind.Dependency:
		return k.Missing, k.Prop
	case *kind.PropertyNames:
		return []string{k.Property}, ""
	}
	return nil, ""
}

// keyword is the name of the keyword that was violated.
func keyword(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Not:
		return "not"
	case *kind.Dependency:
		return "dependencies"
	case *kind.PropertyNames:
		return "propertyNames"
	case nil:
		return "schema"
	default:
		if path := k.KeywordPath(); len(path) > 0 {
			return path[0]
		}
	}
	return "schema"
}

// forbidden is the problem of a value whose schema is false. Under the keywords for
// leftovers that means a member or an item too many, and the problem is the
// object's or the array's.
func falseSchemaProblem(e *jsonschema.ValidationError) problem {
	at := e.InstanceLocation
	kw := lastKeyword(e.SchemaURL)
	switch kw {
	case "unevaluatedProperties", "additionalProperties":
		if len(at) > 0 {
			return problem{at: at[:len(at)-1], rule: kw, err: e, member: at[len(at)-1]}
		}
	case "unevaluatedItems", "additionalItems", "items":
		return problem{at: at, rule: kw, err: e}
	}
	return problem{at: at, rule: "false", err: e}
}

// lastKeyword is the keyword that a subschema is the value of, or "" if it is
// one of several in a keyword.
func lastKeyword(location string) string {
	ptr, _ := pointerOf(location)
	last := ""
	for toks := pointerTokens(ptr); len(toks) > 0; {
		n := 1
		last = toks[0]
		if slices.Contains(schema.HoldMap, last) {
			last = ""
			n = 2
		} else if slices.Contains(schema.HoldList, last) && len(toks) > 1 && isIndex(toks[1]) {
			n = 2
		}
		toks = toks[min(n, len(toks)):]
	}
	return last
}

func isIndex(tok string) bool {
	return tok != "" && strings.Trim(tok, "0123456789") == ""
}
