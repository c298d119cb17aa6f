package validate

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// FuzzCheck checks any value with any schema: nothing panics, everything ends, and the answer is
// the same twice.
func FuzzCheck(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"number"}},"required":["a","b"]}`, `{"a":"x","c":1}`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"items":{"$ref":"#/$defs/a"}}]}}}`, `[[1,["a"]]]`},
		{`{"$dynamicAnchor":"n","properties":{"c":{"items":{"$dynamicRef":"#n"}}},"unevaluatedProperties":false}`, `{"c":[{"d":1}]}`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`, `[[1]]`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1e3,"exclusiveMinimum":true,"id":"x"}`, `1e400`},
		{`{"oneOf":[{"const":1},{"enum":["a",{}]}],"not":{"pattern":"(?=a)"},"if":{"minLength":2},"then":false}`, `"aé"`},
		{`{"patternProperties":{"^a":{"$ref":"#"},"a$":{"$ref":"#"}},"propertyNames":{"maxLength":3}}`, `{"a":{"a":{"aaaa":1}}}`},
		{`{"dependentSchemas":{"a":{"required":["b"]}},"dependentRequired":{"a":["c"]},"dependencies":{"a":["d"]}}`, `{"a":1}`},
		{`{"contains":{"type":"null"},"minContains":2,"uniqueItems":true,"prefixItems":[true],"items":false}`, `[1,1.0,[[]]]`},
		{`{"$id":"http://x/","$defs":{"b":{"$id":"b","$anchor":"c"}},"$ref":"b#c","items":[{}]}`, `[1]`},
		{`{"allOf":[{"$ref":"#/x/y"}],"x":{"y":{"multipleOf":0.1}}}`, `0.30000000000000004`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		start := time.Now()
		s, warnings, err := Compile(schema)
		if !wellTold(t, err) {
			return
		}
		if _, again, err := Compile(schema); err != nil || !slices.Equal(again, warnings) {
			t.Fatalf("warnings %v, then %v (%v)", warnings, again, err)
		}
		found, err := s.Check(value)
		if wellTold(t, err) {
			if again, err := s.Check(value); err != nil || !slices.Equal(again, found) {
				t.Fatalf("found %v, then %v (%v)", found, again, err)
			}
		}
		if took := time.Since(start); took > patience {
			t.Fatalf("took %v", took)
		}
	})
}

// wellTold fails on an error that no caller expects, and reports whether there is no error.
func wellTold(t *testing.T, err error) bool {
	var fault *Error
	if err != nil && (!errors.As(err, &fault) || fault.Text == "" || fault.Reason == Crashed) {
		t.Fatalf("error %#v", err)
	}
	return err == nil
}
