package validate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

func mustCompile(t testing.TB, schema string) (*Schema, []wire.Finding) {
	t.Helper()
	s, warnings, err := Compile([]byte(schema))
	if err != nil {
		t.Fatalf("Compile(%.200s): %v", schema, err)
	}
	return s, warnings
}

func mustCheck(t testing.TB, s *Schema, value string) []wire.Finding {
	t.Helper()
	found, err := s.Check([]byte(value))
	if err != nil {
		t.Fatalf("Check(%.200s): %v", value, err)
	}
	return found
}

// lines prints findings as a person sees them.
func lines(found []wire.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, strings.TrimSpace(f.Pointer+" "+f.Text))
	}
	return out
}

func wantLines(t *testing.T, got []wire.Finding, want []string) {
	t.Helper()
	if g := lines(got); !slices.Equal(g, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(g, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// rules 35
func TestFindings(t *testing.T) {
	sum := `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`
	shapes := `{"oneOf":[
		{"properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
		{"properties":{"kind":{"const":"square"},"a":{"type":"number"}},"required":["kind","a"]}]}`
	for _, tt := range []struct {
		name, schema, value string
		want                []string
	}{
		{"right", sum, `{"a":1,"b":2}`, nil},
		{"type", sum, `{"a":"x","b":1}`, []string{"/a must be number, got string"}},
		{"several", sum, `{"a":"x"}`, []string{`missing required member "b"`, "/a must be number, got string"}},
		{"required", sum, `{}`, []string{`missing required member "a"`, `missing required member "b"`}},
		{"root", sum, `[]`, []string{"must be object, got array"}},
		{"types in the schema's order", `{"type":["string","null"]}`, `1`, []string{"must be string or null, got number"}},
		{"integer", `{"type":"integer"}`, `1.5`, []string{"must be integer, got 1.5"}},
		{"integral", `{"type":"integer"}`, `1.0`, nil},
		{
			"pointer", `{"properties":{"a/b~c":{"items":{"type":"null"}}}}`, `{"a/b~c":[null,1]}`,
			[]string{"/a~1b~0c/1 must be null, got number"},
		},

		{
			"unknown, one near", `{"properties":{"limit":{},"offset":{}},"additionalProperties":false}`, `{"Limmit":1}`,
			[]string{`unknown member "Limmit", did you mean "limit"?`},
		},
		{"unknown, none near", `{"properties":{"limit":{}},"additionalProperties":false}`, `{"x":1}`, []string{`unknown member "x"`}},
		{
			"additionalProperties with a schema", `{"additionalProperties":{"type":"number"}}`, `{"x":"1"}`,
			[]string{"/x must be number, got string"},
		},
		{
			"unevaluatedProperties", `{"allOf":[{"properties":{"alpha":{}}}],"unevaluatedProperties":false}`, `{"alhpa":1}`,
			[]string{`unknown member "alhpa", did you mean "alpha"?`},
		},
		{
			"a property called unevaluatedProperties", `{"properties":{"unevaluatedProperties":false}}`,
			`{"unevaluatedProperties":1}`,
			[]string{"/unevaluatedProperties is not allowed, got 1"},
		},
		{"unevaluatedItems", `{"prefixItems":[{}],"unevaluatedItems":false}`, `[1,2]`, []string{"/1 is one item too many"}},
		{"items false", `{"prefixItems":[{}],"items":false}`, `[1,2]`, []string{"/1 is one item too many"}},
		{
			"additionalItems", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":false}`,
			`[1,2,3]`,
			[]string{"must have at most 1 item, got 3"},
		},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, []string{"/a is not allowed, got 1"}},

		{"enum", `{"enum":["a",1,null]}`, `"b"`, []string{`must be "a", 1 or null, got "b"`}},
		{
			"enum, long", `{"enum":[1,2,3,4,5,6,7,8,9,10,11]}`, `0`,
			[]string{"must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, … (11 in all), got 0"},
		},
		{"const", `{"const":{"a":[1]}}`, `{"a":[2]}`, []string{`must be {"a":[1]}, got {"a":[2]}`}},
		{
			"a long value", `{"const":1}`, `"` + strings.Repeat("x", 100) + `"`,
			[]string{`must be 1, got "` + strings.Repeat("x", 55) + `…"`},
		},
		{"a big value", `{"const":1}`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}`, []string{"must be 1, got an object with 7 members"}},

		{"minimum", `{"minimum":10}`, `5`, []string{"must be at least 10, got 5"}},
		{"numbers as spelled", `{"exclusiveMaximum":1.50e1}`, `15.000`, []string{"must be less than 1.50e1, got 15.000"}},
		{
			"2^53 + 1", `{"maximum":9007199254740992}`, `9007199254740993`,
			[]string{"must be at most 9007199254740992, got 9007199254740993"},
		},
		{"2^53", `{"maximum":9007199254740992}`, `9007199254740992`, nil},
		{"1e400", `{"type":"integer","minimum":1e399}`, `1e400`, nil},
		{"1e400 too big", `{"maximum":1e399}`, `1e400`, []string{"must be at most 1e399, got 1e400"}},
		{
			"draft-04 limit", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":10,"exclusiveMinimum":true}`, `10`,
			[]string{"must be more than 10, got 10"},
		},
		{"multipleOf", `{"multipleOf":0.01}`, `0.015`, []string{"must be a multiple of 0.01, got 0.015"}},

		{"minLength", `{"minLength":3}`, `"éé"`, []string{"must be at least 3 characters long, got 2"}},
		{"maxLength", `{"maxLength":1}`, `"ab"`, []string{"must be at most 1 character long, got 2"}},
		{"maxLength of 2^64", `{"maxLength":18446744073709551616}`, `"ab"`, nil},
		{
			"minLength of 2^64", `{"minLength":18446744073709551616}`, `"ab"`,
			[]string{"must be at least 18446744073709551616 characters long, got 2"},
		},
		{"pattern", `{"pattern":"^\\d+$"}`, `"ab"`, []string{`must match the pattern ^\d+$, got "ab"`}},
		{"format annotates", `{"format":"email"}`, `"nope"`, nil},
		{"format annotates in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}`, `"nope"`, nil},

		{"minItems", `{"minItems":2}`, `[]`, []string{"must have at least 2 items, got 0"}},
		{"maxItems", `{"maxItems":0}`, `[1]`, []string{"must have at most 0 items, got 1"}},
		{"minProperties", `{"minProperties":2}`, `{"a":1}`, []string{"must have at least 2 members, got 1"}},
		{
			"maxContains", `{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`,
			[]string{"must have at most 1 matching item, got 2"},
		},
		{"maxProperties", `{"maxProperties":1}`, `{"a":1,"b":2}`, []string{"must have at most 1 member, got 2"}},
		{"uniqueItems", `{"uniqueItems":true}`, `[1,{"a":[1,2]},{"a":[1.0,2e0]}]`, []string{"items 1 and 2 are equal, must be unique"}},
		{"uniqueItems, other types", `{"uniqueItems":true}`, `[1,"1",true,"true",null,"null",[],[[]],[[],[]],{},[{}]]`, nil},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, []string{`must have an item that matches {"type":"string"}`}},
		{
			"minContains", `{"contains":{"type":"string"},"minContains":2}`, `["a",1]`,
			[]string{"must have at least 2 matching items, got 1"},
		},
		{
			"propertyNames", `{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1,"b":2}`,
			[]string{`member name "A" must match the pattern ^[a-z]+$`},
		},
		{
			"dependentRequired", `{"dependentRequired":{"card":["cvc"]}}`, `{"card":1}`,
			[]string{`missing member "cvc", which is required with "card"`},
		},
		{
			"dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"card":["cvc"]}}`, `{"card":1}`,
			[]string{`missing member "cvc", which is required with "card"`},
		},

		{"not", `{"not":{"type":"string"}}`, `"a"`, []string{`must not match {"type":"string"}, got "a"`}},
		{"then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, []string{`missing required member "b"`}},
		{"else", `{"if":{"required":["a"]},"else":{"required":["b"]}}`, `{}`, []string{`missing required member "b"`}},
		{"anyOf types", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, []string{"must be string or null, got 1"}},
		{
			"oneOf constants", `{"oneOf":[{"const":"red"},{"const":"green"},{"type":"null"}]}`, `"blue"`,
			[]string{`must be "red", "green" or null, got "blue"`},
		},
		{
			"nullable", `{"anyOf":[{"type":"string","minLength":3},{"type":"null"}]}`, `"x"`,
			[]string{"must be at least 3 characters long, got 1"},
		},
		{"oneOf by tag", shapes, `{"kind":"square"}`, []string{`missing required member "a" (the closest of 2 alternatives)`}},
		{"oneOf, unknown tag", shapes, `{"kind":"blob","r":1,"a":2}`, []string{`/kind must be "circle" or "square", got "blob"`}},
		{
			"anyOf, equally far", `{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`,
			[]string{`matches none of 2 alternatives: missing required member "a"; missing required member "b"`},
		},
		{
			"oneOf, two match", `{"oneOf":[{"type":"number"},{"minimum":5}]}`, `7`,
			[]string{"matches alternatives 0 and 1, must match only one"},
		},
		{
			"anyOf in anyOf", `{"anyOf":[{"anyOf":[{"type":"string"},{"enum":[1,2]}]},{"type":"null"},{"type":"string"}]}`, `3`,
			[]string{"must be string, 1, 2 or null, got 3"},
		},
		{
			"oneOf, several tags", `{"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"b":{"const":1}}}]}`, `{"a":2,"b":2}`,
			[]string{"matches none of 2 alternatives: /a must be 1, got 2; /b must be 1, got 2"},
		},
		{
			"anyOf, many equally far", `{"anyOf":[{"required":["a"]},{"required":["b"]},{"required":["c"]},{"required":["d"]}]}`, `{}`,
			[]string{`matches none of 4 alternatives: missing required member "a"; missing required member "b"; ` +
				`missing required member "c"; …`},
		},
		{"anyOf of nothing", `{"anyOf":[false,false]}`, `1`, []string{"matches none of 2 alternatives: is not allowed, got 1; is not allowed, got 1"}},
		{
			"allOf, the same twice", `{"allOf":[{"$ref":"#/$defs/s"},{"$ref":"#/$defs/s"}],"$defs":{"s":{"type":"string"}}}`, `1`,
			[]string{"must be string, got number"},
		},
		{
			"recursive", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"next":{"next":1}}`,
			[]string{"/next/next must be object, got number"},
		},
		{
			"$dynamicRef", `{"$dynamicAnchor":"n","type":"object","properties":{"kids":{"items":{"$dynamicRef":"#n"}}}}`,
			`{"kids":[{},{"kids":[1]}]}`,
			[]string{"/kids/1/kids/0 must be object, got number"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, warnings := mustCompile(t, tt.schema)
			if len(warnings) > 0 {
				t.Errorf("warnings: %v", lines(warnings))
			}
			wantLines(t, mustCheck(t, s, tt.value), tt.want)
		})
	}
}

func TestWantAndGot(t *testing.T) {
	for _, tt := range []struct {
		schema, value string
		want          wire.Finding
	}{
		{`{"properties":{"a":{"type":"number"}}}`, `{"a":"x"}`, wire.Finding{Rule: "type", Pointer: "/a", Want: "number", Got: "string"}},
		{`{"required":["b"]}`, `{}`, wire.Finding{Rule: "required", Want: `"b"`}},
		{
			`{"properties":{"limit":{}},"additionalProperties":false}`, `{"limt":1}`,
			wire.Finding{Rule: "additionalProperties", Want: `"limit"`, Got: `"limt"`},
		},
		{
			`{"properties":{"limit":{},"q":{}},"additionalProperties":false}`, `{"zz":1}`,
			wire.Finding{Rule: "additionalProperties", Want: `"limit" or "q"`, Got: `"zz"`},
		},
		{`{"additionalProperties":false}`, `{"zz":1}`, wire.Finding{Rule: "additionalProperties", Want: "no members", Got: `"zz"`}},
		{`{"enum":["a","b"]}`, `1`, wire.Finding{Rule: "enum", Want: `"a" or "b"`, Got: "1"}},
		{`{"minimum":3}`, `1`, wire.Finding{Rule: "minimum", Want: "at least 3", Got: "1"}},
		{`{"minLength":3}`, `""`, wire.Finding{Rule: "minLength", Want: "at least 3 characters", Got: "0"}},
		{`{"pattern":"^a"}`, `"b"`, wire.Finding{Rule: "pattern", Want: "^a", Got: `"b"`}},
	} {
		s, _ := mustCompile(t, tt.schema)
		found := mustCheck(t, s, tt.value)
		if len(found) != 1 {
			t.Fatalf("%s: %d findings", tt.schema, len(found))
		}
		tt.want.Severity, tt.want.Text = wire.Error, found[0].Text
		if found[0] != tt.want {
			t.Errorf("got  %+v\nwant %+v", found[0], tt.want)
		}
	}
}

func TestManyFindings(t *testing.T) {
	s, _ := mustCompile(t, `{"items":{"type":"string"}}`)
	found := mustCheck(t, s, "["+strings.Repeat("1,", 122)+"1]")
	if len(found) != MaxFindings+1 {
		t.Fatalf("%d findings", len(found))
	}
	for i, want := range map[int]string{0: "/0 ", 9: "/9 ", 10: "/10 ", 19: "/19 "} {
		if line := lines(found)[i]; !strings.HasPrefix(line, want) {
			t.Errorf("finding %d is %q", i, line)
		}
	}
	want := wire.Finding{Rule: RuleMore, Severity: wire.Info, Text: "103 more violations are not shown", Got: "103"}
	if last := found[MaxFindings]; last != want {
		t.Errorf("the last is %+v", last)
	}
}

func TestValueIsNotJSON(t *testing.T) {
	s, _ := mustCompile(t, `{}`)
	for _, value := range []string{"", "{", "1 2", "nope", "\xff"} {
		var fault *Error
		if _, err := s.Check([]byte(value)); !errors.As(err, &fault) || fault.Reason != NotJSON {
			t.Errorf("Check(%q): %v", value, err)
		}
	}
	// Duplicate members and bad UTF-8 are for wire to tell.
	for _, value := range []string{`{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`} {
		if _, err := s.Check([]byte(value)); err != nil {
			t.Errorf("Check(%q): %v", value, err)
		}
	}
}
