package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/schema"
	"mcpc/internal/validate"
)

// compile is what a command injects.
func compile(schema []byte) (func(value []byte) (bool, error), error) {
	s, _, err := validate.Compile(schema)
	if err != nil {
		return nil, err
	}
	return func(value []byte) (bool, error) {
		found, err := s.Check(value)
		return len(found) == 0, err
	}, nil
}

func options() schema.Options {
	return schema.Options{Compile: compile, Budget: &schema.Budget{Bytes: 1 << 30, Forms: 1 << 30}}
}

func told(all []schema.Difference) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s %s [%s] %s\n", d.Kind, d.Pointer, d.Name, d.Note)
	}
	return b.String()
}

func kindsOf(all []schema.Difference) string {
	var kinds []string
	for _, d := range all {
		kinds = append(kinds, d.Kind+" "+d.Pointer)
	}
	return strings.Join(kinds, ", ")
}

var pairs = []struct{ a, b, want string }{
	{`{"type":"object"}`, `{ "type" : "object" }`, ``},
	{`{"required":["a","b"]}`, `{"required":["b","a"]}`, `equivalent-form `},
	{`{"type":"string"}`, `{"type":["string","null"]}`, `type-widened /type`},
	{`{"type":"number"}`, `{"type":"integer"}`, `type-narrowed /type`},
	{`{"type":["integer","number"]}`, `{"type":"number"}`, `equivalent-form `},
	{`{"type":"string"}`, `{"type":"integer"}`, `type-changed /type`},
	{`{"enum":["a","b"]}`, `{"enum":["a","c"]}`, `enum-removed /enum, enum-added /enum`},
	{`{"const":"a"}`, `{"enum":["a"],"type":"string"}`, `equivalent-form `},
	{`{"type":"boolean"}`, `{"type":"boolean","enum":[true,false]}`, `equivalent-form `},
	{`{"type":"string"}`, `{"type":"string","enum":["a"]}`, `enum-removed /enum`},
	{`{"type":"integer","minimum":1}`, `{"type":"integer","exclusiveMinimum":0}`, `equivalent-form `},
	{`{"type":"number","minimum":1}`, `{"type":"number","exclusiveMinimum":0}`, `range-loosened /exclusiveMinimum`},
	{`{"type":"number","maximum":10}`, `{"type":"number","exclusiveMaximum":10}`, `range-tightened /exclusiveMaximum`},
	{`{"type":"integer","minimum":1}`, `{"type":"integer","minimum":1,"maximum":9007199254740991}`, `equivalent-form `},
	{`{"type":"integer","maximum":9}`, `{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`, `range-loosened /maximum`},
	{`{"type":"integer"}`, `{"type":"integer","maximum":9007199254740990}`, `range-tightened /maximum`},
	{`{"type":"integer"}`, `{"type":"integer","minimum":9007199254740991}`, `range-tightened /minimum`},
	{`{"type":"number"}`, `{"type":"number","maximum":9007199254740991}`, `range-tightened /maximum`},
	{`{"maximum":1e999999999}`, `{"maximum":1e999999998}`, `range-tightened /maximum`},
	{`{"type":"string","maximum":10}`, `{"type":"string","maximum":9}`, `equivalent-form `},
	{`{"type":"string","minLength":0}`, `{"type":"string"}`, `equivalent-form `},
	{`{"type":"string","minLength":1}`, `{"type":"string"}`, `length-loosened /minLength`},
	{`{"type":"string","maxLength":10}`, `{"type":"string","maxLength":9}`, `length-tightened /maxLength`},
	{`{"type":"string","pattern":"^a"}`, `{"type":"string"}`, `pattern-removed /pattern`},
	{`{"type":"string","pattern":"^a+$"}`, `{"type":"string","pattern":"^a{1,}$"}`, `pattern-changed /pattern`},
	{`{"type":"string"}`, `{"type":"string","format":"uri"}`, `format-added /format`},
	{`{"type":"integer","multipleOf":2}`, `{"type":"integer","multipleOf":4}`, `multiple-tightened /multipleOf`},
	{`{"type":"integer","multipleOf":6}`, `{"type":"integer","multipleOf":3}`, `multiple-loosened /multipleOf`},
	{`{"type":"integer","multipleOf":2}`, `{"type":"integer","multipleOf":3}`, `multiple-changed /multipleOf`},
	{`{"type":"integer"}`, `{"type":"number","multipleOf":1}`, `equivalent-form `},
	{`{"type":"integer","multipleOf":2,"minimum":1000}`, `{"type":"integer","multipleOf":4,"minimum":1000}`, `multiple-tightened /multipleOf`},
	{`{"type":"array","maxItems":3}`, `{"type":"array","maxItems":2}`, `count-tightened /maxItems`},
	{`{"type":"array"}`, `{"type":"array","uniqueItems":true}`, `count-tightened /uniqueItems`},
	{`{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"number"}}`, `type-changed /items/type`},
	{`{"type":"array"}`, `{"type":"array","items":{"type":"number"}}`, `type-narrowed /items/type`},
	{`{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"number"}]}`, `type-changed /prefixItems/0/type`},
	{`{"type":"array","items":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string"}]}`, `equivalent-form `},
	{`{"type":"object"}`, `{"type":"object","properties":{"a":{}}}`, `member-added /properties/a`},
	{`{"type":"object"}`, `{"type":"object","required":["a"]}`, `member-required-added /properties/a`},
	{`{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `member-added-closed /properties/a`},
	{`{"properties":{"a":{}},"additionalProperties":false}`, `{"additionalProperties":false}`, `member-removed-closed /properties/a`},
	{`{"properties":{"a":{}}}`, `{}`, `member-removed /properties/a`},
	{`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`, `member-required /properties/a`},
	{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, `member-optional /properties/a`},
	{`{"type":"object"}`, `{"type":"object","additionalProperties":false}`, `closed /additionalProperties`},
	{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"number"}}`, `type-changed /additionalProperties/type`},
	{`{"type":"object","additionalProperties":true}`, `{"type":"object"}`, `equivalent-form `},
	{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{"type":"string"}`, `equivalent-form `},
	{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"number"}}}`, `type-changed /type`},
	{
		`{"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`,
		`{"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"null"}}}`, `type-changed /properties/x/type, type-changed /properties/y/type`,
	},
	{`{"$ref":"#/$defs/a~1b%20","$defs":{"a/b ":{"type":"string"}}}`, `{"type":"null"}`, `type-changed /type`},
	{`{"$ref":"#/nowhere"}`, `{"$ref":"#/elsewhere"}`, `undecided /$ref`},
	{`{"$ref":"https://example.com/a"}`, `{}`, `undecided /$ref`},
	{`{"allOf":[{"type":"string"},{"minLength":2}]}`, `{"type":"string","minLength":2}`, `equivalent-form `},
	{`{"allOf":[{"minimum":2},{"minimum":3}]}`, `{"minimum":2}`, `range-loosened /minimum`},
	{`{"allOf":[{"enum":[1,2]},{"enum":[2,3]}]}`, `{"const":2}`, `equivalent-form `},
	{`{"properties":{"n":{"$ref":"#"}},"type":"object"}`, `{"properties":{"n":{"$ref":"#"}},"type":"object","required":["n"]}`, `member-required /properties/n`},
	{`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `equivalent-form `},
	{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":["string","null"]}`, `equivalent-form `},
	{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `type-changed /anyOf/1/type`},
	{`{"type":"string"}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `alternative-added /anyOf/1`},
	{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"string"}`, `alternative-removed /anyOf/1`},
	{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `equivalent-form `},
	{`{"oneOf":[{"type":"number"},{"minimum":1}]}`, `{"anyOf":[{"type":"number"},{"minimum":1}]}`, `undecided `},
	{`{"type":"object","anyOf":[{"required":["a"]}]}`, `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, `alternative-added /anyOf/1`},
	{`{"not":{"type":"string"}}`, `{"not":{"type":"number"}}`, `undecided /not`},
	{`{"not":{"type":"string"}}`, `{"not":{"type":"string","description":"x"}}`, `equivalent-form `},
	{`{"type":"object","dependentRequired":{"a":["b"]}}`, `{"type":"object","dependencies":{"a":["b"]},"$schema":"http://json-schema.org/draft-07/schema#"}`, `dialect-changed /$schema, equivalent-form `},
	{`{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":{"type":"string"}}`, `opened /additionalProperties`},
	{`{"type":"array","items":[{}],"additionalItems":{"type":"string"}}`, `{"type":"array","items":[{}],"additionalItems":{"type":"null"}}`, `type-changed /items/type`},
	{`{"type":"array","additionalItems":{"type":"string"}}`, `{"type":"array","additionalItems":{"type":"null"}}`, `equivalent-form `},
	{`{"$ref":"#/x/1","x":[{},{"type":"string"}]}`, `{"$ref":"#/x/0","x":[{},{"type":"string"}]}`, `type-widened /type`},
	{`{"properties":{"p":{"$ref":"#/anyOf/1"}},"anyOf":[{},{"type":"string"}]}`, `{"properties":{"p":{"$ref":"#/anyOf/0"}},"anyOf":[{},{"type":"string"}]}`, `type-widened /properties/p/type`},
	{`{"allOf":[{"multipleOf":2},{"multipleOf":3}],"type":"integer"}`, `{"multipleOf":6,"type":"integer"}`, `equivalent-form `},
	{`{"allOf":[{"multipleOf":2},{"multipleOf":3}],"type":"integer"}`, `{"multipleOf":5,"type":"integer"}`, `undecided /multipleOf`},
	{`{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"type":"string"}}}`, `{"type":["string","null"]}`, `equivalent-form `},
	{
		`{"type":"object","properties":{"n":{"type":"integer","maximum":10}},"required":["n"],"not":{"required":["z"]}}`,
		`{"type":"object","properties":{"n":{"type":"integer","maximum":10}},"required":["n"],"not":{"type":"object","required":["z"]}}`, `equivalent-form `,
	},
	{`{"type":"object","dependentRequired":{"n":["m"]}}`, `{"type":"object","dependentRequired":{"n":["m"]},"if":true}`, `equivalent-form `},
	{`{"description":"a"}`, `{"description":"b"}`, `description-changed /description`},
	{`{"title":"a","x-y":1}`, `{"title":"b","x-y":2}`, `note-changed /title, note-changed /x-y`},
	{`{"default":1}`, `{"default":1.0}`, ``},
	{`{"default":1}`, `{"default":2}`, `default-changed /default`},
	{`{}`, `{"default":2}`, `default-added /default`},
	{`{"x-mcp-header":"A"}`, `{}`, `header-removed /x-mcp-header`},
	{`true`, `{}`, `equivalent-form `},
	{`{"properties":{"a":true}}`, `{"properties":{"a":false}}`, `type-narrowed /properties/a/type`},
	{`null`, `{"type":"object"}`, `type-narrowed /type`},
	{
		`{"properties":{"x":{"$ref":"#/$defs/a"},"y":{"type":"string"}},"$defs":{"a":{"$ref":"#/properties/y"}}}`,
		`{"properties":{"x":{"$ref":"#/$defs/a"},"y":{"type":"number"}},"$defs":{"a":{"$ref":"#/properties/y"}}}`, `type-changed /properties/x/type, type-changed /properties/y/type`,
	},
	{
		`{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"properties":{"x":{}}}}}`,
		`{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"properties":{"x":{"type":"string"}}}}}`, `type-narrowed /anyOf/0/properties/x/type`,
	},
}

// A schema and the same one or null, as generators write an optional model.
var optionals = []struct{ a, b, want string }{
	{ref("E", enumE), oneOfNull("E", enumE), `alternative-added /properties/c/oneOf/0`},
	{ref("P", pointP), anyOfNull("P", pointP), `alternative-added /properties/c/anyOf/1`},
	{
		ref("P", pointP), anyOfNull("P", strings.Replace(pointP, `"required":["x"]`, `"required":["x","y"]`, 1)),
		`member-required-added /properties/c/anyOf/0/properties/y, alternative-added /properties/c/anyOf/1`,
	},
	{property(pointP, ""), anyOfNull("P", pointP), `alternative-added /properties/c/anyOf/1`},
	{
		property(`{"allOf":[{"$ref":"#/$defs/P"}],"default":null}`, `"P":`+pointP), anyOfNull("P", pointP),
		`default-removed /properties/c/default, alternative-added /properties/c/anyOf/1`,
	},
	{
		property(`{"$ref":"#/$defs/P","description":"Where."}`, `"P":`+pointP),
		property(`{"anyOf":[{"$ref":"#/$defs/P"},{"type":"null"}],"description":"Where."}`, `"P":`+pointP),
		`alternative-added /properties/c/anyOf/1`,
	},
	{ref("P", pointP), anyOfNull("Q", pointP), `alternative-added /properties/c/anyOf/1`},
	{
		property(`{"type":"string","maxLength":9}`, ""),
		property(`{"anyOf":[{"type":"string","maxLength":5},{"type":"null"}]}`, ""),
		`length-tightened /properties/c/anyOf/0/maxLength, alternative-added /properties/c/anyOf/1`,
	},
	{
		anyOfNull("P", pointP), property(`{"anyOf":[{"$ref":"#/$defs/P"},{"type":"string"},{"type":"integer"}]}`, `"P":`+pointP),
		`alternative-removed /properties/c/anyOf/1, alternative-added /properties/c/anyOf/1, ` +
			`alternative-added /properties/c/anyOf/2`,
	},
	{ref("N", nodeN), anyOfNull("N", nodeN), `alternative-added /properties/c/anyOf/1`},
	{
		ref("N", nodeN), anyOfNull("N", strings.Replace(nodeN, `"properties"`, `"required":["n"],"properties"`, 1)),
		`member-required /properties/c/anyOf/0/properties/n, alternative-added /properties/c/anyOf/1`,
	},
	{
		property(`{"type":"array","items":{"$ref":"#/$defs/P"}}`, `"P":`+pointP),
		property(`{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/P"},{"type":"null"}]}}`, `"P":`+pointP),
		`alternative-added /properties/c/items/anyOf/1`,
	},
}

const (
	enumE  = `{"type":"string","enum":["a","b"]}`
	pointP = `{"type":"object","title":"P","description":"A point.",` +
		`"properties":{"x":{"type":"integer"}},"required":["x"]}`
	nodeN = `{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}`
)

// property is an object whose member c has a schema.
func property(schema, definitions string) string {
	return `{"type":"object","properties":{"c":` + schema + `},"$defs":{` + definitions + `}}`
}

func ref(name, schema string) string {
	return property(`{"$ref":"#/$defs/`+name+`"}`, `"`+name+`":`+schema)
}

func anyOfNull(name, schema string) string {
	return property(`{"anyOf":[{"$ref":"#/$defs/`+name+`"},{"type":"null"}]}`, `"`+name+`":`+schema)
}

func oneOfNull(name, schema string) string {
	return property(`{"oneOf":[{"type":"null"},{"$ref":"#/$defs/`+name+`"}]}`, `"`+name+`":`+schema)
}

func TestOptionalSchemas(t *testing.T) {
	for _, p := range optionals {
		if got := kindsOf(schema.Compare(json.RawMessage(p.a), json.RawMessage(p.b), options())); got != p.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", p.a, p.b, got, p.want)
		}
		back := kindsOf(schema.Compare(json.RawMessage(p.b), json.RawMessage(p.a), options()))
		if strings.Contains(back, "undecided") || !strings.Contains(back, "alternative-removed") {
			t.Errorf("%s\n%s\n got %s", p.b, p.a, back)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, p := range pairs {
		if got := kindsOf(schema.Compare(json.RawMessage(p.a), json.RawMessage(p.b), options())); got != p.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", p.a, p.b, got, p.want)
		}
	}
}

// Keywords that limit nothing are no change, as a generator of schemas in another version writes them.
func TestKeywordsThatLimitNothing(t *testing.T) {
	const plain = `{"type":"object","additionalProperties":{}}`
	for _, keyword := range []string{
		`"propertyNames":{"type":"string"}`, `"propertyNames":{ }`, `"propertyNames":true`,
		`"unevaluatedProperties":{}`, `"unevaluatedItems":true`, `"patternProperties":{}`, `"dependentRequired":{}`,
		`"dependentSchemas":{}`, `"dependencies":{}`,
	} {
		with := `{"type":"object","additionalProperties":{},` + keyword + `}`
		for _, p := range [][2]string{{plain, with}, {with, plain}} {
			if got := kindsOf(schema.Compare(json.RawMessage(p[0]), json.RawMessage(p[1]), options())); got != "equivalent-form " {
				t.Errorf("%s %s: got %s, want equivalent-form", p[0], p[1], got)
			}
		}
	}
	for _, keyword := range []string{
		`"propertyNames":{"type":"string","pattern":"^x"}`, `"propertyNames":false`,
		`"propertyNames":{"type":"integer"}`,
	} {
		with := `{"type":"object","additionalProperties":{},` + keyword + `}`
		if got := kindsOf(schema.Compare(json.RawMessage(plain), json.RawMessage(with), options())); got == "" {
			t.Errorf("%s %s: got no change", plain, with)
		}
	}
}

// Forms that generated values cannot distinguish do not count as equal.
func TestUndecidableFormsAreReportedUndecided(t *testing.T) {
	for _, p := range []struct{ a, b, want string }{
		{`{"anyOf":[{"pattern":"^x1"},{"type":"null"},{"type":"object"}]}`, `{"anyOf":[{"pattern":"^x2"},{"type":"null"}]}`, "undecided "},
		{`{"type":"object"}`, `{"type":"object","dependentRequired":{"a":["b"]}}`, "undecided /dependentRequired"},
		{`{"type":"object"}`, `{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`, "undecided /dependentSchemas"},
		{`{"type":"object"}`, `{"type":"object","patternProperties":{"^zz":false}}`, "undecided /patternProperties"},
		{`{"type":"object"}`, `{"type":"object","propertyNames":{"maxLength":50}}`, "undecided /propertyNames"},
		{`{"type":"array"}`, `{"type":"array","contains":{"const":"rare"}}`, "undecided /contains"},
		{
			`{"type":"object","properties":{"k":{"type":"string"}},"if":{"properties":{"k":{"const":"b"}}},"then":{"required":["x"]}}`,
			`{"type":"object","properties":{"k":{"type":"string"}}}`, "undecided /if, undecided /then",
		},
		{
			`{"type":"object","properties":{"k":{"type":"string"}},"if":{"properties":{"k":{"const":"b"}},"required":["k"]},"then":{"required":["x"]}}`,
			`{"type":"object","properties":{"k":{"type":"string"}}}`, "undecided /if, undecided /then",
		},
		{`{"type":"string","maxLength":100000}`, `{"type":"string","maxLength":100001}`, "length-loosened /maxLength"},
		{`{"type":"integer","maximum":9007199254740993}`, `{"type":"integer","maximum":9007199254740992}`, "range-tightened /maximum"},
		{`{"type":"integer","multipleOf":1e-9}`, `{"type":"integer","multipleOf":2e-9}`, "multiple-tightened /multipleOf"},
	} {
		if got := kindsOf(schema.Compare(json.RawMessage(p.a), json.RawMessage(p.b), options())); got != p.want {
			t.Errorf("%s %s: got %s, want %s", p.a, p.b, got, p.want)
		}
	}
}

// Without a function that compiles schemas, forms are compared by their words alone.
func TestWithoutCompile(t *testing.T) {
	for _, p := range []struct{ a, b, want string }{
		{`{"type":"integer","minimum":1}`, `{"type":"integer","exclusiveMinimum":0}`, `range-loosened /exclusiveMinimum`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":["string","null"]}`, `undecided `},
		{`{"allOf":[{"type":"string"},{"minLength":2}]}`, `{"type":"string","minLength":2}`, `equivalent-form `},
	} {
		got := kindsOf(schema.Compare(json.RawMessage(p.a), json.RawMessage(p.b), schema.Options{Budget: &schema.Budget{Bytes: 1 << 20, Forms: 10}}))
		if got != p.want {
			t.Errorf("%s %s: got %s, want %s", p.a, p.b, got, p.want)
		}
	}
}

// An undecided difference names a value that shows it, if one was found.
func TestExamples(t *testing.T) {
	for _, p := range []struct{ a, b, want string }{
		{`{"not":{"type":"string"}}`, `{"not":{"type":"number"}}`, `0 was accepted and is not any more`},
		{`{"type":"object"}`, `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":"a"} was accepted and is not any more`},
	} {
		all := schema.Compare(json.RawMessage(p.a), json.RawMessage(p.b), options())
		if len(all) != 1 || all[0].Kind != "undecided" || all[0].Note != p.want {
			t.Errorf("%s %s: got %s", p.a, p.b, told(all))
		}
	}
}

var opposites = strings.NewReplacer("narrowed", "widened", "widened", "narrowed", "tightened", "loosened", "loosened", "tightened",
	"removed", "added", "added", "removed", " closed ", " opened ", " opened ", " closed ", "-required ", "-optional ", "-optional ", "-required ",
	"required-added", "removed")

// Swapping two schemas swaps what is narrower and wider.
func TestSwappingSchemasSwapsNarrowerAndWider(t *testing.T) {
	for _, p := range pairs {
		there := schema.Compare(json.RawMessage(p.a), json.RawMessage(p.b), options())
		back := schema.Compare(json.RawMessage(p.b), json.RawMessage(p.a), options())
		if len(there) != len(back) {
			t.Errorf("%s %s: %s there, %s back", p.a, p.b, kindsOf(there), kindsOf(back))
			continue
		}
		want := map[string]int{}
		for _, d := range there {
			want[opposites.Replace(" "+d.Kind+" ")+d.Name]++
		}
		for _, d := range back {
			kind := strings.Replace(d.Kind, "required-added", "added", 1)
			if want[" "+kind+" "+d.Name]--; want[" "+kind+" "+d.Name] < 0 {
				t.Errorf("%s %s: %s there, %s back", p.a, p.b, kindsOf(there), kindsOf(back))
			}
		}
	}
}

// repeated is a text of 30,000 parts with their numbers.
func repeated(begin, part, end string) string {
	b := []byte(begin)
	for i := range 30_000 {
		b = fmt.Appendf(b, part, i)
	}
	return string(b) + end
}

// Each bound has its direction and its kind.
func TestBoundsHaveDirectionAndKind(t *testing.T) {
	for name, kind := range map[string]string{
		"minimum": "range", "exclusiveMinimum": "range", "maximum": "range", "exclusiveMaximum": "range",
		"minLength": "length", "maxLength": "length", "minItems": "count", "maxItems": "count",
		"minProperties": "count", "maxProperties": "count",
	} {
		tight := strings.Contains(strings.ToLower(name), "min")
		for _, o := range []schema.Options{options(), {Budget: options().Budget}} {
			one, two := fmt.Sprintf(`{%q:3}`, name), fmt.Sprintf(`{%q:4}`, name)
			want := kind + map[bool]string{true: "-tightened", false: "-loosened"}[tight] + " /" + name
			if got := kindsOf(schema.Compare([]byte(one), []byte(two), o)); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
			want = kind + "-loosened /" + name
			if got := kindsOf(schema.Compare([]byte(one), []byte(`{}`), o)); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	}
}

// A schema that is too complex is reported once, and nothing after it.
func TestTooComplexSchemaIsReportedOnce(t *testing.T) {
	wide := func(n int) string {
		return fmt.Sprintf(`{"allOf":[%s{"minimum":%d}]}`, strings.Repeat(`{},`, 2000), n)
	}
	both := func(n int) string { return fmt.Sprintf(`{"properties":{"x":%s,"y":%[1]s}}`, wide(n)) }
	if got := kindsOf(schema.Compare([]byte(both(1)), []byte(both(2)), options())); got != "too-complex /properties/x" {
		t.Errorf("got %s", got)
	}
	small := schema.Options{Budget: &schema.Budget{Bytes: 120, Forms: 1}}
	if got := kindsOf(schema.Compare([]byte(`{"properties":{"x":{"type":"string"}}}`), []byte(`{"properties":{"x":{"type":"null"}}}`), small)); got != "too-complex /properties/x" {
		t.Errorf("got %s with a budget of 120 bytes", got)
	}
	if small.Budget.Bytes > 0 {
		t.Errorf("%d bytes are left", small.Budget.Bytes)
	}
}

// Hostile schemas end with "too-complex" or an answer, after a bounded amount of work.
func TestHostileSchemasEnd(t *testing.T) {
	fan := func(leaf string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":{"properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}},"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1, i+1, i+1)
		}
		return b.String() + `"d60":` + leaf + `}}`
	}
	deep := func(leaf string) string {
		return strings.Repeat(`{"items":`, 400) + leaf + strings.Repeat("}", 400)
	}
	wide := func(kind string) string {
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, `{"type":"%s","const":%d},`, kind, i)
		}
		return `{"anyOf":[` + strings.TrimSuffix(b.String(), ",") + `]}`
	}
	for _, p := range [][2]string{
		{fan(`{"type":"string"}`), fan(`{"type":"number"}`)},
		{deep(`{"type":"string"}`), deep(`{"type":"number"}`)},
		{wide("integer"), wide("number")},
		{`{"$ref":"#/a","a":{"$ref":"#/b"},"b":{"$ref":"#/a"}}`, `{"$ref":"#/a","a":{"$ref":"#/a"},"x":1}`},
		{`{"minLength":1e400,"maxLength":1e999999999999}`, `{"minLength":1e401,"maxLength":1e99999999999}`},
		{`{"multipleOf":1e-400}`, `{"multipleOf":1e400}`},
		{repeated(`{"enum":[`, `"a%d",`, `0]}`), repeated(`{"enum":[`, `"b%d",`, `0]}`)},
		{repeated(`{"allOf":[{"enum":[`, `"a%d",`, `0]},{"enum":[1,0]}]}`), repeated(`{"enum":[`, `"b%d",`, `0]}`)},
		{repeated(`{`, `"x-%d":1,`, `"x":0}`), repeated(`{`, `"y-%d":1,`, `"x":0}`)},
		{repeated(`{"anyOf":[`, `{"$ref":"#/n%d"},`, `{}]}`), repeated(`{"anyOf":[`, `{"$ref":"#/m%d"},`, `{}]}`)},
		{repeated(`{"properties":{`, `"p%d":{"$ref":"other#/%[1]d"},`, `"x":{}}}`), repeated(`{"properties":{`, `"p%d":{"$ref":"other#/%[1]d"},`, `"y":{}}}`)},
	} {
		budget := &schema.Budget{Bytes: 1 << 30, Forms: 100}
		all := schema.Compare(json.RawMessage(p[0]), json.RawMessage(p[1]), schema.Options{Compile: compile, Budget: budget})
		if spent := 1<<30 - budget.Bytes; len(all) == 0 || spent > 16<<20+len(p[0])+len(p[1])+1<<20 {
			t.Errorf("%.60s: %d bytes were read for %s", p[0], spent, kindsOf(all))
		}
	}
	if got := kindsOf(schema.Compare(json.RawMessage(deep(`1`)), json.RawMessage(deep(`{"type":"number"}`)), options())); !strings.HasPrefix(got, "too-complex") {
		t.Errorf("got %s, want too-complex", got)
	}
}
