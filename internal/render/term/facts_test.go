package term

import (
	"bytes"
	"testing"
)

// A reader's values are broken at the terminal's width and hang under each other; a
// pipe has one line for each.
func TestFactsWrap(t *testing.T) {
	pairs := [][]string{{"a", "one two three four five\n\nsix"}}
	for _, c := range []struct {
		st   Style
		want string
	}{
		{Style{Terminal: true, Width: 17}, "a  one two three\n   four five\n\n   six\n"},
		{Style{Terminal: true, Width: 10}, "a  one two\n   three\n   four\n   five\n\n   six\n"},
		{Style{Width: 17}, "a\tone two three four five␊␊six\n"},
	} {
		var b bytes.Buffer
		if err := Facts(&b, c.st, pairs); err != nil || b.String() != c.want {
			t.Errorf("%v\ngot  %q\nwant %q", err, b.String(), c.want)
		}
	}
}

// A word is broken only if it is longer than a line.
func TestFactsKeepWords(t *testing.T) {
	var b bytes.Buffer
	pairs := [][]string{{"command", "run -y '--another-option=yes please' /a/path/that/is/longer"}}
	want := "command  run -y\n         '--another-option=yes\n         please'\n         /a/path/that/is/longe\n         r\n"
	if err := Facts(&b, Style{Terminal: true, Width: 30}, pairs); err != nil || b.String() != want {
		t.Errorf("%v\ngot\n%s\nwant\n%s", err, b.String(), want)
	}
}
