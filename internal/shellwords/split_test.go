package shellwords

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	lookup := func(name string) string { return map[string]string{"last": `{"a": 1}`}[name] }
	for _, c := range []struct {
		line  string
		words []string
		bad   string
	}{
		{"", nil, ""},
		{"  # nothing", nil, ""},
		{`call x a=1 b='x y' c="q\"r" d=\$5`, []string{"call", "x", "a=1", "b=x y", `c=q"r`, "d=$5"}, ""},
		{`call x '{"a":1}' a[]=* a[]=?`, []string{"call", "x", `{"a":1}`, "a[]=*", "a[]=?"}, ""},
		{`call x "a=$last"`, []string{"call", "x", `a={"a": 1}`}, ""},
		{`call x a=$nothing`, []string{"call", "x", "a="}, ""},
		{`read http://a?b=1&c=2`, nil, "at column 18: `&` is not a valid word"},
		{`call x 'y`, nil, "at column 8: reached EOF without closing quote `'`"},
		{`call x a=$(touch x)`, nil, "unexpected command substitution at 1:10"},
		{"call x a=`touch x`", nil, "unexpected command substitution at 1:10"},
		{`call x > y`, nil, "at column 8: `>` is not a valid word"},
	} {
		words, err := Split(c.line, lookup)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(words, c.words) || text != c.bad {
			t.Errorf("%s: got %q %q, want %q %q", c.line, words, text, c.words, c.bad)
		}
	}
}
