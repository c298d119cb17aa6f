package client

import (
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// taskOffer returns an offer without ByClient: the server decides which calls become tasks, for
// clients that declare support. The server's capabilities may be unknown (nil), since no request
// depends on them.
func (e *modern) taskOffer(capabilities json.RawMessage, _ string) TaskOffer {
	offer := TaskOffer{CanCancel: true}
	if capabilities != nil && jsonraw.First(jsonraw.First(capabilities, "extensions"), mcp.TasksExtension) == nil {
		offer.Why = "the server does not declare the extension " + mcp.TasksExtension
	}
	return offer
}

// readTask reads a result of the type "task", which is a task itself, and every result of
// tasks/get, whose type is not consistent in the examples of the extension.
func (e *modern) readTask(call *Call, result jsonraw.Members) (task Task, problem string, ok bool) {
	kind := result.Text("resultType")
	declaresTasks := func() bool { // by Call.Task or in the caller's own _meta
		declared := jsonraw.First(jsonraw.First(call.Params, "_meta"), metaCapabilities)
		return call.Task != nil || jsonraw.First(jsonraw.First(declared, "extensions"), mcp.TasksExtension) != nil
	}
	isCallResult := call.Method == "tools/call" && kind == "task" && declaresTasks()
	isGetResult := call.Method == "tasks/get" && (kind == "task" || kind == "complete" || kind == "")
	if !isCallResult && !isGetResult {
		return Task{}, "", false
	}
	task, problem = parseTaskMembers(result, "ttlMs", "pollIntervalMs")
	if problem == "" && call.Method == "tasks/get" {
		problem = missingObject(task.Status, result)
	}
	return task, problem, true
}

// missingObject returns a text if a task lacks the object that its status requires, or "".
func missingObject(status TaskStatus, result jsonraw.Members) string {
	member := map[TaskStatus]string{TaskCompleted: "result", TaskFailed: "error", TaskNeedsYou: "inputRequests"}[status]
	if member == "" {
		return ""
	}
	raw, _ := result.Get(member)
	if _, err := jsonraw.Object(raw); err != nil {
		return "the task is " + string(status) + " and its " + member + " is not an object: " + transport.IDText(raw)
	}
	return ""
}

// advanceTask returns the outcome that an ended task contains, or answers the task's input requests.
// over is false if the task goes on; end has no meaning then.
func (e *modern) advanceTask(
	ctx context.Context, s *Session, task Task, o wire.Outcome, w *AwaitOptions,
) (end wire.Outcome, over bool) {
	members, _ := o.Message.ResultMembers()
	switch task.Status {
	case TaskCancelled:
		return cancelledOutcome(o, task), true
	case TaskCompleted:
		result, _ := members.Get("result")
		o = withTaskResult(e, o, wire.ComposeResult(o.Message.ID, result))
		checkShape(s.connection(), e, &Call{Method: "tools/call"}, &o)
		return asToolCall(o, w.Tool), true
	case TaskFailed:
		failure, _ := members.Get("error")
		response := jsonraw.With(jsonraw.With([]byte(`{"jsonrpc":"2.0"}`), "id", o.Message.ID), "error", failure)
		return asToolCall(withTaskResult(e, o, response), w.Tool), true
	case TaskNeedsYou:
		requests, _ := members.Get("inputRequests")
		return e.answerInputs(ctx, s, task, o, requests, w)
	}
	return o, false
}

// withTaskResult returns the outcome as if raw, the task's result or error, were a separate
// response. Its resultType may be absent and must be complete. Message.Raw remains the response to
// tasks/get.
func withTaskResult(e *modern, o wire.Outcome, raw []byte) wire.Outcome {
	m := wire.ParseMessage(raw)
	received := o.Message.Raw // the bytes that were sent, for the user
	o.Message = m
	o.Result = m.Result
	switch {
	case m.Error != nil && m.Kind == wire.ErrorResponse:
		o.Kind = wire.RPCFailed
		o.Text = m.Error.Message
	case m.Kind != wire.Response:
		o.Kind = wire.BadResponse
		o.Text = "the failed task's error is not an error object: " + m.Problem()
		m.Error = nil
	default:
		o.Kind, o.Text = e.validateResult(&Call{Method: "tools/call"}, m)
		if o.Kind == wire.InputRequired {
			o.Kind = wire.BadResponse
			o.Text = "the result of the task has the type input_required, but must be complete"
		}
	}
	m.Raw = received
	return o
}

// answerInputs answers the input requests of a task that are not in w.Answered, and adds their keys to
// it. A part of the answers may be sent; each key is answered once in the life of a task (extension,
// "Input Requests"). over reports that the task cannot go on, because an input request got no answer
// or the server refused the answers; end is the outcome then.
func (e *modern) answerInputs(
	ctx context.Context,
	s *Session,
	task Task,
	o wire.Outcome,
	rawRequests json.RawMessage,
	w *AwaitOptions,
) (end wire.Outcome, over bool) {
	requests, _ := jsonraw.Object(rawRequests)
	answers := json.RawMessage("{}")
	keys := []string(nil)
	for _, request := range requests {
		if slices.Contains(w.Answered, request.Name) {
			continue
		}
		const willRetry = false // the task goes on without another call
		q := newInputRequest(request, willRetry)
		if s.opt.Asker == nil {
			end = withFailure(o, wire.InputRequired, UnansweredOutcome(q.Method).Text)
			over = true
			break
		}
		a, failed, ok := answerInput(ctx, s, o, q, ", and the task requires it")
		if !ok {
			end = failed
			over = true
			break
		}
		answers = jsonraw.With(answers, request.Name, a.Result)
		keys = append(keys, request.Name)
	}
	if len(keys) > 0 && ctx.Err() == nil {
		if refused := s.AnswerTask(ctx, task.ID, answers); !refused.OK() {
			return refused, true
		}
		w.Answered = append(w.Answered, keys...)
		if w.OnAnswers != nil {
			w.OnAnswers(keys)
		}
	}
	return end, over
}
