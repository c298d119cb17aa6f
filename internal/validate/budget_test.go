package validate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// budgeted compiles a schema with its budget.
func budgeted(schema string) (*jsonschema.Schema, *budget, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil, nil, err
	}
	spoken, err := dialectOf(doc)
	if err != nil {
		return nil, nil, err
	}
	sv, err := newSurvey(doc, spoken)
	if err != nil {
		return nil, nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(spoken.draft)
	c.UseRegexpEngine(sv.patterns.compileForLibrary)
	c.UseLoader(noLoader{})
	var s *jsonschema.Schema
	err = guard(func() error {
		if err := c.AddResource(documentURL, doc); err != nil {
			return err
		}
		s, err = c.Compile(documentURL)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	b, _, err := newBudget(s, []*jsonschema.Schema{s}, sv)
	return s, b, err
}

// many joins a text of each number below n.
func many(n int, text func(i int) string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text(i)
	}
	return strings.Join(texts, ",")
}

// always gives the same text for each number.
func always(text string) func(int) string { return func(int) string { return text } }

// doubled is twelve levels of "allOf" with two references to the next level each.
func doubled() string {
	return fmt.Sprintf(`{"$ref":"#/items/$defs/d0","$defs":{%s,"d12":{"type":"string"}}}`, many(12, func(i int) string {
		return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/items/$defs/d%d"},{"$ref":"#/items/$defs/d%d"}]}`, i, i+1, i+1)
	}))
}

// FuzzEvaluationsArePaidFor counts the subschemas that the library evaluates: each of them
// is paid for.
func FuzzEvaluationsArePaidFor(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"number"}},"required":["a","b"]}`, `{"a":"x","c":1}`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"items":{"$ref":"#/$defs/a"}}]}}}`, `[[1,["a"]]]`},
		{`{"$dynamicAnchor":"n","properties":{"c":{"items":{"$dynamicRef":"#n"}}},"unevaluatedProperties":false}`, `{"c":[{"d":1}]}`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`, `[[1]]`},
		{`{"oneOf":[{"const":1},{"enum":["a",{}]}],"not":{"pattern":"(?=a)"},"if":{"minLength":2},"then":false}`, `"aé"`},
		{`{"patternProperties":{"^a":{"$ref":"#"},"a$":{"$ref":"#"}},"propertyNames":{"maxLength":3}}`, `{"a":{"a":{"aaaa":1}}}`},
		{`{"dependentSchemas":{"a":{"required":["b"]}},"dependentRequired":{"a":["c"]},"dependencies":{"a":["d"]}}`, `{"a":1}`},
		{`{"contains":{"type":"null"},"minContains":2,"uniqueItems":true,"prefixItems":[true],"items":false}`, `[1,1.0,[[]]]`},
		{`{"allOf":[{"$ref":"#/x/y"}],"x":{"y":{"multipleOf":0.1}}}`, `0.30000000000000004`},
		{`{"items":{"properties":{"m1":{"type":"integer","minimum":0},"m2":{"enum":[1,2,3]}},"additionalProperties":{"type":"string"}}}`, `[{"m1":1,"m2":4,"m3":""},{},7]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, b, err := budgeted(schema)
		if err != nil {
			return
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
		if err != nil {
			return
		}
		var visits visitCounter
		for sub := range b.nodes {
			sub.Extensions = append(sub.Extensions, &visits)
		}
		_ = b.validate(s, v)
		if paid := maxWork - b.workLeft; int(visits)*visitWork > paid {
			t.Fatalf("%d visits, and %d units were paid", visits, paid)
		}
	})
}

// A visitCounter counts the evaluations that come to an end.
type visitCounter int

func (n *visitCounter) Validate(*jsonschema.ValidatorContext, any) { *n++ }

