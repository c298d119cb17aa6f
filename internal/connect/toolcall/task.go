package toolcall

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// askForTask lets a call become a task if the user asks for one, if the tool runs in no other way, or if the
// server alone decides. It returns an outcome that is not good if the call cannot become the task that the
// user asks for.
func askForTask(c *connect.Conn, call *client.Call, tool *connect.Definition, o Request) wire.Outcome {
	support := ""
	if tool != nil {
		support = tool.TaskSupport
	}
	offer := c.TaskOffer(support)
	if o.Task != 0 {
		if offer.Why != "" {
			return c.RefusedCall(o.Name, offer.Why, "without --task the call waits for the result")
		}
		if why, hint := mortal(c); why != "" {
			return c.RefusedCall(o.Name, why, hint)
		}
	}
	if o.Task != 0 || offer.Must || !offer.Asked && offer.Why == "" {
		call.Task = &client.TaskWish{TTL: max(0, o.Task)}
	}
	if o.Task > 0 && !offer.Asked {
		c.Env.UI.Note("in this revision the server sets the task's lifetime")
	}
	return wire.Outcome{}
}

// mortal says why no later command could use a task of this conversation, and
// what helps; "" where one can.
func mortal(c *connect.Conn) (why string, hint wire.Hint) {
	const wait = "without --task the call waits for the result"
	switch {
	case c.IsKept() && !c.Passing:
	case c.Transport() == transport.Stdio:
		return "the server exits with this command, and the task with it", wait
	case c.Transport() != transport.StreamableHTTP:
		return "the session ends with this command, and the task with it", wait
	case c.Memory().SessionID != "" && (c.Saved == nil || c.Passing):
		return "the task belongs to a session that ends with this command", wire.RunOnServer(
			"init",
		) + " opens a session that is kept; " + wait
	}
	return "", ""
}

// became goes on with a call that became a task: it is left to itself where that
// was asked for, and waited for elsewhere.
func became(ctx context.Context, c *connect.Conn, task client.Task, out wire.Outcome, o Request) wire.Outcome {
	kept := state.Task{
		ID:       task.ID,
		Tool:     o.Name,
		Revision: c.Revision(),
		BegunAt:  c.Env.Now(),
		TTLms:    task.TTL.Milliseconds(),
	}
	PlaceTask(c, &kept)
	KeepTask(ctx, c, kept)
	if o.Task != 0 {
		return out
	}
	out = AwaitTask(ctx, c, task, kept, false)
	if !out.Good() {
		out = out.As(wire.After)
	}
	return out
}

// AwaitTask waits until a task has ended, or, with once, asks a single time. A task
// whose result was fetched has ended; one that goes on is named.
func AwaitTask(ctx context.Context, c *connect.Conn, task client.Task, kept state.Task, once bool) wire.Outcome {
	leaving := "leaves it running"
	if why, _ := mortal(c); why != "" {
		leaving = "cancels it"
	}
	status := ""
	seen := func(task client.Task) {
		said := cmp.Or(task.Message, string(task.Status))
		c.Env.UI.Waiting("task: "+said, leaving)
		if c.Env.Verbose > 0 && said != status {
			note := fmt.Sprintf("task %s is %s", task.ID, task.Status)
			if task.Message != "" {
				note += ": " + task.Message
			}
			c.Env.UI.Note(note)
		}
		status = said
	}
	if task.Status != "" {
		seen(task)
	}
	out := c.Await(
		ctx,
		task,
		client.Waiting{Tool: kept.Tool, Once: once, Seen: seen, Answered: kept.Answered, Answers: func(keys []string) {
			kept.Answered = append(slices.Clone(kept.Answered), keys...)
			KeepTask(ctx, c, kept)
		}},
	)
	switch {
	case client.NoSuchTask(out):
		return ExplainTaskError(ctx, c, out, kept)
	case settled(out):
		EndTask(ctx, c, kept)
	case leaving == "cancels it" && (out.Kind == wire.Signal || out.Kind == wire.Timeout):
		out.Hint = "the task cannot be resumed: it belonged to this command's session"
	case leaving != "cancels it":
		out.Hint = wayBack(kept, out)
	}
	return out
}

// settled reports an ending after which there is nothing left to fetch.
func settled(out wire.Outcome) bool {
	switch out.Kind {
	case wire.OK, wire.ToolError, wire.OutputInvalid:
		return true
	case wire.RPCFailed, wire.BadResponse:
		return out.Method == "tools/call"
	}
	return false
}

// wayBack is the hint of a command that left its task running, where nothing else
// has to be done first.
func wayBack(kept state.Task, out wire.Outcome) wire.Hint {
	back := wire.Run("tasks wait " + shellwords.Quote(kept.ID))
	switch out.Kind {
	case wire.Signal, wire.Timeout, wire.Transport, wire.CheckFailed:
		return "the task continues on the server: " + back
	case wire.InputRequired:
		return back + " continues the task; " + cmp.Or(out.Hint, "see "+wire.Run("help answering"))
	}
	return out.Hint
}
