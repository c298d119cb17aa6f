package client

import (
	"strings"
	"testing"
)

// What makes one message of several lines, and what does not.
func TestGather(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		// want is the mended text of what was put together, "" where nothing was.
		want string
	}{
		{"indented", []string{`{`, `  "a": [`, `    1`, `  ]`, `}`}, "{\n  \"a\": [\n    1\n  ]\n}"},
		{"line end in a text", []string{`{"a":"one`, `two"}`}, `{"a":"one\ntwo"}`},
		{"blank at the end of a line", []string{`{ `, `} `}, "{ \n} "},
		{"brackets and quotes in a text", []string{`{"a":"}]\"`, `{"}`}, `{"a":"}]\"\n{"}`},
		{"an array", []string{`[`, `{}]`}, "[\n{}]"},
		{"one line", []string{`{"a":1}`}, ""},
		{"a log", []string{`[info] ready`, `{level=info}`, `[x] {`}, ""},
		{"goes on behind the end", []string{`{`, `} done`}, ""},
		{"no bracket", []string{`a {`, `}`}, ""},
		{"no end", []string{`{`, `"a`, `}`}, ""},
		{"too large", []string{`{`, strings.Repeat(" ", 100), `}`}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var n noise
			got := ""
			for _, line := range test.lines {
				if s := n.gather([]byte(line), Limits{Message: 50}); s != nil {
					got += string(s.mended)
					if raw := strings.Join(test.lines, "\n"); string(s.raw) != raw {
						t.Errorf("raw is %q, want %q", s.raw, raw)
					}
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestIsUTF16(t *testing.T) {
	for line, want := range map[string]bool{
		"\xFF\xFE{\x00": true, "\xFE\xFF\x00{": true, "{\x00\"\x00": true, "\x00{\x00\"": true, "{\x00\"\x00}": true,
		"": false, "{": false, "{\x00": false, "{\"a\":1}": false, "\x00\x00\x00\x00": false, "a\x00bcd\x00": false,
	} {
		if got := isUTF16([]byte(line)); got != want {
			t.Errorf("isUTF16(%q) is %t", line, got)
		}
	}
}
