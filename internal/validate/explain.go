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
func unchanged(s string) string { return s }

// An explainer writes findings about a value.
type explainer struct {
	budget *budget // nil for a meta-schema
	schema any     // the schema as it was written, for its numbers
	value  any
}

// saying is what a finding says: what must be, what was wanted, what was there.
type wording struct{ text, want, got string }

// tell puts a problem into words.
func (x explainer) finding(p problem) wire.Finding {
	said := x.describe(p)
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

func (x explainer) describe(p problem) wording {
	if p.choice != nil {
		return x.describeChoice(p)
	}
	for _, describer := range []func(problem) (wording, bool){
		x.describeValue, x.describeNumber, x.describeCount, x.describeMember, x.describeItems,
	} {
		if said, ok := describer(p); ok {
			return said
		}
	}
	return wording{text: "does not match the schema", got: brief(x.valueAt(p))}
}

// there is the value that a problem is about.
func (x explainer) valueAt(p problem) any {
	v, _ := lookup(x.value, p.at)
	return v
}

// mustBe is the usual sentence.
func mustBe(want, got string) wording {
	return wording{text: "must be " + want + ", got " + got, want: want, got: got}
}

// sayValue is about what kind of value stands somewhere.
func (x explainer) describeValue(p problem) (wording, bool) {
	v := x.valueAt(p)
	switch k := p.err.ErrorKind.(type) {
	case *kind.Type:
		got := typeName(v)
		if got == "number" && slices.Contains(k.Want, "integer") {
			got = brief(v)
		}
		return mustBe(orList(x.wantedTypes(p, k), unchanged), got), true
	case *kind.Const:
		return mustBe(brief(k.Want), brief(v)), true
	case *kind.Enum:
		return mustBe(orList(k.Want, brief), brief(v)), true
	case *kind.Pattern:
		return wording{
			text: "must match the pattern " + shorten(k.Want) + ", got " + brief(v),
			want: k.Want, got: brief(v),
		}, true
	case *kind.Format:
		return mustBe("a valid "+brief(k.Want), brief(v)), true
	case *kind.Not:
		not, ok := x.keywordValue(p.err.SchemaURL, "not")
		if !ok {
			return wording{text: "must not match the schema in \"not\", got " + brief(v), got: brief(v)}, true
		}
		return wording{
			text: "must not match " + brief(not) + ", got " + brief(v),
			want: "not " + brief(not), got: brief(v),
		}, true
	case *kind.OneOf:
		return wording{
			text: fmt.Sprintf("matches alternatives %d and %d, must match only one", k.Subschemas[0], k.Subschemas[1]),
			want: "exactly one alternative", got: brief(v),
		}, true
	case *kind.FalseSchema:
		switch p.rule {
		case "unevaluatedItems", "items", "additionalItems":
			return wording{text: "is one item too many", want: "no item", got: brief(v)}, true
		case "false":
			return wording{text: "is not allowed, got " + brief(v), want: "nothing", got: brief(v)}, true
		}
	}
	return wording{}, false
}

// typesWanted lists the types in the order of the schema.
func (x explainer) wantedTypes(p problem, k *kind.Type) []string {
	v, _ := x.keywordValue(p.err.SchemaURL, "type")
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
func (x explainer) describeChoice(p problem) wording {
	got := brief(x.valueAt(p))
	c := p.choice
	if wants := c.wants(); len(wants) > 0 {
		return mustBe(orList(wants, unchanged), got)
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
		why = append(why, strings.TrimSpace(inner+" "+x.describe(tried).text))
	}
	text := fmt.Sprintf("matches none of %d alternatives", c.total)
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return wording{text: text, want: "one of " + countOf(c.total, "alternative"), got: got}
}

// written is the value of a keyword in the schema; false where it has none.
func (x explainer) keywordValue(location string, kw string) (any, bool) {
	ptr, ours := pointerOf(location)
	if !ours {
		return nil, false
	}
	return lookup(x.schema, append(pointerTokens(ptr), kw))
}
