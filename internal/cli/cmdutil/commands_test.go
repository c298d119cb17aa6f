package cmdutil

import "testing"

func TestWordsBeforeDashes(t *testing.T) {
	if got := BeforeDashes([]string{"a", "--", "b"}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
