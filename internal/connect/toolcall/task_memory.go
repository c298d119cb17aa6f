package toolcall

import (
	"cmp"
	"context"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// PlaceTask notes where a task of this conversation lives.
func PlaceTask(c *connect.Conn, kept *state.Task) {
	if c.Origin != nil { // an endpoint from a file may be a secret; -s knows the name
		defer func() { kept.Endpoint = c.Origin.ID() }()
	}
	if c.Saved != nil && !c.Passing {
		kept.Session = c.Saved.Name
		kept.Key = c.Saved.Key
		kept.Endpoint = c.Saved.Endpoint
		return
	}
	kept.Endpoint = cmp.Or(c.Saved, c.OneOff).Endpoint
}

// IsOfServer reports whether a remembered task lives where this conversation goes.
func IsOfServer(c *connect.Conn, kept state.Task) bool {
	here := state.Task{ID: kept.ID}
	PlaceTask(c, &here)
	return here.Key == kept.Key && here.Endpoint == kept.Endpoint
}

// KeepTask remembers a task that a later command can use. A failure is a
// warning with the task's id, without which the task is lost.
func KeepTask(ctx context.Context, c *connect.Conn, kept state.Task) {
	if why, _ := mortal(c); why != "" {
		return
	}
	err := updateTasks(ctx, c, func(st *state.State) { st.PutTask(kept, c.Env.Now()) })
	if err != nil {
		c.Env.WarnOfState("the task " + kept.ID + " could not be cached: " + err.Error())
	}
}

// EndTask forgets a task that will not be used again; where the server lists tasks, it
// remembers the task as ended.
func EndTask(ctx context.Context, c *connect.Conn, kept state.Task) {
	if !c.TaskOffer("").Lists {
		DropTask(ctx, c, kept)
		return
	}
	kept.Ended = true
	KeepTask(ctx, c, kept)
}

// DropTask forgets a task. One that stays by mistake is forgotten with its time.
func DropTask(ctx context.Context, c *connect.Conn, kept state.Task) {
	_ = updateTasks(ctx, c, func(st *state.State) { st.DropTask(kept) })
}

func updateTasks(ctx context.Context, c *connect.Conn, change func(*state.State)) error {
	if c.Store == nil {
		return nil
	}
	return c.Store.Update(context.WithoutCancel(ctx), func(st *state.State) error {
		change(st)
		return nil
	})
}

// ExplainTaskError says of an answer about a task what the code alone does not.
func ExplainTaskError(ctx context.Context, c *connect.Conn, out wire.Outcome, kept state.Task) wire.Outcome {
	if !client.NoSuchTask(out) {
		return out
	}
	DropTask(ctx, c, kept)
	out.Hint = "the server does not know this task: it may have expired, or its session may have ended; see " + wire.Run(
		"tasks list",
	)
	return out
}
