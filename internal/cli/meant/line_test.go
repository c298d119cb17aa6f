package meant

import (
	"slices"
	"strings"
	"testing"
)

func TestNegatedTermsAreNoFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"log -name:x", "log|not name:x"},
		{"log -n 5 -Method:a -body~/x/ -name~x", "log|-n|5|not Method:a|not body~/x/|-name~x"},
		{`log -(a) -"b c`, `log|not (a)|not "b|c`},
		{"-s demo call x --name:x -v -sname", "-s|demo|call|x|--name:x|-v|-sname"},
		{"list -- -name:x", "list|--|-name:x"},
	} {
		args := strings.Fields(c.args)
		before := slices.Clone(args)
		if got := strings.Join(EscapeNegations(args), "|"); got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
		if !slices.Equal(args, before) {
			t.Errorf("%s: the arguments were changed", c.args)
		}
	}
}
