package proxy

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/meant"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/control"
	"mcpc/internal/proxy"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewFault returns the command fault, which changes the rules of a running command.
func NewFault(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "change a running command's fault rules",
		Long: `Change the fault rules of a proxy, tap, mock or demo that runs with --control
SOCKET. mcpc help faults describes the rules; mcpc log --faults reports from a
recording what a client did after each fault.`,
		Example: `  mcpc fault list --control faults.sock
  mcpc fault add 'when method:tools/call do delay 2s' --control faults.sock
  mcpc fault off --control faults.sock`,
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

// newFaultOrder returns a command that sends an order to a running command. order parses the
// arguments.
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

// newFaultAdd returns the command fault add. It parses the rules here, so that errors name their file.
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

// newFaultList returns the command fault list.
func newFaultList(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "list", "list the fault rules, and how often they fired",
		`  mcpc fault list --control faults.sock
  mcpc fault list --control faults.sock --json
  mcpc fault list --control faults.sock --jq '.rules[].fired'`,
		func(args []string) (control.Order, error) {
			return control.Order{Do: "list"}, rejectArguments(args)
		})
}

// newFaultRemove returns the command fault remove.
func newFaultRemove(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "remove NUMBER", "remove one fault rule",
		`  mcpc fault remove 1 --control faults.sock
  mcpc fault remove 2 --control faults.sock --json
  mcpc fault remove 3 --control faults.sock`,
		func(args []string) (order control.Order, err error) {
			number := 0 // invalid: rules count from 1
			if len(args) == 1 {
				number, _ = strconv.Atoi(args[0])
			}
			if number < 1 {
				return order, usage.New("fault remove takes the number of a rule", wire.Run("fault list")+" shows them")
			}
			return control.Order{Do: "remove", Number: number}, nil
		})
}

// newFaultOff returns the command fault off: an order to remove without a number removes all rules.
func newFaultOff(f *cmdutil.Factory) *cobra.Command {
	return newFaultOrder(f, "off", "remove all fault rules",
		`  mcpc fault off --control faults.sock
  mcpc fault off --control faults.sock --json
  mcpc fault off --control faults.sock --jq .removed`,
		func(args []string) (control.Order, error) {
			return control.Order{Do: "remove"}, rejectArguments(args)
		})
}

// rejectArguments returns a usage error if there are arguments.
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
	reply.Rules = append([]proxy.ListedRule{}, reply.Rules...) // in JSON an empty list, not null
	document, _ := jsonraw.Marshal(reply)
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(document, func(w io.Writer, st term.Style) error {
		if len(reply.Rules) == 0 {
			fmt.Fprintln(w, "no fault rules: everything passes unchanged")
		}
		for _, r := range reply.Rules {
			fmt.Fprintln(w, st.Line(r.String()))
		}
		return nil
	}))
}

// newFaultReport returns the command fault report, the old name of log --faults.
func newFaultReport(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:    "report [CAPTURE]",
		Short:  "show what a client did after each fault of a recording",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return rejectArguments(args[1:])
			}
			return faulty.ReportRecording(cmd.Context(), f, strings.Join(args, ""))
		},
	}
}
