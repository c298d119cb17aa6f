package fuzz_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/fuzz"
)

// properties returns a schema of an object with n members.
func properties(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"m%d":{"type":"string","maxLength":%d}`, i, i))
	}
	return `{"type":"object","properties":{` + strings.Join(members, ",") + `}}`
}

// Each schema of a hostile server gets a bounded number of calls, or a reason why there are none.
// The other tools are tested all the same.
func TestHostileSchemasAreBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	for name, schema := range map[string]string{
		"no schema":       ``,
		"no JSON":         `{`,
		"false":           `false`,
		"unsatisfiable":   `{"type":"object","not":{}}`,
		"a list":          `{"type":"array"}`,
		"a huge text":     `{"type":"object","properties":{"a":{"type":"string","minLength":1000000000}},"required":["a"]}`,
		"a huge maximum":  `{"type":"object","properties":{"a":{"type":"string","maxLength":9223372036854775807}}}`,
		"a huge limit":    `{"type":"object","properties":{"a":{"type":"string","maxLength":4611686018427387904}}}`,
		"a huge list":     `{"type":"object","properties":{"a":{"type":"array","minItems":1000000000}},"required":["a"]}`,
		"a huge number":   `{"type":"object","properties":{"a":{"type":"number","minimum":1e999999999}},"required":["a"]}`,
		"itself":          `{"$ref":"#"}`,
		"itself required": `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`,
		"another file":    `{"$ref":"https://example.com/schema.json"}`,
		"a bad pattern":   `{"type":"object","properties":{"a":{"type":"string","pattern":"(?<=x)y\\1"}},"required":["a"]}`,
		"many members":    properties(3000),
		"deep":            deep,
		"an empty enum":   `{"type":"object","properties":{"a":{"enum":[]}},"required":["a"]}`,
	} {
		calls := 0
		tools := []fuzz.Tool{
			{Name: "hostile", InputSchema: json.RawMessage(schema), Reads: true},
			{Name: "other", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), Reads: true},
		}
		report := fuzz.Run(t.Context(), tools, fuzz.Options{
			Budget: 120, Compile: compile,
			Call: func(_ context.Context, _ string, args json.RawMessage) fuzz.Answer {
				calls++
				if len(args) > 1<<20 {
					t.Errorf("%s: arguments of %d bytes", name, len(args))
				}
				return fuzz.Answer{Class: fuzz.ToolError, Text: "no"}
			},
		})
		if calls > 120 {
			t.Errorf("%s: %d calls", name, calls)
		}
		for _, s := range report.Summaries {
			if s.Calls == 0 && (s.Why == "" || s.Tool == "other") {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}
