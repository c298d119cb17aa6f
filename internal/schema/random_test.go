package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// randomSchema writes a small schema.
func randomSchema(r *rand.Rand, depth int) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	inner := func() string {
		if depth > 2 {
			return pick("true", "{}", `{"type":"string"}`, `{"type":"integer"}`)
		}
		return randomSchema(r, depth+1)
	}
	var parts []string
	add := func(format string, args ...any) {
		if r.IntN(3) == 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	n := func() int { return r.IntN(4) }
	switch r.IntN(6) {
	case 0:
		add(`"type":%s`, pick(`"integer"`, `"number"`, `["integer","null"]`))
		add(`"minimum":%d`, n())
		add(`"exclusiveMaximum":%d`, n()+1)
		add(`"multipleOf":%s`, pick("1", "2", "3", "0.5"))
	case 1:
		add(`"type":%s`, pick(`"string"`, `["string","null"]`))
		add(`"minLength":%d`, n())
		add(`"maxLength":%d`, n())
		add(`"enum":%s`, pick(`["a"]`, `["a","b"]`, `["a",1,null]`))
	case 2:
		add(`"type":"array"`)
		add(`"items":%s`, inner())
		add(`"prefixItems":[%s]`, inner())
		add(`"minItems":%d`, n())
		add(`"uniqueItems":%s`, pick("true", "false"))
	case 3:
		add(`"anyOf":[%s,%s]`, inner(), inner())
		add(`"oneOf":[%s,%s]`, inner(), inner())
		add(`"allOf":[%s,%s]`, inner(), inner())
		add(`"not":%s`, inner())
		add(`"if":%s,"then":%s`, inner(), inner())
	case 4:
		add(`"const":%s`, pick("1", `"a"`, "null", "[]"))
		add(`"$ref":"#/$defs/%s"`, pick("d", "e"))
	default:
		add(`"type":"object"`)
		add(`"properties":{"p":%s,"q":%s}`, inner(), inner())
		add(`"required":[%s]`, pick(`"p"`, `"q"`, `"p","q"`))
		add(`"additionalProperties":%s`, pick("false", "true", inner()))
		add(`"maxProperties":%d`, n())
		add(`"dependentRequired":{"p":["q"]}`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func randomValue(r *rand.Rand, depth int) string {
	simple := []string{"null", "true", "0", "1", "2", "3", "4", "6", "0.5", "1.5", "-1", `""`, `"a"`, `"b"`, `"ab"`, `"abcd"`, "[]", "{}"}
	if depth > 2 || r.IntN(3) == 0 {
		return simple[r.IntN(len(simple))]
	}
	var parts []string
	if r.IntN(2) == 0 {
		for range r.IntN(4) {
			parts = append(parts, randomValue(r, depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, name := range []string{"p", "q"} {
		if r.IntN(3) > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, randomValue(r, depth+1)))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// narrows reports a kind after which a value may be rejected that was accepted before. A member
// that is new counts, too: before, it could have any value.
func narrows(kind string) bool {
	for _, part := range []string{"narrowed", "-changed", "tightened", "enum-removed", "alternative-removed", "member-required", "member-added", "member-removed-closed", "undecided", "too-complex"} {
		if strings.Contains(kind, part) {
			return true
		}
	}
	return kind == "closed"
}

func widens(kind string) bool {
	for _, part := range []string{"widened", "-changed", "loosened", "enum-added", "alternative-added", "member-optional", "member-removed", "member-added-closed", "undecided", "too-complex"} {
		if strings.Contains(kind, part) {
			return true
		}
	}
	return kind == "opened"
}

// There are no unreported differences: for two random schemas, a value that only the first accepts
// implies a reported narrower part, and a value that only the second accepts a reported wider part.
func TestRandomSchemasHaveNoUnreportedDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	compared, missed := 0, 0
	for range 1500 {
		a, b := randomSchema(r, 0), randomSchema(r, 0)
		if r.IntN(2) == 0 {
			b = mutated(r, a)
		}
		defs := fmt.Sprintf(`,"$defs":{"d":%s,"e":%s}}`, `{"type":"string","maxLength":2}`, `{"properties":{"p":{"$ref":"#/$defs/d"}}}`)
		full := func(s string) json.RawMessage {
			if s == "{}" {
				return json.RawMessage("{" + defs[1:])
			}
			return json.RawMessage(strings.TrimSuffix(s, "}") + defs)
		}
		before, errA := compile(full(a))
		after, errB := compile(full(b))
		if errA != nil || errB != nil {
			continue
		}
		narrower, wider := false, false
		all := schema.Compare(full(a), full(b), options())
		for _, d := range all {
			narrower, wider = narrower || narrows(d.Kind), wider || widens(d.Kind)
		}
		compared++
		for range 40 {
			v := []byte(randomValue(r, 0))
			was, errA := before(v)
			is, errB := after(v)
			if errA != nil || errB != nil {
				continue
			}
			if was == is || was && narrower || is && wider {
				continue
			}
			// Trying two forms may miss what only a rare value shows.
			if missed++; len(all) != 1 || all[0].Kind != "equivalent-form" || missed > 5 {
				t.Errorf("%s\n%s\n%s: %v, then %v; got %s", a, b, v, was, is, kindsOf(all))
			}
			break
		}
	}
	if compared < 1000 {
		t.Errorf("only %d pairs were compared", compared)
	}
}

// mutated is a schema with one member left out or replaced.
func mutated(r *rand.Rand, schema string) string {
	members, _ := jsonraw.Object([]byte(schema))
	if len(members) == 0 {
		return randomSchema(r, 0)
	}
	m := members[r.IntN(len(members))]
	other, _ := jsonraw.Object([]byte(randomSchema(r, 0)))
	switch {
	case r.IntN(3) == 0 || len(other) == 0:
		return string(jsonraw.Without([]byte(schema), m.Name))
	case len(m.Value) > 0 && m.Value[0] == '{' && r.IntN(2) == 0 && m.Name != "properties":
		return string(jsonraw.With([]byte(schema), m.Name, []byte(mutated(r, string(m.Value)))))
	}
	return string(jsonraw.With([]byte(schema), other[0].Name, other[0].Value))
}
