package cmdutil

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mcpc/internal/wire"
)

// someCommands are commands that hints name.
func someCommands() []Group {
	makes := func(use string) func(*Factory) *cobra.Command {
		return func(*Factory) *cobra.Command { return &cobra.Command{Use: use, Run: func(*cobra.Command, []string) {}} }
	}
	return []Group{
		{"SERVER", []CommandMaker{
			Command("list", makes("list [URL]"), AsksServer|OnlyTakesServer), Command("call", makes("call NAME"), AsksServer),
			Command("info", makes("info [URL]"), AsksServer|OnlyTakesServer), Command("run", makes("run FILE"), AsksServer),
		}},
		{"TRAFFIC", []CommandMaker{
			Command("log", makes("log"), NeedsState), Command("demo", makes("demo"), 0),
			Command("grep", makes("grep"), NeedsState),
		}},
	}
}

// mcpc returns a Factory and the root of some commands.
func mcpc(t *testing.T) (*Factory, *cobra.Command) {
	t.Helper()
	f, _ := testFactory(t)
	f.Groups = someCommands
	root := &cobra.Command{Use: "mcpc"}
	f.AddGlobals(root.PersistentFlags())
	for _, c := range f.Commands() {
		root.AddCommand(c.Make(f))
	}
	return f, root
}

func hinted(f *Factory, hint wire.Hint) string {
	text, _ := f.ErrStyle.Hints.Text(hint)
	return text
}

// The command of a hint repeats the flags without which it would reach another server, or be
// another user's.
func TestHintsRepeatTypedFlags(t *testing.T) {
	for _, c := range []struct{ words, list, log string }{
		{"", "mcpc list", "mcpc log"},
		{"--timeout 3 --json", "mcpc list", "mcpc log"},
		{"--state dir", "mcpc --state dir list", "mcpc --state dir log"},
		{"--protocol 2025-11-25", "mcpc --protocol 2025-11-25 list", "mcpc log"},
		{"--insecure --state 'a", "mcpc --state ''\\''a' --insecure list", "mcpc --state ''\\''a' log"},
		{"-H X-One:1 -H X-Two:2", "mcpc --header X-One:1 --header X-Two:2 list", "mcpc log"},
		{"-H Authorization:abc", `mcpc --header "Authorization: $AUTHORIZATION" list`, "mcpc log"},
		{"--proxy http://u:secret@h:1", `mcpc --proxy "$PROXY" list`, "mcpc log"},
		{
			"--resolve a:1:b --unix-socket s --cacert c --cert d --key k --account me",
			"mcpc --account me --cacert c --cert d --key k --resolve a:1:b --unix-socket s list", "mcpc log",
		},
		{"--header-file learnt-secret", `mcpc --header-file "$HEADER_FILE" list`, "mcpc log"},
	} {
		f, root := mcpc(t)
		f.Secrets.Learn("learnt-secret")
		cmd, _, _ := root.Find([]string{"list"})
		if err := cmd.ParseFlags(strings.Fields(c.words)); err != nil {
			t.Fatal(err)
		}
		f.SetHintFlags(cmd.Flags())
		if list, log := hinted(f, wire.RunOnServer("list")), hinted(f, wire.Run("log")); list != c.list || log != c.log {
			t.Errorf("%s: got %s and %s", c.words, list, log)
		}
		if f.AccountTyped != strings.Contains(c.words, "--account") {
			t.Errorf("%s: the account was typed: %v", c.words, f.AccountTyped)
		}
	}
}

// A secret that becomes known later is taken out of the flags of hints.
func TestHintsHideWhatIsLearntLater(t *testing.T) {
	f, root := mcpc(t)
	cmd, _, _ := root.Find([]string{"list"})
	if err := cmd.ParseFlags([]string{
		"--state", "dir-of-somebody", "-H", "X-Id: number-of-somebody", "--protocol",
		"2025-11-25",
	}); err != nil {
		t.Fatal(err)
	}
	f.RecordTypedFlags(cmd.Flags())
	f.Server, f.ServerGiven = "https://somebody.example/mcp", true
	f.NameServer(nil)
	want := "mcpc --state dir-of-somebody --protocol 2025-11-25 " +
		"--header 'X-Id: number-of-somebody' -s https://somebody.example/mcp info"
	if got := hinted(f, wire.RunOnServer("info")); got != want {
		t.Error(got)
	}
	f.Secrets.Learn("number-of-somebody")
	f.Secrets.Learn("dir-of-somebody")
	f.Secrets.Learn("somebody.example")
	f.hideSecretsInHints()
	if got := hinted(f, wire.RunOnServer("info")); got != `mcpc --protocol 2025-11-25 --header "X-Id: $X_ID" -s "$SERVER" info` {
		t.Error(got)
	}
}

// Hints name the server as the command line did. A URL with a secret is a variable, a command with
// one is "-- ...".
func TestHintsNameTheServer(t *testing.T) {
	for _, c := range []struct {
		server string
		given  bool
		argv   []string
		want   string
	}{
		{"demo", true, nil, "mcpc -s demo list"},
		{"a b", true, nil, "mcpc -s 'a b' list"},
		{"", true, nil, "mcpc list"},
		{"demo", false, nil, "mcpc list"},
		{"https://u:secret@h/mcp", true, nil, `mcpc -s "$SERVER" list`},
		{"https://h/mcp?api_key=abcdefgh12345678", true, nil, `mcpc -s "$SERVER" list`},
		{"demo", true, []string{"node", "my server.js"}, "mcpc list -- node 'my server.js'"},
		{"", false, []string{"node", "--token=abcdefgh12345678"}, "mcpc list -- ..."},
		{"", false, []string{"env", "API_KEY=abcdefgh12345678", "node"}, "mcpc list -- ..."},
	} {
		f, _ := testFactory(t)
		f.Server, f.ServerGiven = c.server, c.given
		f.NameServer(c.argv)
		if got := hinted(f, wire.RunOnServer("list")); got != c.want {
			t.Errorf("%q %q: got %s", c.server, c.argv, got)
		}
	}
}
