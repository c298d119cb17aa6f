package shellwords

import (
	"strings"
	"testing"
)

// Words that every shell takes for one word once it is quoted.
func TestInertWords(t *testing.T) {
	for word, want := range map[string]bool{
		"name": true, "get-sum": true, "a b": true, "ä.x:/@%+,=_": true, "": false, "-x": false, " a": false, "a ": false,
		"$x": false, "a;b": false, "a\nb": false, "a'b": false, strings.Repeat("a", 200): true, strings.Repeat("a",
			201): false,
	} {
		if Inert(word) != want {
			t.Errorf("%q: got %v", word, !want)
		}
	}
}
