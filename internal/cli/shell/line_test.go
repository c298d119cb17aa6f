package shell

import (
	"slices"
	"strings"
	"testing"

	"mcpc/internal/shellwords"
)

// A completion by TAB begins with the typed text, and is the word again for the shell.
func TestCompletionsAreQuoted(t *testing.T) {
	for _, c := range []struct{ word, typed, want string }{
		{"location=Chicago", "loc", "location=Chicago"},
		{"location=New York", "", "location='New York'"},
		{"location=New York", "location", "location='New York'"},
		{"location=New York", "location=", "location='New York'"},
		{"location=New York", "location=New", "location=New' York'"},
		{"where.place=it's", "where.", `where.place='it'\''s'`},
		{"a b=c", "", "'a b=c'"},
		{"a b=c", "a", "a' b=c'"},
		{"a b", "", "'a b'"},
		{"tool (old)", "tool", "tool' (old)'"},
	} {
		got := quoteCompletion(c.word, c.typed)
		words, err := shellwords.Split(got, func(string) string { return "" })
		if got != c.want || !strings.HasPrefix(got, c.typed) || err != nil || !slices.Equal(words, []string{c.word}) {
			t.Errorf("%s behind %s: got %s (%q %v), want %s", c.word, c.typed, got, words, err, c.want)
		}
	}
}
