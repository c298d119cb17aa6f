package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

func newTasks(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks COMMAND",
		Short: "manage long-running tasks",
		Long: `A server may run a call as a task: the client gets an id and fetches the result
later. mcpc call --task starts one; mcpc remembers it, so "last", or nothing if
there is only one, can be used instead of the id.`,
		Example: `  mcpc tasks list
  mcpc tasks wait last
  mcpc tasks cancel last`,
		Args: a.unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return hinted("tasks needs a command", wire.Run("tasks --help")+" shows the commands")
		},
	}
	cmd.AddCommand(newTasksList(a))
	for _, v := range a.taskVerbs() {
		cmd.AddCommand(a.taskCommand(v))
	}
	return cmd
}

// A taskVerb is what can be done about one task.
type taskVerb struct {
	cobra.Command
	// answers is set where the task may ask.
	answers bool
	// cuts is set where it prints what a server sent.
	cuts bool
	run  func(context.Context, *conversation, state.Task)
}

func (a *app) taskVerbs() []taskVerb {
	return []taskVerb{
		{run: a.taskGet, Command: cobra.Command{Use: "get [ID]", Short: "show a task's status",
			Example: `  mcpc tasks get last
  mcpc tasks get last --json
  mcpc tasks get last --jq .status`}},
		{run: a.fetched(false), answers: true, cuts: true, Command: cobra.Command{Use: "wait [ID]", Short: "wait for a task and print its result",
			Long: `Poll a task, at the server's interval, until it has finished; then print its
result and exit as the call would have. Input requests are handled as in a call
(mcpc help answering). Ctrl-C leaves the task running.`,
			Example: `  mcpc tasks wait last
  mcpc tasks wait last --json
  mcpc tasks wait last --answer-defaults --max-time 30m`}},
		{run: a.fetched(true), cuts: true, Command: cobra.Command{Use: "result [ID]", Short: "print the result of a finished task",
			Long: `Print the result of a finished task, and exit as the call would have. If the
task has not finished the exit code is 1.`,
			Example: `  mcpc tasks result last
  mcpc tasks result last --json
  mcpc tasks result last -o report.md`}},
		{run: a.taskUpdate, answers: true, Command: cobra.Command{Use: "update [ID]", Short: "answer a task's input requests, without waiting for it",
			Long: `Answer a task's input requests, with flags or at the terminal. Answered requests
are not repeated. Up to revision ` + client.AskingRevision + ` a server
requests input only while a client waits: use mcpc tasks wait with these flags.`,
			Example: `  mcpc tasks update last --answer city=Paris
  mcpc tasks update last --answer '{"city":"Paris"}'
  mcpc tasks update last --decline`}},
		{run: a.taskCancel, Command: cobra.Command{Use: "cancel [ID]", Short: "cancel a task",
			Example: `  mcpc tasks cancel last
  mcpc tasks cancel last --json
  mcpc tasks cancel last && mcpc tasks list`}},
	}
}

// taskCommand finds the task and the server that a verb means.
func (a *app) taskCommand(v taskVerb) *cobra.Command {
	v.RunE = func(cmd *cobra.Command, args []string) error {
		kept, err := a.meantTask(args)
		if _, failed := errors.AsType[*state.Error](err); failed {
			a.end(stateFailed(err))
			return nil
		}
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		c, out := a.open(ctx, opening{})
		defer a.close(ctx, c)
		if !out.Good() {
			a.end(out)
			return nil
		}
		if kept.Endpoint == "" {
			c.placeTask(&kept)
		}
		v.run(ctx, c, kept)
		return nil
	}
	if v.cuts {
		a.addCut(v.Flags())
	}
	if v.answers {
		a.addAnswering(v.Flags())
	}
	return &v.Command
}

func (a *app) taskGet(ctx context.Context, c *conversation, kept state.Task) {
	task, out := c.Task(ctx, kept.ID)
	ans := answerOf(out)
	ans.human = func(w io.Writer, st render.Style) error { return render.Facts(w, st, c.taskFacts(task, kept)) }
	a.show(ctx, c.stale(ctx, out, kept), ans)
	a.explained("tasks/get")
}

