package main

import (
	"context"

	"github.com/spf13/cobra"

	"mcpc/internal/state"
)

func newState(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "repair stored state",
		Example: `  mcpc state repair
  mcpc state repair --state ./state
  mcpc state repair --json`,
		Args: unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return hintedError{"state takes a command", "mcpc state --help shows the commands"}
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "repair",
		Short: "replace a damaged state file, and keep the old one",
		Example: `  mcpc state repair
  mcpc state repair --state ./state
  mcpc state repair --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArguments(cmd, args); err != nil {
				return err
			}
			a.repair(cmd.Context())
			return nil
		},
	})
	return cmd
}

func (a *app) repair(ctx context.Context) {
	store, err := state.Open(a.state)
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	backup, err := store.Repair(ctx)
	switch {
	case err != nil:
		a.end(stateFailed(err))
	case backup == "":
		a.note("the state in " + store.Dir() + " is readable; nothing was changed")
	default:
		a.note("the state was replaced; the old file is " + backup)
	}
}
