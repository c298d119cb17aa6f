package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func newGrep(a *app) *cobra.Command {
	o := surveyOptions{kinds: kinds}
	cmd := &cobra.Command{
		Use:   "grep WORD...",
		Short: "search the tools, prompts and resources of all known servers",
		Long: `Search the tools, prompts, resources and templates of all servers that mcpc
knows by name: the remembered sessions, and those of mcpc servers. An entry is
found that holds every WORD in its name, title, description, URI or the names of
its arguments, whatever is a capital letter. That none is found is said on
stderr, and is an answer like any other: exit code 0.

A server that was never confirmed is named and not asked, nor is one that is
disabled. One that fails is told of; the exit code is the worst of all.`,
		Example: `  mcpc grep sum
  mcpc grep research topic
  mcpc grep weather --jq '.servers[] | select(.tools) | .id'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, argv := splitDash(cmd, args)
			if len(words) == 0 || strings.TrimSpace(strings.Join(words, "")) == "" {
				return hintedError{"grep takes a word", "mcpc list --all shows everything"}
			}
			if err := o.check(a, "grep", argv); err != nil {
				return err
			}
			o.words = words
			a.survey(cmd.Context(), o)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "show descriptions in full")
	o.flags(cmd.Flags())
	return cmd
}
