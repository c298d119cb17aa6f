package arguments_test

import (
	"slices"
	"testing"

	"mcpc/internal/connect/arguments"
)

// Words of an object whose quotes a shell removed are its members; JSON, and words without such
// members, are no such object.
func TestObjectWithoutQuotesIsRead(t *testing.T) {
	for _, c := range []struct{ words, want []string }{
		{[]string{"{a:1,b:2}"}, []string{"a=1", "b=2"}}, // Windows PowerShell
		{[]string{"{city:New", "York,", "n:1}"}, []string{"city=New York", "n=1"}},
		{[]string{"'{city:", "Paris}'"}, []string{"city=Paris"}}, // cmd
		{[]string{`'{"a":1}'`}, []string{"a=1"}},
		{[]string{`{\"a\":\"x, y: z\"}`}, []string{"a=x, y: z"}}, // quoted twice
		{[]string{"{“a”: “x”}"}, []string{"a=x"}},
		{[]string{"{'a': 'x'}"}, []string{"a=x"}},
		{[]string{`{"a":1,}`}, []string{"a=1"}},
		{[]string{`{"a":1`}, []string{"a=1"}},
		{[]string{"{url:http://h:1/x}"}, []string{"url=http://h:1/x"}},
		{[]string{"{a:}"}, []string{"a="}},
		{[]string{`{"a":1}`}, nil},
		{[]string{"{a:{b:1}}"}, nil},
		{[]string{"{a:[1,2]}"}, nil},
		{[]string{"{a b:1}"}, nil},
		{[]string{"{:1}"}, nil},
		{[]string{"{a}"}, nil},
		{[]string{"{}"}, nil},
		{[]string{"{"}, nil},
		{[]string{"a:1"}, nil},
		{[]string{`{"a":"x\n"`}, nil},
		{nil, nil},
	} {
		if got := arguments.BrokenObject(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}
