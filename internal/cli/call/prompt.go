package call

import (
	"context"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewPrompt returns the command mcpc prompt.
func NewPrompt(f *cmdutil.Factory) *cobra.Command {
	var o toolcall.PromptOptions
	cmd := &cobra.Command{
		Use:   "prompt NAME [JSON] [NAME=VALUE...] [-- COMMAND...]",
		Short: "get a prompt, filled with arguments",
		Long: `Get a prompt and print its messages, each with its role.

A prompt's arguments are strings: NAME=VALUE or NAME=@FILE, or one JSON object,
@FILE or - for stdin (mcpc help arguments). Missing required arguments are
detected with the server's list before anything is sent; --no-validate skips
that.`,
		Example: `  mcpc -s demo prompt simple-prompt
  mcpc -s demo prompt args-prompt city=Paris
  mcpc -s demo prompt args-prompt '{"city":"Paris","state":"Texas"}' --json`,
		ValidArgsFunction: f.CompletePrompt,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.Argv = cmdutil.SplitDash(cmd, args)
			if len(args) == 0 {
				return usage.New(
					"prompt takes a prompt's name and its arguments",
					wire.RunOnServer("list prompts")+" lists the prompts",
				)
			}
			if err := meant.CheckMisplaced(f, "prompt", args, o.Argv); err != nil {
				return err
			}
			o.Name = args[0]
			const noDocument = "" // prompt has no flag for a JSON object
			const flat = true     // the arguments are strings, so their names are no paths
			typed, err := arguments.Parse(&f.Env, args[1:], noDocument, flat)
			if err != nil {
				return meant.UnnamedArguments(f, cmd, connect.PromptKind, []string{"prompt", o.Name}, args[1:], err)
			}
			o.Arguments = typed.Texts()
			return runPrompt(cmd.Context(), f, o)
		},
	}
	cmd.Flags().BoolVar(&o.NoValidate, "no-validate", false, "do not check the arguments")
	f.AddFresh(cmd.Flags())
	f.AddMaxChars(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	return cmd
}

// runPrompt gets the prompt and prints it.
func runPrompt(ctx context.Context, f *cmdutil.Factory, o toolcall.PromptOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.Argv, OneAnswer: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	out = toolcall.GetPrompt(ctx, c, o)
	return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out), "prompts/get")
}
