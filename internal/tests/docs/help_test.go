package docs

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/help"
	"mcpc/internal/cli/meant"
	"mcpc/internal/glossary"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/commands"
	"mcpc/internal/tests/program"
)

// The help is true: it fits a terminal, and its examples work.

// A command is found by its name, with or without the other commands.
func TestCommandsAreMadeByName(t *testing.T) {
	t.Parallel()
	f := commands.NewFactory()
	f.SettleStyles()
	for _, c := range f.Commands() {
		if got := c.Make(f).Name(); got != c.Name {
			t.Errorf("%s makes %s", c.Name, got)
		}
	}
	for line, want := range map[string]int{
		"list": 1, "-s demo list": 2, "call list a=1": 2, "tasks wait": 1, "--json version": 1,
		"": len(f.Commands()), "--help": len(f.Commands()), "lst": len(f.Commands()), "lst list": len(f.Commands()),
		"help list": len(f.Commands()), "__complete list": len(f.Commands()), "completion bash": len(f.Commands()), "man list": len(f.Commands()),
	} {
		args := meant.EscapeNegations(strings.Fields(line))
		root := cli.RootFor(f, args)
		made := 0
		for _, c := range root.Commands() {
			if !help.IsTopic(c) {
				made++
			}
		}
		if made != want {
			t.Errorf("%q: %d commands were made, want %d", line, made, want)
		}
		found, _, err := root.Find(args)
		all, _, errOfAll := cli.NewRoot(f).Find(args)
		if found.CommandPath() != all.CommandPath() || (err == nil) != (errOfAll == nil) {
			t.Errorf("%q: %s, among all %s", line, found.CommandPath(), all.CommandPath())
		}
	}
}

// asTyped returns the arguments of mcpc that show a command's help.
func asTyped(c *cobra.Command) []string {
	words := strings.Fields(c.CommandPath())[1:]
	if !c.Runnable() && !c.HasSubCommands() {
		return append([]string{"help"}, words...) // a topic
	}
	return append(words, "--help")
}

func TestHelpFitsATerminal(t *testing.T) {
	for _, c := range commands.All(t) {
		out := clitest.MCPC(t, nil, asTyped(c)...)
		if out.Code != 0 || out.Stdout == "" {
			t.Errorf("mcpc %q: exit code %d", asTyped(c), out.Code)
		}
		for _, line := range strings.Split(out.Stdout, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("mcpc %q: a line has %d columns: %q", asTyped(c), n, line)
			}
			if strings.HasSuffix(line, " ") || strings.Contains(line, "\t") {
				t.Errorf("mcpc %q: a line ends in a blank or has a TAB: %q", asTyped(c), line)
			}
		}
	}
}

// The short texts make one list: each begins with a small letter, in the mood of
// a command, and has no full stop.
func TestShortHelpIsUniform(t *testing.T) {
	for _, c := range commands.All(t) {
		if c.Short == "" || c.Short[0] < 'a' || c.Short[0] > 'z' || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: %q", c.CommandPath(), c.Short)
		}
		if examples := strings.Count(c.Example, "\n") + 1; c.Runnable() && (c.Example == "" || examples < 3) {
			t.Errorf("%s has fewer than three examples", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" && f.Value.Type() != "count" && cmdutil.Placeholder(f) == "" {
				t.Errorf("%s --%s says not what it takes", c.CommandPath(), f.Name)
			}
		})
	}
}

// exampleEndings are the examples that are not meant to end well, by their beginning. The built-in
// demo server has no tasks, so that no task is remembered, and there is no server at mcp.example.
var exampleEndings = []struct{ begins, exit string }{
	{"mcpc tasks get last", "2"},
	{"mcpc tasks wait last", "2"},
	{"mcpc tasks result last", "2"},
	{"mcpc tasks cancel last", "2"},
	{"mcpc tasks update last", "2"},
	{"mcpc tasks list", "3"},
	{"mcpc inspect", "2"}, // it needs a terminal
	{"mcpc login https://mcp.example/mcp", "7"},
	{"mcpc auth explain https://mcp.example/mcp", "7"},
	{"mcpc auth import", "7"},
	{"mcpc servers --check", "1"},                   // two servers are not trusted
	{"mcpc auth export", "2"},                       // no token is stored
	{"mcpc judge --matrix", "13"},                   // there are no reports
	{"mcpc -s demo app show-weather -o", "13"},      // there is no browser
	{"mcpc -s demo app show-weather --theme", "13"}, // the same
}

