package render

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
		{Style{Width: 17}, "a\tone two three four five␊␊six\n"},
	} {
		var b bytes.Buffer
		if err := Facts(&b, c.st, pairs); err != nil || b.String() != c.want {
			t.Errorf("%v\ngot  %q\nwant %q", err, b.String(), c.want)
		}
	}
}
