package cli_test

import (
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mcpc/internal/cli"
	"mcpc/internal/cli/meant"
	"mcpc/internal/shellwords"
	"mcpc/internal/tests/clitest"
)

// wrongLines are command lines as users type them who know other programs, and the command or the flag in the hint.
var wrongLines = []struct{ line, hint string }{
	// commands of other programs
	{"doctor https://mcp.example/mcp", "mcpc check https://mcp.example/mcp"},
	{"doctor -- node server.mjs", "mcpc check -- node server.mjs"},
	{"doctor", "mcpc servers --check"},
	{"help doctor", "mcpc servers --check"},
	{"help doctor", "mcpc check"},
	{"help tools-list", "mcpc list"},
	{"help ls", "mcpc list"},
	{"help auth login", "mcpc login"},
	{"status", "mcpc ping"},
	{"health -s demo", "mcpc -s demo ping"},
	{"status github", "mcpc ping -s github"},
	{"watch -s demo", "mcpc -s demo listen"},
	{"watch --since 1h", "mcpc listen"},
	{"tail", "mcpc log --follow"},
	{"test -s demo", "mcpc -s demo check"},
	{"test smoke.mcpc.yaml", "mcpc run smoke.mcpc.yaml"},
	{"record", "mcpc log"},
	{"record -- node server.mjs", "mcpc tap -- node server.mjs"},
	{"trace https://mcp.example/mcp", "mcpc proxy --to https://mcp.example/mcp"},
	{"latency demo echo message=hi", "mcpc bench demo echo message=hi"},
	{"mock-server rec.jsonl", "mcpc mock rec.jsonl"},
	{"bridge https://mcp.example/mcp", "mcpc serve https://mcp.example/mcp"},
	{"mcp-remote https://mcp.example/mcp --allow-http", "mcpc serve https://mcp.example/mcp"},
	{"tools-list", "mcpc list"},
	{"tools list -s demo", "mcpc -s demo list"},
	{"tools get-sum", "mcpc describe get-sum"},
	{"tools/call get-sum a=1 b=2", "mcpc call get-sum a=1 b=2"},
	{"call_tool get-sum a=1", "mcpc call get-sum a=1"},
	{"get tools", "mcpc list"},
	{"exec get-sum '{\"a\":1}'", "mcpc call get-sum '{\"a\":1}'"},
	{"resources demo://x", "mcpc read demo://x"},
	{"ls -s demo", "mcpc -s demo list"},
	{"logs -f", "mcpc log"},
	{"auth login https://mcp.example/mcp", "mcpc login https://mcp.example/mcp"},
	{"sessions box", "mcpc sessions use box"},
	{"config add github https://mcp.example/mcp", "mcpc init TARGET --as NAME"},
	{"generate-cli", "mcpc codegen --cli"},
	{"inspector node server.mjs", "mcpc inspect -- node server.mjs"},
	{"dev server.py", "mcpc inspect -- python3 server.py"},
	{"install @scope/server", "mcpc list -- npx -y @scope/server"},
	{"session new https://mcp.example/mcp", "mcpc init https://mcp.example/mcp"},
	{"delete session box", "mcpc close box"},
	{"logging debug", "mcpc listen --log-level debug"},
	{"logging/setLevel debug -s demo", "mcpc -s demo listen --log-level debug"},
	{"reset", "mcpc log --prune"},
	{"import claude", "mcpc servers"},
	{"import mcp.json", "mcpc servers"},
	{"codegen typescript -s demo", "mcpc -s demo codegen --ts"},
	{"help call tool", "mcpc help call"},
	{"help -32601", "mcpc explain"},
	{"explain 404 not found", "mcpc explain 404"},

	// servers where the command belongs
	{"@apify tools-list", "mcpc -s apify list"},
	{"github list", "mcpc -s github list"},
	{"mcp.example.com tools-list", "mcpc -s https://mcp.example.com/mcp list"},
	{"localhost:3001/mcp", "mcpc -s http://localhost:3001/mcp list"},
	{"https://mcp.example/mcp tools", "mcpc -s https://mcp.example/mcp list"},
	{"https://mcp.example/mcp tools-call get-sum a=1", "mcpc -s https://mcp.example/mcp call get-sum a=1"},
	{"call get-sum https://mcp.example/mcp a=1", "mcpc -s https://mcp.example/mcp call get-sum a=1"},
	{"-s demo", "mcpc -s demo list"},
	{"-v", "mcpc --version"},
	{"'node server.mjs'", "mcpc list -- node server.mjs"},
	{"run server.mjs", "mcpc list -- node server.mjs"},
	{"list @scope/server /tmp", "mcpc list -- npx -y @scope/server /tmp"},
	{"proxy node server.mjs", "mcpc tap -- node server.mjs"},
	{"npx -y @scope/server", "mcpc list -- npx -y @scope/server"},
	{"node server.mjs", "mcpc list -- node server.mjs"},
	{"run node server.mjs", "mcpc list -- node server.mjs"},
	{"list node server.mjs --port 1", "mcpc list -- node server.mjs --port 1"},
	{"list localhost:3001/mcp", "mcpc list http://localhost:3001/mcp"},
	{"list -s 'node server.mjs'", "mcpc list -- node ..."},
	{"list — node server.mjs", "write two hyphens: --"},
	{"call -- node server.mjs", "mcpc call NAME -- node server.mjs"},
	{"call demo get-sum a=1", "mcpc -s demo call get-sum a=1"},
	{"proxy http://localhost:3001/mcp", "mcpc proxy --to http://localhost:3001/mcp"},
	{"--cli node server.mjs --method tools/list", "mcpc list -- COMMAND"},

	// flags
	{"log --last 1h", "-n 1h"},
	{"log --tail 5", "-n 5"},
	{"log --errors", "mcpc log is:error"},
	{"log --method tools/call", "mcpc log method:tools/call"},
	{"serve uninstall cursor box", "mcpc serve remove cursor box"},
	{"serve install curser http://x --as acme", "mcpc serve install cursor http://x --as acme"},
	{"serve install cursor http://x --name acme", "--as acme"},
	{"ping --all", "mcpc servers --check"},
	{"list --tools", "mcpc list tools"},
	{"list --format json", "--json"},
	{"list -o json -s demo", "--json"},
	{"list -w -s demo", "--watch"},
	{"list -c mcp.json", "mcpc servers"},
	{"list --search sum", "mcpc grep sum"},
	{"list --no-headers", "no flag is needed"},
	{"list --cwd /srv -- node server.mjs", "cd DIR"},
	{"codegen --lang ts -s demo", "--ts"},
	{"mock --from rec.jsonl", "mcpc mock rec.jsonl"},
	{"call -s demo --list", "mcpc -s demo list"},
	{"call get-sum -f args.json", "--args @args.json"},
	{"call get-sum --file args.json", "--args @args.json"},
	{"list -k https://mcp.example/mcp", "--insecure"},
	{"list -u me:you -s demo", "-H 'Authorization: ...'"},
	{"bench demo echo message=hi --count 200", "--requests 200"},
	{"bench demo echo message=hi --vus 10", "--users 10"},
	{"init demo --name box", "--as box"},
	{"replay rec.jsonl --target demo", "--to demo"},
	{"proxy --to http://localhost:3001/mcp --port 3002", "--listen 127.0.0.1:3002"},
	{"serve demo --port 8000", "--http 127.0.0.1:8000"},
	{"serve https://mcp.example/mcp --resource https://a.example/", "mcpc login URL --no-resource"},
	{"serve https://mcp.example/mcp --disable-resource-parameter", "mcpc login URL --no-resource"},
	{"serve https://mcp.example/mcp --authorize-param a=b", "mcpc login URL --authorize-param a=b"},
	{"serve https://mcp.example/mcp --device-code", "mcpc login URL --grant device"},
	{"login https://mcp.example/mcp --device", "--grant device"},
	{"completion --shell bash", "mcpc completion bash"},
	{"export har", "mcpc export last --as har"},

	// arguments
	{"get-sum a=1 b=2 -s demo", "mcpc -s demo call get-sum a=1 b=2"},
	{"run get-sum a=1 b=2 -s demo", "mcpc -s demo call get-sum a=1 b=2"},
	{"call get-sum --args args.json", "--args @args.json"},
	{"call get-sum --args a=1", "a=1"},
	{"call get-sum -d '{\"a\":1}'", "--args"},
	{"call get-sum --a 1 --b 2", "a=VALUE"},
	{"call --tool get-sum --arg a=1", "mcpc call get-sum"},
	{"call get-sum -a a=1", "a=1"},
	{"check -s demo --call get-sum a=1 b=2", "mcpc -s demo check --call 'get-sum={\"a\":1,\"b\":2}'"},
	{"call -s demo demo.get-sum a=1", "mcpc -s demo call get-sum"},
	{"call -s demo 'get-sum(a: 1, b: 2)'", "mcpc -s demo call get-sum NAME=VALUE"},
	{"call -s demo get-sum 'a=1 b=2'", "a=1 b=2"},
	{"call -s demo get-sum a=1, b=2", "a=1"},
	{"call -s demo get-sum a:1 b:2", "mcpc -s demo call get-sum a=1 b=2"},
	{"call -s demo get-sum {a:1,b:2}", "mcpc -s demo call get-sum a=1 b=2"},
	{"call -s demo get-sum '{a: 1, b: 2}'", "mcpc -s demo call get-sum a=1 b=2"},         // PowerShell
	{"call -s demo get-sum \"'{a:\" 1, b: \"2}'\"", "mcpc -s demo call get-sum a=1 b=2"}, // cmd
	{"call -s demo get-sum '{\\\"a\\\":1,\\\"b\\\":2}'", "mcpc -s demo call get-sum a=1 b=2"},
	{"call -s demo get-sum '{\"a\":1,\"b\":2,}'", "mcpc -s demo call get-sum a=1 b=2"},
	{"call -s demo get-sum {a:1}", "mcpc -s demo call get-sum a=1"},
	{"call -s demo get-sum --args '{a:1,b:2}'", "a=1 b=2"},
	{"call -s demo get-sum 'a=1&b=2'", "a=1 b=2"},
	{"call -s demo get-sum a: 1 b: 2", "mcpc -s demo call get-sum a=1 b=2"},
	{"call -s demo get-sum –a 1", "a=VALUE"},
	{"call -s demo tools/get-sum a=1 b=2", "get-sum"},
}

