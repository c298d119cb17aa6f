//go:build unix

package docs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/help"
	"mcpc/internal/cli/shell"
	"mcpc/internal/tests/commands"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/samples"
)

func TestCompletionOffersOnlyWhatIsInert(t *testing.T) {
	dir, env := program.ListedSession(t, samples.HostileTools)
	for _, row := range []struct {
		words []string
		want  string
	}{
		{[]string{"call", ""}, "weather weigh :4"},
		{[]string{"call", "$"}, ":4"},
		{[]string{"call", "weather", ""}, "city= days= where. :6"},
		{[]string{"call", "weather", "city=Paris", ""}, "days= where. :6"},
		{[]string{"call", "weather", "where."}, "where.zip= :6"},
		{[]string{"call", "weather", "city="}, "city=New York city=Paris :4"},
		{[]string{"call", "weather", "city=P"}, "city=Paris :4"},
		{[]string{"call", "weather", "city:="}, ":4"},
		{[]string{"call", "nothing", ""}, ":4"},
		{[]string{"call", "-s", "nothing", ""}, ":4"},
		{[]string{"call", "weather", "--", "l"}, ":0"},
		{[]string{"call", "--co"}, "--color --confirm --connect-timeout :36"},
		{[]string{"list", "--js"}, "--jsonl --json :36"},
		{[]string{"tasks", "-s"}, "-s :36"},
		{[]string{"list", "t"}, "tools templates :4"},
		{[]string{"-s", ""}, "box demo :4"},
		{[]string{"list", "--color", ""}, "auto always never :4"},
		{[]string{"--log-level", "e"}, "error emergency :4"},
		{[]string{"close", ""}, "box :4"},
		{[]string{"sessions", "use", ""}, "box :4"},
		{[]string{"help", "arg"}, "arguments :4"},
		{[]string{"help", "ho"}, ":4"},
		{[]string{"help", "_"}, ":4"},
		{[]string{"shell", ""}, "box demo :4"},
		{[]string{"login", "b"}, "box :4"},
		{[]string{"logout", "b"}, "box :4"},
		{[]string{"auth", "explain", "b"}, "box :4"},
		{[]string{"raw", "tools/"}, "tools/list tools/call :4"},
		{[]string{"raw", "tools/list", ""}, ":0"},
		{[]string{"login", "box", ""}, ":4"},
		{[]string{"login", "--grant", "d"}, "device :4"},
		{[]string{"login", "--token-store", ""}, "keyring file :4"},
		{[]string{"explain", "tool_e"}, "tool_error :4"},
		{[]string{"servers", ""}, "trust :4"},
		{[]string{"trust", "x"}, ":4"},
		{[]string{"export", "last", "--as", "m"}, "mcpc mcpc-yaml markdown mock-script :4"},
		{[]string{"tap", "install", "cl"}, "claude-desktop claude-code claude-code-local claude-code-user cline :4"},
		{[]string{"tap", "install", "cursor", ""}, ":4"},
		{[]string{"completion", ""}, "bash zsh fish powershell :4"},
		{[]string{"read", ""}, "file:///notes.txt file:///news :4"},
		{[]string{"read", "file:///no"}, "file:///notes.txt :4"},
		{[]string{"read", "file:///notes.txt", ""}, ":4"},
		{[]string{"-s", "demo", "read", "demo://resource/static/document/f"}, "demo://resource/static/document/features.md :4"},
		{[]string{"complete", ""}, "prompt template :4"},
		{[]string{"complete", "p"}, "prompt :4"},
		{[]string{"complete", "prompt", ""}, "ask again :4"},
		{[]string{"complete", "prompt", "as"}, "ask :4"},
		{[]string{"complete", "prompts", "ag"}, "again :4"},
		{[]string{"complete", "template", ""}, "file:///plain :4"},
		{[]string{"complete", "resource", "file:///ne"}, "file:///news :4"},
		{[]string{"complete", "tool", ""}, ":4"},
		{[]string{"complete", "nothing", ""}, ":4"},
		{[]string{"complete", "prompt", "ask", ""}, ":4"},
		{[]string{"-s", "demo", "complete", "prompt", "c"}, "completable-prompt :4"},
		{[]string{"describe", "we"}, "weather weigh :4"},
		{[]string{"-s", "demo", "call", "get-s"}, "get-structured-content get-sum :4"},
		{[]string{"-s", "demo", "call", "get-structured-content", "location=C"}, "location=Chicago :4"},
		{[]string{"-s", "demo", "prompt", "args-prompt", "s"}, "state= :6"},
		{[]string{"call", "weather", "--output", ""}, ":0"},
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
	for _, c := range commands.All(t) {
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
