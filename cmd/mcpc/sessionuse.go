package main

import (
	"context"

	"github.com/spf13/cobra"

	"mcpc/internal/state"
	"mcpc/internal/wire"
)

func newSessionUse(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "make a remembered session the current one",
		Long: `Make a session the current one, which is used when no server is given. Nothing
is sent.`,
		Example: `  mcpc sessions use box
  mcpc sessions use box && mcpc list
  mcpc sessions use other --json`,
		ValidArgsFunction: a.completeSessions(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return hinted("use takes one session name", wire.Run("sessions")+" lists them")
			}
			a.useSession(cmd.Context(), args[0])
			return nil
		},
	}
}

func (a *app) useSession(ctx context.Context, name string) {
	store, st, err := a.loadState()
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	there := false
	err = store.Update(ctx, func(st *state.State) error {
		there = name != "" && st.SetCurrent(name)
		return nil
	})
	switch {
	case err != nil:
		a.end(stateFailed(err))
	case !there:
		a.end(a.noSession(name, st.Names()))
	default:
		a.note("the current session is " + name)
	}
}
