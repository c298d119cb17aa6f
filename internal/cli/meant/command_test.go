package meant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mcpc/internal/shellwords"
)

// inFolder makes a directory with files the current one; a file whose name ends in * is a program.
// The PATH has the program "installed" only.
func inFolder(t *testing.T, files ...string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range append(files, "bin/installed*") {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(name, "*") {
			mode = 0o700
		}
		name = filepath.Join(dir, strings.TrimSuffix(name, "*"))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
}

func words(t *testing.T, line string) []string {
	t.Helper()
	all, err := shellwords.Split(line, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A word that names no command may be a URL, a file, a server's command, a tool, or a word of
// another client.
func TestUnknownCommands(t *testing.T) {
	inFolder(t, "server.py", "own*", "steps.mcpc.yaml", "old.jsonl", "old.jsonl.zst", "bug.mcpcz.html", "mcp.json", "app.toml", "text")
	const shows = "mcpc help all lists the commands"
	for _, c := range []struct{ line, text, hint string }{
		{
			"http://h/mcp", "a URL is not a command",
			"mcpc init http://h/mcp opens a session, mcpc list http://h/mcp shows its tools",
		},
		{"https://h/mcp call a", "a URL is not a command", "did you mean mcpc call a -s https://h/mcp?"},
		{
			"https://h/mcp other", "a URL is not a command",
			"mcpc init https://h/mcp opens a session, mcpc list https://h/mcp shows its tools",
		},
		{"lst", "", "did you mean mcpc list?"},
		{"ls", "", "did you mean mcpc list?"},
		{"tools/call", "", "did you mean mcpc call NAME?"},
		{"whoami", "", "did you mean mcpc auth?"},
		{"doctor https://u:abcdefgh12345678@h/mcp", "", "did you mean mcpc check ...?"},
		{"exec name token=abcdefgh12345678", "", "did you mean mcpc call name ...?"},
		{"listTools", "", "did you mean mcpc list?"},
		{"record node server.js", "", "did you mean mcpc tap -- node server.js?"},
		{"find go lang", "", "did you mean mcpc grep go lang?"},
		{"env KEY=1 node server.js", "", "did you mean mcpc list -- env ...?"},
		{"search q=x", "", "did you mean mcpc call search q=x?"},
		{"mcp.example.com", "", "did you mean mcpc -s https://mcp.example.com/mcp list?"},
		{"app.test", "", shows},
		{"node server.js", "", "did you mean mcpc list -- node server.js?"},
		{"npx -y server info", "", "did you mean mcpc info -- npx -y server?"},
		{"npx -y server run", "", "did you mean mcpc list -- npx -y server run?"},
		{"node x --token=abcdefgh12345678", "", "did you mean mcpc list -- node ...?"},
		{"server.py --port 1", "", "did you mean mcpc list -- python3 server.py --port 1?"},
		{"own", "", "did you mean mcpc list -- ./own?"},
		{"installed", "", shows},
		{"installed x", "", "did you mean mcpc list -- installed x?"},
		{"text", "", shows},
		{"steps.mcpc.yaml", "", "did you mean mcpc run steps.mcpc.yaml?"},
		{"old.jsonl", "", "did you mean mcpc log --file old.jsonl?"},
		{"old.jsonl.zst", "", "did you mean mcpc log --file old.jsonl.zst?"},
		{"bug.mcpcz.html", "", "did you mean mcpc log --file bug.mcpcz.html?"},
		{"mcp.json", "", "mcpc servers lists configured servers, and -s NAME selects one"},
		{"app.toml", "", "mcpc servers lists configured servers, and -s NAME selects one"},
		{"get_sum a=1", "", "did you mean mcpc call get_sum a=1?"},
		{"get_sum {}", "", "did you mean mcpc call get_sum '{}'?"},
		{"get_sum a", "", shows},
		{"xyzzy", "", shows},
	} {
		f, root := mcpc(t)
		all := words(t, c.line)
		text := c.text
		if text == "" {
			text = `unknown command "` + all[0] + `"`
		}
		if got := problem(f, UnknownCommand(f, root, all)); got != text+" | "+c.hint {
			t.Errorf("%s: got %s", c.line, got)
		}
	}
	f, root := mcpc(t)
	if err := UnknownCommand(f, root, nil); err != nil {
		t.Error(err)
	}
	// Below a command only its own commands are meant.
	list, _, _ := root.Find([]string{"list"})
	if got := problem(f, UnknownCommand(f, list,
		[]string{"ls"})); got != `unknown command "ls" | mcpc list --help shows the commands` {
		t.Error(got)
	}
}

func TestExecuteRefusesAnUnknownCommandBeforeItsHelp(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"lst --help", `unknown command "lst" | did you mean mcpc list?`},
		{"list --help", ""},
		{"--help", ""},
		{"help", ""},
		{"", ""},
	} {
		f, root := mcpc(t)
		root.SetOut(f.Out)
		root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		root.Args = cobra.ArbitraryArgs
		if got := problem(f, Execute(t.Context(), f, root, strings.Fields(c.line))); got != c.want {
			t.Errorf("%s: got %s", c.line, got)
		}
	}
}

// The value of -s may be a file on this machine instead of a server.
func TestPathsAreNoServers(t *testing.T) {
	inFolder(t, "folder/x", "server.js", "plain", "mcp.json")
	for _, c := range []struct{ text, what, hint string }{
		{"", "", ""},
		{"http://h", "", ""},
		{"name", "", ""},
		{"folder", "a folder", "a server's command goes after --: mcpc list -- COMMAND"},
		{"server.js", "a file", "a server's command goes after --: mcpc list -- node server.js"},
		{"plain", "a file", "a server's command goes after --, a URL or a session after -s"},
		{"mcp.json", "a file", "mcpc servers lists configured servers, and -s NAME selects one"},
		{"npx", "", "a server's command goes after --: mcpc list -- npx"},
		{"npx secret", "a command", "a server's command goes after --: mcpc list -- npx ..."},
		{"./gone", "a path that does not exist", "a server's command goes after --: mcpc list -- COMMAND"},
		{"/gone", "a path that does not exist", "a server's command goes after --: mcpc list -- COMMAND"},
		{"~/gone", "a path that does not exist", "a server's command goes after --: mcpc list -- COMMAND"},
	} {
		f, _ := mcpc(t)
		what, hint := DescribePath(f, c.text)
		if got := hinted(f, hint); what != c.what || got != c.hint {
			t.Errorf("%q: got %q, %q", c.text, what, got)
		}
	}
}

func TestServersAmongWordsWithUnknownFlags(t *testing.T) {
	inFolder(t)
	for _, c := range []struct{ command, line, want string }{
		{"list", "list node x --port 1", "node x --port 1"},
		{"list", "list name --port 1", ""},
		{"list", "list --port", ""},
		{"call", "call node --port 1", ""}, // a tool may have that name
	} {
		f, root := mcpc(t)
		f.Args = words(t, c.line)
		cmd, rest, err := root.Find(f.Args)
		if err != nil {
			t.Fatal(err)
		}
		cmd.FParseErrWhitelist.UnknownFlags = true
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(FindServerCommand(f, cmd), " "); got != c.want {
			t.Errorf("%s: got %q", c.line, got)
		}
	}
}

// The first word of a command that takes a name may name the server, and words after -- may be
// arguments.
func TestMisplacedServers(t *testing.T) {
	inFolder(t, "server.js")
	const takes = " takes a name; name the server with -s | "
	for _, c := range []struct{ line, dashed, want string }{
		{"call", "", ""},
		{"call name", "", ""},
		{"call name a=1", "", ""},
		{
			"call name", "a=1 b:=2",
			"a server's command goes after --, and these are arguments | did you mean mcpc call name a=1 b:=2?",
		},
		{"call name", "node a=1", ""},
		{"read name", "a=1", ""},
		{"call http://h/", "", "call" + takes + "mcpc list http://h/ shows the tools"},
		{"read http://h/", "", ""},
		{"call http://h/ name a=1", "", "call" + takes + "did you mean mcpc -s http://h/ call name a=1?"},
		{"prompt demo name", "", "prompt" + takes + "did you mean mcpc -s demo prompt name?"},
		{"call npx server", "", "call takes a name; a server's command goes after -- | mcpc call NAME -- npx ..."},
		{"call node server.js", "", "call takes a name; a server's command goes after -- | mcpc call NAME -- node ..."},
		{"call node other", "", ""},
		{"call server.js x", "", "call takes a name; a server's command goes after -- | mcpc call NAME -- server.js ..."},
	} {
		f, _ := mcpc(t)
		all := words(t, c.line)
		var argv []string
		if c.dashed != "" {
			argv = words(t, c.dashed)
		}
		if got := problem(f, CheckMisplaced(f, all[0], all[1:], argv)); got != c.want {
			t.Errorf("%s -- %s: got %s", c.line, c.dashed, got)
		}
	}
}
