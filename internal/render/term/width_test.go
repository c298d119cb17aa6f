package term

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestQuestionIsWrapped(t *testing.T) {
	if got, want := (Style{Terminal: true, Width: 24}).WrapLine("Run it, by all that is? [y/N]"), "Run it, by all that is?\n  [y/N]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCut(t *testing.T) {
	st := Style{Terminal: true}
	for _, c := range []struct {
		text        string
		width, more int
		want        string
	}{
		{"short", 10, 0, "short"},
		{"exactly ten", 11, 0, "exactly ten"},
		{"a longer line of words", 19, 0, "a longer… +14 chars"},
		{"first", 20, 12, "first… +12 chars"},
		{"first line is long", 22, 100, "first line… +108 chars"},
		{"日本語日本語日本語", 14, 0, "日本語日本…+4"},
		{"👨\u200d👩\u200d👧👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 5, 0, "👨\u200d👩\u200d👧👨\u200d👩\u200d👧…"},
		{"abcdefghij", 4, 0, "abc…"},
		{"abcdefghij", 2, 0, "a…"},
		{"abcdefghij", 0, 0, ""},
	} {
		got := st.CutMore(c.text, c.width, c.more)
		if got != c.want {
			t.Errorf("cut %q to %d: %q, want %q", c.text, c.width, got, c.want)
		}
		if w := ansi.StringWidth(got); w > c.width {
			t.Errorf("cut %q to %d: %q has %d columns", c.text, c.width, got, w)
		}
	}
}
