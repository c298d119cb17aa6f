package shellwords

import (
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/a/b": "/a/b", "": "''", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) is %s, want %s", in, got, want)
		}
	}
}
