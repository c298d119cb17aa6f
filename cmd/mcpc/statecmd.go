package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"mcpc/internal/client/auth"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

func newState(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state COMMAND",
		Short: "repair stored state",
		Example: `  mcpc state repair
  mcpc state repair --state ./state
  mcpc state repair --json`,
		Args: a.unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return hinted("state takes a command", wire.Run("state --help")+" shows the commands")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "repair",
		Short: "replace a damaged state file, and keep the old one",
		Example: `  mcpc state repair
  mcpc state repair --state ./state
  mcpc state repair --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noArguments(cmd, args); err != nil {
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
	repaired := []string{}
	for _, repair := range []func(context.Context) (string, error){store.Repair, func(ctx context.Context) (string, error) {
		return store.Private(tokensName).Repair(ctx, auth.Damaged)
	}} {
		backup, err := repair(ctx)
		if err != nil {
			a.end(stateFailed(err))
			return
		}
		if backup != "" {
			repaired = append(repaired, backup)
			a.note("the state was replaced; the old file is " + backup)
		}
	}
	if len(repaired) == 0 {
		a.note("the state in " + store.Dir() + " is readable; nothing was changed")
	}
	if a.oneDocument() {
		raw, _ := json.Marshal(map[string]any{"repaired": repaired})
		a.print(ctx, document(raw, nil))
	}
}
