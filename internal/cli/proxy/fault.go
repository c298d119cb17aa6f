package proxy

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/meant"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/control"
	"mcpc/internal/proxy"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewFault returns the command fault, which changes the rules of a running command.
func NewFault(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "change a running command's fault rules, or report how a client reacted",
		Long: `Change the fault rules of a proxy, tap, mock or demo that runs with --control
SOCKET, or report from a recording what a client did after each fault. mcpc help
faults describes the rules.`,
		Example: `  mcpc fault list --control faults.sock
  mcpc fault add 'when method:tools/call do delay 2s' --control faults.sock
  mcpc fault report last`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return meant.UnknownCommand(f, cmd, args)
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newFaultAdd(f), newFaultList(f), newFaultRemove(f), newFaultOff(f), newFaultReport(f))
	return cmd
}

// newFaultOrder returns a command that sends an order to a running command.
func newFaultOrder(
	f *cmdutil.Factory,
	use, short, example string,
	order func(args []string) (control.Order, error),
) *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := order(args)
			if err != nil {
				return err
			}
			return sendOrder(cmd.Context(), f, socket, o)
		},
	}
	cmd.Flags().StringVar(&socket, "control", "", "`socket` of the running command")
	return cmd
}

func newFaultAdd(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "add RULES", "add fault rules after the others",
		`  mcpc fault add 'when method:tools/call #1 do hang' --control faults.sock
  mcpc fault add preset:slow --control faults.sock
  mcpc fault add rules.txt --control faults.sock`,
		func(args []string) (order control.Order, err error) {
			if len(args) != 1 {
				return order, usage.New("fault add takes a file, a rule, or preset:NAME",
					wire.Run("help faults")+" describes the rules")
			}
			rules, err := faulty.Read(f, args[0])
			if err != nil {
				return order, faulty.RuleError(err)
			}
			order = control.Order{Do: "add", Source: "mcpc fault"}
			for _, r := range rules {
				order.Rules += r.Text + "\n"
			}
			return order, nil
		})
}

func newFaultList(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "list", "list the fault rules, and how often they fired",
		`  mcpc fault list --control faults.sock
  mcpc fault list --control faults.sock --json
  mcpc fault list --control faults.sock --jq '.rules[].fired'`,
		func(args []string) (control.Order, error) {
			return control.Order{Do: "list"}, rejectArguments(args)
		})
}

func newFaultRemove(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "remove NUMBER", "remove one fault rule",
		`  mcpc fault remove 1 --control faults.sock
  mcpc fault remove 2 --control faults.sock --json
  mcpc fault remove 3 --control faults.sock`,
		func(args []string) (order control.Order, err error) {
			number := 0
			if len(args) == 1 {
				number, _ = strconv.Atoi(args[0])
			}
			if number < 1 {
				return order, usage.New("fault remove takes the number of a rule", wire.Run("fault list")+" shows them")
			}
			return control.Order{Do: "remove", Number: number}, nil
		})
}

func newFaultOff(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "off", "remove all fault rules",
		`  mcpc fault off --control faults.sock
  mcpc fault off --control faults.sock --json
  mcpc fault off --control faults.sock --jq .removed`,
		func(args []string) (control.Order, error) {
			return control.Order{Do: "remove"}, rejectArguments(args)
		})
}

// rejectArguments rejects arguments.
func rejectArguments(args []string) error {
	if len(args) > 0 {
		return usage.New(fmt.Sprintf("unexpected argument %q", args[0]), "")
	}
	return nil
}

// sendOrder sends the order and prints the resulting rules.
func sendOrder(ctx context.Context, f *cmdutil.Factory, socket string, order control.Order) error {
	if socket == "" {
		return usage.New("which command? --control is missing",
			"--control SOCKET, as it was given to the proxy, tap, mock or demo")
	}
	reply, err := control.Send(ctx, f.Now(), socket, order)
	if err != nil {
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.LocalIO,
			Text: "the control socket: " + err.Error(),
			Err:  err,
			Hint: "is a command with --control " + wire.Hint(socket) + " running?",
		})
	}
	if reply.Error != "" {
		return usage.New(reply.Error, wire.Run("help faults")+" describes the rules")
	}
	reply.Rules = append([]proxy.ListedRule{}, reply.Rules...)
	document, _ := jsonraw.Marshal(reply)
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(document, func(w io.Writer, st term.Style) error {
		if len(reply.Rules) == 0 {
			fmt.Fprintln(w, "no fault rules: all passes unchanged")
		}
		for _, r := range reply.Rules {
			fmt.Fprintln(w, st.Line(r.String()))
		}
		return nil
	}))
}

func newFaultReport(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "report [CAPTURE]",
		Short: "show what a client did after each fault of a recording",
		Long: `Report what the client did after each fault in a recording. CAPTURE is the
number of a run, "last", a file, or - for stdin. The exit code is 1 if the
client repeated a call that may have been executed, of a tool without
readOnlyHint or idempotentHint, or if it waited for more than a minute for a
response that never came.`,
		Example: `  mcpc fault report last
  mcpc fault report last --json
  mcpc fault report last --jq '.faults[] | select(.bad)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return rejectArguments(args[1:])
			}
			return reportFaults(cmd.Context(), f, append(args, "last")[0])
		},
	}
}

// reportFaults prints what the client did after each fault of a recording.
func reportFaults(ctx context.Context, f *cmdutil.Factory, word string) error {
	c, out := recorded.Open(f, word)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.WarnDamage(f, c.Capture)
	verdicts, err := judgeFaults(c.Capture.EachFrame)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading the recording", err))
	}
	document := f.Secrets.Text(string(faulty.Document(0, nil, verdicts)))
	answer := cmdutil.Document([]byte(document), func(w io.Writer, st term.Style) error {
		faulty.WriteVerdicts(w, verdicts, func(text string) string { return st.Line(f.Secrets.Text(text)) })
		return nil
	})
	return cmdutil.Show(ctx, f, faulty.Outcome(verdicts), answer)
}

// judgeFaults returns the verdicts on the faults of all runs of a recording, sorted by time. eachFrame
// calls its argument with each frame and the index of its run.
func judgeFaults(eachFrame func(handle func(run int, f wire.Frame) error) error) ([]proxy.Verdict, error) {
	judges := map[int]*proxy.Judge{} // by run
	err := eachFrame(func(run int, f wire.Frame) error {
		if judges[run] == nil {
			judges[run] = &proxy.Judge{}
		}
		judges[run].Add(f)
		return nil
	})
	var verdicts []proxy.Verdict
	for _, judge := range judges {
		verdicts = append(verdicts, judge.Verdicts()...)
	}
	sliceutil.Sort(verdicts, func(a, b proxy.Verdict) int { return a.Time.Compare(b.Time) })
	return verdicts, err
}
