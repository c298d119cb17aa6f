package traffic

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// resendOptions are the arguments of `mcpc resend`.
type resendOptions struct {
	recorded.ServerChoice
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
				return usage.New("resend takes the number of one exchange", oneWordHint("resend", args))
			}
			o.Verb = "resend"
			o.Word = args[0]
			if err := o.RejectTwoServers(f); err != nil {
				return err
			}
			return runResend(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.To, "to", "", "`target` to send it to, as with -s")
	flags.BoolVar(&o.edit, "edit", false, "edit the params in $VISUAL or $EDITOR first")
	flags.BoolVar(&o.AllowExec, "allow-exec", false, "allow starting the recorded stdio command")
	flags.BoolVarP(&o.yes, "yes", "y", false, "call without asking for confirmation")
	f.AddMaxChars(flags)
	f.AddFresh(flags)
	f.AddAnswering(flags)
	return cmd
}

// runResend finds the recorded request, selects the server, edits the params, and sends the
// request.
func runResend(ctx context.Context, f *cmdutil.Factory, o resendOptions) error {
	request, out := recorded.RequestOf(f, o.Word)
	if out.OK() {
		out = o.SelectServer(f, request)
	}
	var params json.RawMessage
	if out.OK() {
		params, out = paramsToSend(ctx, f, o, request)
	}
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	f.Record.Resent = recorded.NameOf(request.Row)
	c, out := f.Open(ctx, connect.Options{Argv: o.Argv, OneAnswer: true})
	if out.OK() {
		out = recorded.Send(ctx, c, client.Call{Method: request.Row.Method, Params: params, Progress: true}, o.yes)
	}
	return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out), request.Row.Method)
}

// paramsToSend returns the recorded params, edited if the user asked for it.
func paramsToSend(
	ctx context.Context,
	f *cmdutil.Factory,
	o resendOptions,
	request recorded.Request,
) (json.RawMessage, wire.Outcome) {
	params := request.Params()
	if o.edit {
		edited, err := f.EditRequest(ctx, request.Row.Method, params)
		if err != nil {
			return nil, console.NotEdited(err)
		}
		params = edited
	}
	return params, recorded.RejectHidden("use --edit to enter it again", string(params))
}
