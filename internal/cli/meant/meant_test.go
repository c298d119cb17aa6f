package meant

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// someCommands returns the commands that hints name.
func someCommands() []cmdutil.Group {
	command := func(use string, is cmdutil.Trait) cmdutil.CommandMaker {
		name, _, _ := strings.Cut(use, " ")
		return cmdutil.Command(name, func(*cmdutil.Factory) *cobra.Command {
			return &cobra.Command{Use: use, Run: func(*cobra.Command, []string) {}}
		}, is)
	}
	return []cmdutil.Group{
		{Head: "SERVER", Commands: []cmdutil.CommandMaker{
			command("list [URL]", cmdutil.AsksServer|cmdutil.OnlyTakesServer),
			command("call NAME", cmdutil.AsksServer), command("info [URL]", cmdutil.AsksServer|cmdutil.OnlyTakesServer), command("run FILE", cmdutil.AsksServer),
		}},
		{Head: "TRAFFIC", Commands: []cmdutil.CommandMaker{
			command("log", cmdutil.NeedsState), command("demo", 0),
			command("grep", cmdutil.NeedsState),
		}},
	}
}

// mcpc returns a Factory and the root of some commands.
func mcpc(t *testing.T) (*cmdutil.Factory, *cobra.Command) {
	t.Helper()
	var out, err bytes.Buffer
	f := cmdutil.New(strings.NewReader(""), &out, &err)
	f.Now, f.Getenv, f.Groups = time.Now, func(string) string { return "" }, someCommands
	f.SettleStyles()
	root := &cobra.Command{Use: "mcpc"}
	f.AddGlobals(root.PersistentFlags())
	for _, c := range f.Commands() {
		root.AddCommand(c.Make(f))
	}
	return f, root
}

func hinted(f *cmdutil.Factory, hint wire.Hint) string {
	text, _ := f.ErrStyle.Hints.Text(hint)
	return text
}

// problem returns the text and the hint of a usage error.
func problem(f *cmdutil.Factory, err error) string {
	if err == nil {
		return ""
	}
	o := usage.Outcome(err)
	return strings.TrimSuffix(o.Text+" | "+hinted(f, o.Hint), " | ")
}
