package validate

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/suggest"
)

// describeMember describes a problem with the names of an object's members.
func (x explainer) describeMember(p problem) (wording, bool) {
	name := quote(p.member)
	switch p.err.ErrorKind.(type) {
	case *kind.Required:
		return wording{text: "missing required member " + name, want: name}, true
	case *kind.DependentRequired, *kind.Dependency:
		return wording{text: "missing member " + name + ", which is required with " + quote(p.with), want: name}, true
	case *kind.AdditionalProperties:
		return x.describeUnknownMember(p, p.err.SchemaURL), true
	case *kind.FalseSchema: // the value of unevaluatedProperties
		owner := strings.TrimSuffix(p.err.SchemaURL, "/"+p.rule)
		return x.describeUnknownMember(p, owner), true
	case *kind.PropertyNames:
		return x.describeMemberName(p), true
	}
	return wording{}, false
}

// maxNearNames bounds the names that are compared with an unknown name.
const maxNearNames = 1000

// describeUnknownMember describes an unknown member. It suggests the nearest known name, or lists
// all known names if none is near.
func (x explainer) describeUnknownMember(p problem, location string) wording {
	said := wording{text: "unknown member " + quote(p.member), want: "no members", got: quote(p.member)}
	if x.budget == nil {
		said.want = ""
		return said
	}
	var known []string
	if owner := x.budget.schemaAt(location); owner != nil {
		known = Expected{every: []*jsonschema.Schema{owner}}.Names()
	}
	if near := suggest.Nearest(p.member, known[:min(len(known), maxNearNames)]); near != "" {
		said.want = quote(near)
		said.text += ", did you mean " + said.want + "?"
	} else if len(known) > 0 {
		said.want = orList(known, quote)
	}
	return said
}

// describeMemberName describes an invalid member name. The library reports its problems as problems
// of a string, so it describes the first of them for the name as a value.
func (x explainer) describeMemberName(p problem) wording {
	said := wording{text: "member name " + quote(p.member) + " is not allowed", got: quote(p.member)}
	for _, cause := range p.err.Causes {
		inner := collectProblems(cause)
		if len(inner.first) == 0 {
			continue
		}
		first := inner.first[0]
		first.at = nil
		name := explainer{budget: x.budget, schema: x.schema, value: p.member}.describe(first)
		said.want = name.want
		said.text = "member name " + quote(p.member) + " " + strings.TrimSuffix(name.text, ", got "+brief(p.member))
	}
	return said
}

// describeItems describes a problem with an array's items as a whole.
func (x explainer) describeItems(p problem) (wording, bool) {
	switch k := p.err.ErrorKind.(type) {
	case *kind.UniqueItems:
		text := fmt.Sprintf("items %d and %d are equal, must be unique", k.Duplicates[0], k.Duplicates[1])
		item, _ := lookup(x.valueAt(p), []string{fmt.Sprint(k.Duplicates[1])})
		return wording{text: text, want: "unique items", got: brief(item)}, true
	case *kind.AdditionalItems:
		items, _ := x.valueAt(p).([]any)
		want := "at most " + countOf(len(items)-k.Count, "item")
		return wording{
			text: fmt.Sprintf("must have %s, got %d", want, len(items)),
			want: want, got: fmt.Sprint(len(items)),
		}, true
	}
	return wording{}, false
}
