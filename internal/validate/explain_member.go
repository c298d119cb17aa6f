package validate

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/suggest"
)

// sayMember is about which members an object has.
func (x explainer) sayMember(p problem) (saying, bool) {
	name := quote(p.member)
	switch p.err.ErrorKind.(type) {
	case *kind.Required:
		return saying{text: "missing required member " + name, want: name}, true
	case *kind.DependentRequired, *kind.Dependency:
		return saying{text: "missing member " + name + ", which is required with " + quote(p.with), want: name}, true
	case *kind.AdditionalProperties:
		return x.sayUnknown(p, p.err.SchemaURL), true
	case *kind.FalseSchema: // of unevaluatedProperties
		owner := strings.TrimSuffix(p.err.SchemaURL, "/"+p.rule)
		return x.sayUnknown(p, owner), true
	case *kind.PropertyNames:
		return x.sayName(p), true
	}
	return saying{}, false
}

// maxNearNames bounds the names of which the nearest is looked for.
const maxNearNames = 1000

// sayUnknown tells the nearest name that is known, or all if none is near.
func (x explainer) sayUnknown(p problem, location string) saying {
	said := saying{text: "unknown member " + quote(p.member), want: "no members", got: quote(p.member)}
	if x.budget == nil {
		said.want = ""
		return said
	}
	var known []string
	if owner := x.budget.at(location); owner != nil {
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

// sayName passes on what is wrong with a member's name. The library found it on
// the name as a value, so it is told on the name as a value.
func (x explainer) sayName(p problem) saying {
	said := saying{text: "member name " + quote(p.member) + " is not allowed", got: quote(p.member)}
	for _, cause := range p.err.Causes {
		inner := gather(cause)
		if len(inner.first) == 0 {
			continue
		}
		first := inner.first[0]
		first.at = nil
		name := explainer{budget: x.budget, schema: x.schema, value: p.member}.say(first)
		said.want = name.want
		said.text = "member name " + quote(p.member) + " " + strings.TrimSuffix(name.text, ", got "+brief(p.member))
	}
	return said
}

// sayItems is about the items of an array together.
func (x explainer) sayItems(p problem) (saying, bool) {
	switch k := p.err.ErrorKind.(type) {
	case *kind.UniqueItems:
		text := fmt.Sprintf("items %d and %d are equal, must be unique", k.Duplicates[0], k.Duplicates[1])
		item, _ := lookup(x.there(p), []string{fmt.Sprint(k.Duplicates[1])})
		return saying{text: text, want: "unique items", got: brief(item)}, true
	case *kind.AdditionalItems:
		items, _ := x.there(p).([]any)
		want := "at most " + countOf(len(items)-k.Count, "item")
		return saying{
			text: fmt.Sprintf("must have %s, got %d", want, len(items)),
			want: want, got: fmt.Sprint(len(items)),
		}, true
	}
	return saying{}, false
}
