package shell

import (
	"slices"
	"testing"
)

func TestCandidatesContinueTypedText(t *testing.T) {
	for _, c := range []struct {
		typed       string
		words, want []string
	}{
		{"", []string{"a", "'b c'"}, []string{"a", "'b c'"}},
		{"a=", []string{"'a=b c'", "a=d", "a='e f'"}, []string{"a=d", "a='e f'"}},
		{"a=B", []string{"a=bc"}, nil},
	} {
		if got := goingOn(slices.Clone(c.words), c.typed); !slices.Equal(got, c.want) {
			t.Errorf("behind %q: got %q of %q, want %q", c.typed, got, c.words, c.want)
		}
	}
}
