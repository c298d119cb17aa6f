package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewTasks returns the command mcpc tasks.
func NewTasks(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks COMMAND",
		Short: "manage long-running tasks",
		Long: `A server may run a call as a task: the client gets an id and fetches the result
later. mcpc call --task starts one; mcpc remembers it, so "last", or nothing if
there is only one, can be used instead of the id.`,
		Example: `  mcpc tasks list
  mcpc tasks wait last
  mcpc tasks cancel last`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 {
				return nil
			}
			return meant.UnknownCommand(f, cmd, args)
		},
		RunE: func(*cobra.Command, []string) error {
			return usage.New("tasks needs a command", wire.Run("tasks --help")+" shows the commands")
		},
	}
	cmd.AddCommand(newTasksList(f))
	for _, v := range taskActions(f) {
		cmd.AddCommand(newTaskCommand(f, v))
	}
	return cmd
}

// A taskAction is a subcommand of mcpc tasks that acts on one task.
type taskAction struct {
	cobra.Command
	// answersQuestions adds the flags that answer input requests.
	answersQuestions bool
	// printsContent adds the flags that shorten printed content.
	printsContent bool
	run           func(context.Context, *connect.Conn, state.Task) error
}

// taskActions returns the subcommands that act on one task.
func taskActions(f *cmdutil.Factory) []taskAction {
	const once = true
	return []taskAction{
		{
			run: func(ctx context.Context, c *connect.Conn, remembered state.Task) error {
				return runTaskGet(ctx, f, c, remembered)
			},
			Command: cobra.Command{
				Use: "get [ID]", Short: "show a task's status",
				Example: `  mcpc tasks get last
  mcpc tasks get last --json
  mcpc tasks get last --jq .status`,
			},
		},
		{
			run:              runTaskResult(f, !once),
			answersQuestions: true,
			printsContent:    true,
			Command: cobra.Command{
				Use: "wait [ID]", Short: "wait for a task and print its result",
				Long: `Poll a task, at the server's interval, until it has finished; then print its
result and exit as the call would have. Input requests are handled as in a call
(mcpc help answering). Ctrl-C leaves the task running.`,
				Example: `  mcpc tasks wait last
  mcpc tasks wait last --json
  mcpc tasks wait last --answer-defaults --max-time 30m`,
			},
		},
		{
			run:           runTaskResult(f, once),
			printsContent: true,
			Command: cobra.Command{
				Use: "result [ID]", Short: "print the result of a finished task",
				Long: `Print the result of a finished task, and exit as the call would have. If the
task has not finished the exit code is 1.`,
				Example: `  mcpc tasks result last
  mcpc tasks result last --json
  mcpc tasks result last -o report.md`,
			},
		},
		{
			run: func(ctx context.Context, c *connect.Conn, remembered state.Task) error {
				return runTaskUpdate(ctx, f, c, remembered)
			},
			answersQuestions: true,
			Command: cobra.Command{
				Use: "update [ID]", Short: "answer a task's input requests, without waiting for it",
				Long: `Answer a task's input requests, with flags or at the terminal. Answered requests
are not repeated. Up to revision ` + client.AskingRevision + ` a server
requests input only while a client waits: use mcpc tasks wait with these flags.`,
				Example: `  mcpc tasks update last --answer city=Paris
  mcpc tasks update last --answer '{"city":"Paris"}'
  mcpc tasks update last --decline`,
			},
		},
		{
			run: func(ctx context.Context, c *connect.Conn, remembered state.Task) error {
				return runTaskCancel(ctx, f, c, remembered)
			},
			Command: cobra.Command{
				Use: "cancel [ID]", Short: "cancel a task",
				Example: `  mcpc tasks cancel last
  mcpc tasks cancel last --json
  mcpc tasks cancel last && mcpc tasks list`,
			},
		},
	}
}

// newTaskCommand returns the command of an action. It finds the task, connects to its server and
// runs the action.
func newTaskCommand(f *cmdutil.Factory, v taskAction) *cobra.Command {
	v.RunE = func(cmd *cobra.Command, args []string) error {
		remembered, err := findTask(f, args)
		if _, failed := errors.AsType[*state.Error](err); failed {
			return cmdutil.Exit(connect.StateFailed(err))
		}
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		c, out := f.Open(ctx, connect.Options{})
		if !out.OK() {
			return cmdutil.Exit(out)
		}
		if remembered.Endpoint == "" { // an id that was not remembered
			toolcall.PlaceTask(c, &remembered)
		}
		return v.run(ctx, c, remembered)
	}
	if v.printsContent {
		f.AddMaxChars(v.Flags())
	}
	if v.answersQuestions {
		f.AddAnswering(v.Flags())
	}
	return &v.Command
}

// runTaskGet prints the status of a task.
func runTaskGet(ctx context.Context, f *cmdutil.Factory, c *connect.Conn, remembered state.Task) error {
	task, out := c.Task(ctx, remembered.ID)
	ans := cmdutil.AnswerOf(out)
	ans.Human = func(w io.Writer, st term.Style) error { return term.Facts(w, st, taskFacts(c, task, remembered)) }
	return cmdutil.Show(ctx, f, toolcall.ExplainTaskError(ctx, c, out, remembered), ans, "tasks/get")
}

