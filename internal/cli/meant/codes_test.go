package meant

import (
	"slices"
	"strings"
	"testing"
)

func TestCodesAfterExplainAreNoFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"explain -32602", "explain|code -32602"},
		{"explain -v -32602 -1", "explain|-v|code -32602|code -1"},
		{"-v explain -32602 -- -1", "-v|explain|code -32602|--|-1"},
		{"-- explain -32602", "--|explain|-32602"},
		{"call -5", "call|-5"},
	} {
		args := strings.Fields(c.args)
		before := slices.Clone(args)
		if got := strings.Join(EscapeCodes(args), "|"); got != c.want || !slices.Equal(args, before) {
			t.Errorf("%s: got %s", c.args, got)
		}
	}
}
