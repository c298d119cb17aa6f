package render

import "testing"

func TestAimCarries(t *testing.T) {
	typed := &Typed{Local: "--state 'a b'", There: "--protocol X", Commands: map[string]bool{"log": false, "list": true, "did": true}}
	for _, c := range []struct {
		aim                      Aim
		command, quoted, carried string
	}{
		{Aim{}, "mcpc list all", "mcpc list all", "mcpc log shows them; mcpc list"},
		{Aim{Flag: "-s demo"}, "mcpc -s demo list all", "mcpc -s demo list all", "mcpc log shows them; mcpc list"},
		{Aim{Behind: "-- a b"}, "mcpc list all -- a b", "`mcpc list all -- a b`", "mcpc log shows them; mcpc list"},
		{Aim{Flag: "-s demo", Typed: typed}, "mcpc --state 'a b' --protocol X -s demo list all", "mcpc --state 'a b' --protocol X -s demo list all",
			"mcpc --state 'a b' log shows them; mcpc --state 'a b' --protocol X list"},
		{Aim{Typed: &Typed{There: "--protocol X", Commands: typed.Commands}}, "mcpc --protocol X list all", "mcpc --protocol X list all",
			"mcpc log shows them; mcpc --protocol X list"},
	} {
		if got := c.aim.Command("list all"); got != c.command {
			t.Errorf("got %q, want %q", got, c.command)
		}
		if got := c.aim.Quoted("list all"); got != c.quoted {
			t.Errorf("got %q, want %q", got, c.quoted)
		}
		if got := c.aim.Carry("mcpc log shows them; mcpc list"); got != c.carried {
			t.Errorf("got %q, want %q", got, c.carried)
		}
		for _, text := range []string{"", "mcpc speaks it", "mcpc ", "xmcpc list", "mcpc", "logmcpc log", "mcpc lists", c.command} {
			if got := c.aim.Carry(text); got != text {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}
