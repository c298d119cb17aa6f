package client

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// AskingRevision is the one revision in which a client asks for tasks.
const AskingRevision = rev2511

// metaRelatedTask names the task that a message belongs to.
const metaRelatedTask = "io.modelcontextprotocol/related-task"

// taskOffer: tasks are experimental in the last revision of the era and unknown
// in the others. A client asks for one only where the server declares it and the
// tool allows it (2025-11-25 basic/utilities/tasks, "Capability Negotiation").
func (e *legacy) taskOffer(capabilities json.RawMessage, support string) TaskOffer {
	tasks := jsonraw.First(capabilities, "tasks")
	calls := jsonraw.First(jsonraw.First(jsonraw.First(tasks, "requests"), "tools"), "call")
	offer := TaskOffer{Asked: true}
	switch revision := e.revision(); {
	case revision != rev2511:
		offer.Why = "revision " + revision + " has no tasks"
		return offer
	case tasks == nil:
		offer.Why = "the server does not declare tasks"
		return offer
	}
	offer.Lists, offer.Cancels = jsonraw.First(tasks, "list") != nil, jsonraw.First(tasks, "cancel") != nil
	if calls == nil {
		offer.Why = "the server does not declare tasks for tools"
	} else if support != "optional" && support != "required" {
		offer.Why = "the tool does not run as a task: its taskSupport is " + cmp.Or(support, "absent, which means forbidden")
	}
	offer.Must = offer.Why == "" && support == "required"
	return offer
}

// withTasks adds to what is declared that the server's questions may be tasks, in
// the one revision that has those.
func withTasks(capabilities json.RawMessage, offered string) json.RawMessage {
	var requests json.RawMessage
	if jsonraw.First(capabilities, "elicitation") != nil {
		requests = jsonraw.With(requests, "elicitation", json.RawMessage(`{"create":{}}`))
	}
	if jsonraw.First(capabilities, "sampling") != nil {
		requests = jsonraw.With(requests, "sampling", json.RawMessage(`{"createMessage":{}}`))
	}
	if requests == nil || offered != rev2511 {
		return capabilities
	}
	return jsonraw.With(
		capabilities,
		"tasks",
		jsonraw.With(json.RawMessage(`{"list":{},"cancel":{}}`), "requests", requests),
	)
}

// tasksOf reads ClientCapabilities.tasks.
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

// offer is what was declared, as far as it has a meaning in the revision that was
// agreed on.
func (e *legacy) support() clientSupport {
	o := parseSupport(e.declared())
	if e.revision() != rev2511 {
		o.tasks = nil
	}
	return o
}

// becomesTask reports a question that the server wants to be a task, where that was
// declared; elsewhere the wish is not looked at.
func (o clientSupport) wantsTask(m *wire.Message) bool {
	_, err := jsonraw.Object(jsonraw.First(m.Params, "task"))
	return err == nil && o.tasks[m.Method]
}

// params returns the member task of the params of a call.
func (w *TaskWish) params() json.RawMessage {
	task := json.RawMessage("{}")
	if w.TTL > 0 {
		task = jsonraw.With(task, "ttl", strconv.AppendInt(nil, w.TTL.Milliseconds(), 10))
	}
	return task
}

// taskIn: the answer to a call that asks for a task has it under "task"; that to
// tasks/get and to tasks/cancel is the task.
func (e *legacy) readTask(call *Call, result jsonraw.Members) (task Task, problem string, ok bool) {
	switch call.Method {
	case "tools/call":
		raw, nested := result.Get("task")
		if !nested || call.Task == nil && jsonraw.First(call.Params, "task") == nil {
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

// taskEnd: the result of a task is fetched with tasks/result. While the server
// needs to know something, that is also how it gets a way to ask; it answers
// when the task has ended (2025-11-25 basic/utilities/tasks, "Result Retrieval",
// "Input Required Status").
func (e *legacy) advanceTask(ctx context.Context, s *Session, task Task, o wire.Outcome, w *Waiting) (wire.Outcome, bool) {
	switch task.Status {
	case TaskWorking:
		return o, false
	case TaskCancelled:
		return cancelledOutcome(o, task), true
	}
	call := newTaskCall("tasks/result", task.ID)
	call.untimed = true
	out := s.Do(ctx, call)
	switch {
	case out.Message == nil: // what is known is how asking for the result went
		return out, true
	case out.RPC() != nil && !task.Status.Ended():
		if now, o := s.Task(ctx, task.ID); now.Status == TaskCancelled {
			return cancelledOutcome(o, now), true
		}
	case out.Good() && task.Status == TaskFailed:
		out = withFailure(out, wire.ToolError, "the task failed, though its result has no isError")
	}
	return asToolCall(out, w.Tool), true
}

// relate marks what the client answers within a task as belonging to it: "MUST
// include the related-task metadata" (2025-11-25 basic/utilities/tasks).
func withRelatedTask(result json.RawMessage, m *wire.Message) json.RawMessage {
	related := jsonraw.First(jsonraw.First(m.Params, "_meta"), metaRelatedTask)
	if related == nil {
		return result
	}
	return withMeta(result, jsonraw.Member{Name: metaRelatedTask, Value: related})
}
