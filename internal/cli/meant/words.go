package meant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// OnlyURL returns argv, the command of a server after --, or nil. It takes a URL among the words
// before -- as the server, and returns a usage error for other words.
func OnlyURL(f *cmdutil.Factory, cmd *cobra.Command, args []string) (argv []string, err error) {
	words, argv := cmdutil.SplitDash(cmd, args)
	words, err = f.UseURL(words, argv)
	if err != nil {
		return nil, err
	}
	return argv, NoArguments(f, cmd, words)
}

// NoArguments returns a usage error if args is not empty. Its hint says where the first word may
// belong: to another program's command, to a server, or to a flag of cmd.
func NoArguments(f *cmdutil.Factory, cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmdutil.CommandHint(cmd, " --help") + " shows what it takes"
	meant := Synonym(f, cmd.Name(), args[0])
	switch {
	case meant != "":
		hint = meant
	case f.CommandHasTrait(cmd.Name(), cmdutil.OnlyTakesServer) && args[0] != "demo":
		hint = ServerCommandHint(f, cmd.Name(), args)
	case cmd.Name() == "proxy" && IsServerCommand(args):
		hint = "proxy records HTTP, and tap a server's command: " + wire.Run("tap -- "+quoteSafely(commandFrom(args)))
	case cmd.Name() == "demo" && slices.Contains(cmdutil.CommandNames(cmd.Root()), args[0]):
		hint = "did you mean " + wire.Run("-s demo "+strings.Join(connect.QuotedWords(args), " ")) + "?"
	case cmd.Flag("to") != nil && cmdutil.IsURL(args[0]):
		hint = cmdutil.CommandHint(cmd, " --to "+shellwords.Quote(args[0]))
	case cmd.Flag("script") != nil:
		hint = cmdutil.CommandHint(cmd, " --script "+shellwords.Quote(args[0]))
	case cmd.Flag("listen") != nil:
		hint = cmdutil.CommandHint(cmd, " --help") + " shows the flags; use --listen ADDRESS"
	case len(args) == 1 && (cmdutil.IsURL(args[0]) || args[0] == "demo"):
		hint = cmdutil.CommandHint(cmd, " -s "+shellwords.Quote(args[0]))
	}
	what := "no argument"
	if strings.Contains(cmd.Use, "[URL]") {
		what = "a URL, not"
	}
	return usage.New(fmt.Sprintf("%s takes %s %q", cmd.Name(), what, strings.Join(args, " ")), hint)
}
