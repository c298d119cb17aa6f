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
		return wording{text: "missing member " + name + ", which is required with " + quote(p.requiredWith), want: name}, true
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
// all known names if no name is near.
func (x explainer) describeUnknownMember(p problem, location string) wording {
	w := wording{text: "unknown member " + quote(p.member), want: "no members", got: quote(p.member)}
	if x.budget == nil { // the known members of a meta-schema are not listed
		w.want = ""
		return w
	}
	var known []string
	if owner := x.budget.schemaAt(location); owner != nil {
		known = Expected{schemas: []*jsonschema.Schema{owner}}.Names()
	}
	if near := suggest.Nearest(p.member, known[:min(len(known), maxNearNames)]); near != "" {
		w.want = quote(near)
		w.text += ", did you mean " + w.want + "?"
	} else if len(known) > 0 {
		w.want = orList(known, quote)
	}
	return w
}

// describeMemberName describes an invalid member name. The library reports its problems as problems
// of a string, so it describes the first of them for the name as a value.
func (x explainer) describeMemberName(p problem) wording {
	w := wording{text: "member name " + quote(p.member) + " is not allowed", got: quote(p.member)}
	for _, cause := range p.err.Causes {
		inner := collectProblems(cause)
		if len(inner.first) == 0 {
			continue
		}
		first := inner.first[0]
		first.path = nil // the name is the whole value
		name := explainer{budget: x.budget, schema: x.schema, value: p.member}.describe(first)
		if name.got == brief(p.member) {
			name.endsWithGot = false // the text begins with the name
		}
		w.want = name.want
		w.text = "member name " + quote(p.member) + " " + name.sentence()
	}
	return w
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
		return wording{text: "must have " + want, want: want, got: fmt.Sprint(len(items)), endsWithGot: true}, true
	}
	return wording{}, false
}
