package wire

import "testing"

func TestIsToken(t *testing.T) {
	for text, want := range map[string]bool{
		"X-Own": true, "get": true, "!#$%&'*+-.^_`|~09azAZ": true,
		"": false, "a b": false, " a": false, "a:": false, "(a)": false, `a"`: false, `a\`: false, "a/b": false, "[a]": false,
		"a?": false, "{a}": false, "a=b": false, "a@b": false, "a,b": false, "a;b": false, "<a>": false,
		"a\t": false, "a\x00": false, "a\x7f": false, "ä": false,
	} {
		if got := IsToken(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}
