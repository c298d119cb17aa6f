package catalog

import (
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewGrep returns the command `mcpc grep`.
func NewGrep(f *cmdutil.Factory) *cobra.Command {
	o := surveyOptions{kinds: connect.Kinds}
	cmd := &cobra.Command{
		Use:   "grep WORD...",
		Short: "search the tools, prompts, resources and skills of all known servers",
		Long: `Search the tools, prompts, resources, templates and skills of all known servers:
the sessions, and the servers that mcpc servers lists. An entry matches if it
contains every WORD in its name, title, description, URI or argument names,
ignoring case. If none does, stdout is empty and the exit code is 1.

Servers that are disabled or not trusted are named and skipped. If servers fail,
the exit code is that of the most severe failure (mcpc help exit-codes).`,
		Example: `  mcpc grep sum
  mcpc grep structured content
  mcpc grep weather --jq '.servers[] | select(.tools) | .id'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, argv := cmdutil.SplitDash(cmd, args)
			if len(words) == 0 || strings.TrimSpace(strings.Join(words, "")) == "" {
				return usage.New("grep takes a word", wire.Run("list --all")+" shows everything")
			}
			if err := o.check(f, "grep", argv); err != nil {
				return err
			}
			o.words = words
			return runSurvey(cmd.Context(), f, o)
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "show descriptions in full")
	o.flags(cmd.Flags())
	return cmd
}
