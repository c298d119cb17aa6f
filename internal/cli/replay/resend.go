package replay

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewResend returns the command resend, the old name of replay --print.
func NewResend(f *cmdutil.Factory) *cobra.Command {
	o := options{printed: true}
	cmd := &cobra.Command{
		Use:   "resend NUMBER|last|FILE#NUMBER [NAME=VALUE...] [--to TARGET|--allow-exec|-- COMMAND...]",
		Short: "send a recorded request again",
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.Argv = cmdutil.SplitDash(cmd, args)
			o.Verb = "resend"
			return runResend(cmd.Context(), f, o, args)
		},
	}
	flags := cmd.Flags()
	o.declareServer(flags)
	flags.BoolVarP(&o.yes, "yes", "y", false, "call without asking for confirmation")
	o.declarePrinted(f, flags)
	return cmd
}

// runResend sends the recorded request that the first word names, with the arguments of the other words
// and after the edit, and prints the response.
func runResend(ctx context.Context, f *cmdutil.Factory, o options, words []string) error {
	if len(words) == 0 {
		return usage.New(o.Verb+" takes the number of one exchange", wire.Run("log")+" lists them")
	}
	o.Word = words[0]
	o.Changes = words[1:]
	isOther := func(word string) bool { return !isArgument(word) }
	if slices.ContainsFunc(o.Changes, isOther) {
		return usage.New(o.Verb+" takes the number of one exchange", recorded.OneWordHint(o.Verb, words))
	}
	if err := o.RejectTwoServers(f); err != nil {
		return err
	}
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
	var given arguments.Given
	if len(o.Changes) > 0 {
		if request.Row.Method != "tools/call" {
			return usage.New("only the arguments of a tools/call can be changed by NAME=VALUE, and "+o.Word+" is a "+
				request.Row.Method, "--edit changes any params")
		}
		var err error
		given, err = recorded.ParseArguments(f, params, o.Changes)
		if err != nil {
			return err
		}
	}
	f.Record.Resent = recorded.NameOf(request.Row)
	c, out := f.Open(ctx, connect.Options{Argv: o.Argv, OneAnswer: true})
	if out.OK() && len(o.Changes) > 0 {
		params, out = recorded.WithArguments(ctx, c, params, given)
	}
	if out.OK() {
		out = recorded.Send(ctx, c, client.Call{Method: request.Row.Method, Params: params, Progress: true}, o.yes)
	}
	return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out), request.Row.Method)
}

// paramsToSend returns the recorded params, edited if the user asked for it.
func paramsToSend(
	ctx context.Context,
	f *cmdutil.Factory,
	o options,
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
