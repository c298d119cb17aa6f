package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/demo"
	"mcpc/internal/wire"
)

// demoOptions are what `mcpc demo` was asked.
type demoOptions struct {
	demo.Options
	listen      string
	stdio, auth bool
}

func newDemo(a *app) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "run the built-in demo server for other clients",
		Long: `Run the built-in demo server, based on the official Go SDK, until it is
interrupted: Streamable HTTP at /mcp in every revision, HTTP+SSE at /sse, or
stdio. mcpc itself needs no running server: use -s demo. With --auth it requires
a token and is its own authorization server: mcpc login gets a token, tool calls
require another scope (mcp:call), and every login with a browser or a device
code is accepted.`,
		Example: `  mcpc demo --listen 127.0.0.1:3001
  mcpc demo --listen 127.0.0.1:3001 --stateless
  mcpc demo --listen 127.0.0.1:3001 --auth
  mcpc demo --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noArguments(cmd, args); err != nil {
				return err
			}
			if o.stdio && (cmd.Flags().Changed("listen") || o.auth) {
				return hinted("--stdio cannot be combined with --listen or --auth", "")
			}
			a.demo(cmd.Context(), o)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:3001", "HTTP listen `addr`ess, loopback only; port 0: a free one")
	f.BoolVar(&o.stdio, "stdio", false, "use stdio")
	f.BoolVar(&o.Stateless, "stateless", false, "no sessions in older revisions")
	f.BoolVar(&o.JSON, "json-answers", false, "respond with JSON instead of event streams")
	f.BoolVar(&o.auth, "auth", false, "require a token, and run an authorization server")
	return cmd
}

func (a *app) demo(ctx context.Context, o demoOptions) {
	a.talking.Store(true)
	if o.stdio {
		err := demo.Serve(ctx, a.in, a.out)
		switch {
		case ctx.Err() != nil:
			a.end(wire.Outcome{Kind: wire.Signal})
		case err != nil:
			a.end(wire.Outcome{Kind: wire.BadResponse, Text: "the client: " + err.Error(), Err: err})
		}
		return
	}
	listener, out := listenLoopback(o.listen)
	if !out.Good() {
		a.end(out)
		return
	}
	a.serveDemo(ctx, listener, o)
}

// serveDemo serves until ctx is done. Open streams do not hold it up.
func (a *app) serveDemo(ctx context.Context, listener net.Listener, o demoOptions) {
	server := &http.Server{Handler: a.demoHandler(o), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	also := " (HTTP+SSE at /sse)"
	if o.auth {
		also = ", which requires a token"
	}
	a.note(fmt.Sprintf("listening on http://%s/mcp%s; Ctrl-C stops", listener.Addr(), also))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		a.end(localIO("serving", err))
		return
	}
	a.end(wire.Outcome{Kind: wire.Signal})
}

func (a *app) demoHandler(o demoOptions) http.Handler {
	mcp := demo.Handler(o.Options)
	if o.auth {
		return demo.Protect(mcp, a.now)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp)
	mux.Handle("/sse", demo.SSEHandler())
	return mux
}