// Each example runs, in a directory that has what the examples use: two sessions, among them "box",
// a lock file, a recording of a list, and the files that are named. An example that serves is ended
// by a signal once it listens; the usual port may be taken here.
func TestEveryExampleRuns(t *testing.T) {
	seen := 0
	for _, c := range commands.All(t) {
		for _, line := range strings.Split(c.Example, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			seen++
			t.Run(strings.ReplaceAll(line, "/", "|"), func(t *testing.T) {
				t.Parallel()
				runExample(t, line)
			})
		}
	}
	if seen < 30 {
		t.Errorf("only %d examples", seen)
	}
}

func runExample(t *testing.T, line string) {
	dir := exampleDir(t)
	env := append(program.CleanEnv(), "HOME="+dir, "MCPC_STATE="+filepath.Join(dir, "state"), "LC_ALL=C.UTF-8",
		"MCPC_CHROME=no-such-browser")
	line = strings.NewReplacer("127.0.0.1:3001", "127.0.0.1:0", "127.0.0.1:3002", "127.0.0.1:0").Replace(line)
	if strings.Contains(line, "--listen") || strings.Contains(line, "--http ") || strings.HasPrefix(line, "mcpc proxy") || strings.Contains(line, "inspect --web") {
		serveExample(t, dir, env, line)
		return
	}
	setUp(t, env, "init demo --as box", "init demo --as other", "diff --lock demo -o "+filepath.Join(dir, "demo.lock.json"),
		"call get-sum a=1 b=2 -s demo --record "+filepath.Join(dir, "smoke.jsonl"), "list")
	if strings.Contains(line, "--control faults.sock") {
		defer controlled(t, dir, env)()
	}
	cmd := program.Shell(dir, env, line)
	out, _ := cmd.CombinedOutput()
	want := "0"
	for _, e := range exampleEndings {
		if strings.HasPrefix(line, e.begins) {
			want = e.exit
		}
	}
	if got := program.Ending(cmd.ProcessState); got != want {
		t.Errorf("%s\nended with %s, want %s\n%s", line, got, want, out)
	}
	if strings.Contains(line, "--keep") {
		if out, err := program.Shell(dir, env, "mcpc close --all").CombinedOutput(); err != nil {
			t.Errorf("mcpc close: %v\n%s", err, out)
		}
	}
}

// setUp runs command lines of mcpc, whose words are separated by blanks, in this process.
func setUp(t *testing.T, env []string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		var stderr bytes.Buffer
		if code := (clitest.Run{Args: strings.Fields(line), Env: env, Stderr: &stderr}).Do(); code != 0 {
			t.Fatalf("mcpc %s: exit code %d\n%s", line, code, &stderr)
		}
	}
}

// controlled runs a server whose fault rules can be changed.
func controlled(t *testing.T, dir string, env []string) (stop func()) {
	t.Helper()
	cmd := program.Shell(dir, env, "exec mcpc demo --listen 127.0.0.1:0 --control faults.sock --fault 'when 1 do hang' --fault 'when 2 do hang' --fault 'when 3 do hang'")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	untilSaid(stderr, "listening on ")
	return func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stderr)
		_ = cmd.Wait()
	}
}

// untilSaid returns the line where a server reports that it listens, or the last line.
func untilSaid(output io.Reader, listens string) (said string) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if said = lines.Text(); strings.Contains(said, listens) {
			break
		}
	}
	return said
}

// exampleFiles are the files that examples name, besides the files that a help shows.
var exampleFiles = map[string]string{
	"token.json": `{"client_id":"x","access_token":"x","server":"https://mcp.example/mcp"}`,
	"session.har": `{"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z","request":{"method":"POST","url":"http://127.0.0.1:1/mcp","headers":[],` +
		`"postData":{"mimeType":"application/json","text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}},"response":{"status":200,"headers":[],"content":{}}}]}}`,
	"server.json":  `{"name":"com.example/weather","version":"1.0.0","remotes":[{"type":"streamable-http","url":"https://mcp.example/mcp"}]}`,
	"rules.txt":    "when method:tools/call do delay 2s\n",
	"message.json": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	".mcp.json": `{"mcpServers":{"box":{"command":"mcpc","args":["demo","--stdio"]},"mcp-example-com":{"command":"mcpc","args":["serve","https://mcp.example.com/mcp"]},"other":{"command":"mcpc","args":["demo","--stdio"]},
		"old":{"command":"mcpc","args":["tap","--","mcpc","demo","--stdio"]},"test":{"command":"mcpc","args":["serve","demo"]}}}`,
	"config.toml": "[mcp_servers.box]\ncommand = \"mcpc\"\nargs = [\"demo\", \"--stdio\"]\n[mcp_servers.test]\ncommand = \"mcpc\"\nargs = [\"serve\", \"demo\"]\n",
	"sums.jsonl": `{"mcpc-traffic":1,"started":"2026-11-01T00:00:00Z","by":"tap"}
{"seq":1,"time":"2026-11-01T00:00:01Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}"}
{"seq":2,"time":"2026-11-01T00:00:02Z","dir":"received","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"}
{"seq":3,"time":"2026-11-01T00:00:03Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"}
{"seq":4,"time":"2026-11-01T00:00:04Z","dir":"received","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"get-sum\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}}}}]}}"}
{"seq":5,"time":"2026-11-01T00:00:05Z","dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"get-sum\",\"arguments\":{\"a\":1,\"b\":2}}}"}
{"seq":6,"time":"2026-11-01T00:00:06Z","dir":"received","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"3\"}]}}"}
`,
	"mcp.json": `{"mcpServers":{"box":{"command":"mcpc","args":["tap","--","mcpc","demo","--stdio"]},"test":{"command":"mcpc","args":["serve","demo"]}}}`,
}

