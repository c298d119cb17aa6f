package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/wire"
)

// newHelp is `mcpc help`, which cobra's own would end well also where there is no
// such command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show what a command does, or a topic",
		Example: `  mcpc help call
  mcpc help exit-codes
  mcpc help tasks wait`,
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return begin(commandNames(cmd.Root()), typed), noFiles
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("output") {
				return hinted("help goes to stdout, and takes no -o", wire.Run("help "+strings.Join(quotedWords(args), " ")+" > FILE"))
			}
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return about.Help()
			}
			return hinted(fmt.Sprintf("unknown command or topic %q", strings.Join(args, " ")),
				didYouMean(wire.Run(strings.Replace(about.CommandPath(), "mcpc", "help", 1)+" %s"), args[len(args)-1], commandNames(about),
					wire.Run("--help")+" shows the commands and topics"))
		},
	}
}
