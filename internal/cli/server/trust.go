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
	"mcpc/internal/render"
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

func NewTrust(a *cmdutil.Factory) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [NAME...]",
		Short: "approve a server found in another program's configuration",
		Long: `Show a server's whole entry in another program's configuration (the exact
command, the names of variables, the directory, the file), ask for approval, and
remember it by a hash. Commands from such files, and everything from a project's
file, run only when approved; a change needs a new approval.

Several servers are approved one by one, and none if a NAME is unknown. Without
a NAME the trusted servers are listed. --revoke withdraws approvals.`,
		Example: `  mcpc trust other --yes
  mcpc trust
  mcpc trust other --revoke`,
		ValidArgsFunction: complete.CompleteKnown(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				o.names = args
				trustAll(cmd.Context(), a, o)
			case o.revoke || o.yes:
				return usage.New("trust needs a server's name", wire.Run("trust")+" lists trusted servers")
			default:
				trusted(cmd.Context(), a)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "approve without a confirmation")
	cmd.Flags().BoolVar(&o.revoke, "revoke", false, "withdraw the approval")
	return cmd
}

func trustAll(ctx context.Context, a *cmdutil.Factory, o trustOptions) {
	store, err := state.Open(a.State)
	if err != nil {
		a.End(connect.StateFailed(err))
		return
	}
	if o.revoke {
		for _, name := range o.names {
			revokeTrust(ctx, a, store, name)
		}
		return
	}
	var servers []target.Server
	for _, name := range o.names {
		s, out := trustable(a, name)
		servers = append(servers, s)
		a.EndAlso(out)
	}
	for _, s := range servers {
		if a.Ending.Good() || a.Ending.Kind == wire.Refused {
			trustOne(ctx, a, store, s, o.yes)
		}
	}
}

// trustable is the one server of that name, if it can be used.
func trustable(a *cmdutil.Factory, name string) (target.Server, wire.Outcome) {
	if !slices.Contains(connect.KnownNames(&a.Env), name) {
		connect.KnownServers(&a.Env) // tells of files that cannot be read
		return target.Server{}, unknownServer(a, "trust", name)
	}
	s, out := connect.ServerNamed(&a.Env, name)
	if out.Good() && s.Problem != "" {
		out = usage.Outcome(usage.New(s.ID()+" cannot be used: "+s.Problem, wire.Run("servers")+" shows the others"))
	}
	return s, out
}

// trustOne shows a server, and remembers it after a yes.
func trustOne(ctx context.Context, a *cmdutil.Factory, store *state.Store, s target.Server, yes bool) {
	w, st := a.Stdout(), a.OutStyle
	if a.JSON || a.Wire || a.Jq != "" { // what a person reads is not JSON
		w, st = a.Stderr(), a.ErrStyle
	}
	if err := cmdutil.WriteServer(a, w, st, s); err != nil {
		return
	}
	refused := wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: "not approved: " + s.ID(), Hint: "--yes remembers it without asking"}
	switch {
	case yes:
	case !a.Interactive():
		a.EndAlso(refused)
		return
	case !a.Ask(ctx, "Trust exactly this?"):
		if refused.Text, refused.Hint = s.ID()+" was not approved", ""; ctx.Err() != nil {
			refused = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		a.EndAlso(refused)
		return
	}
	if err := connect.Trust(ctx, &a.Env, store, s); err != nil {
		a.EndAlso(connect.StateFailed(err))
		return
	}
	a.Note(s.ID() + " is trusted as configured in " + connect.Tilde(&a.Env, s.File))
}

// revokeTrust forgets a server by either of its names, also one that is gone.
func revokeTrust(ctx context.Context, a *cmdutil.Factory, store *state.Store, name string) {
	var ids []string
	for _, f := range connect.KnownFiles(&a.Env) {
		for _, s := range f.Servers {
			if s.Name == name {
				ids = append(ids, s.ID())
			}
		}
	}
	n, err := store.DropTrusts(ctx, func(t state.Trust) bool { return t.Server == name || slices.Contains(ids, t.Server) })
	switch {
	case err != nil:
		a.End(connect.StateFailed(err))
	case n == 0:
		a.Note(name + " was not trusted")
	default:
		a.Note(name + " is no longer trusted")
	}
}

// trusted lists what was confirmed.
func trusted(ctx context.Context, a *cmdutil.Factory) {
	store, err := state.Open(a.State)
	if err != nil {
		a.End(connect.StateFailed(err))
		return
	}
	all, err := store.Trusts()
	if err != nil {
		a.End(connect.StateFailed(err))
		return
	}
	if all == nil {
		all = []state.Trust{}
		a.Note("no trusted servers yet; mcpc servers lists configured servers")
	}
	rows := sliceutil.Map(all, func(t state.Trust) []string {
		return []string{t.Server, cmp.Or(t.Tool, "-"), english.Ago(a.Now(), t.At), connect.Tilde(&a.Env, t.File)}
	})
	raw, _ := json.Marshal(map[string]any{"trusted": all})
	cmdutil.Show(ctx, a, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st render.Style) error {
		return render.Table(w, st, []string{"SERVER", "TOOL", "CONFIRMED", "FILE"}, rows)
	}))
}
