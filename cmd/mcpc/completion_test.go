//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/help"
	"mcpc/internal/cli/shell"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// hostileTools is what a server may list: names that a shell would run, that act
// on the terminal, or that hide what they are, and one that is good.
const hostileTools = `speaks 2025-11-25
tool {"name":"$(touch x)","inputSchema":{"type":"object"}}
tool {"name":"` + "`touch x`" + `","inputSchema":{"type":"object"}}
tool {"name":"good;touch x","inputSchema":{"type":"object"}}
tool {"name":"good\ntouch x","inputSchema":{"type":"object"}}
tool {"name":"good\u001b]0;x\u0007","inputSchema":{"type":"object"}}
tool {"name":"good\u202etxt","inputSchema":{"type":"object"}}
tool {"name":"--yes","inputSchema":{"type":"object"}}
tool {"name":"weather","inputSchema":{"type":"object","properties":{"city":{"enum":["New York","Paris","$(touch x)","a'b"]},"days":{"type":"integer"},"$(touch x)":{"type":"string"},"where":{"type":"object","properties":{"zip":{"type":"string"}}}}}}
tool weigh
capabilities {"tools":{},"prompts":{},"resources":{}}

on resources/list
    result {"resources":[{"name":"a","uri":"file:///notes.txt"},{"name":"b","uri":"file:///news"},{"name":"c","uri":"good;touch x"},{"name":"d","uri":"$(touch x)"}]}
on resources/templates/list
    result {"resourceTemplates":[{"name":"t","uriTemplate":"file:///plain"},{"name":"u","uriTemplate":"file:///{path}"}]}
on prompts/list
    result {"prompts":[{"name":"ask"},{"name":"$(touch x)"},{"name":"again"}]}
`

// listedSession opens a session and lists what its server has. It gives the
// environment that its commands run in.
func listedSession(t *testing.T, script string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	env = append(program.CleanEnv(), "HOME="+dir, "TMPDIR="+dir, "MCPC_STATE="+filepath.Join(dir, "state"), "LC_ALL=C.UTF-8")
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"mcpc init --as box -- mcpc mock --stdio --script script", "mcpc list all"} {
		if out, err := shellCommand(dir, env, line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	return dir, env
}

func TestCompletionOffersOnlyWhatIsInert(t *testing.T) {
	dir, env := listedSession(t, hostileTools)
	for _, row := range []struct {
		words []string
		want  string
	}{
		{words("call", ""), "weather weigh :4"},
		{words("call", "$"), ":4"},
		{words("call", "weather", ""), "city= days= where. :6"},
		{words("call", "weather", "city=Paris", ""), "days= where. :6"},
		{words("call", "weather", "where."), "where.zip= :6"},
		{words("call", "weather", "city="), "city=New York city=Paris :4"},
		{words("call", "weather", "city=P"), "city=Paris :4"},
		{words("call", "weather", "city:="), ":4"},
		{words("call", "nothing", ""), ":4"},
		{words("call", "-s", "nothing", ""), ":4"},
		{words("call", "weather", "--", "l"), ":0"},
		{words("call", "--co"), "--color --confirm --connect-timeout :36"}, {words("list", "--js"), "--jsonl --json :36"}, {words("tasks", "-s"), "-s :36"},
		{words("list", "t"), "tools templates :4"},
		{words("-s", ""), "box demo :4"},
		{words("list", "--color", ""), "auto always never :4"},
		{words("--log-level", "e"), "error emergency :4"},
		{words("close", ""), "box :4"}, {words("sessions", "use", ""), "box :4"},
		{words("help", "arg"), "arguments :4"}, {words("help", "ho"), ":4"}, {words("help", "_"), ":4"},
		{words("shell", ""), "box demo :4"}, {words("login", "b"), "box :4"}, {words("logout", "b"), "box :4"}, {words("auth", "explain", "b"), "box :4"},
		{words("raw", "tools/"), "tools/list tools/call :4"}, {words("raw", "tools/list", ""), ":0"},
		{words("login", "box", ""), ":4"}, {words("login", "--grant", "d"), "device :4"}, {words("login", "--token-store", ""), "keyring file :4"},
		{words("explain", "tool_e"), "tool_error :4"}, {words("servers", ""), ":4"}, {words("trust", "x"), ":4"},
		{words("export", "last", "--as", "m"), "mcpc mcpc-yaml markdown mock-script :4"},
		{words("tap", "install", "cl"), "claude-desktop claude-code claude-code-local claude-code-user cline :4"}, {words("tap", "install", "cursor", ""), ":4"},
		{words("completion", ""), "bash zsh fish powershell :4"},
		{words("read", ""), "file:///notes.txt file:///news :4"},
		{words("read", "file:///no"), "file:///notes.txt :4"},
		{words("read", "file:///notes.txt", ""), ":4"},
		{words("-s", "demo", "read", "demo://resource/static/document/f"), "demo://resource/static/document/features.md :4"},
		{words("complete", ""), "prompt template :4"},
		{words("complete", "p"), "prompt :4"},
		{words("complete", "prompt", ""), "ask again :4"},
		{words("complete", "prompt", "as"), "ask :4"},
		{words("complete", "prompts", "ag"), "again :4"},
		{words("complete", "template", ""), "file:///plain :4"},
		{words("complete", "resource", "file:///ne"), "file:///news :4"},
		{words("complete", "tool", ""), ":4"}, {words("complete", "nothing", ""), ":4"},
		{words("complete", "prompt", "ask", ""), ":4"},
		{words("-s", "demo", "complete", "prompt", "c"), "completable-prompt :4"},
		{words("describe", "we"), "weather weigh :4"},
		{words("-s", "demo", "call", "get-s"), "get-structured-content get-sum :4"},
		{words("-s", "demo", "call", "get-structured-content", "location=C"), "location=Chicago :4"},
		{words("-s", "demo", "prompt", "args-prompt", "s"), "state= :6"},
		{words("call", "weather", "--output", ""), ":0"},
	} {
		cmd := exec.Command("mcpc", append([]string{"__completeNoDesc"}, row.words...)...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		if got := strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), " "); err != nil || got != row.want {
			t.Errorf("%q\ngot  %s (%v)\nwant %s", row.words, got, err, row.want)
		}
	}
}

