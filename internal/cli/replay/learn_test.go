package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/match"
	"mcpc/internal/sliceutil"
)

// What is the same in all answers and not as recorded may be a fault, unless it is a time or a UUID.
func TestProposeFor(t *testing.T) {
	for _, c := range []struct {
		was     string
		answers []string
		want    string
	}{
		{`{"a":1}`, []string{`{"a":1}`}, ""},
		{`{"a":1}`, []string{`{"a":2}`}, ""},
		{`{"a":1}`, []string{`{"a":2}`, `{"a":3}`}, ".a: number"}, // it goes on
		{`{"a":7}`, []string{`{"a":2}`, `{"a":3}`}, ".a: number +-5"},
		{`{"a":7,"b":1}`, []string{`{"a":2,"b":2}`, `{"a":3,"b":2}`}, ".a: number +-5"},
		{`{"a":"2026-01-01"}`, []string{`{"a":"2026-01-02"}`}, ".a: time"},
		{`{"a":"2026-01-01"}`, []string{`{"a":"soon"}`}, ""},
		{`{"a":` + `"11111111-1111-1111-1111-111111111111"` + `}`, []string{`{"a":` + `"22222222-2222-2222-2222-222222222222"` + `}`}, ".a: uuid"},
		{`{"a":{"b":"x","c":1}}`, []string{`{"a":{"b":"y","c":2}}`, `{"a":{"b":"z","c":2}}`}, ".a.b: type"},
		{`{"a":["x"]}`, []string{`{"a":["y","z"]}`, `{"a":["x","z"]}`}, ".a[0]: type"}, // not the length
		{`{"a":["x","z"]}`, []string{`{"a":["y"]}`, `{"a":["x","z"]}`}, ".a: type"},
		{`{"a":[1,2]}`, []string{`{"a":[3,2]}`, `{"a":[2,3]}`}, ".a: unordered"},
		{`{`, []string{`{"a":"y"}`, `{"a":"x"}`}, ".a: type"},
	} {
		answers := sliceutil.Map(c.answers, func(text string) json.RawMessage { return json.RawMessage(text) })
		rules, err := proposeFor(json.RawMessage(c.was), answers, match.Comparison{Part: match.Result, Method: "tools/call"})
		if got := strings.Join(sliceutil.Map(rules, func(r match.Rule) string { return r.Path.String() + ": " + r.Matcher.String() }), "; "); err != nil || got != c.want {
			t.Errorf("%s %s\ngot  %s %v\nwant %s", c.was, c.answers, got, err, c.want)
		}
	}
}
