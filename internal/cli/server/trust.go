package server

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/complete"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// trustOptions are what `mcpc trust` was asked.
type trustOptions struct {
	names       []string
	yes, revoke bool
}

func NewTrust(f *cmdutil.Factory) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [NAME...]",
		Short: "approve a server found in another program's configuration",
		Long: `Show a server's whole entry in another program's configuration (the exact
command, the names of variables, the directory, the file), ask for approval, and
remember it by a hash. Commands from such files, and everything from a project's
file, run only when approved; a change needs a new approval.

Several servers are approved one by one, and none if a NAME is unknown. Without
a NAME the trusted servers are listed. --revoke withdraws approvals, and forgets
the tools of a server (a NAME, a session, a URL) that were approved by a call:
the next call approves them as they are then.`,
		Example: `  mcpc trust other --yes
  mcpc trust
  mcpc trust other --revoke`,
		ValidArgsFunction: complete.CompleteKnown(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				o.names = args
				return trustAll(cmd.Context(), f, o)
			case o.revoke || o.yes:
				return usage.New("trust needs a server's name", wire.Run("trust")+" lists trusted servers")
			}
			return trusted(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "approve without a confirmation")
	cmd.Flags().BoolVar(&o.revoke, "revoke", false, "withdraw the approval")
	return cmd
}

func trustAll(ctx context.Context, f *cmdutil.Factory, o trustOptions) (err error) {
	store, err := state.Open(f.State)
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if o.revoke {
		for _, name := range o.names {
			err = cmdutil.Join(err, revokeTrust(ctx, f, store, name))
		}
		return err
	}
	var servers []target.Server
	for _, name := range o.names {
		s, out := trustable(f, name)
		servers = append(servers, s)
		err = cmdutil.Join(err, cmdutil.Exit(out))
	}
	for _, s := range servers {
		if err == nil || cmdutil.KindOf(err) == wire.Refused {
			err = cmdutil.Join(err, trustOne(ctx, f, store, s, o.yes))
		}
	}
	return err
}

// trustable is the one server of that name, if it can be used.
func trustable(f *cmdutil.Factory, name string) (target.Server, wire.Outcome) {
	if !slices.Contains(f.Env.ConfiguredNames(), name) {
		f.Env.ConfiguredServers() // tells of files that cannot be read
		return target.Server{}, unknownServer(f, "trust", name)
	}
	s, out := f.Env.ServerNamed(name)
	if out.Good() && s.Problem != "" {
		out = usage.Outcome(usage.New(s.ID()+" cannot be used: "+s.Problem, wire.Run("servers")+" shows the others"))
	}
	return s, out
}

// trustOne shows a server, and remembers it after a yes.
func trustOne(ctx context.Context, f *cmdutil.Factory, store *state.Store, s target.Server, yes bool) error {
	w, st := f.Stdout(), f.OutStyle
	if f.JSON || f.Wire || f.Jq != "" { // what a person reads is not JSON
		w, st = f.Stderr(), f.ErrStyle
	}
	if err := cmdutil.WriteServer(f, w, st, s); err != nil {
		return cmdutil.StdoutError(f)
	}
	refused := wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: "not approved: " + s.ID(), Hint: "--yes remembers it without asking"}
	switch {
	case yes:
	case !f.Interactive():
		return cmdutil.Exit(refused)
	case !f.Ask(ctx, "Trust exactly this?"):
		if refused.Text, refused.Hint = s.ID()+" was not approved", ""; ctx.Err() != nil {
			refused = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		return cmdutil.Exit(refused)
	}
	if err := f.Env.Trust(ctx, store, s); err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	f.Note(s.ID() + " is trusted as configured in " + f.Env.Tilde(s.File))
	return nil
}

// revokeTrust forgets a server by either of its names, also one that is gone.
func revokeTrust(ctx context.Context, f *cmdutil.Factory, store *state.Store, name string) error {
	var ids []string
	for _, f := range f.Env.ConfigFiles() {
		for _, s := range f.Servers {
			if s.Name == name {
				ids = append(ids, s.ID())
			}
		}
	}
	ids = append(ids, name)
	n, err := store.Trusts().Drop(ctx, func(t state.Trust) bool { return slices.Contains(ids, t.Server) })
	tools := 0
	if err == nil {
		tools, err = state.DropPins(ctx, store, ids)
	}
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	shown := redact.RedactURL(name)
	switch {
	case n > 0:
		f.Note(shown + " is no longer trusted")
	case tools == 0:
		f.Note(shown + " was not trusted")
	}
	if tools > 0 {
		f.Note("forgot " + english.Plural(tools, "approved definition") + " of " + shown)
	}
	return nil
}

// trusted lists what was confirmed.
func trusted(ctx context.Context, f *cmdutil.Factory) error {
	store, err := state.Open(f.State)
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	all, err := store.Trusts().All()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	if all == nil {
		all = []state.Trust{}
		f.Note("no trusted servers yet; mcpc servers lists configured servers")
	}
	rows := sliceutil.Map(all, func(t state.Trust) []string {
		return []string{t.Server, cmp.Or(t.Tool, "-"), english.Ago(f.Now(), t.At), f.Env.Tilde(t.File)}
	})
	raw, _ := json.Marshal(map[string]any{"trusted": all})
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"SERVER", "TOOL", "CONFIRMED", "FILE"}, rows)
	}))
}
