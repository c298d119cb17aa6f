package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// pingEvery is the interval between the attempts of ping --wait.
const pingEvery = 250 * time.Millisecond

func newPing(a *app) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "ping [URL] [-- COMMAND...]",
		Short: "check that a server answers, and how fast",
		Long: `Check that a server answers, and print how long it took. It sends ping, or
server/discover in revisions without ping.

--wait repeats this until the server answers, for scripts that have just started
it. Failures to connect, timeouts and responses that are not MCP are retried;
everything else ends the command at once.`,
		Example: `  mcpc -s demo ping
  mcpc -s demo ping --json
  mcpc -s demo ping --wait 30s
  mcpc -s demo ping --protocol ` + client.Revisions()[1],
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if err := a.onlyURL(cmd, own, argv); err != nil {
				return err
			}
			a.waitForPing(cmd.Context(), argv, max(0, wait))
			return nil
		},
	}
	cmd.Flags().Var((*seconds)(&wait), "wait", "retry for this time until the server answers")
	return cmd
}

// waitForPing pings until the server answers or wait is over. The outcome is that of the
// last attempt, which may take the rest of wait, or a second.
func (a *app) waitForPing(ctx context.Context, argv []string, wait time.Duration) {
	limit := a.now().Add(wait)
	bound := false // by wait, and no longer by --timeout
	for waiting := false; ; waiting = true {
		if rest := max(limit.Sub(a.now()), time.Second); wait > 0 && (a.limits.Idle <= 0 || a.limits.Idle > rest) {
			a.limits.Idle, bound = rest, true
		}
		c, method, out := a.ping(ctx, argv)
		left := limit.Sub(a.now())
		again := isNotReady(out) && left > 0
		if again && !pause(ctx, min(pingEvery, left)) {
			again, method, out = false, "", wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		if !again {
			if bound && strings.HasPrefix(string(out.Hint), "--timeout ") {
				out.Text = strings.Replace(out.Text, a.limits.Idle.String(), max(wait, time.Second).String(), 1)
				out.Hint = "--wait TIME waits longer"
			}
			a.showPing(ctx, c, method, out)
			a.close(ctx, c)
			return
		}
		if !waiting {
			a.note("waiting for the server: " + out.Text)
		}
		a.gaveUp(out, out.ExitCode())
		a.close(ctx, c)
	}
}

// isNotReady reports whether a server that is still starting may fail with o.
func isNotReady(o wire.Outcome) bool {
	return slices.Contains([]wire.Kind{wire.Transport, wire.Timeout, wire.BadResponse}, o.Kind)
}

// pause waits for d. It reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ping opens a connection and sends the revision's ping. method is empty if the connection
// failed. The caller closes the conversation.
func (a *app) ping(ctx context.Context, argv []string) (c *conversation, method string, out wire.Outcome) {
	c, out = a.open(ctx, opening{argv: argv})
	if !out.Good() {
		if out.Method == "server/discover" { // which is what ping sends in revisions with it
			out.Part = wire.Operation
		}
		return c, "", out
	}
	method = client.PingMethod(c.Revision())
	return c, method, c.Do(ctx, client.Call{Method: method})
}

func (a *app) showPing(ctx context.Context, c *conversation, method string, out wire.Outcome) {
	if method == "" {
		a.end(out)
		return
	}
	if client.UnknownMethod(out) {
		out.Hint = wire.Hint("the server responds, but does not support " + method + ", which every server must support")
	}
	ans := answerOf(out)
	ans.human = func(w io.Writer, _ render.Style) error {
		_, err := fmt.Fprintf(w, "%s answered %s in %s\n", render.Line(c.where), method, render.Took(out.Took))
		return err
	}
	a.show(ctx, out, ans)
	a.explained(method)
}
