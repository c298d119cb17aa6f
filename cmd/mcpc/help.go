package main

import (
	"github.com/spf13/cobra"

	"mcpc/internal/render"
)

// newTopics are the help topics that are no commands: `mcpc help exit-codes`.
func newTopics(a *app) []*cobra.Command {
	exitCodes := &cobra.Command{
		Use:   "exit-codes",
		Short: "what each exit code means",
		Long: `Every ending has an exit code of its own. It names the channel that fired, so
that a script can tell a tool that said no from a server that is not there.`,
	}
	exitCodes.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = a.stdout().Write([]byte(cmd.Long + "\n\n"))
		render.ExitCodes(a.stdout(), a.outStyle)
	})
	return []*cobra.Command{exitCodes}
}
