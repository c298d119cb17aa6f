package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// asIs prints what has been printed.
func asIs(s string) string { return s }

// An explainer writes findings about a value.
type explainer struct {
	budget *budget // nil for a meta-schema
	schema any     // the schema as it was written, for its numbers
	value  any
}

// saying is what a finding says: what must be, what was wanted, what was there.
type saying struct{ text, want, got string }

// tell puts a problem into words.
func (x explainer) tell(p problem) wire.Finding {
	said := x.say(p)
	if p.closest > 0 {
		said.text += fmt.Sprintf(" (the closest of %d alternatives)", p.closest)
	}
	return wire.Finding{
		Rule:  p.rule,
		Level: wire.Error,
		Where: jsonraw.Pointer("", p.at...),
		Text:  said.text,
		Want:  said.want,
		Got:   said.got,
	}
}

func (x explainer) say(p problem) saying {
	if p.choice != nil {
		return x.sayChoice(p)
	}
	for _, say := range []func(problem) (saying, bool){
		x.sayValue, x.sayNumber, x.sayCount, x.sayMember, x.sayItems,
	} {
		if said, ok := say(p); ok {
			return said
		}
	}
	return saying{text: "does not match the schema", got: brief(x.there(p))}
}

// there is the value that a problem is about.
func (x explainer) there(p problem) any {
	v, _ := lookup(x.value, p.at)
	return v
}

// mustBe is the usual sentence.
func mustBe(want, got string) saying {
	return saying{text: "must be " + want + ", got " + got, want: want, got: got}
}

// sayValue is about what kind of value stands somewhere.
func (x explainer) sayValue(p problem) (saying, bool) {
	v := x.there(p)
	switch k := p.err.ErrorKind.(type) {
	case *kind.Type:
		got := typeName(v)
		if got == "number" && slices.Contains(k.Want, "integer") {
			got = brief(v)
		}
		return mustBe(orList(x.typesWanted(p, k), asIs), got), true
	case *kind.Const:
		return mustBe(brief(k.Want), brief(v)), true
	case *kind.Enum:
		return mustBe(orList(k.Want, brief), brief(v)), true
	case *kind.Pattern:
		return saying{
			text: "must match the pattern " + shorten(k.Want) + ", got " + brief(v),
			want: k.Want, got: brief(v),
		}, true
	case *kind.Format:
		return mustBe("a valid "+brief(k.Want), brief(v)), true
	case *kind.Not:
		not, ok := x.written(p.err.SchemaURL, "not")
		if !ok {
			return saying{text: "must not match the schema in \"not\", got " + brief(v), got: brief(v)}, true
		}
		return saying{text: "must not match " + brief(not) + ", got " + brief(v), want: "not " + brief(not), got: brief(v)}, true
	case *kind.OneOf:
		return saying{
			text: fmt.Sprintf("matches alternatives %d and %d, must match only one", k.Subschemas[0], k.Subschemas[1]),
			want: "exactly one alternative", got: brief(v),
		}, true
	case *kind.FalseSchema:
		switch p.rule {
		case "unevaluatedItems", "items", "additionalItems":
			return saying{text: "is one item too many", want: "no item", got: brief(v)}, true
		case "false":
			return saying{text: "is not allowed, got " + brief(v), want: "nothing", got: brief(v)}, true
		}
	}
	return saying{}, false
}

// typesWanted lists the types in the order of the schema.
func (x explainer) typesWanted(p problem, k *kind.Type) []string {
	v, _ := x.written(p.err.SchemaURL, "type")
	names, _ := v.([]any)
	if len(names) != len(k.Want) {
		return k.Want
	}
	want := make([]string, len(names))
	for i, name := range names {
		want[i] = fmt.Sprint(name)
	}
	return want
}

// sayChoice is about alternatives of which none matched.
func (x explainer) sayChoice(p problem) saying {
	got := brief(x.there(p))
	c := p.choice
	if wants := c.wants(); len(wants) > 0 {
		return mustBe(orList(wants, asIs), got)
	}
	const shown = 3
	var why []string
	for i, a := range c.near {
		if i == shown {
			why = append(why, "…")
			break
		}
		tried := a.first[0]
		inner := jsonraw.Pointer("", tried.at[min(len(p.at), len(tried.at)):]...)
		why = append(why, strings.TrimSpace(inner+" "+x.say(tried).text))
	}
	text := fmt.Sprintf("matches none of %d alternatives", c.of)
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return saying{text: text, want: "one of " + countOf(c.of, "alternative"), got: got}
}

// written is the value of a keyword in the schema; false where it has none.
func (x explainer) written(location string, kw string) (any, bool) {
	ptr, ours := pointerOf(location)
	if !ours {
		return nil, false
	}
	return lookup(x.schema, append(pointerTokens(ptr), kw))
}
