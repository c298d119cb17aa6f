package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
)

func newPing(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ping [URL] [-- COMMAND...]",
		Short: "check that a server answers, and how fast",
		Long: `Check that a server answers, and print how long it took. It sends ping, or
server/discover in revisions without ping.`,
		Example: `  mcpc -s demo ping
  mcpc -s demo ping --json
  mcpc -s demo ping --protocol ` + client.Revisions()[1],
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if err := a.onlyURL(cmd, own, argv); err != nil {
				return err
			}
			a.ping(cmd.Context(), argv)
			return nil
		},
	}
}

func (a *app) ping(ctx context.Context, argv []string) {
	c, out := a.open(ctx, opening{argv: argv})
	defer c.close(ctx)
	if !out.Good() {
		a.end(out)
		return
	}
	method := client.PingMethod(c.Revision())
	out = c.Do(ctx, client.Call{Method: method})
	if method != "ping" {
		a.note("revision " + c.Revision() + " has no ping; " + method + " was sent")
	}
	if client.UnknownMethod(out) {
		out.Hint = "the server responds, but does not support " + method + ", which every server must support"
	}
	ans := answerOf(out)
	ans.human = func(w io.Writer, _ render.Style) error {
		_, err := fmt.Fprintf(w, "%s answered %s in %s\n", render.Line(c.where), method, render.Took(out.Took))
		return err
	}
	a.show(ctx, out, ans)
	c.explained(method)
}
