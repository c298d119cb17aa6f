// Package call has the commands that send a request and print its result: call, prompt, read,
// complete, ping and raw, and tasks for calls that run as tasks.
package call

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/render/term"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// callOptions are the flags and arguments of mcpc call.
type callOptions struct {
	toolcall.Request
	argv []string
	// dryRun prints the request instead of sending it; curl prints it as a curl command.
	dryRun, curl bool
	// offline forbids dryRun and curl to request the tool's definition.
	offline bool
	// saveFile is the file that the call is added to, or "". saver adds it; nil if nothing is
	// saved.
	saveFile string
	saver    *recorded.CallSaver
	// expectResult saves the result as the expected one.
	expectResult bool
	trace        cmdutil.TraceOptions
	// events prints the call as JSON lines.
	events bool
}

// NewCall returns the command mcpc call.
func NewCall(f *cmdutil.Factory) *cobra.Command {
	var o callOptions
	var document string
	cmd := &cobra.Command{
		Use:   "call NAME [JSON] [NAME=VALUE...] [-- COMMAND...]",
		Short: "call a tool",
		Long: `Call a tool and print its result.

Arguments are NAME=VALUE words, whose types come from the tool's inputSchema, or
one JSON object: as text, from @FILE, or - for stdin. NAME=VALUE after the
object changes one of its members (mcpc help arguments). Arguments are validated
against the inputSchema before they are sent, and structuredContent against the
outputSchema.`,
		Example: `  mcpc -s demo call get-sum a=1 b=2
  mcpc -s demo call get-sum '{"a":1}' b=2
  mcpc -s demo call get-structured-content location='New York' --json
  mcpc -s demo call get-sum a=1 b=2 --save sums.mcpc.yaml --expect-result
  echo '{"message":"hi"}' | mcpc -s demo call echo -
  mcpc -s http://localhost:3001/mcp call get-sum a:=1 b:=2 --curl --offline`,
		ValidArgsFunction: f.CompleteCall,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			args, o.argv = cmdutil.SplitDash(cmd, args)
			if len(args) == 0 {
				hint := wire.RunOnServer("list") + " shows the tools"
				if o.argv != nil {
					hint = "it goes before --: " + wire.RunOnServer("call NAME") + "; " + hint
				}
				return usage.New("call needs the name of a tool", hint)
			}
			if err := meant.CheckMisplaced(f, "call", args, o.argv); err != nil {
				return err
			}
			isOnlyPrinted := o.dryRun || o.curl
			readsStdin := document == "-" || slices.Contains(args[1:], "-")
			if o.events && (isOnlyPrinted || readsStdin) {
				return usage.New(
					"--events reports a call that is sent, and standard input has the answers",
					"--args @FILE takes the arguments from a file",
				)
			}
			o.Name = args[0]
			const flat = false // names may be paths into objects and lists
			o.Given, err = arguments.Parse(&f.Env, args[1:], document, flat)
			if err != nil {
				return meant.UnnamedArguments(f, cmd, connect.ToolKind, []string{"call", o.Name}, args[1:], err)
			}
			if o.saveFile != "" && (isOnlyPrinted || o.Task != 0) {
				return usage.New("--save needs a call that is sent and answered", "remove --dry-run, --curl and --task")
			}
			if isOnlyPrinted {
				return dryRun(cmd.Context(), f, o)
			}
			if o.saveFile != "" || o.expectResult {
				o.saver, err = recorded.NewCallSaver(o.saveFile, o.expectResult)
				if err != nil {
					return err
				}
			}
			return runCall(cmd.Context(), f, o)
		},
	}
	o.flags(f, cmd, &document)
	return cmd
}

// flags declares the flags of mcpc call.
func (o *callOptions) flags(f *cmdutil.Factory, cmd *cobra.Command, document *string) {
	flags := cmd.Flags()
	flags.StringVar(document, "args", "", "the arguments: `JSON`, @FILE or - for standard input")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "call without asking for confirmation")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the request without sending it")
	flags.BoolVar(&o.curl, "curl", false, "print the request as a curl command")
	flags.BoolVar(&o.offline, "offline", false, "with --dry-run or --curl: do not request the tool's definition")
	flags.BoolVar(&o.NoValidate, "no-validate", false, "do not validate arguments and result")
	f.AddIndex(flags)
	f.AddFresh(flags)
	f.AddMaxChars(flags)
	flags.StringVar(&o.saveFile, "save", "", "add the call to a `file` of saved calls for mcpc run")
	flags.BoolVar(&o.expectResult, "expect-result", false,
		"with --save: expect this result; if the call is saved again, expect what both results share")
	flags.Var((*cmdutil.Seconds)(&o.Task), "task", "start a task, print its id and do not wait (mcpc tasks)")
	flags.Lookup("task").NoOptDefVal = "0" // --task without a value: any lifetime
	flags.BoolVar(&o.events, "events", false,
		"print progress, logs, questions and the result as JSON lines; answers are read from stdin")
	o.trace.AddFlags(flags)
	f.AddAnswering(flags)
}

// runCall connects to the server, calls the tool and prints the result.
func runCall(ctx context.Context, f *cmdutil.Factory, o callOptions) error {
	if o.offline {
		return usage.New("--offline needs --dry-run or --curl", "remove it")
	}
	if o.saveFile != "" {
		if out := cmdutil.CheckAppendable("--save", o.saveFile); !out.OK() {
			return cmdutil.Exit(out)
		}
	}
	if o.trace.IsSet() {
		if err := o.trace.StartCommand(f, "call"); err != nil { // starts tracing
			return err
		}
	}
	var stream *events
	if o.events {
		var err error
		stream, err = newEvents(ctx, f)
		if err != nil {
			return err
		}
	}
	how := connect.Options{Argv: o.argv, OneAnswer: true, RequireServerInfo: o.Task != 0}
	if o.saver != nil {
		how.Fits = o.saver.CheckServer
	}
	c, out := f.Open(ctx, how)
	if out.Kind == wire.Transport && c.Target.Source == target.FromDefault {
		if hint := c.SuggestServer(o.Name); hint != "" { // NAME may begin with the name of a server
			out.Hint = hint
		}
	}
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	out, begun := toolcall.CallTool(ctx, c, &o.Request)
	if stream != nil { // the events are the answer
		f.Record.SetOutcome(out)
		stream.result(out)
		cmdutil.PrintExplanation(ctx, f, "tools/call")
		return cmdutil.Join(f.StdoutError(), cmdutil.Exit(out), o.saveCall(f, c, out))
	}
	ans := cmdutil.AnswerOf(out)
	if begun != nil { // a task: its result is not known yet, and its id is printed
		ans.Method = "tasks/get"
		ans.Human = func(w io.Writer, st term.Style) error {
			_, err := fmt.Fprintln(w, st.Line(begun.ID))
			return err
		}
	}
	showErr := cmdutil.Show(ctx, f, out, ans)
	saveErr := o.saveCall(f, c, out)
	if f.Explain {
		cmdutil.PrintExplanation(ctx, f, "tools/call", "tasks/get", "tasks/result", "tasks/update")
	}
	return cmdutil.Join(showErr, saveErr)
}

// saveCall adds the call to the file of --save, if there is one.
func (o *callOptions) saveCall(f *cmdutil.Factory, c *connect.Conn, out wire.Outcome) error {
	if o.saver == nil {
		return nil
	}
	return o.saver.Add(f, c, o.Request, out)
}
