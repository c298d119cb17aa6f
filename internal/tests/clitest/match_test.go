package clitest

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "b\n", false},
		{"a\n...\nz\n", "a\nb\nc\nz\n", true},
		{"a\n...\nz\n", "a\nb\n", false},
		{"sum (...\n", "sum (12 bytes)\n", true},
		{"", "more\n", false},
	} {
		if Matches(c.want, c.got) != c.ok {
			t.Errorf("Matches(%q, %q) is not %v", c.want, c.got, c.ok)
		}
	}
}
