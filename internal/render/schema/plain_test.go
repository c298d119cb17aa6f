package schema

import (
	"slices"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
)

// A schema that is read in one pass has the parameters that it has otherwise.
func FuzzPlainParameters(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"number","default":1.0},"b":{"type":["string","null"],"default":"x\ny"}},"required":["a"]}`,
		`{"properties":{"a":{"enum":["x",1,null,"\u0061","c"]},"b":{"type":"array","items":{"type":"array","items":{"type":"string","enum":[]}}},"c":{"type":"array","items":[]}}}`,
		`{"properties":{"a":{"type":"array","items":{"type":["a","b"]}},"a":{"type":"x"}},"required":["a",1,"b"]}`, `{"required":["a"]}`, `{"required":[]}`, `{}`,
		`{"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array"}}}}}}}}`,
		`{"properties":{"a":{"$ref":"#/$defs/b"},"c":true},"$defs":{"b":{"type":"string"}},"allOf":[{"properties":{"d":{"const":1}}}]}`,
		`{"properties":{"a\u0062":{"type":"\u0061\n"},"b":{"type":1},"c":{"type":[]},"d":{"type":"array","items":false}}}`, `[]`, `{"properties":[]}`, `{"properties":{"a":{"type":"x"}},"required":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if jsonraw.Valid(raw) != nil {
			return
		}
		for _, st := range []term.Style{{}, {Terminal: true, Width: 80}} {
			for _, choices := range []int{4, 100} {
				got, ok := plainParameters(st, raw, choices)
				if want := parameters(st, raw, choices); ok && !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		}
	})
}

// Most schemas are read in one pass: without that, the oracle above proves nothing.
func TestPlainParameters(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"number","description":"x"},"b":{"type":["string","null"],"default":1},"c":{"enum":[1]},"d":{"type":"array","items":{"type":"string"}}},"required":["a"]}`: true,
		`{"type":"object"}`:                     true,
		`{"properties":{"a":{"$ref":"#"}}}`:     false,
		`{"required":["a"]}`:                    false,
		`{"properties":{"a":{"anyOf":[true]}}}`: false,
	} {
		if _, ok := plainParameters(term.Style{}, []byte(raw), 4); ok != want {
			t.Errorf("%s: %t", raw, ok)
		}
	}
}
