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

// MaxFindings bounds the violations that Check reports. A hostile value can have any number of
// them.
const MaxFindings = 20

// RuleMore is the rule of the finding that reports how many violations were left out. Its Got is
// the number.
const RuleMore = wire.RuleMore

// A problem is one violation. Its text is written later, and only for the problems that are
// reported.
type problem struct {
	path []string // the path to the value
	rule string
	// err is the library's error. For an anyOf or oneOf it contains the branches.
	err *jsonschema.ValidationError
	// member is the name in err that this problem is about.
	member string
	// requiredWith is the name of the member that makes member required.
	requiredWith string
	// closestOf, if not 0, is the number of alternatives: the problem is about the closest of them.
	closestOf int
	// choice is set if the problem is about all alternatives as a whole.
	choice *choice
}

// A problemList has the first MaxFindings problems in order, and the number of all problems.
type problemList struct {
	first []problem
	total int
}

// add adds a problem. It counts a problem once if it equals an already kept problem.
func (t *problemList) add(p problem) {
	if len(t.first) == MaxFindings && compareProblems(p, t.first[MaxFindings-1]) > 0 {
		t.total++
		return
	}
	i, isKnown := slices.BinarySearchFunc(t.first, p, compareProblems)
	if isKnown {
		return // the same subschema was reached twice
	}
	t.total++
	t.first = slices.Insert(t.first, i, p)
	t.first = t.first[:min(len(t.first), MaxFindings)]
}

// merge adds the problems of another list.
func (t *problemList) merge(other problemList) {
	if t.total == 0 {
		*t = other
		return
	}
	for _, p := range other.first {
		t.add(p)
	}
	t.total += other.total - len(other.first) // problems that other counted and did not keep
}

// compareProblems orders problems by their place in the value. The library's order is random;
// findings must be the same in every run.
func compareProblems(a, b problem) int {
	byPlace := slices.CompareFunc(a.path, b.path, func(x, y string) int {
		if len(x) != len(y) && isIndex(x) && isIndex(y) {
			return cmp.Compare(len(x), len(y)) // 9 before 10
		}
		return cmp.Compare(x, y)
	})
	return cmp.Or(
		byPlace,
		cmp.Compare(a.rule, b.rule),
		cmp.Compare(a.member, b.member),
		cmp.Compare(a.requiredWith, b.requiredWith),
		cmp.Compare(a.err.SchemaURL, b.err.SchemaURL),
	)
}

// findings returns the findings for a tree of errors, and the number of all violations.
func (x explainer) findings(root *jsonschema.ValidationError) (out []wire.Finding, total int) {
	t := collectProblems(root)
	seen := map[wire.Finding]bool{}
	for _, p := range t.first {
		f := x.finding(p)
		if !seen[f] {
			out = append(out, f)
		}
		seen[f] = true
	}
	omitted := t.total - len(t.first)
	if omitted > 0 {
		out = append(out, wire.Finding{
			Rule:     RuleMore,
			Severity: wire.Info,
			Text:     fmt.Sprintf("%d more violations are not shown", omitted),
			Got:      strconv.Itoa(omitted),
		})
	}
	return out, len(out) + max(0, omitted-1) // the last finding stands for all omitted ones
}

// collectProblems collects the problems in a tree of errors. It skips errors that only group
// others, and selects among alternatives.
func collectProblems(e *jsonschema.ValidationError) problemList {
	var t problemList
	t.collect(e)
	return t
}

// collect adds the problems in a tree of errors.
func (t *problemList) collect(e *jsonschema.ValidationError) {
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
		t.add(problem{path: e.InstanceLocation, rule: "oneOf", err: e})
	case *kind.FalseSchema:
		t.add(falseSchemaProblem(e))
	default:
		names, requiredBy := memberNames(e.ErrorKind)
		for _, name := range names {
			t.add(problem{path: e.InstanceLocation, rule: keyword(e), err: e, member: name, requiredWith: requiredBy})
		}
		if names == nil {
			t.add(problem{path: e.InstanceLocation, rule: keyword(e), err: e})
		}
	}
}

// memberNames returns the member names in an error: each is a separate problem. requiredBy is the
// member that requires them, or "".
func memberNames(k jsonschema.ErrorKind) (names []string, requiredBy string) {
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

// keyword returns the name of the violated keyword.
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

// falseSchemaProblem returns the problem of a value whose schema is false. For additional and
// unevaluated members and items, the problem belongs to the object or array that contains the
// value.
func falseSchemaProblem(e *jsonschema.ValidationError) problem {
	path := e.InstanceLocation
	kw := lastKeyword(e.SchemaURL)
	switch kw {
	case "unevaluatedProperties", "additionalProperties":
		if last := len(path) - 1; last >= 0 {
			return problem{path: path[:last], rule: kw, err: e, member: path[last]}
		}
	case "unevaluatedItems", "additionalItems", "items":
		return problem{path: path, rule: kw, err: e}
	}
	return problem{path: path, rule: "false", err: e}
}

// lastKeyword returns the keyword whose value is the subschema at a location, or "" if the
// subschema has a name below a keyword such as "properties".
func lastKeyword(location string) string {
	ptr, _ := pointerOf(location)
	last := ""
	for toks := pointerTokens(ptr); len(toks) > 0; {
		used := 1 // tokens: the keyword, and a name or an index in its value
		last = toks[0]
		if slices.Contains(schema.HoldMap, last) {
			last = ""
			used = 2
		} else if slices.Contains(schema.HoldList, last) && len(toks) > 1 && isIndex(toks[1]) {
			used = 2
		}
		toks = toks[min(used, len(toks)):]
	}
	return last
}

func isIndex(tok string) bool {
	return tok != "" && strings.Trim(tok, "0123456789") == ""
}
