package client

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

func TestWithMeta(t *testing.T) {
	marks := []jsonraw.Member{{Name: "a", Value: json.RawMessage(`1`)}, {Name: "b", Value: json.RawMessage(`"2"`)}}
	for _, c := range []struct{ params, want string }{
		{``, `{"_meta":{"a":1,"b":"2"}}`},
		{`{}`, `{"_meta":{"a":1,"b":"2"}}`},
		{` { "x" : 1.0 } `, ` { "x" : 1.0 ,"_meta":{"a":1,"b":"2"}} `},
		{`{"_meta":{"b":"mine"},"x":[ ]}`, `{"_meta":{"b":"mine","a":1},"x":[ ]}`},
		{`{"_meta":7}`, `{"_meta":7}`},
		{`[1]`, `[1]`},
		{`"x"`, `"x"`},
	} {
		if got := string(withMeta(json.RawMessage(c.params), marks...)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.params, got, c.want)
		}
	}
}

// Params without _meta get it as a member of any other name would be added.
func FuzzWithMeta(f *testing.F) {
	for _, params := range []string{``, `{}`, "{\n}\n", ` { "x" : 1.0 } `, `{"a":"}","b":{}}`, `{"_meta":{}}`, `{"a":1`, `[]`, `null`} {
		f.Add(params)
	}
	marks := []jsonraw.Member{{Name: "a", Value: json.RawMessage(`1`)}, {Name: "b", Value: json.RawMessage(`"2"`)}}
	f.Fuzz(func(t *testing.T, params string) {
		if jsonraw.First([]byte(params), "_meta") != nil || params != "" && strings.Trim(params, jsonraw.WhiteSpace) == "" {
			return // it is merged, or stays as it is
		}
		got := withMeta(json.RawMessage(params), marks...)
		if want := jsonraw.With(json.RawMessage(params), "_meta", json.RawMessage(`{"a":1,"b":"2"}`)); string(got) != string(want) {
			t.Errorf("%q: got %s, want %s", params, got, want)
		}
	})
}
