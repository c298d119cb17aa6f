package help_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
)

// Help fits a screen with -h, --help and the command help, and is complete with --help-all.
func TestHelpOfCommands(t *testing.T) {
	for _, c := range []struct {
		line      string
		has, lack []string
		code      int
	}{
		{"--help", []string{"Usage:", "list", "mcpc help all"}, []string{"--max-time", "codegen"}, 0},
		{"help all", []string{"codegen", "help exit-codes"}, []string{"Usage:"}, 0},
		{"help flags", []string{"--max-time"}, []string{"Usage:"}, 0},
		{"--help-all", []string{"Usage:", "codegen", "--max-time", "help exit-codes"}, nil, 0},
		{"help call", []string{"Usage:\n  mcpc call NAME", "Examples:\n", "--help-all shows"}, []string{"--answer-defaults"}, 0},
		{"call --help", []string{"Usage:\n  mcpc call NAME", "Examples:\n"}, []string{"--answer-defaults"}, 0},
		{"call -h", []string{"Usage:\n  mcpc call NAME", "Examples:\n"}, []string{"--answer-defaults"}, 0},
		{"call --help-all", []string{"Usage:\n  mcpc call NAME", "Examples:\n", "--args", "--answer-defaults"}, nil, 0},
		{"call no-such a=1 --help-all --json", []string{"Usage:\n  mcpc call NAME"}, nil, 0},
		{"stats --help", []string{"The same as mcpc log --stats."}, nil, 0},
		{"fault --help", []string{"Commands:\n", "add", "remove"}, nil, 0},
		{"help exit-codes", []string{"exit code"}, []string{"Usage:"}, 0},
		{"help mock-scripts", []string{"capabilities", "sse"}, []string{"Usage:"}, 0},
		{"help faults", []string{"delay", "preset"}, []string{"Usage:"}, 0},
		{"help answering", []string{"\nForms (elicitation)\n  --", "\nSampling\n  --", "\nRoots\n  --"}, nil, 0},
		{"help targets", []string{"\nServers of other programs\n  ", "\nCards (experimental)\n  ", "\nApproval\n  "}, nil, 0},
		{"help nosuch", nil, nil, 2},
	} {
		out := clitest.MCPC(t, nil, strings.Fields(c.line)...)
		if out.Code != c.code {
			t.Errorf("%s: exit code %d\n%s", c.line, out.Code, out.Stderr)
		}
		for _, text := range c.has {
			if !strings.Contains(out.Stdout, text) {
				t.Errorf("%s: %q is missing in\n%s", c.line, text, out.Stdout)
			}
		}
		for _, text := range c.lack {
			if strings.Contains(out.Stdout, text) {
				t.Errorf("%s: %q is in\n%s", c.line, text, out.Stdout)
			}
		}
		for line := range strings.Lines(out.Stdout) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", c.line, n, line)
			}
		}
	}
}

// A term is found by its parts, and one that is not known has a hint.
func TestTermsThatAreExplained(t *testing.T) {
	for _, c := range []struct {
		line, stdout, hint string
		code               int
	}{
		{"explain -32602", "-32602", "", 0},
		{"explain -32020..-32099", "-32020..-32099", "", 0},
		{"explain exit 6", "6", "", 0},
		{"explain isError tools/call", "tools/call", "", 0},
		{"explain --jq .entries[0].words[0] isError", "isError\n", "", 0},
		{"explain tols/call", "", "did you mean mcpc explain tools/call?", 2},
		{"explain L106", "", "mcpc check --explain L106 explains this rule", 2},
		{"explain xyzzyxyzzy", "", "mcpc explain lists all terms", 2},
	} {
		out := clitest.MCPC(t, nil, strings.Fields(c.line)...)
		if out.Code != c.code || !strings.Contains(out.Stdout, c.stdout) || !strings.Contains(out.Stderr, c.hint) {
			t.Errorf("%s: exit code %d\n%s%s", c.line, out.Code, out.Stdout, out.Stderr)
		}
	}
	if out := clitest.MCPC(t, nil, "explain"); strings.Count(out.Stdout, "\n") < 100 {
		t.Errorf("all terms are\n%s", out.Stdout)
	}
}

// A shell's completion is a script, whose words come from the program.
func TestCompletionOfEachShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := clitest.MCPC(t, nil, "completion", shell); out.Code != 0 || !strings.Contains(out.Stdout, "__complete") {
			t.Errorf("%s: exit code %d, %.300s%s", shell, out.Code, out.Stdout, out.Stderr)
		}
	}
	if out := clitest.MCPC(t, nil, "completion", "tcsh"); out.Code != 2 {
		t.Errorf("tcsh: exit code %d", out.Code)
	}
	words := strings.Fields(clitest.MCPC(t, nil, "__complete", "explain", "tools/").Stdout)
	if !slices.Contains(words, "tools/call") {
		t.Errorf("explain offers %q", words)
	}
	// The flags of a command come before those of all commands.
	words = strings.Fields(clitest.MCPC(t, nil, "__complete", "call", "--").Stdout)
	if own, global := slices.Index(words, "--root"), slices.Index(words, "--json"); own < 0 || global < own {
		t.Errorf("call offers %q", words)
	}
}

// Each command has a page of the manual.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	if out := clitest.MCPC(t, nil, "man", dir); out.Code != 0 {
		t.Fatalf("exit code %d: %s", out.Code, out.Stderr)
	}
	for _, name := range []string{"man1/mcpc.1", "man1/mcpc-call.1", "man1/mcpc-fault-add.1", "man7/mcpc-faults.7"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), ".TH ") || !strings.Contains(string(text), ".SH ") {
			t.Errorf("%s: %v, %.200s", name, err, text)
		}
	}
}

func TestVersions(t *testing.T) {
	if out := clitest.MCPC(t, nil, "version"); out.Code != 0 || !strings.HasPrefix(out.Stdout, "mcpc 0.1.0-dev") {
		t.Errorf("got %q", out.Stdout)
	}
	if out := clitest.MCPC(t, nil, "version", "--jq", ".version"); out.Stdout != "0.1.0-dev\n" {
		t.Errorf("got %q", out.Stdout)
	}
}

func TestManualsNeedADirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ line, stderr string }{
		{"man", "man takes a directory\nhint: mcpc man ~/.local/share/man"},
		{"man call", "man takes a directory, and \"call\" is the name of a page\nhint: mcpc help call shows it"},
	} {
		if out := clitest.MCPC(t, nil, strings.Fields(c.line)...); out.Code != 2 || !strings.Contains(out.Stderr, c.stderr) {
			t.Errorf("%s: exit code %d, %s", c.line, out.Code, out.Stderr)
		}
	}
}
