//go:build unix && programs

package help_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/cli/help"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/samples"
	"mcpc/internal/tests/terminal"
)

// A shell completes on a terminal: what is typed ends in TAB, and the test
// reads what the line has become.
func TestShellsComplete(t *testing.T) {
	t.Setenv("PATH", clitest.RealPath())
	script := samples.HostileTools
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
			program.MustHave(t, sh.name)
			dir, env := program.ListedSession(t, script)
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
	t.Setenv("PATH", clitest.RealPath())
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
