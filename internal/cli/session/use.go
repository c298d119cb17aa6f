package session

import (
	"context"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// newSessionUse returns the command sessions use.
func newSessionUse(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "make a remembered session the current one",
		Long: `Make a session the current one: commands use it if no server is given. No
request is sent.`,
		Example: `  mcpc sessions use box
  mcpc sessions use box && mcpc list
  mcpc sessions use other --json`,
		ValidArgsFunction: f.CompleteSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.New("use takes one session name", wire.Run("sessions")+" lists them")
			}
			return useSession(cmd.Context(), f, args[0])
		},
	}
}

// useSession makes a session the current one. It fails if no session has the name.
func useSession(ctx context.Context, f *cmdutil.Factory, name string) error {
	store, st, err := f.Env.LoadState()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	exists := false
	err = store.Update(ctx, func(st *state.State) error {
		exists = name != "" && st.SetCurrent(name)
		return nil
	})
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if !exists {
		return cmdutil.Exit(noSession(name, st.Names()))
	}
	f.Note("the current session is " + name)
	return nil
}
