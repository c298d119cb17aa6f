package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// trustOptions are what `mcpc trust` was asked.
type trustOptions struct {
	name        string
	yes, revoke bool
}

func newTrust(a *app) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [NAME]",
		Short: "confirm what another program's configuration says of a server",
		Long: `Show all that another program's configuration says of a server (the command word
for word, the names of variables, the folder, the file), ask, and remember the
answer by a hash of it. A command from a file runs only once it was confirmed,
and so does whatever a project brings; when it is changed, mcpc asks again.

Without a NAME the confirmed servers are listed. --revoke forgets one.`,
		Example: `  mcpc trust other --yes
  mcpc trust
  mcpc trust other --revoke`,
		ValidArgsFunction: a.completeKnown,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return hintedError{"trust takes one name", "mcpc servers shows the names"}
			case len(args) == 1:
				o.name = args[0]
				a.trustOne(cmd.Context(), o)
			case o.revoke || o.yes:
				return hintedError{"which server?", "mcpc trust shows those that are confirmed"}
			default:
				a.trusted(cmd.Context())
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "remember it without asking")
	cmd.Flags().BoolVar(&o.revoke, "revoke", false, "forget that it was confirmed")
	return cmd
}

func (a *app) trustOne(ctx context.Context, o trustOptions) {
	store, err := state.Open(a.state)
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	if o.revoke {
		a.revokeTrust(ctx, store, o.name)
		return
	}
	if !slices.Contains(a.knownNames(), o.name) {
		a.knownServers() // tells of files that cannot be read
		a.end(a.unknownServer("trust", o.name))
		return
	}
	s, out := a.serverNamed(o.name)
	if !out.Good() {
		a.end(out)
		return
	}
	if s.Problem != "" {
		a.end(usage(hintedError{s.ID() + " cannot be used: " + s.Problem, "mcpc servers shows the others"}))
		return
	}
	w, st := a.stdout(), a.outStyle
	if a.json || a.wire || a.jq != "" { // what a person reads is no JSON
		w, st = a.stderr(), a.errStyle
	}
	if err := a.writeServer(w, st, s); err != nil {
		return
	}
	refused := wire.Outcome{Kind: wire.Refused, Where: s.ID(), Phase: "arguments", Text: "nobody confirmed the server", Hint: "--yes remembers it without asking"}
	switch {
	case o.yes:
	case !a.interactive():
		a.end(refused)
		return
	case !a.ask(ctx, "Trust exactly this?"):
		if refused.Text, refused.Hint = "the server was not confirmed", ""; ctx.Err() != nil {
			refused = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		a.end(refused)
		return
	}
	if err := a.trust(ctx, store, s); err != nil {
		a.end(stateFailed(err))
		return
	}
	a.note(s.ID() + " is trusted as it now stands in " + a.tilde(s.File))
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
		a.note(name + " is not trusted any more")
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
		a.note("nothing was confirmed yet: mcpc servers shows what there is")
	}
	var rows [][]string
	for _, t := range all {
		rows = append(rows, []string{t.Server, or(t.Tool, "-"), ago(a.now(), t.At), a.tilde(t.File)})
	}
	raw, _ := json.Marshal(map[string]any{"trusted": all})
	a.show(ctx, wire.Outcome{}, answer{result: raw, messages: []*wire.Message{{Raw: raw}}, human: func(w io.Writer, st render.Style) error {
		return render.Table(w, st, []string{"SERVER", "TOOL", "CONFIRMED", "FILE"}, rows)
	}})
}
