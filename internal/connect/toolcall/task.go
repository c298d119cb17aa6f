package toolcall

import (
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

// askForTask sets call.Task, so that the server makes the call a task, if the user wants one, if the
// tool requires it, or if only the server decides. Returns a failure if the user wants a task that is
// not possible. tool may be nil.
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
		if reason, hint := endsWithCommand(c); reason != "" {
			return c.RefusedCall(o.Name, reason, hint)
		}
	}
	serverDecides := !offer.ByClient && offer.Why == ""
	if o.Task != 0 || offer.IsRequired || serverDecides {
		call.Task = &client.TaskWish{TTL: max(0, o.Task)} // below 0 the user wants any lifetime, which is 0 here
	}
	if o.Task > 0 && !offer.ByClient {
		c.Env.UI.Note("in this revision the server sets the task's lifetime")
	}
	return wire.Outcome{}
}

// endsWithCommand returns why a task ends with this command, and a hint. Returns "" if a later
// command can use the task.
func endsWithCommand(c *connect.Conn) (string, wire.Hint) {
	const wait = "without --task the call waits for the result"
	if c.IsKept() && !c.Passing {
		return "", ""
	}
	if c.Transport() == transport.Stdio {
		return "the server exits with this command, and the task with it", wait
	}
	if c.Transport() != transport.StreamableHTTP {
		return "the session ends with this command, and the task with it", wait
	}
	isSessionOfCommand := c.Saved == nil || c.Passing
	if c.Memory().SessionID != "" && isSessionOfCommand {
		return "the task would belong to a session that ends with this command",
			wire.RunOnServer("init") + " opens a session that is kept; " + wait
	}
	return "", ""
}

// followTask stores the task that a call became, and waits for its result unless the user asked for
// the task itself.
func followTask(ctx context.Context, c *connect.Conn, task client.Task, out wire.Outcome, o Request) wire.Outcome {
	stored := state.Task{
		ID:       task.ID,
		Tool:     o.Name,
		Revision: c.Revision(),
		BegunAt:  c.Env.Now(),
		TTLms:    task.TTL.Milliseconds(),
	}
	PlaceTask(c, &stored)
	KeepTask(ctx, c, stored)
	if o.Task != 0 {
		return out
	}
	const once = false // until the task has ended
	out = AwaitTask(ctx, c, task, stored, once)
	if !out.OK() {
		out = out.WithPart(wire.AfterOperation)
	}
	return out
}

// AwaitTask waits until a task has ended, or with once asks for its state once. It stores which
// questions were answered, drops a task whose result was received, and adds a hint about a task
// that continues.
func AwaitTask(ctx context.Context, c *connect.Conn, task client.Task, stored state.Task, once bool) wire.Outcome {
	ctrlCEffect := "leaves it running"
	why, _ := endsWithCommand(c)
	endsHere := why != ""
	if endsHere {
		ctrlCEffect = "cancels it"
	}
	lastText := ""
	show := func(task client.Task) {
		text := task.Message
		if text == "" {
			text = string(task.Status)
		}
		c.Env.UI.Waiting("task: "+text, ctrlCEffect)
		if c.Env.Verbose > 0 && text != lastText {
			note := fmt.Sprintf("task %s is %s", task.ID, task.Status)
			if task.Message != "" {
				note += ": " + task.Message
			}
			c.Env.UI.Note(note)
		}
		lastText = text
	}
	if task.Status != "" { // "" if an earlier command started the task
		show(task)
	}
	out := c.Await(ctx, task, client.AwaitOptions{
		Tool:     stored.Tool,
		Once:     once,
		OnStatus: show,
		Answered: stored.Answered,
		OnAnswers: func(keys []string) {
			stored.Answered = append(slices.Clone(stored.Answered), keys...)
			KeepTask(ctx, c, stored)
		},
	})
	switch {
	case client.IsUnknownTask(out):
		return ExplainTaskError(ctx, c, out, stored)
	case isFinished(out):
		EndTask(ctx, c, stored)
	case !endsHere:
		out.Hint = resumeHint(stored, out)
	case out.Kind == wire.Signal || out.Kind == wire.Timeout:
		out.Hint = "the task cannot be resumed: it belonged to this command's session"
	}
	return out
}

// isFinished reports whether the task's result was received, so that nothing is left to fetch. An
// error is the result only if it is the error of the call, not of a request about the task.
func isFinished(out wire.Outcome) bool {
	switch out.Kind {
	case wire.OK, wire.ToolError, wire.OutputInvalid:
		return true
	case wire.RPCFailed, wire.BadResponse:
		return out.Method == "tools/call"
	}
	return false
}

// resumeHint returns the hint of a command that left its task running: out.Hint if the outcome says
// nothing about the task.
func resumeHint(stored state.Task, out wire.Outcome) wire.Hint {
	waitCommand := wire.Run("tasks wait " + shellwords.Quote(stored.ID))
	switch out.Kind {
	case wire.Signal, wire.Timeout, wire.Transport, wire.CheckFailed:
		return "the task continues on the server: " + waitCommand
	case wire.InputRequired:
		howToAnswer := out.Hint
		if howToAnswer == "" {
			howToAnswer = "see " + wire.Run("help answering")
		}
		return waitCommand + " continues the task; " + howToAnswer
	}
	return out.Hint
}
