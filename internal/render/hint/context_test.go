package hint

import (
	"testing"

	"mcpc/internal/wire"
)

// Commands in a hint carry the flags that were typed, and text is left alone that only
// looks like a command.
func TestHintsCarryFlags(t *testing.T) {
	typed := &Flags{All: "--state 'a b'", Server: "--protocol X", Commands: map[string]bool{"log": false, "list": true, "did": true}}
	hint := wire.Run("log") + " shows them; mcpc list; " + wire.Run("list") + " or " + wire.RunOnServer("list all") + ", or " + wire.Run("help") + "; " + wire.RunOnServer("describe")
	for _, c := range []struct {
		aim  Context
		want string
	}{
		{Context{}, "mcpc log shows them; mcpc list; mcpc list or mcpc list all, or mcpc help; mcpc describe"},
		{Context{ServerFlag: "-s demo"}, "mcpc log shows them; mcpc list; mcpc list or mcpc -s demo list all, or mcpc help; mcpc -s demo describe"},
		{Context{ServerCommand: "-- a b"}, "mcpc log shows them; mcpc list; mcpc list or `mcpc list all -- a b`, or mcpc help; mcpc describe -- a b"},
		{Context{ServerFlag: "-s demo", Flags: typed}, "mcpc --state 'a b' log shows them; mcpc list; mcpc --state 'a b' --protocol X list" +
			" or mcpc --state 'a b' --protocol X -s demo list all, or mcpc help; mcpc --state 'a b' --protocol X -s demo describe"},
		{Context{Flags: &Flags{Server: "--protocol X", Commands: typed.Commands}}, "mcpc log shows them; mcpc list; mcpc --protocol X list" +
			" or mcpc --protocol X list all, or mcpc help; mcpc --protocol X describe"},
		{Context{ShellCommands: map[string]bool{"list": true}}, "mcpc log shows them; mcpc list; list or list all, or mcpc help; describe"},
	} {
		if got, hasCommand := c.aim.Text(hint); got != c.want || !hasCommand {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	for _, text := range []wire.Hint{"", "mcpc speaks it", "mcpc list", "\x01list", "\x03list\x03"} {
		if got, hasCommand := (Context{Flags: typed}).Text(text); got != string(text) || hasCommand {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A long command of a server is written in the first command of a hint only.
func TestLongServerCommandsAreNotRepeated(t *testing.T) {
	long := "-- npx -y @modelcontextprotocol/server-filesystem /srv/data"
	hint := wire.RunOnServer("list") + " shows them; " + wire.RunOnServer("describe") + " more; " + wire.Run("log")
	want := "`mcpc list " + long + "` shows them; `mcpc describe -- ...` more; mcpc log"
	if got, _ := (Context{ServerCommand: long}).Text(hint); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
