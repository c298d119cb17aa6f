package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// trustOptions are what `mcpc trust` was asked.
type trustOptions struct {
	names       []string
	yes, revoke bool
}

func newTrust(a *app) *cobra.Command {
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
		ValidArgsFunction: a.completeKnown(),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				o.names = args
				a.trustAll(cmd.Context(), o)
			case o.revoke || o.yes:
				return hinted("trust needs a server's name", wire.Run("trust")+" lists trusted servers")
			default:
				a.trusted(cmd.Context())
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "approve without a confirmation")
	cmd.Flags().BoolVar(&o.revoke, "revoke", false, "withdraw the approval")
	return cmd
}

func (a *app) trustAll(ctx context.Context, o trustOptions) {
	store, err := state.Open(a.state)
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	if o.revoke {
		for _, name := range o.names {
			a.revokeTrust(ctx, store, name)
		}
		return
	}
	var servers []target.Server
	for _, name := range o.names {
		s, out := a.trustable(name)
		servers = append(servers, s)
		a.endAlso(out)
	}
	for _, s := range servers {
		if a.ending.Good() || a.ending.Kind == wire.Refused {
			a.trustOne(ctx, store, s, o.yes)
		}
	}
}

// trustable is the one server of that name, if it can be used.
func (a *app) trustable(name string) (target.Server, wire.Outcome) {
	if !slices.Contains(a.knownNames(), name) {
		a.knownServers() // tells of files that cannot be read
		return target.Server{}, a.unknownServer("trust", name)
	}
	s, out := a.serverNamed(name)
	if out.Good() && s.Problem != "" {
		out = usage(hinted(s.ID()+" cannot be used: "+s.Problem, wire.Run("servers")+" shows the others"))
	}
	return s, out
}

// trustOne shows a server, and remembers it after a yes.
func (a *app) trustOne(ctx context.Context, store *state.Store, s target.Server, yes bool) {
	w, st := a.stdout(), a.outStyle
	if a.json || a.wire || a.jq != "" { // what a person reads is no JSON
		w, st = a.stderr(), a.errStyle
	}
	if err := a.writeServer(w, st, s); err != nil {
		return
	}
	refused := wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: "not approved: " + s.ID(), Hint: "--yes remembers it without asking"}
	switch {
	case yes:
	case !a.interactive():
		a.endAlso(refused)
		return
	case !a.ask(ctx, "Trust exactly this?"):
		if refused.Text, refused.Hint = s.ID()+" was not approved", ""; ctx.Err() != nil {
			refused = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		a.endAlso(refused)
		return
	}
	if err := a.trust(ctx, store, s); err != nil {
		a.endAlso(stateFailed(err))
		return
	}
	a.note(s.ID() + " is trusted as configured in " + a.tilde(s.File))
}

// revokeTrust forgets a server by either of its names, also one that is gone.
func (a *app) revokeTrust(ctx context.Context, store *state.Store, name string) {
	var ids []string
	for _, f := range a.knownFiles() {
		for _, s := range f.servers {
			if s.Name == name {
				ids = append(ids, s.ID())
			}
		}
	}
	n, err := store.DropTrusts(ctx, func(t state.Trust) bool { return t.Server == name || slices.Contains(ids, t.Server) })
	switch {
	case err != nil:
		a.end(stateFailed(err))
	case n == 0:
		a.note(name + " was not trusted")
	default:
		a.note(name + " is no longer trusted")
	}
}

// trusted lists what was confirmed.
func (a *app) trusted(ctx context.Context) {
	store, err := state.Open(a.state)
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	all, err := store.Trusts()
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	if all == nil {
		all = []state.Trust{}
		a.note("no trusted servers yet; mcpc servers lists configured servers")
	}
	rows := mapped(all, func(t state.Trust) []string {
		return []string{t.Server, cmp.Or(t.Tool, "-"), ago(a.now(), t.At), a.tilde(t.File)}
	})
	raw, _ := json.Marshal(map[string]any{"trusted": all})
	a.show(ctx, wire.Outcome{}, document(raw, func(w io.Writer, st render.Style) error {
		return render.Table(w, st, []string{"SERVER", "TOOL", "CONFIRMED", "FILE"}, rows)
	}))
}
