package toolcall

import (
	"context"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// PlaceTask sets where a task of this connection can be found: its session or its endpoint.
func PlaceTask(c *connect.Conn, stored *state.Task) {
	stored.Endpoint = c.ServerSession().Endpoint
	if c.Saved != nil && !c.Passing {
		stored.Session = c.Saved.Name
		stored.Key = c.Saved.Key
	}
	if c.Origin != nil { // a configured endpoint may be secret, and -s takes the id
		stored.Endpoint = c.Origin.ID()
	}
}

// IsOfServer reports whether a stored task belongs to the server of this connection.
func IsOfServer(c *connect.Conn, stored state.Task) bool {
	ofConnection := state.Task{ID: stored.ID}
	PlaceTask(c, &ofConnection)
	return ofConnection.Key == stored.Key && ofConnection.Endpoint == stored.Endpoint
}

// KeepTask stores a task that a later command can use. It does nothing for a task that ends with this
// command. If storing fails, it warns with the task's id, without which the task is lost.
func KeepTask(ctx context.Context, c *connect.Conn, stored state.Task) {
	if why, _ := endsWithCommand(c); why != "" {
		return
	}
	err := updateTasks(ctx, c, func(st *state.State) { st.PutTask(stored, c.Env.Now()) })
	if err != nil {
		c.Env.WarnOfState("the task " + stored.ID + " could not be cached: " + err.Error())
	}
}

// EndTask drops a task that will not be used again. If the server lists tasks, it stores the task
// as ended instead.
func EndTask(ctx context.Context, c *connect.Conn, stored state.Task) {
	if !c.TaskOffer("").CanList {
		DropTask(ctx, c, stored)
		return
	}
	stored.Ended = true
	KeepTask(ctx, c, stored)
}

// DropTask drops a task. If that fails, the task is dropped when its lifetime is over.
func DropTask(ctx context.Context, c *connect.Conn, stored state.Task) {
	_ = updateTasks(ctx, c, func(st *state.State) { st.DropTask(stored) })
}

// updateTasks changes the stored tasks, if there is a state directory.
func updateTasks(ctx context.Context, c *connect.Conn, change func(*state.State)) error {
	if c.Store == nil {
		return nil
	}
	return c.Store.Update(context.WithoutCancel(ctx), func(st *state.State) error {
		change(st)
		return nil
	})
}

// ExplainTaskError adds a hint to the error of an unknown task, and drops the task.
func ExplainTaskError(ctx context.Context, c *connect.Conn, out wire.Outcome, stored state.Task) wire.Outcome {
	if !client.IsUnknownTask(out) {
		return out
	}
	DropTask(ctx, c, stored)
	out.Hint = "the server does not know this task: it may have expired, or its session may have ended; see " +
		wire.Run("tasks list")
	return out
}