// A command's own flags are offered first, in the order of its help, then the others.
func TestCompletionOffersOwnFlagsFirst(t *testing.T) {
	t.Parallel()
	for _, c := range allCommands(t) {
		if !slices.Contains([]string{"mcpc", "mcpc list", "mcpc call", "mcpc tap install", "mcpc tasks wait"}, c.CommandPath()) {
			continue
		}
		line := append(append([]string{"__completeNoDesc"}, strings.Fields(c.CommandPath())[1:]...), "--")
		var want []string
		add := func(f *pflag.Flag) { want = append(want, "--"+f.Name) }
		if c.HasParent() {
			for _, f := range append(help.OwnFlags(c), cmdutil.AnsweringFlags(c)...) {
				add(f)
			}
		}
		want = append(want, "--help")
		for _, g := range help.GlobalGroups {
			for _, name := range strings.Fields(g.Names) {
				add(c.Root().PersistentFlags().Lookup(name))
			}
		}
		if in := strings.Join(shell.FlagsLike(c, "--j"), ""); c.Name() == "list" && in != "--jsonl --jq --json " {
			t.Errorf("the shell of mcpc offers %s", in)
		}
		out, err := exec.Command("mcpc", line...).Output()
		if got := strings.Fields(string(out)); err != nil || strings.Join(got, " ") != strings.Join(want, " ")+" :36" {
			t.Errorf("%q: %v\ngot  %s\nwant %s", line, err, got, want)
		}
	}
}

