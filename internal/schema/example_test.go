package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/schema"
	"mcpc/internal/validate"
)

// satisfies fails where validate, finds that the
// example breaks its schema.
func satisfies(t *testing.T, name string, raw []byte) {
	t.Helper()
	checker, _, err := validate.Compile(raw)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	example := schema.Example(raw)
	findings, err := checker.Check(example)
	if err != nil {
		t.Errorf("%s: %s: %v", name, example, err)
	}
	for _, f := range findings {
		t.Errorf("%s: %s: %s %s", name, example, f.Pointer, f.Text)
	}
}

func TestExampleOfRealTools(t *testing.T) {
	files, err := filepath.Glob("../render/testdata/tools/*.json")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		items, _ := jsonraw.Array(raw)
		for _, item := range items {
			tool, finding := mcp.ParseTool(item)
			if finding != nil {
				t.Fatal(finding.Text)
			}
			if filepath.Base(file) == "strange.json" && tool.Name != "draft-04" {
				continue
			}
			satisfies(t, file+" "+tool.Name, tool.InputSchema)
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("only %d schemas", checked)
	}
}

func TestExample(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object"}`, `{}`},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`},
		{`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"boolean"}},"required":["a","b"]}`, `{"b":1,"a":true}`},
		{`{"const":{"x":1.10}}`, `{"x":1.10}`},
		{`{"enum":["x","y"]}`, `"x"`},
		{`{"type":"string","default":"d"}`, `"d"`},
		{`{"type":"string","default":null}`, `"example"`},
		{`{"type":"string","examples":[1,"e"],"default":"d"}`, `"e"`},
		{`{"type":["null","integer"]}`, `1`},
		{`{"type":"null"}`, `null`},
		{`{"type":"string","format":"date-time"}`, `"2026-01-31T12:00:00Z"`},
		{`{"type":"string","minLength":10}`, `"exampleeee"`},
		{`{"type":"string","maxLength":3}`, `"exa"`},
		{`{"type":"integer","minimum":5}`, `5`},
		{`{"type":"integer","exclusiveMinimum":5,"exclusiveMaximum":7}`, `6`},
		{`{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2}`, `1.5`},
		{`{"type":"integer","minimum":10,"multipleOf":7}`, `14`},
		{`{"type":"number","maximum":-0.5,"multipleOf":0.1}`, `-0.5`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":3,"exclusiveMinimum":true}`, `4`},
		{`{"type":"integer","minimum":9007199254740993}`, `9007199254740993`},
		{`{"type":"array"}`, `["example"]`},
		{`{"type":"array","maxItems":0}`, `[]`},
		{`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2}`, `[1,"example"]`},
		{`{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `1`},
		{`{"type":"object","oneOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"required":["b"]}]}`, `{"a":1}`},
		{`{"allOf":[{"type":"number","minimum":3},{"type":"integer","maximum":3}]}`, `3`},
		{`{"type":"object","allOf":[{"properties":{"a":{"minimum":3}},"required":["a"]},{"properties":{"a":{"type":"integer"}}}]}`, `{"a":3}`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}`, `1`},
		{`{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["v","next"]}`, `{"v":1,"next":null}`},
		{`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/k"}}},"required":["kids"],"$defs":{"k":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/k"}}},"required":["kids"]}}}`, `{"kids":[{"kids":[]}]}`},
		{`{"type":"object","if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]},"required":["a"]}`, `{"a":"example"}`},
		{`{"type":"object","properties":{"url":{"type":"string"},"file_path":{"type":"string"}},"required":["url","file_path"]}`, `{"url":"https://example.com/","file_path":"."}`},
	} {
		if got := string(schema.Example([]byte(c.schema))); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.schema, got, c.want)
		}
		satisfies(t, c.schema, []byte(c.schema))
	}
}
