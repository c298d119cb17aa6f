package meant

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
)

// A shell that is open; only its being there matters.
type openShell struct{ cmdutil.Shell }

// The first URL among the words of a command is the server's.
func TestURLAmongWords(t *testing.T) {
	for _, c := range []struct {
		line, server, rest, want string
	}{
		{"", "", "", ""},
		{"http://h/", "http://h/", "", ""},
		{
			"http://h/ other", "http://h/", "",
			`list takes a URL, not "other" | a server's command goes after --, a URL or a session after -s`,
		},
		{"other", "", "", `list takes a URL, not "other" | a server's command goes after --, a URL or a session after -s`},
		{"node x", "", "", `list takes a URL, not "node x" | a server's command goes after --: mcpc list -- node x`},
		{"http://h/ https://i/", "", "", "two servers are given | use only one of them"},
		{
			"-s demo http://u:p@h/", "demo", "",
			"two servers are given: http://redacted@h/ and one with -s | use only one of them",
		},
		{"http://h/ -- node", "", "", "two servers are given: http://h/ and one after -- | use only one of them"},
	} {
		f, root := mcpc(t)
		cmd, _, _ := root.Find([]string{"list"})
		if err := cmd.ParseFlags(words(t, c.line)); err != nil {
			t.Fatal(err)
		}
		f.ServerGiven = cmd.Flags().Changed("server")
		_, err := OnlyURL(f, cmd, cmd.Flags().Args())
		if got := problem(f, err); got != c.want || f.Server != c.server {
			t.Errorf("%s: got %q, server %q", c.line, got, f.Server)
		}
	}
	f, _ := mcpc(t)
	f.Shell = openShell{}
	const refused = "all lines of the shell use the same server | use another terminal for another server"
	_, err := f.UseURL([]string{"http://h/"}, nil)
	if got := problem(f, err); got != refused {
		t.Error(got)
	}
	others, err := f.UseURL([]string{"a"}, nil)
	if err != nil || strings.Join(others, " ") != "a" {
		t.Error(others, err)
	}
}

// Words that a command cannot use may belong to a flag.
func TestExcessWordsSuggestFlags(t *testing.T) {
	for _, c := range []struct{ use, flag, line, want string }{
		{"demo", "", "list all", `demo takes no argument "list all" | did you mean mcpc -s demo list all?`},
		{"x", "to", "http://h/", `x takes no argument "http://h/" | mcpc x --to http://h/`},
		{"x", "to", "a", `x takes no argument "a" | mcpc x --help shows what it takes`},
		{"x", "script", "a b", `x takes no argument "a b" | mcpc x --script a`},
		{"x", "listen", "3000", `x takes no argument "3000" | mcpc x --help shows the flags; use --listen ADDRESS`},
		{"x", "", "http://h/", `x takes no argument "http://h/" | mcpc x -s http://h/`},
		{"x", "", "demo", `x takes no argument "demo" | mcpc x -s demo`},
		{"x", "", "", ""},
	} {
		f, root := mcpc(t)
		cmd, _, _ := root.Find([]string{c.use})
		if cmd == root {
			cmd = &cobra.Command{Use: c.use}
			root.AddCommand(cmd)
		}
		if c.flag != "" {
			cmd.Flags().String(c.flag, "", "")
		}
		if got := problem(f, NoArguments(f, cmd, strings.Fields(c.line))); got != c.want {
			t.Errorf("%s %s: got %s", c.use, c.line, got)
		}
	}
}
