package validate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		warnings     []string
		value        string
		want         []string
	}{
		{
			"look-ahead", `{"type":"string","pattern":"^(?=a)b"}`,
			[]string{`/pattern pattern not checked: "^(?=a)b": look-around is not supported`},
			`1`,
			[]string{"must be string, got number"},
		},
		{
			"look-behind", `{"pattern":"(?<!a)b"}`,
			[]string{`/pattern pattern not checked: "(?<!a)b": look-around is not supported`},
			`"x"`, nil,
		},
		{
			"back-reference", `{"properties":{"a":{"pattern":"(.)\\1"}}}`,
			[]string{`/properties/a/pattern pattern not checked: "(.)\\1": a back-reference is not supported`},
			`{"a":"x"}`, nil,
		},
		{
			"repeat", `{"pattern":"a{1,2000}"}`,
			[]string{`/pattern pattern not checked: "a{1,2000}": a repeat count over 1000 is not supported`},
			`"x"`, nil,
		},
		{
			"nonsense", `{"pattern":"["}`,
			[]string{`/pattern pattern not checked: "[": not a regular expression that mcpc can read`},
			`"x"`, nil,
		},
		{
			"names", `{"patternProperties":{"^(?!a)b":{"type":"null"},"^x":{"type":"null"}},"additionalProperties":false}`,
			[]string{`/patternProperties/^(?!a)b pattern not checked: "^(?!a)b": look-around is not supported`},
			`{"y":1,"x":1}`,
			[]string{"/x must be null, got number"},
		},
		{
			"under not", `{"not":{"$ref":"#/$defs/p"},"$defs":{"p":{"pattern":"(?=a)"}}}`,
			[]string{
				`/$defs/p/pattern pattern not checked: "(?=a)": look-around is not supported`,
				`/not "not" not fully checked: it depends on a pattern that is not checked`,
			},
			`"x"`, nil,
		},
		{
			"under oneOf", `{"oneOf":[{"pattern":"(?=a)"},{"type":"string"},{"type":"null"}]}`,
			[]string{
				`/oneOf/0/pattern pattern not checked: "(?=a)": look-around is not supported`,
				`/oneOf "oneOf" not fully checked: it depends on a pattern that is not checked`,
			},
			`"x"`, nil,
		},
		{
			"under if", `{"if":{"pattern":"(?=a)"},"then":false}`,
			[]string{
				`/if/pattern pattern not checked: "(?=a)": look-around is not supported`,
				`/if "if" not fully checked: it depends on a pattern that is not checked`,
			},
			`"x"`, nil,
		},
		{
			"tuple without $schema", `{"items":[{"type":"number"}],"definitions":{}}`,
			[]string{`/items an array in "items" is not 2020-12, and there is no "$schema": read as 2019-09`},
			`["x"]`,
			[]string{"/0 must be number, got string"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, warnings := mustCompile(t, tt.schema)
			slices.SortFunc(warnings, func(a, b wire.Finding) int { return strings.Compare(a.Text, b.Text) })
			slices.SortFunc(tt.warnings, func(a, b string) int {
				_, a, _ = strings.Cut(a, " ")
				_, b, _ = strings.Cut(b, " ")
				return strings.Compare(a, b)
			})
			wantLines(t, warnings, tt.warnings)
			for _, w := range warnings {
				if w.Severity != wire.Warning {
					t.Errorf("level %v", w.Severity)
				}
			}
			wantLines(t, mustCheck(t, s, tt.value), tt.want)
		})
	}
}

