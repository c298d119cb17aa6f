package render

import (
	"testing"

	"mcpc/internal/wire"
)

// Commands in a hint carry the flags that were typed, and text is left alone that only
// looks like a command.
func TestHintsCarryFlags(t *testing.T) {
	typed := &Typed{Local: "--state 'a b'", There: "--protocol X", Commands: map[string]bool{"log": false, "list": true, "did": true}}
	hint := wire.Run("log") + " shows them; mcpc list; " + wire.Run("list") + " or " + wire.There("list all") + ", or " + wire.Run("help") + "; " + wire.There("info")
	for _, c := range []struct {
		aim  Aim
		want string
	}{
		{Aim{}, "mcpc log shows them; mcpc list; mcpc list or mcpc list all, or mcpc help; mcpc info"},
		{Aim{Flag: "-s demo"}, "mcpc log shows them; mcpc list; mcpc list or mcpc -s demo list all, or mcpc help; mcpc -s demo info"},
		{Aim{Behind: "-- a b"}, "mcpc log shows them; mcpc list; mcpc list or `mcpc list all -- a b`, or mcpc help; mcpc info -- a b"},
		{Aim{Flag: "-s demo", Typed: typed}, "mcpc --state 'a b' log shows them; mcpc list; mcpc --state 'a b' --protocol X list" +
			" or mcpc --state 'a b' --protocol X -s demo list all, or mcpc help; mcpc --state 'a b' --protocol X -s demo info"},
		{Aim{Typed: &Typed{There: "--protocol X", Commands: typed.Commands}}, "mcpc log shows them; mcpc list; mcpc --protocol X list" +
			" or mcpc --protocol X list all, or mcpc help; mcpc --protocol X info"},
		{Aim{Shell: map[string]bool{"list": true}}, "mcpc log shows them; mcpc list; list or list all, or mcpc help; info"},
	} {
		if got, hasCommand := c.aim.Hint(hint); got != c.want || !hasCommand {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	for _, text := range []wire.Hint{"", "mcpc speaks it", "mcpc list", "\x01list", "\x03list\x03"} {
		if got, hasCommand := (Aim{Typed: typed}).Hint(text); got != string(text) || hasCommand {
			t.Errorf("%q became %q", text, got)
		}
	}
}
