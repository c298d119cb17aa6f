package serve

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/meant"
	"mcpc/internal/demo"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// demoOptions are the flags of `mcpc demo`.
type demoOptions struct {
	demo.Options
	listen      string
	stdio, auth bool
	fault       faulty.Options
}

// NewDemo returns the command `mcpc demo`.
func NewDemo(f *cmdutil.Factory) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "run the built-in demo server for other clients",
		Long: `Run the built-in demo server, based on the official Go SDK, until it is
interrupted: Streamable HTTP at /mcp in every revision, HTTP+SSE at /sse, or
stdio. mcpc itself needs no running server: use -s demo. With --auth it requires
a token and is its own authorization server: mcpc login gets a token, tool calls
require another scope (mcp:call), and every login with a browser or a device
code is accepted. With --tasks it also has tools that run as tasks.`,
		Example: `  mcpc demo --listen 127.0.0.1:3001
  mcpc demo --listen 127.0.0.1:3001 --stateless
  mcpc demo --listen 127.0.0.1:3001 --auth
  mcpc demo --listen 127.0.0.1:3001 --tasks
  mcpc demo --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meant.NoArguments(f, cmd, args); err != nil {
				return err
			}
			if o.stdio && (cmd.Flags().Changed("listen") || o.auth) {
				return usage.New("--stdio cannot be combined with --listen or --auth", "")
			}
			o.Now = f.Now
			return runDemo(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:3001",
		"HTTP listen `addr`ess, loopback only; port 0 selects a free port")
	flags.BoolVar(&o.stdio, "stdio", false, "use stdio")
	flags.BoolVar(&o.Stateless, "stateless", false, "no sessions in older revisions")
	flags.BoolVar(&o.JSON, "json-answers", false, "respond with JSON instead of event streams")
	flags.BoolVar(&o.BrokenSkills, "broken-skills", false, "add skills whose entries are wrong")
	flags.BoolVar(&o.Tasks, "tasks", false, "add tools that run as tasks")
	flags.BoolVar(&o.auth, "auth", false, "require a token, and run an authorization server")
	o.fault.AddFlags(flags)
	return cmd
}

// runDemo serves the demo server over stdio until the client closes the input, or over HTTP. It
// ends with ctx in both cases.
func runDemo(ctx context.Context, f *cmdutil.Factory, o demoOptions) error {
	faults, err := o.fault.Start(f, faulty.Link(o.stdio))
	if err != nil {
		return err
	}
	defer faults.Close()
	f.IsConnected.Store(true)
	if o.stdio {
		in, to, end := faults.Stdio(f, "demo")
		err := demo.Serve(ctx, in, to, o.Options)
		if failed := end(); failed != nil {
			return failed
		}
		if ctx.Err() != nil {
			return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
		}
		if err != nil {
			return cmdutil.Exit(wire.Outcome{Kind: wire.BadResponse, Text: "the client: " + err.Error(), Err: err})
		}
		return nil
	}
	listener, out := cmdutil.ListenLoopback("--listen", o.listen)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	remark := " (HTTP+SSE at /sse)"
	if o.auth {
		remark = ", which requires a token"
	}
	f.Note(fmt.Sprintf("listening on http://%s/mcp%s; Ctrl-C stops", listener.Addr(), remark))
	return faults.ServeHTTP(ctx, "demo", listener, demoHandler(f, o))
}

// demoHandler returns the handler of /mcp and /sse, or of the server that requires a token.
func demoHandler(f *cmdutil.Factory, o demoOptions) http.Handler {
	mcp := demo.Handler(o.Options)
	if o.auth {
		return demo.Protect(mcp, f.Now)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp)
	mux.Handle("/sse", demo.SSEHandler(o.Options))
	return mux
}
