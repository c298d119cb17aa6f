package validate

import (
	"fmt"
	"strings"
	"testing"
)

// Keywords of older drafts and null for absent keywords hold as they are meant, and the first
// warning reports that the schema is not valid.
func TestCompileTolerant(t *testing.T) {
	for _, c := range []struct{ schema, good, bad string }{
		{`{"minimum":1,"exclusiveMinimum":true}`, `1.5`, `1`},
		{`{"maximum":1,"exclusiveMaximum":true}`, `0`, `1`},
		{`{"minimum":1,"exclusiveMinimum":false}`, `1`, `0`},
		{`{"type":"number","exclusiveMinimum":true}`, `-1`, `"x"`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","minimum":1,"exclusiveMinimum":true}`, `2`, `1`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"required":true}},` +
			`"minimum":1,"exclusiveMinimum":true}`, `2`, `1`},
		{`{"properties":{"a":{"required":true},"b":{"required":false}}}`, `{"a":1}`, `{"b":1}`},
		{`{"properties":{"a":{"required":true},"b":{"required":true}},"required":["b"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`{"items":{"properties":{"a":{"required":true}}}}`, `[{"a":1}]`, `[{}]`},
		{`{"type":"object","required":null,"properties":null,"title":null}`, `{}`, `1`},
		{
			`{"properties":{"a":null,"b":{"type":"integer","enum":null}},"additionalProperties":false}`,
			`{"a":1,"b":1}`, `{"b":"x"}`,
		},
		{`{"anyOf":[{"type":"integer","format":null},{"type":"null"}]}`, `null`, `"x"`},
		{`{"const":null,"title":null}`, `null`, `1`},
		{`{"type":"bool"}`, `true`, `"true"`},
		{`{"type":"int"}`, `1`, `1.5`},
		{`{"type":"float"}`, `1.5`, `"1.5"`},
		{`{"type":"str"}`, `"a"`, `1`},
		{`{"type":"dict"}`, `{}`, `[]`},
		{`{"type":"list","items":{"type":"INTEGER"}}`, `[1]`, `["a"]`},
		{`{"type":["bool","None"]}`, `null`, `1`},
		{`{"type":["string",null]}`, `null`, `1`},
		{`{"type":"object","properties":{"a":{"type":"any"},"b":{"type":"Boolean"}}}`, `{"a":1,"b":true}`, `{"b":1}`},
	} {
		if _, _, err := Compile([]byte(c.schema)); err == nil {
			t.Errorf("%s: is valid", c.schema)
		}
		s, warnings, err := CompileTolerant([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if len(warnings) == 0 || !strings.HasSuffix(warnings[0].Text, "read as it was probably meant") {
			t.Errorf("%s: warnings %v", c.schema, warnings)
		}
		if found := mustCheck(t, s, c.good); len(found) > 0 {
			t.Errorf("%s: %s: %v", c.schema, c.good, found)
		}
		if found := mustCheck(t, s, c.bad); len(found) == 0 {
			t.Errorf("%s: accepts %s", c.schema, c.bad)
		}
	}
	for _, schema := range []string{
		`{"type":"date"}`, `{"required":true}`, `{"minimum":"1"}`, `[]`, `{`,
		`{"$schema":"x:y","title":null}`, `{"properties":{"a":{"$ref":"#/none","title":null}}}`,
	} {
		_, _, want := Compile([]byte(schema))
		if _, _, err := CompileTolerant([]byte(schema)); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: got %v, want %v", schema, err, want)
		}
	}
	_, warnings, err := CompileTolerant([]byte(`{"type":"string","pattern":"["}`))
	if err != nil || len(warnings) != 1 || warnings[0].Rule != "pattern_broken" {
		t.Errorf("a valid schema: %v %v", warnings, err)
	}
}

// The types of a part that can be read are known whatever is wrong in another part.
func TestTypesBesideInvalidPartsAreKnown(t *testing.T) {
	const good = `"n":{"type":"integer"},"o":{"properties":{"i":{"type":"boolean"}}},"l":{"items":{"type":"number"}}`
	for _, c := range []struct{ bad, types string }{
		{`"x":{"type":"bool"}`, "boolean"},
		{`"x":{"type":["integer","uuid"]}`, ""},
		{`"x":{"type":"integer","minimum":"1"}`, "integer"},
		{`"x":{"type":"integer","minimum":"1","maximum":[],"multipleOf":-1}`, "integer"},
		{`"x":null`, ""},
		{`"x":7`, ""},
		{`"x":{"$ref":"#/$defs/none"}`, ""},
		{`"x":{"type":"integer","$ref":"https://example.com/s.json"}`, "integer"},
		{`"x":{"$ref":"other.json#/a"}`, ""},
		{`"x":{"type":"integer","anyOf":[7]}`, "integer"},
		{`"x":{"anyOf":[{"type":"integer"},{"type":"uuid"}]}`, ""},
		{`"properties":{"type":"uuid"},"x":{"type":"integer"}`, "integer"},
		{`"x":{"type":"integer","minimum":1,"exclusiveMinimum":true},"y":{"type":"date"}`, "integer"},
	} {
		for _, head := range []string{
			``, `"$schema":"https://example.com/dialect",`,
			`"$schema":"http://json-schema.org/draft-04/schema#",`,
		} {
			schema := `{` + head + `"type":"object","properties":{` + good + `,` + c.bad + `},"additionalProperties":false}`
			s := Readable([]byte(schema))
			if s == nil {
				t.Errorf("%s: nothing is read", schema)
				continue
			}
			root := s.Expected()
			n, _ := s.Member(root, "n")
			o, _ := s.Member(root, "o")
			i, _ := s.Member(o, "i")
			l, _ := s.Member(root, "l")
			item, _ := s.Item(l, 0)
			x, known := s.Member(root, "x")
			got := fmt.Sprint(n.Types(), i.Types(), item.Types(), x.Types(), known)
			if want := "[integer] [boolean] [number] [" + c.types + "] true"; got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", schema, got, want)
			}
		}
	}
	for _, schema := range []string{
		`[]`, `{`, `null`,
		`{"allOf":[` + repeat(maxLeftOut+10, same(`{"minLength":-1}`)) + `]}`,
	} {
		if s := Readable([]byte(schema)); s != nil {
			t.Errorf("%.40s is read", schema)
		}
	}
}