// shownFile is the file of the examples that a help shows: its name, and its text without
// the help's indentation.
func shownFile(help string) (name, text string) {
	before, shown, found := strings.Cut(help, " of the examples below:\n\n")
	if !found {
		return "", ""
	}
	for line := range strings.Lines(shown) {
		if line = strings.TrimPrefix(line, "    "); line[0] >= 'A' && line[0] <= 'Z' {
			break
		}
		text += line
	}
	return before[strings.LastIndexAny(before, " \n")+1:], text
}

func exampleDir(t *testing.T) string {
	t.Helper()
	dir := program.ShortDir(t) // an example holds a server
	files := maps.Clone(exampleFiles)
	for _, c := range commands.All(t) {
		if name, text := shownFile(c.Long); name != "" {
			files[name] = text
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serveExample runs a server until it reports that it listens.
func serveExample(t *testing.T, dir string, env []string, line string) {
	t.Helper()
	cmd := program.Shell(dir, append(env, "MCPC_LISTEN=127.0.0.1:0"), "exec "+line)
	says, listens := cmd.StderrPipe, "listening on "
	if strings.Contains(line, "inspect --web") {
		says, listens = cmd.StdoutPipe, "http://127.0.0.1:"
	}
	output, err := says()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(program.Patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	said := untilSaid(output, listens)
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	want := "SIGINT"
	isReport := strings.Contains(line, "--fail-on-miss") || strings.HasPrefix(line, "mcpc judge")
	if isReport { // the signal ends what is reported
		want = "0"
	}
	if got := program.Ending(cmd.ProcessState); got != want || !strings.Contains(said, listens) {
		t.Errorf("%s\nsaid %q and ended with %s", line, said, got)
	}
}

// Help refers only to existing commands and topics, and each command refers to others.
func TestHelpRefersToExistingCommands(t *testing.T) {
	entries, _ := glossary.Read()
	known := map[string]*cobra.Command{}
	for _, c := range commands.All(t) {
		known[strings.TrimPrefix(c.CommandPath(), "mcpc ")] = c
	}
	for path, c := range known {
		if c.HasParent() && !help.IsTopic(c) && help.SeeAlso[path] == "" {
			t.Errorf("mcpc %s leads nowhere: seeAlso in help_tables.go", path)
		}
	}
	for from, all := range help.SeeAlso {
		for _, to := range strings.Split(all, ", ") {
			word, explains := strings.CutPrefix(to, "explain ")
			topic, helps := strings.CutPrefix(to, "help ")
			switch {
			case explains && glossary.Find(entries, word) == nil:
				t.Errorf("%s leads to %q, which is not explained", from, to)
			case helps && (known[topic] == nil || !help.IsTopic(known[topic])):
				t.Errorf("%s leads to %q, which is no topic", from, to)
			case !explains && !helps && known[to] == nil:
				t.Errorf("%s leads to %q, which is no command", from, to)
			}
		}
	}
}

// --help fits a screen and has at most eight flags if it is not complete; --help-all has the rest.
func TestHelpFitsAScreen(t *testing.T) {
	for _, c := range commands.All(t) {
		if help.IsTopic(c) || !c.HasParent() {
			continue
		}
		screen, complete := help.ScreenText(commands.NewFactory(), c), help.HelpText(commands.NewFactory(), c)
		if lines := strings.Count(screen, "\n"); lines > help.ScreenLines {
			t.Errorf("%s --help has %d lines", c.CommandPath(), lines)
		}
		for line := range strings.Lines(complete) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s --help-all has a line of more than 80 columns: %s", c.CommandPath(), line)
			}
		}
		_, flags, _ := strings.Cut(screen, "Common flags:\n")
		shown := len(regexp.MustCompile(`(?m)^  (-., |    )--`).FindAllString(flags, -1))
		if screen != complete && (shown > help.MaxCommon || !strings.Contains(screen, " --help-all shows ")) {
			t.Errorf("%s --help has %d flags:\n%s", c.CommandPath(), shown, screen)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && !strings.Contains(complete, "--"+f.Name) {
				t.Errorf("%s --help-all does not have --%s", c.CommandPath(), f.Name)
			}
		})
		out := clitest.MCPC(t, nil, append(strings.Fields(c.CommandPath())[1:], "--help-all")...)
		if out.Code != 0 || out.Stdout != complete {
			t.Errorf("%s --help-all: exit code %d\n%s%s", c.CommandPath(), out.Code, out.Stdout, out.Stderr)
		}
	}
}

// The first screen has the commands of the common tasks, and help all has the rest.
func TestFirstScreenIsShort(t *testing.T) {
	row := regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`)
	first := clitest.MCPC(t, nil)
	if shown := row.FindAllString(first.Stdout, -1); len(shown) < 15 || len(shown) > 17 || strings.Count(first.Stdout, "\n") > 60 {
		t.Errorf("%d commands are shown:\n%s", len(shown), first.Stdout)
	}
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}} {
		if out := clitest.MCPC(t, nil, args...); out.Code != 0 || out.Stdout != first.Stdout {
			t.Errorf("mcpc %q: exit code %d\n%s", args, out.Code, out.Stdout)
		}
	}
	commandsOfAll, _, _ := strings.Cut(clitest.MCPC(t, nil, "help", "all").Stdout, "\nTopics:\n")
	all := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(commandsOfAll, -1) {
		all[m[1]] = true
	}
	if len(all) < 30 || len(all) > 40 {
		t.Errorf("help all has %d commands", len(all))
	}
	for _, c := range commands.All(t)[0].Commands() {
		if isListed := !c.Hidden && !help.IsTopic(c); isListed != all[c.Name()] {
			t.Errorf("help all has %s: %v", c.Name(), all[c.Name()])
		}
	}
}

// The usage of a command with subcommands shows whether it does something without a subcommand.
func TestUsageOfCommandsWithCommands(t *testing.T) {
	groups := 0
	for _, c := range commands.All(t) {
		line := c.UseLine()
		if !c.HasParent() || !c.HasAvailableSubCommands() || !strings.HasSuffix(line, "COMMAND") && !strings.HasSuffix(line, "[COMMAND]") {
			continue
		}
		groups++
		out := clitest.MCPC(t, []string{"MCPC_SERVER=demo"}, strings.Fields(c.CommandPath())[1:]...)
		want := map[int]string{0: " [COMMAND]", 2: " COMMAND"}[out.Code]
		if line != c.CommandPath()+want || want == "" {
			t.Errorf("%q, and without a command it ends with %d", line, out.Code)
		}
	}
	if groups < 4 {
		t.Errorf("only %d commands have commands", groups)
	}
}

// Related flags are below one heading.
func TestHelpKeepsFlagsTogether(t *testing.T) {
	together := map[string][]string{
		"mcpc":        {"header header-file", "json wire jq output", "verbose explain log-level", "cert key", "record no-record"},
		"mcpc list":   {"all parallel", "watch for count jsonl"},
		"mcpc call":   {"dry-run curl offline", "save expect-result"},
		"mcpc init":   {"keep idle"},
		"mcpc listen": {"tools prompts resources resource logs", "for count jsonl"},
		"mcpc login": {
			"scope no-browser callback-port", "client-id client-secret-file client-secret client-metadata-url", "private-key key-id alg",
			"assertion audience", "id-token idp-token-endpoint idp-client-id idp-client-secret-file",
		},
		"mcpc run": {"allow-exec yes", "fail-fast junit"},
	}
	word := regexp.MustCompile(`(?m)^  (?:-., |    )--(\S+)|^\S.*:$`)
	for _, c := range commands.All(t) {
		shown := ""
		for _, m := range word.FindAllStringSubmatch(help.HelpText(commands.NewFactory(), c), -1) {
			name, _, _ := strings.Cut(m[1], "[")
			shown += " " + name + " "
		}
		for _, names := range together[c.CommandPath()] {
			if !strings.Contains(shown, " "+strings.ReplaceAll(names, " ", "  ")+" ") {
				t.Errorf("%s --help has not %q in one place but%s", c.CommandPath(), names, shown)
			}
		}
		delete(together, c.CommandPath())
	}
	if len(together) > 0 {
		t.Errorf("no such commands: %v", together)
	}
}
