package client

import (
	"encoding/json"
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
