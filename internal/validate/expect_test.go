package validate

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzExpected: an expectation is never narrower than the schema: a value of a type that is not
// among the expected types, or not among the listed values, has findings. And no schema makes it
// panic or run forever.
func FuzzExpected(f *testing.F) {
	for _, schema := range []string{
		`{"type":"integer"}`, `{"type":["string","null"]}`, `{"enum":[1,"a",null]}`, `{"const":true}`, `true`, `false`,
		`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `{"oneOf":[{"const":"a"},{"type":"null"}]}`,
		`{"allOf":[{"type":["number","string"]},{"type":["string","boolean"]}]}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"array"}}}`,
		`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"items":{"$ref":"#"},"type":"array"}`,
		`{"anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"null"}]}`,
		`{"patternProperties":{"^a":{"type":"object"}},"additionalProperties":{"type":"string"}}`, `{"type":"number","anyOf":[{"type":"integer"}]}`,
	} {
		f.Add(schema)
	}
	samples := map[string]string{"null": "null", "boolean": "true", "number": "1.5", "string": `"x"`, "array": "[]", "object": "{}"}
	f.Fuzz(func(t *testing.T, schema string) {
		s, _, err := Compile([]byte(schema))
		if err != nil {
			return
		}
		types, values := s.Expected().Types(), s.Expected().Values()
		for name, sample := range samples {
			findings, err := s.Check([]byte(sample))
			if err != nil {
				return
			}
			if len(findings) == 0 && types != nil && !slices.Contains(types, name) {
				t.Errorf("%s allows %s, and %q are expected", schema, sample, types)
			}
			beside := !slices.ContainsFunc(values, func(v json.RawMessage) bool { return string(v) == sample })
			if len(findings) == 0 && values != nil && beside && !slices.Contains([]string{"number", "array", "object"}, name) {
				t.Errorf("%s allows %s, and %s are expected", schema, sample, values)
			}
		}
		place := s.Expected()
		for range 30 {
			place, _ = s.Member(place, "a")
			_, _ = place.Names(), place.Closed()
			_, _ = s.Item(place, 1)
		}
	})
}
