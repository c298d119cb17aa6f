package transport

import (
	"strings"
	"testing"

	"mcpc/internal/wire"
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
			var n stdoutNoise
			got := ""
			for _, line := range test.lines {
				if s := n.gather([]byte(line), 50); s != nil {
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

// Lines that are no JSON, and whether they are the answer to request 3 all the same.
func TestClaimsWhatBreaks(t *testing.T) {
	for line, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":3,"result":{"n":NaN}}`:                true,
		`{"jsonrpc":"2.0","id":3,"result":{}}{"jsonrpc":"2.0"}`:      true,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\"\xff\"}}": true,
		`{"jsonrpc":"2.0","id":3,"result":{"x":"one`:                 false, // the rest may come
		`{"jsonrpc":"2.0","id":4,"result":{"n":NaN}}`:                false,
		`{"jsonrpc":"2.0","id":"3","result":{"n":NaN}}`:              false,
		`{"jsonrpc":"2.0","result":{"n":NaN},"id":3}`:                false,
		`{"id":3,"level":NaN}`:                                       false,
		`{"jsonrpc":"2.0","id":3,"params":{"n":NaN},"method":"x"}`:   false,
		`{'jsonrpc': '2.0', 'id': 3, 'result': {}}`:                  false,
	} {
		if got := claims(wire.ParseMessage([]byte(line)), []byte("3"), false); got != want {
			t.Errorf("%q: %t, want %t", line, got, want)
		}
	}
}

func TestUnended(t *testing.T) {
	long := strings.Repeat("x", maxShown)
	for _, test := range []struct {
		name  string
		reads []string
		want  string
	}{
		{"whole lines", []string{"a\n", "b\nc\n"}, ""},
		{"a blank", []string{"a\n \r"}, ""},
		{"behind a line", []string{"a\nb", "c"}, `2 bytes without a line end: "bc"`},
		{"ended later", []string{"a", "b\n"}, ""},
		{"long", []string{long[:70], long, "y"}, `151 bytes without a line end, beginning with "` + long + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Pipe{}
			for _, read := range test.reads {
				if n, err := p.tail.Write([]byte(read)); n != len(read) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := p.Pending(); got.Text != test.want || got.Hint != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