// The hint of a wrong command line helps in one step: it has the right command, which mcpc can
// parse.
func TestWrongLinesLeadToTheRightCommand(t *testing.T) {
	home := clitest.EnterHome(t)
	for _, name := range []string{"server.mjs", "server.py", "mcp.json", "args.json", "smoke.mcpc.yaml", "rec.jsonl"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(wrongLines) < 60 {
		t.Errorf("%d lines", len(wrongLines))
	}
	for _, c := range wrongLines {
		words, err := shellwords.Split(c.line, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		out := home.MCPC(words...)
		_, hint, _ := strings.Cut(out.Stderr, "\nhint: ")
		hint, _, _ = strings.Cut(hint, "\n")
		if out.Code != 2 && out.Code != 3 || out.Stdout != "" {
			t.Errorf("%s: exit %d, %q", c.line, out.Code, out.Stdout)
		}
		if !regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(c.hint) + `($|[^\w-])`).MatchString(hint) {
			t.Errorf("mcpc %s\n got: %s\nwant: %s", c.line, hint, c.hint)
		}
		if command, ok := strings.CutPrefix(c.hint, "mcpc "); ok {
			parses(t, command)
		}
	}
}

// parses reports a command line whose command or flags do not exist.
func parses(t *testing.T, line string) {
	t.Helper()
	words, err := shellwords.Split(line, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	root := cli.NewRoot(cli.New(strings.NewReader(""), io.Discard, io.Discard))
	if words[0] == "help" {
		words = words[1:] // a topic
	}
	cmd, rest, err := root.Find(words)
	hasOnlyFlags := strings.HasPrefix(words[0], "-") // such as --version
	if err != nil || cmd == root && !hasOnlyFlags {
		t.Errorf("mcpc %s: no command: %v", line, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("mcpc %s: %v", line, err)
	}
}

var inBraces = regexp.MustCompile(`\{[^{}"]*\}`)

// commandLines returns the command lines in the hint of a synonym, with the texts in braces.
func commandLines(hint string, in map[string]string) (lines []string) {
	for i, part := range strings.Split(hint, "`") {
		if i%2 == 1 {
			lines = append(lines, inBraces.ReplaceAllStringFunc(part, func(name string) string {
				if text, ok := in[name]; ok {
					return text
				}
				return strings.Trim(name, "{}@")
			}))
		}
	}
	return lines
}

// The commands in the hints of all synonyms exist, with their flags; no synonym is a command.
func TestSynonymsAreOfCommands(t *testing.T) {
	root := cli.NewRoot(cli.New(strings.NewReader(""), io.Discard, io.Discard))
	seen := map[string]bool{}
	for _, s := range meant.CommandSynonyms {
		for _, line := range commandLines(s.Hint, nil) {
			parses(t, line)
		}
		for _, words := range strings.Split(s.Words, ", ") {
			if cmd, _, err := root.Find(strings.Fields(words)[:1]); err == nil && cmd != root && !strings.Contains(words, " ") {
				t.Errorf("%q is a command", words)
			}
			if seen[words] {
				t.Errorf("%q is there twice", words)
			}
			seen[words] = true
		}
	}
	for _, s := range meant.FlagSynonyms {
		commands := strings.Fields(s.Commands)
		if len(commands) == 0 {
			commands = []string{"list"}
		}
		for _, command := range commands {
			command = strings.TrimSuffix(command, "/")
			for _, flag := range strings.Split(s.Flags, ", ") {
				for _, line := range commandLines(s.Hint, map[string]string{"{command}": command, "{flag}": flag}) {
					parses(t, line)
				}
			}
			if cmd, _, err := root.Find(strings.Split(command, "-")); command != "mcpc" && (err != nil || cmd == root) {
				t.Errorf("%s: there is no such command", command)
			}
		}
		use := ""
		if offered := regexp.MustCompile(`^did you mean (--[a-z-]+)`).FindStringSubmatch(s.Hint); offered != nil {
			use = offered[1]
		}
		if s.Use != use && (use != "" || strings.HasPrefix(s.Use, "--")) {
			t.Errorf("%q: offers %q, and Use is %q", s.Hint, use, s.Use)
		}
	}
}