// A shell completes on a terminal: what is typed ends in TAB, and the test
// reads what the line has become.
func TestShellsComplete(t *testing.T) {
	script := hostileTools
	help, err := exec.Command("mcpc", "completion", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	shells := []struct {
		name  string
		start []string
		setup string
	}{
		{"bash", []string{"bash", "--norc", "--noprofile", "-i"}, "bind 'set bell-style none'; source ~/.bashrc; PS1='> '; echo rea''dy"},
		{"zsh", []string{"zsh", "-f", "-i"}, "source ~/.zshrc; PS1='> '; echo rea''dy"},
		{"fish", []string{"fish", "--no-config", "-i"}, "source ~/.config/fish/config.fish; echo rea''dy"},
	}
	for _, sh := range shells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			program.MustHave(t, sh.name)
			dir, env := listedSession(t, script)
			env = append(env, "PWD="+dir, "ZDOTDIR="+dir, "XDG_CONFIG_HOME=")
			installs(t, sh.name, string(help), dir, env)
			tm := terminal.Start(t, 120, env, sh.start...)
			tm.Type("cd " + dir + "; " + sh.setup + "\n")
			tm.Await(`\nready|ready\r\n`)
			// The line that TAB has made is run by a function that shows its words.
			show := "mcpc() { if [ \"$1\" = __complete -o \"$1\" = __completeNoDesc ]; then command mcpc \"$@\"; else printf '<%s>' \"$@\"; echo; fi; }\n"
			if sh.name == "fish" {
				show = "function mcpc; switch $argv[1]; case '__complete*'; command mcpc $argv; case '*'; printf '<%s>' $argv; echo; end; end\n"
			}
			tm.Type(show)
			tm.Type("mcpc call weat\t")
			tm.Await("mcpc call weather(\x1b\\[1m)? ")
			tm.Type("ci\tPa\tda\t3 \n")
			tm.Await(`<call><weather><city=Paris><days=3>`)
			tm.Type("mcpc call weather city=N\t\n")
			tm.Await(`<call><weather><city=New York>`)
			tm.Type("mcpc call '$(to\t'\n")
			tm.Await(`<call><\$\(to`)
			// What is being typed is not run by TAB either.
			tm.Type("mcpc call \"$(touch x)\" ci\t\x15mcpc call ';touch x;' ci\t\x15")
			tm.Type("mcpc list --color nev\t\n")
			tm.Await(`<list><--color><never>`)
			tm.Type("mcpc list --co\t")
			if sh.name == "bash" {
				tm.Type("\t")
			}
			tm.Await(`--count(?s:.*)--con`)
			tm.Type("\x15exit\n")
			tm.Ends("0")
			for _, name := range []string{"x", filepath.Join(dir, "x")} {
				if _, err := os.Stat(name); err == nil {
					t.Errorf("%s ran what a server called a tool", sh.name)
				}
			}
		})
	}
}

// installs does what the help says to install the completion: it writes into the home
// directory and nowhere else.
func installs(t *testing.T, shell, help, home string, env []string) {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^  ` + shell + ` +(.*(?:\n {5,}.*)*)$`).FindStringSubmatch(help)
	if lines == nil || strings.Count(lines[1], ">") == 0 || regexp.MustCompile(`> *[^~> ]`).MatchString(lines[1]) {
		t.Fatalf("what installs the completion of %s does not write below ~: %q", shell, lines)
	}
	// Where a machine's own folders of zsh can be written by others, it asks about them.
	line := strings.Replace(lines[1], "&& compinit", "&& compinit -u", 1)
	cmd := exec.Command(shell, "-c", line)
	cmd.Dir, cmd.Env = home, env
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 || (shell == "zsh") == (line == lines[1]) {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// The four scripts are written, and bash, zsh and fish find nothing wrong with
// theirs.
func TestCompletionScripts(t *testing.T) {
	for shell, check := range map[string][]string{
		"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}, "powershell": nil,
	} {
		out, err := exec.Command("mcpc", "completion", shell).Output()
		if err != nil || !strings.Contains(string(out), "__complete") {
			t.Errorf("mcpc completion %s: %v\n%s", shell, err, out)
			continue
		}
		if instead := help.Evaluations[shell]; shell != "bash" && (!strings.Contains(string(out), instead[1]) || strings.Contains(string(out), "(eval ")) {
			t.Errorf("the script for %s has the shell run what is being typed", shell)
		}
		if check == nil {
			continue
		}
		program.MustHave(t, check[0])
		name := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(name, out, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(check[0], append(check[1:], name)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(name)) // fish leaves a folder there
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, said)
		}
	}
}
