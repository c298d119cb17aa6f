package jsonraw

import (
	"strings"
	"testing"
)

func TestCompact(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.0,"a":[3, 2]}`:     `{"a":[3e0,2e0],"b":1e0}`,
		` {"a":"\u0041\/"} `:       `{"a":"A/"}`,
		`{"a":2,"b":1,"a":1}`:      `{"a":2e0,"a":1e0,"b":1e0}`,
		`9007199254740993`:         `9007199254740993e0`,
		`1e999999999`:              `1e999999999`,
		`{}`:                       `{}`,
		`[]`:                       `[]`,
		`{"a":null,"A":true}`:      `{"A":true,"a":null}`,
		`not JSON`:                 `not JSON`,
		"\"\u202e\"":               "\"\u202e\"",
		`{"a":{"d":{},"c":[{}]}}`:  `{"a":{"c":[{}],"d":{}}}`,
		`{"a":1`:                   `{"a":1`,
		`"\ud83d\ude00"`:           `"😀"`,
		`[1.50, -0, 0.0, 12300e1]`: `[15e-1,0e0,0e0,123e3]`,
	} {
		if got := string(Canonical([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestIndent(t *testing.T) {
	want := "{\n  \"a\": [\n    1.0,\n    {}\n  ],\n  \"b\": \"\\u0041\"\n}"
	if got := string(Indent([]byte(`{"b":"\u0041","a":[1.0,{}]}`))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDeepestValuesKeepTheirBytes(t *testing.T) {
	deep := strings.Repeat(`{"b":1,"a":`, 900) + `1.0` + strings.Repeat("}", 900)
	got := Canonical([]byte(deep))
	if err := Valid(got); err != nil || !strings.Contains(string(got), "1.0") {
		t.Errorf("got %v: the deepest values keep their bytes", err)
	}
}

// Canonical JSON does not change.
func FuzzCompact(f *testing.F) {
	f.Add([]byte(`{"b":1.0,"a":["\u0041",{}]}`))
	f.Add([]byte(`[1e-400, "\ud800"]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once := Canonical(raw)
		if twice := Canonical(once); string(twice) != string(once) {
			t.Errorf("%q became %q", once, twice)
		}
		if Valid(raw) == nil && (Valid(once) != nil || Valid(Indent(raw)) != nil) {
			t.Errorf("%q became %q", raw, once)
		}
	})
}
