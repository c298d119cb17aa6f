package validate

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestBriefValues(t *testing.T) {
	for in, want := range map[string]string{
		`null`: "null", `true`: "true", `1.50e+3`: "1.50e+3", `"a\"b"`: `"a\"b"`, `"<&>"`: `"<&>"`,
		`{"b":[1,{}],"a":null}`:     `{"a":null,"b":[1,{}]}`,
		`[1,2,3]`:                   `[1,2,3]`,
		`["` + long("y") + `"]`:     "an array of 1 item",
		`{"a":"` + long("y") + `"}`: "an object with 1 member",
		`"` + long("é") + `"`:       `"` + strings.Repeat("é", 27) + `…"`,
		long("7"):                   strings.Repeat("7", 55) + "…",
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(v); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func long(s string) string { return strings.Repeat(s, 100) }
