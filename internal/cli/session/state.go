package session

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewState returns the command state, the old name of sessions for its subcommand repair.
func NewState(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state COMMAND",
		Short: "repair stored state",
		Args:  func(cmd *cobra.Command, args []string) error { return meant.UnknownCommand(f, cmd, args) },
		RunE: func(*cobra.Command, []string) error {
			return usage.New("state takes a command", wire.Run("sessions repair")+" repairs stored state")
		},
	}
	cmd.AddCommand(newRepair(f))
	return cmd
}

// newRepair returns the command sessions repair.
func newRepair(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "replace a damaged state file, and keep a backup",
		Long: `Replace the files of the state directory that are damaged: sessions, approvals,
tokens. The damaged file is kept beside the new one. Readable files are left as
they are.`,
		Example: `  mcpc sessions repair
  mcpc sessions repair --state ./state
  mcpc sessions repair --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meant.NoArguments(f, cmd, args); err != nil {
				return err
			}
			return runRepair(cmd.Context(), f)
		},
	}
}

// runRepair replaces damaged state and token files, and keeps backups. It leaves readable files as
// they are.
func runRepair(ctx context.Context, f *cmdutil.Factory) error {
	store, err := state.Open(f.State)
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	repaired := []string{}
	repairTokens := func(ctx context.Context) (string, error) {
		return store.Private(host.TokensName).Repair(ctx, auth.IsDamaged)
	}
	for _, repair := range []func(context.Context) (string, error){store.Repair, repairTokens} {
		backup, err := repair(ctx) // backup is "" if the file is not damaged
		if err != nil {
			return cmdutil.Exit(connect.StateFailed(err))
		}
		if backup != "" {
			repaired = append(repaired, backup)
			f.Note("the state was replaced; the old file is " + backup)
		}
	}
	if len(repaired) == 0 {
		f.Note("the state in " + store.Dir() + " is readable; nothing was changed")
	}
	if f.PrintsJSON() {
		raw, _ := json.Marshal(map[string]any{"repaired": repaired})
		return cmdutil.Print(ctx, f, cmdutil.Document(raw, nil))
	}
	return nil
}
