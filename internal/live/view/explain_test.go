package view

import "testing"

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
