package validate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mcpc/internal/validate/schemadoc"
)

// assertPlain holds what is said without the library of a schema and a value against what the
// library says, and reports whether the schema is plain and the value was accepted.
func assertPlain(t *testing.T, schema, value string) (isPlain, accepted bool) {
	t.Helper()
	s, warnings, err := Compile([]byte(schema))
	if err != nil || s.plain == nil {
		return false, false
	}
	spoken, _ := schemadoc.DialectOf(s.doc)
	if _, unchecked, err := compile(s.doc, spoken); err != nil || len(unchecked)+len(warnings) > 0 {
		t.Fatalf("%s is taken for plain, but: %v %v", schema, err, unchecked)
	}
	if accepted = s.plain.accepts([]byte(value)); accepted {
		if findings, err := s.check([]byte(value)); err != nil || len(findings) > 0 {
			t.Fatalf("%s accepts %s, but the library says: %v %v", schema, value, err, findings)
		}
	}
	return true, accepted
}

// A plainMaker makes schemas and values at random.
type plainMaker struct{ *rand.Rand }

func (m plainMaker) pick(words ...string) string { return words[m.IntN(len(words))] }

func (m plainMaker) value(deep int) string {
	kinds := 9
	if deep == 0 {
		kinds = 7
	}
	switch m.IntN(kinds) {
	case 0:
		return m.pick("true", "false", "null")
	case 1, 2:
		return m.pick("0", "1", "-1", "5", "7", "-0", "1.0", "1.5", "1e2", "10", "123456789012345678901")
	case 3, 4, 5, 6:
		return m.pick(`""`, `"a"`, `"b"`, `"\u0061"`, `"aé"`, `"\ud83d\ude00"`, `"abcdef"`, `"\ud800"`)
	case 7:
		var items []string
		for range m.IntN(4) {
			items = append(items, m.value(deep-1))
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		var members []string
		for range m.IntN(4) {
			members = append(members, m.pick(`"a"`, `"b"`, `"\u0061"`, `"c"`)+":"+m.value(deep-1))
		}
		return "{" + strings.Join(members, ",") + " }"
	}
}

func (m plainMaker) schema(deep int, root bool) string {
	var members []string
	add := func(often float64, name, value string) {
		if m.Float64() < often {
			members = append(members, fmt.Sprintf("%q:%s", name, value))
		}
	}
	types := []string{`"object"`, `"array"`, `"string"`, `"number"`, `"integer"`, `"boolean"`, `"null"`}
	if root {
		add(0.5, "$schema", m.pick(`"http://json-schema.org/draft-07/schema#"`, `"http://json-schema.org/draft-04/schema#"`, `"https://json-schema.org/draft/2020-12/schema"`, `"http://json-schema.org/draft-06/schema#"`))
		add(0.7, "type", `"object"`)
	} else {
		add(0.6, "type", m.pick(append(types, `"integer"`, `["string","integer"]`, `["null","number"]`, `"none"`)...))
	}
	add(0.1, "enum", m.pick(`["a","b"]`, `["aé"]`, `[]`, `["a","a"]`, `[1]`))
	add(0.1, "minimum", m.pick("0", "5", "-1", "1.5", "1e2"))
	add(0.1, "maximum", m.pick("0", "5", "10"))
	add(0.1, "minLength", m.pick("0", "2", "-1"))
	add(0.1, "maxLength", m.pick("1", "2", "1.0"))
	add(0.1, "minItems", "1")
	add(0.1, "maxItems", "2")
	add(0.1, "default", m.value(1))
	add(0.1, "description", m.pick(`"x"`, "1"))
	add(0.3, "required", m.pick(`["a"]`, `["a","b"]`, `[]`))
	if deep > 0 {
		add(0.7, "properties", `{"a":`+m.schema(deep-1, false)+`,"b":`+m.schema(deep-1, false)+`}`)
		add(0.3, "additionalProperties", m.pick("true", "false", m.schema(deep-1, false)))
		add(0.3, "items", m.pick(m.schema(deep-1, false), "[true]"))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestPlainAgreesWithTheLibrary(t *testing.T) {
	m := plainMaker{rand.New(rand.NewPCG(1, 2))}
	plain, accepted := 0, 0
	for range 1200 {
		schema := m.schema(2, true)
		for range 10 {
			value := fmt.Sprintf(`{"a":%s,"b":%s}`, m.value(1), m.value(2))
			if m.IntN(4) == 0 {
				value = m.value(3)
			}
			p, ok := assertPlain(t, schema, value)
			if !p {
				break
			}
			plain++
			if ok {
				accepted++
			}
		}
	}
	if plain < 800 || accepted < 150 {
		t.Errorf("%d values met a plain schema and %d were accepted: too few to show anything", plain, accepted)
	}
}

func TestUsualSchemasArePlain(t *testing.T) {
	schema := `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"number","description":"First number"},` +
		`"b":{"type":["integer","null"],"minimum":0,"default":[]},"c":{"type":"array","items":{"enum":["x","y"]}}},"required":["a"],"additionalProperties":false}`
	for value, want := range map[string]bool{
		`{"a":1.5,"b":2,"c":["x","y"]}`: true, `{"a":1,"b":null}`: true, `{"a":1e5}`: false, `{"b":1}`: false,
		`{"a":1,"d":1}`: false, `{"a":1,"c":["z"]}`: false, `{"a":1,"b":-1}`: false, `{"a":"1"}`: false, `{"a":1`: false, `[]`: false,
	} {
		if p, got := assertPlain(t, schema, value); !p || got != want {
			t.Errorf("%s: plain %v, accepted %v", value, p, got)
		}
	}
}

func FuzzPlain(f *testing.F) {
	m := plainMaker{rand.New(rand.NewPCG(3, 4))}
	for range 50 {
		f.Add(m.schema(2, true), m.value(2))
	}
	f.Fuzz(func(t *testing.T, schema, value string) { assertPlain(t, schema, value) })
}
