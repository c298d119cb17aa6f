package client

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// AskingRevision is the only revision with tasks that the client requests.
const AskingRevision = rev20251125

// metaRelatedTask is the member of _meta that names the task that a message belongs to.
const metaRelatedTask = "io.modelcontextprotocol/related-task"

// taskOffer returns an offer for 2025-11-25 only, the revision with experimental tasks. The server
// must declare tasks and the tool must allow them (2025-11-25 basic/utilities/tasks, "Capability
// Negotiation").
func (e *legacy) taskOffer(capabilities json.RawMessage, support string) TaskOffer {
	tasks := jsonraw.First(capabilities, "tasks")
	calls := jsonraw.First(jsonraw.First(jsonraw.First(tasks, "requests"), "tools"), "call")
	offer := TaskOffer{ByClient: true}
	if revision := e.revision(); revision != rev20251125 {
		offer.Why = "revision " + revision + " has no tasks"
		return offer
	}
	if tasks == nil {
		offer.Why = "the server does not declare tasks"
		return offer
	}
	offer.CanList = jsonraw.First(tasks, "list") != nil
	offer.CanCancel = jsonraw.First(tasks, "cancel") != nil
	if calls == nil {
		offer.Why = "the server does not declare tasks for tools"
	} else if support != "optional" && support != "required" {
		offer.Why = "the tool does not run as a task: its taskSupport is " + cmp.Or(support, "absent, which means forbidden")
	}
	offer.IsRequired = offer.Why == "" && support == "required"
	return offer
}

// withTasks returns capabilities with the member tasks added: the client runs the requests that they
// allow as tasks. It returns them unchanged if they allow no such request, or if offered is not the
// revision with such tasks.
func withTasks(capabilities json.RawMessage, offered string) json.RawMessage {
	var requests json.RawMessage
	if jsonraw.First(capabilities, "elicitation") != nil {
		requests = jsonraw.With(requests, "elicitation", json.RawMessage(`{"create":{}}`))
	}
	if jsonraw.First(capabilities, "sampling") != nil {
		requests = jsonraw.With(requests, "sampling", json.RawMessage(`{"createMessage":{}}`))
	}
	if requests == nil || offered != rev20251125 {
		return capabilities
	}
	return jsonraw.With(
		capabilities,
		"tasks",
		jsonraw.With(json.RawMessage(`{"list":{},"cancel":{}}`), "requests", requests),
	)
}

// taskMethods reads ClientCapabilities.tasks: which methods may create a task at the client, and
// which task methods it supports.
func taskMethods(capabilities json.RawMessage) map[string]bool {
	tasks := jsonraw.First(capabilities, "tasks")
	requests := jsonraw.First(tasks, "requests")
	create := jsonraw.First(jsonraw.First(requests, "elicitation"), "create") != nil
	sample := jsonraw.First(jsonraw.First(requests, "sampling"), "createMessage") != nil
	return map[string]bool{
		"elicitation/create": create, "sampling/createMessage": sample,
		"tasks/get": create || sample, "tasks/result": create || sample,
		"tasks/list": jsonraw.First(tasks, "list") != nil, "tasks/cancel": jsonraw.First(tasks, "cancel") != nil,
	}
}

// support returns the declared capabilities that have a meaning in the negotiated revision.
func (e *legacy) support() clientSupport {
	o := parseSupport(e.declaredCapabilities())
	if e.revision() != rev20251125 {
		o.tasks = nil
	}
	return o
}

// wantsTask reports whether the server wants its request to run as a task, and the client declared
// that. Otherwise the member task is ignored.
func (o clientSupport) wantsTask(m *wire.Message) bool {
	_, err := jsonraw.Object(jsonraw.First(m.Params, "task"))
	return err == nil && o.tasks[m.Method]
}

// params returns the member task for the params of a call.
func (w *TaskWish) params() json.RawMessage {
	task := json.RawMessage("{}")
	if w.TTL > 0 {
		task = jsonraw.With(task, "ttl", strconv.AppendInt(nil, w.TTL.Milliseconds(), 10))
	}
	return task
}

// readTask reads the member task in the result of a call, or the whole result of tasks/get and
// tasks/cancel.
func (e *legacy) readTask(call *Call, result jsonraw.Members) (task Task, problem string, ok bool) {
	switch call.Method {
	case "tools/call":
		raw, nested := result.Get("task")
		isWanted := call.Task != nil || jsonraw.First(call.Params, "task") != nil
		if !nested || !isWanted { // without the wish, task is a member like any other
			return Task{}, "", false
		}
		inner, err := jsonraw.Object(raw)
		if err != nil {
			return Task{}, "the task is not an object: " + jsonraw.Excerpt(raw, 40), true
		}
		result = inner
	case "tasks/get", "tasks/cancel":
	default:
		return Task{}, "", false
	}
	task, problem = parseTaskMembers(result, "ttl", "pollInterval")
	return task, problem, true
}

// advanceTask requests tasks/result unless the task is working. A server can send its input
// requests while tasks/result is pending; it responds when the task has ended (2025-11-25
// basic/utilities/tasks, "Result Retrieval", "Input Required Status").
func (e *legacy) advanceTask(
	ctx context.Context, s *Session, task Task, o wire.Outcome, w *AwaitOptions,
) (end wire.Outcome, over bool) {
	switch task.Status {
	case TaskWorking:
		return o, false
	case TaskCancelled:
		return cancelledOutcome(o, task), true
	}
	call := newTaskCall("tasks/result", task.ID)
	call.untimed = true
	out := s.Do(ctx, call)
	if out.Message == nil { // the failure of tasks/result itself
		return out, true
	}
	if out.RPCError() != nil && !task.Status.Ended() { // the task may have been cancelled in the meantime
		if now, o := s.Task(ctx, task.ID); now.Status == TaskCancelled {
			return cancelledOutcome(o, now), true
		}
	} else if out.OK() && task.Status == TaskFailed {
		out = withFailure(out, wire.ToolError, "the task failed, though its result has no isError")
	}
	return asToolCall(out, w.Tool), true
}

// withRelatedTask copies the related-task metadata of m to a result, as messages within a task must
// have it (2025-11-25 basic/utilities/tasks).
func withRelatedTask(result json.RawMessage, m *wire.Message) json.RawMessage {
	related := jsonraw.First(jsonraw.First(m.Params, "_meta"), metaRelatedTask)
	if related == nil {
		return result
	}
	return withMeta(result, jsonraw.Member{Name: metaRelatedTask, Value: related})
}
