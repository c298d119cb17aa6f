package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mcpc/internal/client/auth"
	"mcpc/internal/render"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

func newLogout(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "logout [TARGET]",
		Short: "forget the token for a server",
		Long: `Forget the token for a server, of the account that --account names. --all
forgets every token, and every client that mcpc registered or was given.`,
		Example: `  mcpc logout https://mcp.example/mcp
  mcpc logout --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return hintedError{"--all and a target exclude each other", ""}
			}
			if err := a.oneTarget(args); err != nil {
				return err
			}
			a.logout(cmd.Context(), all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget everything, clients included")
	return cmd
}

func (a *app) logout(ctx context.Context, all bool) {
	store, err := a.tokens()
	if err != nil {
		a.end(stateFailed(err))
		return
	}
	if all {
		if err := store.Reset(ctx); err != nil {
			a.end(authFailed(err, wire.Outcome{}))
			return
		}
		a.note("every token is forgotten here; the servers were not told")
		return
	}
	c, out := a.meant()
	if !out.Good() {
		a.end(out)
		return
	}
	endpoint, dropped := or(c.saved, c.oneOff).Endpoint, 0
	var left []auth.Token
	err = store.Change(ctx, func(b *auth.Book) {
		dropped = b.Drop(func(t auth.Token) bool {
			return t.Account == a.auth.account && auth.Covers(t.Resource, endpoint)
		})
		if b.Pending != nil && b.Pending.Endpoint == endpoint {
			b.Pending = nil
		}
		left = b.Tokens
	})
	switch {
	case err != nil:
		a.end(authFailed(err, wire.Outcome{}))
	case dropped == 0 && c.target.Source == target.FromDefault && len(left) == 1:
		a.note("no server is named, and no session is current; " + a.logoutOf(left[0]) + " forgets the one token that there is")
	case dropped == 0:
		a.note("there is no token for " + c.where + " (mcpc auth shows what there is)")
	default:
		a.note(fmt.Sprintf("the token for %s is forgotten here; the server was not told", c.where))
	}
}

// logoutOf is the command that forgets a token.
func (a *app) logoutOf(t auth.Token) string {
	command := "mcpc logout " + render.ShellQuote(wire.RedactURL(t.Endpoint))
	if t.Account != "" {
		command += " --account " + render.ShellQuote(t.Account)
	}
	return a.errStyle.Line(command)
}
