package call

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/pause"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// pingInterval is the interval between the attempts of ping --wait.
const pingInterval = 250 * time.Millisecond

// NewPing returns the command mcpc ping.
func NewPing(f *cmdutil.Factory) *cobra.Command {
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
			argv, err := meant.OnlyURL(f, cmd, args)
			if err != nil {
				return err
			}
			return waitForPing(cmd.Context(), f, argv, max(0, wait))
		},
	}
	cmd.Flags().Var((*cmdutil.Seconds)(&wait), "wait", "retry for this time until the server answers")
	return cmd
}

// waitForPing pings until the server answers or wait is over, and prints the last attempt. That
// attempt may take the rest of wait, and at least a second.
func waitForPing(ctx context.Context, f *cmdutil.Factory, argv []string, wait time.Duration) error {
	deadline := f.Now().Add(wait)
	var err error
	for waiting := false; ; waiting = true {
		attemptLimit := max(deadline.Sub(f.Now()), time.Second)
		isLimitLonger := f.Limits.Idle <= 0 || f.Limits.Idle > attemptLimit // 0 or less is no limit
		if wait > 0 && isLimitLonger {
			f.Limits.Idle = attemptLimit
			f.Limits.Wait = max(wait, time.Second)
		}
		c, method, ready, out := runPing(ctx, f, argv)
		remaining := deadline.Sub(f.Now())
		retries := isNotReady(out) && remaining > 0
		if retries && pause.For(ctx, min(pingInterval, remaining)) != nil {
			retries = false
			method = "" // the interruption replaces the answer of the last attempt
			out = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		if !retries {
			return cmdutil.Join(err, showPing(ctx, f, c, method, ready, out))
		}
		if !waiting {
			f.Note("waiting for the server: " + out.Text)
		}
		f.Env.GaveUp(out, out.ExitCode())
		err = cmdutil.Join(err, f.Close(ctx, c))
	}
}

// isNotReady reports whether a server that is still starting may cause o.
func isNotReady(o wire.Outcome) bool {
	return slices.Contains([]wire.Kind{wire.Transport, wire.Timeout, wire.BadResponse}, o.Kind)
}

// runPing connects and sends the revision's ping. method is the method that it sent, or "" if the
// connection failed; ready is the time until it was open. The caller closes the connection.
func runPing(ctx context.Context, f *cmdutil.Factory, argv []string) (
	c *connect.Conn, method string, ready time.Duration, out wire.Outcome,
) {
	began := f.Now()
	c, out = f.Open(ctx, connect.Options{Argv: argv})
	ready = f.Now().Sub(began)
	if !out.OK() {
		if out.Method == "server/discover" { // the ping itself in stateless revisions
			out.Part = wire.Operation
		}
		return c, "", ready, out
	}
	method = client.PingMethod(c.Revision())
	return c, method, ready, c.Do(ctx, client.Call{Method: method})
}

// slowStart is the minimum connection time that ping prints.
const slowStart = time.Second

// showPing prints the result of a ping. If method is "", no ping was sent, and there is only a
// failure to report.
func showPing(
	ctx context.Context, f *cmdutil.Factory, c *connect.Conn, method string, ready time.Duration, out wire.Outcome,
) error {
	if method == "" {
		return cmdutil.Exit(out)
	}
	if client.IsUnknownMethod(out) {
		out.Hint = wire.Hint("the server responds, but does not support " + method + ", which every server must support")
	}
	ans := cmdutil.AnswerOf(out)
	ans.Human = func(w io.Writer, _ term.Style) error {
		_, err := io.WriteString(w, pingLine(term.Line(c.Where), method, ready, out.Took)+"\n")
		return err
	}
	return cmdutil.Show(ctx, f, out, ans, method)
}

// pingLine returns the result of a ping for a person. It contains a slow start, because many
// clients wait only some seconds for a server.
func pingLine(server, method string, ready, took time.Duration) string {
	if ready < slowStart {
		return fmt.Sprintf("%s answered %s in %s", server, method, term.Duration(took))
	}
	return fmt.Sprintf("%s was ready after %s and answered %s in %s",
		server, term.Duration(ready), method, term.Duration(took))
}
