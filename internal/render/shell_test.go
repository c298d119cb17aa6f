package render

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
)

// A shell must give back what was quoted, and nothing in the word may act on a
// terminal that shows it.
func TestShellQuote(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no POSIX shell")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatalf("%v; this test needs it: apt-get install dash", err)
	}
	for _, s := range []string{
		"plain", "", "two words", "it's", "'", `"$HOME" $(touch x) ` + "`touch x`", `back\slash`, "a\nb", "100%s %d\x1b[2J",
		"\u202e日本語", "日本語", "-n", "*", "~", "!history", "#no comment", "a;b|c&d", "\x1b]0;x\x07it's \"\\", "tab\tand\rCR", "\xff\x80",
	} {
		word := shellwords.Quote(s)
		if strings.IndexFunc(word, forbidden) >= 0 || strings.ContainsAny(word, "\n\t\r") {
			t.Errorf("%q shows %q", s, word)
		}
		out, err := exec.Command(shell, "-c", `printf %s `+word).Output()
		if s == "-n" {
			out, err = exec.Command(shell, "-c", `printf '%s' -- `+word).Output()
			out = []byte(strings.TrimPrefix(string(out), "--"))
		}
		if err != nil || string(out) != s {
			t.Errorf("%q as %s gives %q %v", s, word, out, err)
		}
	}
}

func TestExampleCall(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"get-sum", `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`, `mcpc call get-sum '{"a":1}'`},
		{"echo", `{"type":"object","properties":{"m":{"const":"it's"}},"required":["m"]}`, `mcpc call echo '{"m":"it'\''s"}'`},
		{"-x", `{"type":"object"}`, `mcpc raw tools/call '{"name":"-x","arguments":{}}'`},
		{"a b\x1b", `{"type":"object"}`, `mcpc call "$(printf 'a b\033')" '{}'`},
		{"h", "{\"const\":\"\u202e\"}", `mcpc call h '"\u202e"'`},
	} {
		if got := (Aim{}).ExampleCall(mcp.Tool{Name: c.name, InputSchema: []byte(c.schema)}, Example([]byte(c.schema))); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

// Where no valid example is known, the values are left to the reader.
func TestExampleCallWithPlaceholders(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"x", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}`, `mcpc call x '{"b":VALUE}'`},
		{"-x", `{"type":"object","properties":{"a\u202e":true}}`, `mcpc raw tools/call '{"name":"-x","arguments":{"a\u202e":VALUE}}'`},
		{"x", `{"minProperties":1}`, `mcpc call x '{"NAME":VALUE}'`},
	} {
		if got := (Aim{}).ExampleCall(mcp.Tool{Name: c.name, InputSchema: []byte(c.schema)}, nil); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

func TestAim(t *testing.T) {
	tool := mcp.Tool{Name: "get", InputSchema: []byte(`{"type":"object"}`)}
	for _, c := range []struct {
		aim  Aim
		want string
	}{
		{Aim{}, `mcpc call get '{}'`},
		{Aim{Flag: "-s demo"}, `mcpc -s demo call get '{}'`},
		{Aim{Behind: "-- node a.js"}, `mcpc call get '{}' -- node a.js`},
	} {
		if got := c.aim.ExampleCall(tool, []byte(`{}`)); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
