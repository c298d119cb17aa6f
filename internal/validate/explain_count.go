package validate

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// describeNumber describes a number outside its limits. It prints numbers as they are spelled: as
// float64, 9007199254740993 and 9007199254740992 are equal.
func (x explainer) describeNumber(p problem) (wording, bool) {
	describe := func(relation, kw string, limit *big.Rat) (wording, bool) {
		return mustBe(relation+x.limitText(p, kw, limit), brief(x.valueAt(p))), true
	}
	switch k := p.err.ErrorKind.(type) {
	case *kind.Minimum:
		return describe("at least ", "minimum", k.Want)
	case *kind.Maximum:
		return describe("at most ", "maximum", k.Want)
	case *kind.ExclusiveMinimum:
		return describe("more than ", "exclusiveMinimum", k.Want)
	case *kind.ExclusiveMaximum:
		return describe("less than ", "exclusiveMaximum", k.Want)
	case *kind.MultipleOf:
		return describe("a multiple of ", "multipleOf", k.Want)
	default:
		return wording{}, false
	}
}

// limitText returns the number in a keyword as the schema spells it; value is the decoded number. In
// draft-04 exclusiveMinimum is a boolean and the number is in minimum.
func (x explainer) limitText(p problem, kw string, value *big.Rat) string {
	for _, name := range []string{kw, strings.ToLower(strings.TrimPrefix(kw, "exclusive"))} {
		v, _ := x.keywordValue(p.err.SchemaURL, name)
		if n, ok := v.(json.Number); ok {
			return brief(n)
		}
	}
	return shorten(value.RatString())
}

// An amountLimit is a limit on a count, and the words of its sentence: "must verb bound N things
// after", as in "must be at least 3 characters long".
type amountLimit struct {
	kw, verb, bound string
	// want is the limit, got the actual count.
	want, got    int
	thing, after string
}

// describeCount describes a length or count outside its limits.
func (x explainer) describeCount(p problem) (wording, bool) {
	const be, have, least, most = "be", "have", "at least ", "at most "
	var a amountLimit
	switch k := p.err.ErrorKind.(type) {
	case *kind.MinLength:
		a = amountLimit{"minLength", be, least, k.Want, k.Got, "character", " long"}
	case *kind.MaxLength:
		a = amountLimit{"maxLength", be, most, k.Want, k.Got, "character", " long"}
	case *kind.MinItems:
		a = amountLimit{"minItems", have, least, k.Want, k.Got, "item", ""}
	case *kind.MaxItems:
		a = amountLimit{"maxItems", have, most, k.Want, k.Got, "item", ""}
	case *kind.MinProperties:
		a = amountLimit{"minProperties", have, least, k.Want, k.Got, "member", ""}
	case *kind.MaxProperties:
		a = amountLimit{"maxProperties", have, most, k.Want, k.Got, "member", ""}
	case *kind.MinContains:
		a = amountLimit{"minContains", have, least, k.Want, len(k.Got), "matching item", ""}
	case *kind.MaxContains:
		a = amountLimit{"maxContains", have, most, k.Want, len(k.Got), "matching item", ""}
	case *kind.Contains:
		w := wording{text: "must have an item that matches \"contains\"", want: "at least 1 matching item", got: "0"}
		if contains, ok := x.keywordValue(p.err.SchemaURL, "contains"); ok {
			w.text = "must have an item that matches " + brief(contains)
		}
		return w, true
	default:
		return wording{}, false
	}
	limit := strconv.Itoa(a.want)
	if n, ok := x.keywordValue(p.err.SchemaURL, a.kw); ok {
		limit = brief(n)
	}
	want := a.bound + countOf(limit, a.thing)
	text := "must " + a.verb + " " + want + a.after
	return wording{text: text, want: want, got: strconv.Itoa(a.got), endsWithGot: true}, true
}