// taskFacts tells a person how a task is.
func (c *conversation) taskFacts(task client.Task, kept state.Task) [][]string {
	rows := [][]string{
		{"task", task.ID},
		{"status", string(task.Status)},
		{"message", task.Message},
		{"tool", kept.Tool},
		{"begun", ago(c.a.now(), cmp.Or(kept.BegunAt, task.Created))},
		{"kept for", c.left(task, kept)},
	}
	if kept.BegunAt.IsZero() && task.Created.IsZero() {
		rows[4][1] = ""
	}
	return rows
}

// left is for how long the server still keeps a task: by the clock of this
// machine where it was begun here.
func (c *conversation) left(task client.Task, kept state.Task) string {
	begun := cmp.Or(kept.BegunAt, task.Created)
	if task.TTL == 0 || begun.IsZero() {
		return ""
	}
	switch d := begun.Add(task.TTL).Sub(c.a.now()); {
	case d <= 0:
		return "over"
	case d < 2*time.Minute:
		return render.Took(d)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}

// fetched ends as the call would that became the task; once does not wait for it.
func (a *app) fetched(once bool) func(context.Context, *conversation, state.Task) {
	return func(ctx context.Context, c *conversation, kept state.Task) {
		out := c.waitFor(ctx, client.Task{ID: kept.ID}, kept, once)
		if tool := c.remembered(kept.Tool); out.Good() && tool != nil {
			out = c.checkResult(tool, out)
		}
		a.show(ctx, out, answerOf(out))
		a.explained("tasks/get", "tasks/result", "tasks/update")
	}
}

func (a *app) taskUpdate(ctx context.Context, c *conversation, kept state.Task) {
	if c.TaskOffer("").Asked {
		a.end(c.unsent("tasks/update", kept.ID, "in revision "+c.Revision()+" a server requests input only while a client waits for the task",
			wire.Run("tasks wait "+shellwords.Quote(kept.ID))+" takes the same flags"))
		return
	}
	var answered []string
	out := c.Inform(ctx, kept.ID, client.Waiting{Tool: kept.Tool, Answered: kept.Answered, Answers: func(keys []string) {
		answered = keys
		kept.Answered = append(kept.Answered, keys...)
		c.keepTask(ctx, kept)
	}})
	if out.Good() && len(answered) == 0 {
		out.Kind, out.Text, out.Hint = wire.CheckFailed, "the task has no open input request", wire.Run("tasks wait "+shellwords.Quote(kept.ID))
	}
	ans := answerOf(out)
	if len(answered) > 0 {
		ans.human = func(w io.Writer, st render.Style) error {
			_, err := fmt.Fprintln(w, "answered "+st.Line(strings.Join(answered, ", ")))
			return err
		}
	}
	a.show(ctx, c.stale(ctx, out, kept), ans)
	a.explained("tasks/get", "tasks/update")
}

// taskCancel: a server may agree to give a task up and finish it all the same.
func (a *app) taskCancel(ctx context.Context, c *conversation, kept state.Task) {
	offer := c.TaskOffer("")
	if !offer.Cancels {
		a.end(c.unsent("tasks/cancel", kept.ID, cmp.Or(offer.Why, "the server does not declare tasks.cancel"), ""))
		return
	}
	out := c.CancelTask(ctx, kept.ID)
	if out.RPC() != nil && out.RPC().Code == -32602 {
		out.Hint = "the task has ended, or is unknown to the server: see " + wire.Run("tasks get "+shellwords.Quote(kept.ID))
	}
	ans := answerOf(out)
	task, known := c.ParseTask(out.Result)
	ans.human = func(w io.Writer, st render.Style) error {
		said := "cancellation requested: mcpc tasks get " + shellwords.Quote(kept.ID) + " shows the status"
		if known {
			said = "the task is " + string(task.Status)
		}
		_, err := fmt.Fprintln(w, st.Line(said))
		return err
	}
	if known && task.Status.Ended() {
		c.endTask(ctx, kept)
	}
	a.show(ctx, out, ans)
	a.explained("tasks/cancel")
}