// taskFacts returns the rows that describe a task.
func taskFacts(c *connect.Conn, task client.Task, remembered state.Task) [][]string {
	begunAt := remembered.BegunAt
	if begunAt.IsZero() {
		begunAt = task.Created
	}
	begun := ""
	if !begunAt.IsZero() {
		begun = english.Ago(c.Env.Now(), begunAt)
	}
	return [][]string{
		{"task", task.ID},
		{"status", string(task.Status)},
		{"message", task.Message},
		{"tool", remembered.Tool},
		{"begun", begun},
		{"kept for", timeLeft(c, task, remembered)},
	}
}

// timeLeft returns how long the server still keeps a task, or "" if that is unknown. It uses this
// machine's clock for tasks that mcpc started.
func timeLeft(c *connect.Conn, task client.Task, remembered state.Task) string {
	begun := remembered.BegunAt
	if begun.IsZero() {
		begun = task.Created
	}
	if task.TTL == 0 || begun.IsZero() {
		return ""
	}
	left := begun.Add(task.TTL).Sub(c.Env.Now())
	if left <= 0 {
		return "over"
	}
	if left < 2*time.Minute {
		return term.Duration(left)
	}
	if left < 2*time.Hour {
		return fmt.Sprintf("%d min", int(left.Minutes()))
	}
	return fmt.Sprintf("%d h", int(left.Hours()))
}

// runTaskResult returns the action that prints a task's result and exits as the call would have.
// once does not wait for the task to end.
func runTaskResult(f *cmdutil.Factory, once bool) func(context.Context, *connect.Conn, state.Task) error {
	return func(ctx context.Context, c *connect.Conn, remembered state.Task) error {
		out := toolcall.AwaitTask(ctx, c, client.Task{ID: remembered.ID}, remembered, once)
		if tool := c.LastKnown(remembered.Tool); out.OK() && tool != nil {
			out = toolcall.JudgeResult(ctx, c, tool, out)
		}
		return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out), "tasks/get", "tasks/result", "tasks/update")
	}
}

// runTaskUpdate answers the input requests of a task, and stores which were answered. It fails if
// there is no open request, and in revisions in which only a waiting client is asked.
func runTaskUpdate(ctx context.Context, f *cmdutil.Factory, c *connect.Conn, remembered state.Task) error {
	if c.TaskOffer("").ByClient {
		return cmdutil.Exit(
			c.Unsent(
				"tasks/update",
				remembered.ID,
				"in revision "+c.Revision()+" a server requests input only while a client waits for the task",
				wire.Run("tasks wait "+shellwords.Quote(remembered.ID))+" takes the same flags",
			),
		)
	}
	var answered []string // the keys of the requests
	opt := client.AwaitOptions{Tool: remembered.Tool, Answered: remembered.Answered}
	opt.OnAnswers = func(keys []string) {
		answered = keys
		remembered.Answered = append(remembered.Answered, keys...)
		toolcall.KeepTask(ctx, c, remembered)
	}
	out := c.AnswerInputs(ctx, remembered.ID, opt)
	if out.OK() && len(answered) == 0 {
		out.Kind = wire.CheckFailed
		out.Text = "the task has no open input request"
		out.Hint = wire.Run("tasks wait " + shellwords.Quote(remembered.ID))
	}
	ans := cmdutil.AnswerOf(out)
	if len(answered) > 0 {
		ans.Human = func(w io.Writer, st term.Style) error {
			_, err := fmt.Fprintln(w, "answered "+st.Line(strings.Join(answered, ", ")))
			return err
		}
	}
	return cmdutil.Show(ctx, f, toolcall.ExplainTaskError(ctx, c, out, remembered), ans, "tasks/get", "tasks/update")
}

// runTaskCancel asks the server to cancel a task. The server may accept and still complete the
// task.
func runTaskCancel(ctx context.Context, f *cmdutil.Factory, c *connect.Conn, remembered state.Task) error {
	offer := c.TaskOffer("")
	if !offer.CanCancel {
		return cmdutil.Exit(
			c.Unsent("tasks/cancel", remembered.ID, cmp.Or(offer.Why, "the server does not declare tasks.cancel"), ""),
		)
	}
	out := c.CancelTask(ctx, remembered.ID)
	if out.RPCError() != nil && out.RPCError().Code == -32602 { // invalid params
		getTask := wire.Run("tasks get " + shellwords.Quote(remembered.ID))
		out.Hint = "the task has ended, or is unknown to the server: see " + getTask
	}
	ans := cmdutil.AnswerOf(out)
	task, known := c.ParseTask(out.Result)
	ans.Human = func(w io.Writer, st term.Style) error {
		text := "cancellation requested: mcpc tasks get " + shellwords.Quote(remembered.ID) + " shows the status"
		if known {
			text = "the task is " + string(task.Status)
		}
		_, err := fmt.Fprintln(w, st.Line(text))
		return err
	}
	if known && task.Status.Ended() {
		toolcall.EndTask(ctx, c, remembered)
	}
	return cmdutil.Show(ctx, f, out, ans, "tasks/cancel")
}
