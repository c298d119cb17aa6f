package toolcall

import (
	"context"
	"encoding/json"
	"fmt"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A TaskRow is a task as the server reported it, and as mcpc remembers it; Remembered is zero for
// other tasks.
type TaskRow struct {
	client.Task
	Raw        json.RawMessage
	Remembered state.Task
}

// Tasks are the tasks of a server.
type Tasks struct {
	Rows     []TaskRow
	Messages []*wire.Message
	// OtherServers counts the remembered tasks of other servers.
	OtherServers int
}

// ListTasks requests the server's list, and the status of each remembered task that is not in
// the list. It drops remembered tasks that have ended.
func ListTasks(ctx context.Context, c *connect.Conn) (s Tasks, out wire.Outcome) {
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
		s.Messages = list.Pages
		for i, raw := range list.Items {
			task, ok := c.ParseTask(raw)
			if !ok {
				c.Env.UI.Warn(fmt.Sprintf("entry %d of tasks/list is not a task", i))
				continue
			}
			listed[task.ID] = true
			s.Rows = append(s.Rows, TaskRow{Task: task, Raw: raw, Remembered: rememberedTask(c, task.ID, remembered)})
		}
	}
	for _, one := range remembered {
		if !IsOfServer(c, one) {
			if !one.Ended {
				s.OtherServers++
			}
			continue
		}
		if !out.OK() || listed[one.ID] {
			continue // after a failure nothing more is requested or dropped
		}
		if one.Ended { // the server no longer lists it
			DropTask(ctx, c, one)
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
		if remembered.ID == id && IsOfServer(c, remembered) {
			return remembered
		}
	}
	return state.Task{}
}

// addRemembered requests the status of a remembered task and adds it to s. It drops a task that the
// server no longer knows.
func addRemembered(ctx context.Context, c *connect.Conn, remembered state.Task, s *Tasks) wire.Outcome {
	task, out := c.Task(ctx, remembered.ID)
	if client.IsUnknownTask(out) {
		DropTask(ctx, c, remembered)
		c.Env.UI.Note("the server no longer knows the task " + remembered.ID)
		return wire.Outcome{}
	}
	if !out.OK() {
		return out
	}
	s.Rows = append(s.Rows, TaskRow{Task: task, Raw: out.Result, Remembered: remembered})
	s.Messages = append(s.Messages, out.Message)
	return wire.Outcome{}
}
