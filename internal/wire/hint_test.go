package wire

import "testing"

func TestWithServerFlag(t *testing.T) {
	hint := "use another URL with " + ServerFlag + ", not with -s; " + Run("list") + " lists them"
	if got := hint.String(); got != "use another URL with -s, not with -s; mcpc list lists them" {
		t.Errorf("got %q", got)
	}
	if got := hint.WithServerFlag("--to").String(); got != "use another URL with --to, not with -s; mcpc list lists them" {
		t.Errorf("with --to: got %q", got)
	}
}
