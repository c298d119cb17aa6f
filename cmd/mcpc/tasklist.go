package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

func newTasksList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "list the tasks of a server",
		Long: `List a server's tasks: those that it lists, if it supports that, and those that
mcpc remembers, whose status is requested. Tasks that the server no longer knows
are forgotten. If the server has no tasks the exit code is 3.`,
		Example: `  mcpc tasks list
  mcpc tasks list --json
  mcpc tasks list --jq '.tasks[].taskId'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noArguments(cmd, args); err != nil {
				return err
			}
			a.taskList(cmd.Context())
			return nil
		},
	}
}

// A taskRow is a task as its server told of it, and as it is remembered, if it is.
type taskRow struct {
	client.Task
	raw  json.RawMessage
	kept state.Task
}

// A taskSurvey is what is known of a server's tasks.
type taskSurvey struct {
	rows     []taskRow
	messages []*wire.Message
	// elsewhere counts the remembered tasks of other servers.
	elsewhere int
}

func (a *app) taskList(ctx context.Context) {
	c, out := a.open(ctx, opening{greet: true})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	survey, out := c.surveyTasks(ctx)
	offer := c.TaskOffer("optional")
	switch {
	case out.Good() && offer.Why != "" && !offer.Lists && len(survey.rows) == 0:
		out = c.unsent("tasks/list", "", offer.Why, wire.There("info")+" shows the server's capabilities")
	case out.Good():
		c.remarkOn(survey)
	}
	tasks := mapped(survey.rows, func(row taskRow) json.RawMessage { return row.raw })
	ans := answer{method: "tasks/list", result: wire.With(nil, "tasks", asList(tasks)), messages: survey.messages}
	ans.human = func(w io.Writer, st render.Style) error {
		return render.Table(w, st, []string{"ID", "STATUS", "TOOL", "BEGUN", "LEFT", "SESSION", "MESSAGE"}, mapped(survey.rows, c.cells))
	}
	a.show(ctx, out, ans)
	a.explained("tasks/list", "tasks/get")
}

// surveyTasks asks the server for its list, and for each remembered task that is
// not on it.
func (c *conversation) surveyTasks(ctx context.Context) (s taskSurvey, out wire.Outcome) {
	var kept []state.Task
	if c.store != nil {
		if st, err := c.store.Load(); err == nil {
			kept = st.Tasks(c.a.now())
		}
	}
	listed := map[string]bool{}
	if c.TaskOffer("").Lists {
		var list client.List
		if list, out = c.List(ctx, "tasks/list"); len(list.Pages) == 0 {
			return s, out
		}
		s.messages = list.Pages
		for i, raw := range list.Items {
			task, ok := c.ParseTask(raw)
			if !ok {
				c.a.ui.warn(fmt.Sprintf("entry %d of tasks/list is not a task", i))
				continue
			}
			listed[task.ID] = true
			s.rows = append(s.rows, taskRow{task, raw, c.keptAs(task.ID, kept)})
		}
	}
	for _, one := range kept {
		switch {
		case !c.isHere(one):
			if !one.Ended {
				s.elsewhere++
			}
		case !out.Good() || listed[one.ID]:
		case one.Ended:
			c.dropTask(ctx, one)
		default:
			out = c.lookAt(ctx, one, &s)
		}
	}
	return s, out
}

func (c *conversation) keptAs(id string, all []state.Task) state.Task {
	if at := slices.IndexFunc(all, func(kept state.Task) bool { return kept.ID == id && c.isHere(kept) }); at >= 0 {
		return all[at]
	}
	return state.Task{}
}

// lookAt asks how a remembered task is.
func (c *conversation) lookAt(ctx context.Context, kept state.Task, s *taskSurvey) wire.Outcome {
	task, out := c.Task(ctx, kept.ID)
	switch {
	case client.NoSuchTask(out):
		c.dropTask(ctx, kept)
		c.a.ui.note("the server no longer knows the task " + kept.ID)
		return wire.Outcome{}
	case !out.Good():
		return out
	}
	s.rows, s.messages = append(s.rows, taskRow{task, out.Result, kept}), append(s.messages, out.Message)
	return wire.Outcome{}
}

// remarkOn says what the table does not.
func (c *conversation) remarkOn(s taskSurvey) {
	if why := c.TaskOffer("optional").Why; why != "" {
		c.a.ui.note(why)
	} else if len(s.rows) == 0 {
		c.a.ui.note("no tasks")
	}
	if s.elsewhere > 0 {
		c.a.ui.note(fmt.Sprintf("%d more belong to other servers or sessions: use -s", s.elsewhere))
	}
}

// cells are those of a task in the list.
func (c *conversation) cells(row taskRow) []string {
	begun := ago(c.a.now(), cmp.Or(row.kept.BegunAt, row.Created))
	return []string{row.ID, string(row.Status), cmp.Or(row.kept.Tool, "-"), begun,
		cmp.Or(c.left(row.Task, row.kept), "-"), cmp.Or(row.kept.Session, "-"), row.Message}
}
