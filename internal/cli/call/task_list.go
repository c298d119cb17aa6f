package call

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// newTasksList returns the command mcpc tasks list.
func newTasksList(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "list the tasks of a server",
		Long: `List a server's tasks: the tasks that the server lists, if it supports listing,
and the tasks that mcpc remembers, with their current status. Tasks that the
server no longer knows are forgotten. If the server has no tasks the exit code
is 3.`,
		Example: `  mcpc tasks list
  mcpc tasks list --json
  mcpc tasks list --jq '.tasks[].taskId'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meant.NoArguments(f, cmd, args); err != nil {
				return err
			}
			return runTaskList(cmd.Context(), f)
		},
	}
}

// runTaskList prints the tasks of a server. It fails if the server does not support tasks and no
// task of it is remembered.
func runTaskList(ctx context.Context, f *cmdutil.Factory) error {
	c, out := f.Open(ctx, connect.Options{RequireServerInfo: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	tasks, out := toolcall.ListTasks(ctx, c)
	offer := c.TaskOffer("optional") // as for a tool that may run as a task
	hasNoTasks := offer.Why != "" && !offer.CanList && len(tasks.Rows) == 0
	if out.OK() && hasNoTasks {
		out = c.Unsent("tasks/list", "", offer.Why, wire.RunOnServer("describe")+" shows the server's capabilities")
	} else if out.OK() {
		noteTasks(c, tasks)
	}
	entries := sliceutil.Map(tasks.Rows, func(row toolcall.TaskRow) json.RawMessage { return row.Raw })
	ans := cmdutil.Answer{
		Method:   "tasks/list",
		Result:   jsonraw.With(nil, "tasks", arguments.AsList(entries)),
		Messages: tasks.Messages,
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		cells := sliceutil.Map(tasks.Rows, func(row toolcall.TaskRow) []string {
			begun := english.Ago(c.Env.Now(), cmp.Or(row.Remembered.BegunAt, row.Created))
			return []string{
				row.ID, string(row.Status), cmp.Or(row.Remembered.Tool, "-"), begun,
				cmp.Or(timeLeft(c, row.Task, row.Remembered), "-"), cmp.Or(row.Remembered.Session, "-"), row.Message,
			}
		})
		return term.Table(w, st, []string{"ID", "STATUS", "TOOL", "BEGUN", "LEFT", "SESSION", "MESSAGE"}, cells)
	}
	return cmdutil.Show(ctx, f, out, ans, "tasks/list", "tasks/get")
}

// noteTasks prints why the table is empty, and the number of tasks of other servers.
func noteTasks(c *connect.Conn, tasks toolcall.Tasks) {
	if why := c.TaskOffer("optional").Why; why != "" {
		c.Env.UI.Note(why)
	} else if len(tasks.Rows) == 0 {
		c.Env.UI.Note("no tasks")
	}
	if tasks.OtherServers > 0 {
		c.Env.UI.Note(fmt.Sprintf("%d more belong to other servers or sessions: use -s", tasks.OtherServers))
	}
}
