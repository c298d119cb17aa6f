package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
)

// A command line with the old name of a command does the same as with its new name.
func TestOldNamesOfCommands(t *testing.T) {
	dir := t.TempDir()
	capture := filepath.Join(dir, "sum.jsonl")
	archive := filepath.Join(dir, "sum.har")
	env := []string{"MCPC_STATE=" + filepath.Join(dir, "state")}
	run := func(words ...string) clitest.Output {
		return clitest.MCPC(t, env, words...)
	}
	for _, line := range [][]string{
		{"-s", "demo", "call", "get-sum", "a=1", "b=2", "--record", capture},
		{"export", capture, "-o", archive},
	} {
		if out := run(line...); out.Code != 0 {
			t.Fatalf("%q: exit code %d\n%s", line, out.Code, out.Stderr)
		}
	}
	for _, c := range []struct {
		old, now string
		code     int
	}{
		{"-s demo info --json", "-s demo describe --json", 0},
		{"stats --file FILE --json", "log --stats --file FILE --json", 0},
		{"stats FILE method:tools/call", "log --stats FILE method:tools/call", 0},
		{"resend FILE#3 --to demo", "replay FILE#3 --print --to demo", 0},
		{"resend FILE#3 --to demo --fresh --answer-defaults", "replay FILE#3 --print --to demo --fresh --answer-defaults", 0},
		{"resend FILE#3", "replay FILE#3 --print", 12},
		{"resend", "replay --print", 2},
		{"trust", "servers trust", 0},
		{"trust no-such --yes", "servers trust no-such --yes", 2},
		{"logout --all", "auth logout --all", 0},
		{"close no-such", "sessions close no-such", 2},
		{"close --all", "sessions close --all", 0},
		{"state repair --json", "sessions repair --json", 0},
		{"version --json", "--version --json", 0},
		{"fault report FILE", "log --faults FILE", 0},
		{"auth list --json", "auth --json", 0},
		{"auth status", "auth", 0},
		{"sessions list --json", "sessions --json", 0},
		{"servers ls --json", "servers --json", 0},
		{"log --failed --since 1h FILE", "log FILE is:error since:1h", 0},
		{"import no-such.har", "export no-such.har --as jsonl", 2},
	} {
		words := func(line string) []string { return strings.Fields(strings.ReplaceAll(line, "FILE", capture)) }
		old, now := run(words(c.old)...), run(words(c.now)...)
		if old.Code != c.code || now.Code != c.code || old.Stdout != now.Stdout {
			t.Errorf("%s: exit code %d, %s%s\n%s: exit code %d, %s%s",
				c.old, old.Code, old.Stdout, old.Stderr, c.now, now.Code, now.Stdout, now.Stderr)
		}
	}
	if out := run("import", archive); out.Code != 0 || !strings.HasPrefix(out.Stdout, `{"mcpc-traffic":1`) {
		t.Errorf("import: exit code %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
	for _, word := range []string{"info", "stats", "import", "resend", "trust", "logout", "close", "state", "version"} {
		if out := run("__complete", word, "--js"); !strings.Contains(out.Stdout, "--json") {
			t.Errorf("%s has no completion:\n%s%s", word, out.Stdout, out.Stderr)
		}
	}
}

// Flags of two uses of one command are an error that names both.
func TestMergedCommandsRejectFlagsOfOtherUses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, text string }{
		{"log --stats --follow", "--stats and --follow cannot be combined"},
		{"log --faults --sort dur", "--faults and --sort cannot be combined"},
		{"log --prune --stats", "--stats and --prune cannot be combined"},
		{"log --faults a b", "--faults takes one recording"},
		{"replay 1 --print --ignore .a", "--ignore is for comparing responses"},
		{"replay 1 --edit --learn 3", "--learn is for comparing responses"},
		{"replay 1 --fresh", "--fresh needs --print"},
		{"replay 1 --answer-defaults", "--answer-defaults needs --print"},
		{"replay 1 a=5 --ignore .a", "--ignore is for comparing responses"},
		{"export", "export needs --as FORMAT"},
		{"help no-such", `unknown command or topic "no-such"`},
		{"sessions nosuch", `unknown command "nosuch"`},
	} {
		out := clitest.MCPC(t, []string{"MCPC_STATE=" + t.TempDir()}, strings.Fields(c.line)...)
		if out.Code != 2 || !strings.Contains(out.Stderr, c.text) || !strings.Contains(out.Stderr, "hint: ") {
			t.Errorf("%s: exit code %d, %s", c.line, out.Code, out.Stderr)
		}
	}
}