func TestSchemaErrors(t *testing.T) {
	supported := " not supported (supported: 2020-12, 2019-09, draft-07, draft-06, draft-04)"
	types := `must be "array", "boolean", "integer", "null", "number", "object", "string" or array`
	for _, tt := range []struct {
		name, schema string
		want         Error
	}{
		{"empty", ``, Error{Reason: NotJSON, Where: "", Text: "the schema is not JSON: EOF"}},
		{"cut off", `{"type":`, Error{Reason: NotJSON, Where: "", Text: "the schema is not JSON: unexpected EOF"}},
		{"two", `{} {}`, Error{Reason: NotJSON, Where: "", Text: "the schema is not JSON: invalid character after top-level value"}},
		{"null", `null`, Error{Reason: NotASchema, Where: "", Text: "not a schema: it must be an object, true or false, got null"}},
		{"array", `[]`, Error{Reason: NotASchema, Where: "", Text: "not a schema: it must be an object, true or false, got array"}},
		{
			"typo", `{"type":"objekt"}`,
			Error{Reason: NotASchema, Where: "/type", Text: `not a valid JSON Schema 2020-12: "/type" ` + types + `, got "objekt"`},
		},
		{
			"typos", `{"properties":{"a/b":{"type":"strnig"},"c":{"minLength":-1}}}`,
			Error{
				Reason: NotASchema, Where: "/properties/a~1b/type",
				Text: `not a valid JSON Schema 2020-12: "/properties/a~1b/type" ` + types + `, got "strnig" (the first of 2 problems)`,
			},
		},
		{
			"typo where only a reference leads", `{"$ref":"#/components/x","components":{"x":{"minLength":"1"}}}`,
			Error{
				Reason: NotASchema, Where: "/components/x/minLength",
				Text: `not a valid JSON Schema 2020-12: "/components/x/minLength" must be integer, got string`,
			},
		},
		{
			"tuple in 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`,
			Error{Reason: NotASchema, Where: "/items", Text: `not a valid JSON Schema 2020-12: "/items" must be boolean or object, got array`},
		},
		{
			"draft-04 in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","exclusiveMinimum":true}`,
			Error{
				Reason: NotASchema, Where: "/exclusiveMinimum",
				Text: `not a valid JSON Schema draft-07: "/exclusiveMinimum" must be number, got boolean`,
			},
		},
		{
			"dialect", `{"$schema":"http://example.com/s"}`,
			Error{Reason: UnknownDialect, Where: "/$schema", Text: `dialect "http://example.com/s"` + supported},
		},
		{
			"draft-03", `{"$schema":"http://json-schema.org/draft-03/schema#"}`,
			Error{Reason: UnknownDialect, Where: "/$schema", Text: `dialect "http://json-schema.org/draft-03/schema#"` + supported},
		},
		{
			"dialect inside", `{"$defs":{"a":{"$id":"http://x/a","$schema":"http://x/meta"}},"$ref":"#/$defs/a"}`,
			Error{Reason: UnknownDialect, Where: "/$defs/a/$schema", Text: `dialect "http://x/meta"` + supported},
		},
		{
			"remote", `{"properties":{"a":{"$ref":"https://example.com/x.json#/y"}}}`,
			Error{
				Reason: ExternalRef, Where: "/properties/a/$ref",
				Text: `$ref "https://example.com/x.json#/y" points outside the schema; mcpc does not fetch schemas`,
			},
		},
		{
			"relative", `{"$ref":"../other.json"}`,
			Error{Reason: ExternalRef, Where: "/$ref", Text: `$ref "../other.json" points outside the schema; mcpc does not fetch schemas`},
		},
		{
			"relative to an id", `{"$id":"http://example.com/s/","$ref":"other.json"}`,
			Error{Reason: ExternalRef, Where: "/$ref", Text: `$ref "other.json" points outside the schema; mcpc does not fetch schemas`},
		},
		{
			"not escaped", `{"$ref":"dir/an other's.json"}`,
			Error{Reason: ExternalRef, Where: "/$ref", Text: `$ref "dir/an other's.json" points outside the schema; mcpc does not fetch schemas`},
		},
		{
			"dead pointer under an id", `{"$id":"http://x/","$defs":{"a":{"$id":"b","$ref":"#/c"}},"$ref":"b"}`,
			Error{Reason: UnresolvedRef, Where: "/$defs/a/$ref", Text: `$ref "#/c" points to nothing in the schema`},
		},
		{
			"25 typos", `{"allOf":[` + repeat(25, same(`{"minLength":-1}`)) + `]}`,
			Error{
				Reason: NotASchema, Where: "/allOf/0/minLength",
				Text: `not a valid JSON Schema 2020-12: "/allOf/0/minLength" must be at least 0, got -1 (the first of 25 problems)`,
			},
		},
		{
			"dead pointer", `{"$ref":"#/$defs/x"}`,
			Error{Reason: UnresolvedRef, Where: "/$ref", Text: `$ref "#/$defs/x" points to nothing in the schema`},
		},
		{
			"dead anchor", `{"$dynamicRef":"#x"}`,
			Error{Reason: UnresolvedRef, Where: "/$dynamicRef", Text: `$dynamicRef "#x" points to nothing in the schema`},
		},
		{
			"two ids", `{"allOf":[{"$id":"http://x/a"},{"$id":"http://x/a"}]}`,
			Error{Reason: NotASchema, Where: "/allOf/1", Text: `not a valid schema: two subschemas have the id "http://x/a"`},
		},
		{
			"not a schema there", `{"$ref":"#/type","type":"string"}`,
			Error{Reason: NotASchema, Where: "/type", Text: `not a valid JSON Schema 2020-12: "/type" must be boolean or object, got string`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Compile([]byte(tt.schema))
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("error is %#v", err)
			}
			if *got != tt.want {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func TestDialects(t *testing.T) {
	for _, uri := range []string{
		"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-04/schema#",
		"http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft-07/schema", "http://json-schema.org/draft/2019-09/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft/2020-12/schema#", "http://json-schema.org/schema#",
	} {
		s, _ := mustCompile(t, `{"$schema":"`+uri+`","type":"string"}`)
		wantLines(t, mustCheck(t, s, `1`), []string{"must be string, got number"})
	}
	for _, root := range []string{`true`, `{}`, `{"$id":"http://example.com/never/asked","definitions":{"a":{}}}`} {
		s, _ := mustCompile(t, root)
		wantLines(t, mustCheck(t, s, `1`), nil)
	}
	s, _ := mustCompile(t, `false`)
	wantLines(t, mustCheck(t, s, `1`), []string{"is not allowed, got 1"})
}

func TestDuplicateAnchorsAreRefused(t *testing.T) {
	for schema, want := range map[string]Error{
		`{"allOf":[{"$anchor":"a"},{"$anchor":"a"}]}`: {
			Reason: NotASchema, Where: "/allOf/1",
			Text: `not a valid schema: two subschemas have the anchor "a"`,
		},
		`{"$schema":"http://json-schema.org/draft-04/schema#","$ref":"http://[::1"}`: {
			Reason: NotASchema, Where: "/$ref",
			Text: `not a valid schema: $ref "http://[::1" is not a URL`,
		},
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"$ref":"#/%"}}}`: {
			Reason: NotASchema, Where: "/properties/a/$ref",
			Text: `not a valid schema: $ref "#/%" is not a URL`,
		},
		`{"$ref":"#/a~2b"}`: {
			Reason: UnresolvedRef, Where: "/$ref",
			Text: `$ref "#/a~2b" points to nothing in the schema`,
		},
	} {
		_, _, err := Compile([]byte(schema))
		var fault *Error
		if !errors.As(err, &fault) || *fault != want {
			t.Errorf("%s\ngot  %+v\nwant %+v", schema, err, want)
		}
	}
}