// A check ends, whatever a schema multiplies.
func TestBudgetEndsChecks(t *testing.T) {
	tree := func(n int) string { return strings.Repeat(`{"a":[`, n) + "1" + strings.Repeat(`]}`, n) }
	names := func(n int) string {
		return "{" + many(n, func(i int) string { return fmt.Sprintf(`"m%d":1`, i) }) + "}"
	}
	list := func(n int, item string) string { return "[" + many(n, always(item)) + "]" }
	const (
		refused, some = "too complex", "findings"
		draft7        = `"$schema":"http://json-schema.org/draft-07/schema#",`
		recursive     = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	)
	both := `[{"properties":{"a":{"items":{"$ref":"#"}}}},{"additionalProperties":{"items":{"$ref":"#"}}}]`
	for _, tt := range []struct{ name, schema, value, want string }{
		{"allOf twice", `{"allOf":` + both + `}`, tree(40), refused},
		{"oneOf twice", `{"oneOf":` + both + `}`, tree(40), refused},
		{"anyOf that fails at the end", `{"type":["object","null"],"anyOf":` + both + `}`, tree(40), refused},
		{"not in not", `{"not":{"allOf":[{"not":{"properties":{"a":{"items":{"$ref":"#"}}}}},{"not":{"additionalProperties":{"items":{"$ref":"#"}}}}]}}`, tree(40), ""},
		{"if and then", `{"if":{"properties":{"a":{"items":{"$ref":"#"}}}},"then":{"properties":{"a":{"items":{"$ref":"#"}}}}}`, tree(40), refused},
		{"contains and items", `{"properties":{"a":{"contains":{"$ref":"#"},"items":{"$ref":"#"}}}}`, tree(40), refused},
		{"dependencies", `{` + draft7 + `"dependencies":{"a":{"properties":{"a":{"items":{"$ref":"#"}}}}},"properties":{"a":{"items":{"$ref":"#"}}}}`, tree(40), refused},
		{"draft-07 references", `{` + draft7 + `"properties":{"a":{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}}}`, tree(40), refused},
		{"$dynamicRef twice", `{"$dynamicAnchor":"n","properties":{"a":{"allOf":[{"items":{"$dynamicRef":"#n"}},{"items":{"$dynamicRef":"#n"}}]}}}`, tree(40), refused},
		{"$recursiveRef twice", `{` + recursive + `"$recursiveAnchor":true,"properties":{"a":{"allOf":[{"items":{"$recursiveRef":"#"}},{"items":{"$recursiveRef":"#"}}]}}}`, tree(40), refused},
		{"unevaluatedItems twice", `{"properties":{"a":{"allOf":[{"prefixItems":[{"$ref":"#"}]},{"unevaluatedItems":{"$ref":"#"}}]}}}`, tree(40), refused},
		{"2^12 allOf on many", `{"items":` + doubled() + `}`, list(1000, "1"), refused},
		{"names against names", `{"propertyNames":{"anyOf":[` + many(1000, always(`{"const":"x"}`)) + `]}}`, names(5000), refused},
		{"long enum of strings", `{"items":{"enum":[` + many(10_000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + `]}}`, list(5000, `"x"`), refused},
		{"long strings counted often", `{"allOf":[` + many(4000, always(`{"maxLength":9}`)) + `]}`, `"` + strings.Repeat("é", 400_000) + `"`, refused},
		{"long required", `{"items":{"required":[` + many(10_000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}}`, list(5000, "{}"), refused},
		{"required by what is there", `{"items":{"dependentRequired":{"a":[` + many(10_000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}}}`, list(5000, `{"a":1}`), refused},
		{"a division of long numbers", `{"items":{"multipleOf":1e-900}}`, list(5000, "1e900"), refused},
		{"long numbers in enum", `{"items":{"enum":[` + many(50, always("1e900")) + `]}}`, list(500, "1e901"), refused},
		{"unique long numbers", `{"uniqueItems":true}`, list(500, "1e90000"), some},
		{"unique lists of lists", `{"items":{"uniqueItems":true},"uniqueItems":true}`, list(100, list(10_000, "1")), some},
		{"many patterns on a long text", `{"allOf":[` + many(500, func(i int) string { return fmt.Sprintf(`{"pattern":"^(a|b)*x%d$"}`, i) }) + `]}`, `"` + strings.Repeat("ab", 50_000) + `"`, refused},
		{"many wrong in all alternatives", `{"items":{"anyOf":[` + many(100, always(`{"type":"string"}`)) + `]}}`, list(50_000, "1"), refused},
		{"a table that is right", `{"items":{"properties":{"m1":{"type":"integer","minimum":0},"m2":{"enum":[1,2,3]}},"required":["m1"]}}`, list(5000, names(4)), "fine"},
		{"a table that is wrong", `{"items":{"properties":{"m1":{"type":"string"}}}}`, list(20_000, names(3)), some},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, b, err := budgeted(tt.schema)
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.value))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err = b.validate(s, value)
			took := time.Since(start)
			t.Logf("%d bytes: %v", len(tt.value), took)
			got := "fine"
			if errors.As(err, new(*jsonschema.ValidationError)) {
				got = some
			} else if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) || took > time.Minute {
				t.Errorf("got %s, want %q; took %v", got, tt.want, took)
			}
			if paid := maxWork - b.workLeft; paid < 0 || paid > maxWork {
				t.Errorf("%d units were paid", paid)
			}
		})
	}
}
