package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// unchanged returns s. It is the conversion of orList for words that need no conversion.
func unchanged(s string) string { return s }

// An explainer writes findings about a value.
type explainer struct {
	budget *budget // nil if the schema is a meta-schema
	schema any     // the decoded schema, with its numbers as written
	value  any
}

// A wording is a finding's text, the expected value and the actual value. endsWithGot is set if the
// text is to be followed by the actual value.
type wording struct {
	text, want, got string
	endsWithGot     bool
}

// sentence returns the whole text of a finding.
func (w wording) sentence() string {
	if w.endsWithGot {
		return w.text + ", got " + w.got
	}
	return w.text
}

// finding describes a problem.
func (x explainer) finding(p problem) wire.Finding {
	w := x.describe(p)
	text := w.sentence()
	if p.closestOf > 0 {
		text += fmt.Sprintf(" (the closest of %d alternatives)", p.closestOf)
	}
	return wire.Finding{
		Rule:     p.rule,
		Severity: wire.Error,
		Pointer:  jsonraw.Pointer("", p.path...),
		Text:     text,
		Want:     w.want,
		Got:      w.got,
	}
}

// describe returns the wording of a problem.
func (x explainer) describe(p problem) wording {
	if p.choice != nil {
		return x.describeChoice(p)
	}
	for _, describer := range []func(problem) (wording, bool){
		x.describeValue, x.describeNumber, x.describeCount, x.describeMember, x.describeItems,
	} {
		if w, ok := describer(p); ok {
			return w
		}
	}
	return wording{text: "does not match the schema", got: brief(x.valueAt(p))}
}

// valueAt returns the value that a problem is about.
func (x explainer) valueAt(p problem) any {
	v, _ := lookup(x.value, p.path)
	return v
}

// mustBe returns the usual wording.
func mustBe(want, got string) wording {
	return wording{text: "must be " + want, want: want, got: got, endsWithGot: true}
}

// describeValue describes a problem with a single value.
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
			text: "must match the pattern " + shorten(k.Want), want: k.Want, got: brief(v), endsWithGot: true,
		}, true
	case *kind.Format:
		return mustBe("a valid "+brief(k.Want), brief(v)), true
	case *kind.Not:
		not, ok := x.keywordValue(p.err.SchemaURL, "not")
		if !ok {
			return wording{text: "must not match the schema in \"not\"", got: brief(v), endsWithGot: true}, true
		}
		return wording{
			text: "must not match " + brief(not), want: "not " + brief(not), got: brief(v), endsWithGot: true,
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
			return wording{text: "is not allowed", want: "nothing", got: brief(v), endsWithGot: true}, true
		}
	}
	return wording{}, false
}

// wantedTypes returns the expected types in the order of the schema.
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

// describeChoice describes alternatives that all failed: by the values that they expect, or by the first
// problem with each of the nearest.
func (x explainer) describeChoice(p problem) wording {
	got := brief(x.valueAt(p))
	c := p.choice
	if wants := c.wants(); len(wants) > 0 {
		return mustBe(orList(wants, unchanged), got)
	}
	const maxShown = 3
	var reasons []string
	for i, a := range c.nearest {
		if i == maxShown {
			reasons = append(reasons, "…")
			break
		}
		first := a.first[0]
		inner := jsonraw.Pointer("", first.path[min(len(p.path), len(first.path)):]...)
		reasons = append(reasons, strings.TrimSpace(inner+" "+x.describe(first).sentence()))
	}
	text := fmt.Sprintf("matches none of %d alternatives", c.total)
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, "; ")
	}
	return wording{text: text, want: "one of " + countOf(c.total, "alternative"), got: got}
}

// keywordValue returns the value of a keyword in the schema, and false if the schema does not have
// it.
func (x explainer) keywordValue(location string, kw string) (any, bool) {
	ptr, ours := pointerOf(location)
	if !ours {
		return nil, false
	}
	return lookup(x.schema, append(pointerTokens(ptr), kw))
}
