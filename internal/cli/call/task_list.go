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
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
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

// A taskRow is a task as the server reported it, and as mcpc remembers it; remembered is zero for
// other tasks.
type taskRow struct {
	client.Task
	raw        json.RawMessage
	remembered state.Task
}

// serverTasks are the tasks of a server.
type serverTasks struct {
	rows     []taskRow
	messages []*wire.Message
	// otherServers counts the remembered tasks of other servers.
	otherServers int
}

// runTaskList prints the tasks of a server. It fails if the server does not support tasks and no
// task of it is remembered.
func runTaskList(ctx context.Context, f *cmdutil.Factory) error {
	c, out := f.Open(ctx, connect.Options{RequireServerInfo: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	tasks, out := collectTasks(ctx, c)
	offer := c.TaskOffer("optional") // as for a tool that may run as a task
	hasNoTasks := offer.Why != "" && !offer.CanList && len(tasks.rows) == 0
	if out.OK() && hasNoTasks {
		out = c.Unsent("tasks/list", "", offer.Why, wire.RunOnServer("describe")+" shows the server's capabilities")
	} else if out.OK() {
		noteTasks(c, tasks)
	}
	entries := sliceutil.Map(tasks.rows, func(row taskRow) json.RawMessage { return row.raw })
	ans := cmdutil.Answer{
		Method:   "tasks/list",
		Result:   jsonraw.With(nil, "tasks", arguments.AsList(entries)),
		Messages: tasks.messages,
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		cells := sliceutil.Map(tasks.rows, func(row taskRow) []string {
			begun := english.Ago(c.Env.Now(), cmp.Or(row.remembered.BegunAt, row.Created))
			return []string{
				row.ID, string(row.Status), cmp.Or(row.remembered.Tool, "-"), begun,
				cmp.Or(timeLeft(c, row.Task, row.remembered), "-"), cmp.Or(row.remembered.Session, "-"), row.Message,
			}
		})
		return term.Table(w, st, []string{"ID", "STATUS", "TOOL", "BEGUN", "LEFT", "SESSION", "MESSAGE"}, cells)
	}
	return cmdutil.Show(ctx, f, out, ans, "tasks/list", "tasks/get")
}

// collectTasks requests the server's list, and the status of each remembered task that is not in
// the list. It drops remembered tasks that have ended.
func collectTasks(ctx context.Context, c *connect.Conn) (s serverTasks, out wire.Outcome) {
	var remembered []state.Task
	if c.Store != nil {
		if st, err := c.Store.Load(); err == nil {
			remembered = st.Tasks(c.Env.Now())
		}
	}
	listed := map[string]bool{}
	if c.TaskOffer("").CanList {
		var list client.List
		list, out = c.ListUntil(ctx, "tasks/list", client.WalkOptions{}, nil)
		if len(list.Pages) == 0 {
			return s, out
		}
		s.messages = list.Pages
		for i, raw := range list.Items {
			task, ok := c.ParseTask(raw)
			if !ok {
				c.Env.UI.Warn(fmt.Sprintf("entry %d of tasks/list is not a task", i))
				continue
			}
			listed[task.ID] = true
			s.rows = append(s.rows, taskRow{Task: task, raw: raw, remembered: rememberedTask(c, task.ID, remembered)})
		}
	}
	for _, one := range remembered {
		if !toolcall.IsOfServer(c, one) {
			if !one.Ended {
				s.otherServers++
			}
			continue
		}
		if !out.OK() || listed[one.ID] {
			continue // after a failure nothing more is requested or dropped
		}
		if one.Ended { // the server no longer lists it
			toolcall.DropTask(ctx, c, one)
		} else {
			out = addRemembered(ctx, c, one, &s)
		}
	}
	return s, out
}

// rememberedTask returns the remembered task with an id at this server; or a zero Task if it is
// unknown.
func rememberedTask(c *connect.Conn, id string, all []state.Task) state.Task {
	for _, remembered := range all {
		if remembered.ID == id && toolcall.IsOfServer(c, remembered) {
			return remembered
		}
	}
	return state.Task{}
}

// addRemembered requests the status of a remembered task and adds it to s. It drops a task that the
// server no longer knows.
func addRemembered(ctx context.Context, c *connect.Conn, remembered state.Task, s *serverTasks) wire.Outcome {
	task, out := c.Task(ctx, remembered.ID)
	if client.IsUnknownTask(out) {
		toolcall.DropTask(ctx, c, remembered)
		c.Env.UI.Note("the server no longer knows the task " + remembered.ID)
		return wire.Outcome{}
	}
	if !out.OK() {
		return out
	}
	s.rows = append(s.rows, taskRow{Task: task, raw: out.Result, remembered: remembered})
	s.messages = append(s.messages, out.Message)
	return wire.Outcome{}
}

// noteTasks prints why the table is empty, and the number of tasks of other servers.
func noteTasks(c *connect.Conn, tasks serverTasks) {
	if why := c.TaskOffer("optional").Why; why != "" {
		c.Env.UI.Note(why)
	} else if len(tasks.rows) == 0 {
		c.Env.UI.Note("no tasks")
	}
	if tasks.otherServers > 0 {
		c.Env.UI.Note(fmt.Sprintf("%d more belong to other servers or sessions: use -s", tasks.otherServers))
	}
}
