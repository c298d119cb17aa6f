package validate

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Whatever a schema multiplies, a check of it ends.
func TestBudgetEndsChecks(t *testing.T) {
	tree := func(n int) string { return strings.Repeat(`{"a":[`, n) + "1" + strings.Repeat(`]}`, n) }
	names := func(n int) string {
		return "{" + repeat(n, func(i int) string { return fmt.Sprintf(`"m%d":1`, i) }) + "}"
	}
	list := func(n int, item string) string { return "[" + repeat(n, same(item)) + "]" }
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
		{"2^12 allOf on many", `{"items":` + strings.Replace(fanOut(12, "allOf"), "#/$defs", "#/items/$defs", -1) + `}`, list(1000, "1"), refused},
		{"names against names", `{"propertyNames":{"anyOf":[` + repeat(1000, same(`{"const":"x"}`)) + `]}}`, names(5000), refused},
		{"long enum of strings", `{"items":{"enum":[` + repeat(10_000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + `]}}`, list(5000, `"x"`), refused},
		{"long strings counted often", `{"allOf":[` + repeat(4000, same(`{"maxLength":9}`)) + `]}`, `"` + strings.Repeat("é", 400_000) + `"`, refused},
		{"long required", `{"items":{"required":[` + repeat(10_000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}}`, list(5000, "{}"), refused},
		{"required by what is there", `{"items":{"dependentRequired":{"a":[` + repeat(10_000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]}}}`, list(5000, `{"a":1}`), refused},
		{"a division of long numbers", `{"items":{"multipleOf":1e-5000}}`, list(500, "1e5000"), refused},
		{"long numbers in enum", `{"items":{"enum":[` + repeat(50, same("1e5000")) + `]}}`, list(500, "1e5000"), refused},
		{"unique long numbers", `{"uniqueItems":true}`, list(500, "1e90000"), refused},
		{"unique lists of lists", `{"items":{"uniqueItems":true},"uniqueItems":true}`, list(100, list(10_000, "1")), refused},
		{"many patterns on a long text", `{"allOf":[` + repeat(500, func(i int) string { return fmt.Sprintf(`{"pattern":"^(a|b)*x%d$"}`, i) }) + `]}`, `"` + strings.Repeat("ab", 50_000) + `"`, refused},
		{"many wrong in all alternatives", `{"items":{"anyOf":[` + repeat(100, same(`{"type":"string"}`)) + `]}}`, list(50_000, "1"), refused},
		{"a table that is right", `{"items":{"properties":{"m1":{"type":"integer","minimum":0},"m2":{"enum":[1,2,3]}},"required":["m1"]}}`, list(5000, names(4)), "fine"},
		{"a table that is wrong", `{"items":{"properties":{"m1":{"type":"string"}}}}`, list(20_000, names(3)), some},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := mustCompile(t, tt.schema)
			start := time.Now()
			found, err := s.Check([]byte(tt.value))
			took := time.Since(start)
			t.Logf("%d bytes: %v", len(tt.value), took)
			got := "fine"
			if err != nil {
				got = err.Error()
			} else if len(found) > 0 {
				got = some
			}
			if !strings.Contains(got, tt.want) || took > patience {
				t.Errorf("got %s %v, want %q; took %v", got, lines(found), tt.want, took)
			}
			if paid := maxWork - s.budget.left; paid < 0 || paid > maxWork {
				t.Errorf("%d units were paid", paid)
			}
		})
	}
}
