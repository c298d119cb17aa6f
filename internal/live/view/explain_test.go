package view

import (
	"slices"
	"testing"

	"mcpc/internal/wire"
)

// A tap or a proxy records no text for a failure: the answer and the schema tell it.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name       string
		failed     bool
		text, want string
	}{
		{"a watched client", true, "", "tool error: no"},
		{"a command", true, "refused", "refused"},
		{"nothing failed", false, "", ""},
	} {
		d := Detail{
			Row: Row{Failed: c.failed, Text: c.text}, Lines: []Line{{Kind: "request", Text: "call x"}, {Kind: "response", Text: "tool error: no"}},
			Facts: [][2]string{{"outcome", "tool_error"}, {"took", "1 ms"}}, Wrong: []Wrong{{"/a", "/a must be number"}, {"", "missing b"}},
		}
		explain(&d)
		if d.Row.Text != c.want {
			t.Errorf("%s: the text is %q, want %q", c.name, d.Row.Text, c.want)
		}
		if got := d.Facts[1]; got != [2]string{"wrong arguments", "/a must be number; missing b"} {
			t.Errorf("%s: the second fact is %q", c.name, got)
		}
	}
}

// An error that mcpc tap made is shown as its reason and the lines of stderr, without its code.
func TestExplainTapError(t *testing.T) {
	facts := [][2]string{{"outcome", "rpc_error"}, {"error code", "-32000 a code"}, {"text", "mcpc tap: it ended"}}
	for response, want := range map[string]Detail{
		`{"id":1,"error":{"code":-32000,"message":"mcpc tap: it ended","data":{"by":"mcpc","stderr":"a\nb\n"}}}`: {
			Row: Row{Text: "it ended"}, Facts: facts[:1], Stderr: []string{"a", "b"},
		},
		`{"id":1,"error":{"code":-32000,"message":"mcpc tap: it ended"}}`: {Facts: facts},
	} {
		d := Detail{Facts: slices.Clone(facts)}
		explainTapError(&d, &wire.Exchange{Response: wire.Frame{Raw: []byte(response)}})
		if d.Row.Text != want.Row.Text || !slices.Equal(d.Facts, want.Facts) || !slices.Equal(d.Stderr, want.Stderr) {
			t.Errorf("got %q, %q, %q", d.Row.Text, d.Facts, d.Stderr)
		}
	}
}
