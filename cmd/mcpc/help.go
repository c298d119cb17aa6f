package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
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
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return begin(commandNames(cmd.Root()), typed), noFiles
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("output") {
				return hintedError{"help goes to stdout, and takes no -o", "mcpc help " + strings.Join(quotedWords(args), " ") + " > FILE"}
			}
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return about.Help()
			}
			hint := "mcpc --help shows the commands and topics"
			if near := render.Nearest(args[len(args)-1], commandNames(about)); near != "" {
				hint = "did you mean " + strings.Replace(about.CommandPath(), "mcpc", "mcpc help", 1) + " " + near + "?"
			}
			return hintedError{fmt.Sprintf("unknown command or topic %q", strings.Join(args, " ")), hint}
		},
	}
}

// newTopics are the help topics that are no commands: `mcpc help exit-codes`. What
// they say is their Long.
func newTopics() []*cobra.Command {
	exitCodes := &cobra.Command{
		Use:   "exit-codes",
		Short: "the exit codes",
		Long: `Each outcome has its own exit code, which names the layer that failed: a script
can distinguish a tool error from a server that is down. mcpc explain exit 6
explains one code.`,
	}
	texts := []*cobra.Command{newAnswering(), newArguments(), newRevisions(), newScripting(), newTargets(), newAgents(), newMockScripts()}
	return append(texts, exitCodes, newFilters())
}

// topicText is what mcpc help TOPIC prints: of two of them a table too, which is drawn
// where it is asked for.
func topicText(c *cobra.Command, st render.Style) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(c.Long, "\n") + "\n")
	switch c.Name() {
	case "exit-codes":
		b.WriteString("\n")
		render.ExitCodes(&b, st)
	case "mock-scripts":
		b.WriteString("\n" + mockWords())
	}
	return b.String()
}

// isTopic tells a topic from a command.
func isTopic(c *cobra.Command) bool {
	return !c.Hidden && c.HasParent() && !c.Runnable() && !c.HasSubCommands()
}
