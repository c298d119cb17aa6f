package traffic

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/editor"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// resendOptions are what `mcpc resend` was asked.
type resendOptions struct {
	recorded.Aim
	edit, yes bool
}

func NewResend(f *cmdutil.Factory) *cobra.Command {
	var o resendOptions
	cmd := &cobra.Command{
		Use:   "resend NUMBER|last|FILE#NUMBER [--to TARGET|--allow-exec|-- COMMAND...]",
		Short: "send a recorded request again",
		Long: `Send a recorded request again, to the server in --to: a recording may come from
someone else, so its server is not contacted by default. A recorded command is
started only with --allow-exec. The request is sent over a new connection, with
new header fields; only its params are reused.

The new exchange is recorded with the number of the old one.`,
		Example: `  mcpc resend last --to demo
  mcpc resend 2 --to demo --json
  EDITOR=true mcpc resend last --edit --to demo`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.Argv = cmdutil.SplitDash(cmd, args)
			if len(args) != 1 {
				return usage.New("resend takes the number of one exchange", wire.Run("log")+" lists them")
			}
			o.Verb, o.Word = "resend", args[0]
			if err := o.Twice(f); err != nil {
				return err
			}
			return runResend(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.To, "to", "", "`target` to send it to, as with -s")
	flags.BoolVar(&o.edit, "edit", false, "edit the params in $VISUAL or $EDITOR first")
	flags.BoolVar(&o.AllowExec, "allow-exec", false, "allow starting the recorded stdio command")
	flags.BoolVarP(&o.yes, "yes", "y", false, "call without a confirmation")
	cmdutil.AddCut(f, flags)
	cmdutil.AddAnswering(f, flags)
	return cmd
}

// runResend sends a recorded request again: it finds the request, selects the server, edits
// the params, and then sends it as every request.
func runResend(ctx context.Context, f *cmdutil.Factory, o resendOptions) error {
	g, out := requestOf(f, o.Word)
	if out.Good() {
		out = o.Settle(f, g)
	}
	var params json.RawMessage
	if out.Good() {
		params, out = paramsOf(ctx, f, o, g)
	}
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	f.Record.Resent = recorded.NameOf(g.Row)
	c, out := f.Open(ctx, connect.Options{Argv: o.Argv})
	if out.Good() {
		out = issue(ctx, c, o, client.Call{Method: g.Row.Method, Params: params, Progress: true})
	}
	return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out), g.Row.Method)
}

// requestOf finds the request that a word means.
func requestOf(f *cmdutil.Factory, word string) (recorded.Request, wire.Outcome) {
	c, row, out := recorded.Pick(f, word)
	if !out.Good() {
		return recorded.Request{}, out
	}
	defer c.Close()
	recorded.Warn(f, c)
	exchange, err := row.Exchange()
	switch {
	case err != nil:
		return recorded.Request{}, usage.LocalIO("reading "+row.Path(), err)
	case capture.ByServer(row):
		return recorded.Request{}, usage.Outcome(usage.New(recorded.NameOf(row)+" is a server request, not a client request", wire.Run("show "+shellwords.Quote(word))+" shows it"))
	case exchange != nil && exchange.Request.Raw == nil:
		return recorded.Request{}, usage.Outcome(usage.New(recorded.NameOf(row)+" contains no JSON-RPC request", wire.Run("export "+shellwords.Quote(word)+" --as curl")+" sends it again"))
	case exchange == nil:
		return recorded.Request{}, usage.Outcome(usage.New("nothing was sent in "+recorded.NameOf(row), wire.Run("show "+shellwords.Quote(word))+" shows how it ended"))
	}
	return recorded.Request{Row: row, Exchange: exchange, Capture: c, Version: f.Version}, wire.Outcome{}
}

// paramsOf gives what is to be sent.
func paramsOf(ctx context.Context, f *cmdutil.Factory, o resendOptions, g recorded.Request) (json.RawMessage, wire.Outcome) {
	params := g.Params()
	if o.edit {
		edited, err := editor.Edit(ctx, f, g.Row.Method, params)
		if err != nil {
			return nil, editor.NotEdited(err)
		}
		params = edited
	}
	return params, recorded.HiddenIn("use --edit to enter it again", string(params))
}

// issue sends the request. A tool that is marked as destructive is asked about,
// as everywhere; arguments go as they were recorded, whatever the schema says.
func issue(ctx context.Context, c *connect.Conn, o resendOptions, call client.Call) wire.Outcome {
	if call.Method != "tools/call" {
		return c.Do(ctx, call)
	}
	params, _ := jsonraw.Object(call.Params)
	given, _ := params.Get("arguments")
	name := params.Text("name")
	tool := c.Remembered(name)
	if tool == nil || !tool.Holds(c) {
		var out wire.Outcome
		if tool, out = c.Define(ctx, name); !out.Good() && out.Kind != wire.InvalidArguments {
			return out.As(wire.Before)
		}
	}
	if out := toolcall.Confirmed(ctx, c, tool, toolcall.Request{Name: name, Reading: arguments.Reading{Arguments: given}, Yes: o.yes}); !out.Good() {
		return out
	}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	out := c.Do(ctx, call)
	if out.Good() && tool != nil {
		return toolcall.CheckResult(c, tool, out)
	}
	return out
}
