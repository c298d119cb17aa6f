// Package help has the commands help, explain, man, version and completion, and the help
// topics.
package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewHelp returns the command `mcpc help`. It replaces cobra's own help command, which succeeds
// even if the named command does not exist.
func NewHelp(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show what a command does, or a topic",
		Example: `  mcpc help all
  mcpc help call
  mcpc help exit-codes
  mcpc help tasks wait`,
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return cmdutil.CompletedWords(cmdutil.CommandNames(cmd.Root()), typed), cmdutil.NoFiles
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("output") {
				return usage.New(
					"help goes to stdout, and takes no -o",
					wire.Run("help "+strings.Join(connect.QuotedWords(args), " ")+" > FILE"),
				)
			}
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return about.Help()
			}
			unknown := fmt.Sprintf("unknown command or topic %q", strings.Join(args, " "))
			if hint := meant.Synonym(f, "", args...); hint != "" {
				return usage.New(unknown, hint)
			}
			if err == nil && about.HasParent() && !about.HasSubCommands() {
				return usage.New(unknown, "did you mean "+wire.Run(strings.Replace(about.CommandPath(), "mcpc", "help", 1))+"?")
			}
			return usage.New(
				unknown,
				suggest.DidYouMean(
					wire.Run(strings.Replace(about.CommandPath(), "mcpc", "help", 1)+" %s"),
					args[len(args)-1],
					cmdutil.CommandNames(about),
					wire.Run("help all")+" lists the commands and topics",
				),
			)
		},
	}
}

// AllOf returns cmd and all commands below it, without hidden commands and the commands below them.
func AllOf(cmd *cobra.Command) []*cobra.Command {
	if cmd.Hidden {
		return nil
	}
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, AllOf(c)...)
	}
	return all
}
