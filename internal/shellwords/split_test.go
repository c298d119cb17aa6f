package shellwords

import (
	"slices"
	"testing"
)

func TestUnfinished(t *testing.T) {
	for _, c := range []struct {
		text, head string
		more       bool
	}{
		{"", "", false},
		{"call x\n", "call x", false},
		{"call x \\\n", "call x ", true},
		{"call x \\\r\n", "call x ", true},
		{`call x a\`, "call x a", true},
		{`call x a\\`, `call x a\\`, false},
		{`call x a\\\`, `call x a\\`, true},
		{"call x '{\n", "call x '{\n", true},
		{"call x '{\n\"a\":1}'\n", "call x '{\n\"a\":1}'", false},
		{`call x "a'`, "call x \"a'\n", true},
		{`call x "a\"`, "call x \"a\\\"\n", true},
		{`call x "a\`, `call x "a`, true},
		{`call x 'a\`, "call x 'a\\\n", true},
		{`call x 'a\'`, `call x 'a\'`, false},
		{`call x \'a`, `call x \'a`, false},
		{`call x $'it\'s'`, `call x $'it\'s'`, false},
		{`call x $'it\'s`, "call x $'it\\'s\n", true},
		{`call x $'a$b'`, `call x $'a$b'`, false},
		{`call x $'a$`, "call x $'a$\n", true},
		{`# it's`, `# it's`, false},
		{`list # it's \`, `list # it's \`, false},
		{"# it's\n# it's", "# it's\n# it's", false},
		{"list # it's\n  # it's \\", "list # it's\n  # it's \\", false},
		{"# it's\nread 'a", "# it's\nread 'a\n", true},
		{`read a#b'c`, "read a#b'c\n", true},
	} {
		if head, more := Unfinished(c.text); head != c.head || more != c.more {
			t.Errorf("%q: got %q %t, want %q %t", c.text, head, more, c.head, c.more)
		}
	}
}

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
