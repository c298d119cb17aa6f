package client

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A call may become a task: the server responds at once with the task's id, and the client
// requests the result later. The two eras have different protocols for this: an
// experimental part of 2025-11-25 (task_legacy.go) and an extension of 2026-07-28
// (task_modern.go).

// A TaskStatus is the status of a task. Completed, failed and cancelled are final.
type TaskStatus string

const (
	TaskWorking   TaskStatus = "working"
	TaskNeedsYou  TaskStatus = "input_required"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	TaskCancelled TaskStatus = "cancelled"
)

// Ended reports whether the status is final.
func (s TaskStatus) Ended() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// isKnown reports whether s is a declared constant.
func (s TaskStatus) isKnown() bool { return s == TaskWorking || s == TaskNeedsYou || s.Ended() }

// A Task is a call that the server runs without a pending request.
type Task struct {
	ID     string
	Status TaskStatus
	// Message is the server's text about the status, or "".
	Message string
	// Created is the time by the server's clock; zero if the server did not send it.
	Created time.Time
	// TTL is how long after Created the server keeps the task; 0 if there is no limit.
	TTL time.Duration
	// Poll is the minimum interval between two requests for the status; 0 if the server names no
	// interval.
	Poll time.Duration
	// token is the progress token of the call, valid until the task has ended; nil if the call had
	// no token.
	token json.RawMessage
}

// A TaskWish allows a call to become a task.
type TaskWish struct {
	// TTL is how long the server is asked to keep the task; 0 leaves it to the server. The
	// modern era has no such parameter.
	TTL time.Duration
}

// A TaskOffer says how calls can become tasks in a session.
type TaskOffer struct {
	// ByClient reports whether the client requests a task for each call. Otherwise the server
	// decides, and the client declares that it supports tasks.
	ByClient bool
	// IsRequired reports whether the tool can only run as a task.
	IsRequired bool
	// CanList and Cancels say whether tasks can be listed and cancelled.
	CanList, CanCancel bool
	// Why is the reason why calls cannot become tasks, or "".
	Why string
}

// TaskOffer returns the offer for a tool with the given taskSupport.
func (s *Session) TaskOffer(support string) TaskOffer {
	c := s.connection()
	return c.era().taskOffer(c.load().info.Capabilities, support)
}

// TaskIn returns the task in the outcome of a call. It reports false if o is not OK or has no valid
// task.
func (s *Session) TaskIn(call Call, o wire.Outcome) (Task, bool) {
	if !o.OK() || o.Message == nil {
		return Task{}, false
	}
	members, _ := o.Message.ResultMembers()
	task, problem, ok := s.connection().era().readTask(&call, members)
	if ok && call.Progress {
		task.token = o.Message.ID
	}
	return task, ok && problem == ""
}

// Task requests the status of a task.
func (s *Session) Task(ctx context.Context, id string) (Task, wire.Outcome) {
	call := newTaskCall("tasks/get", id)
	o := s.Do(ctx, call)
	task, _ := s.TaskIn(call, o)
	if raw, _ := jsonraw.Text(jsonraw.First(o.Result, "resultType")); raw == "task" {
		s.connection().addFinding(wire.Info, "result_type", "the result of tasks/get has the type task, but must be complete")
	}
	return task, o
}

// CancelTask asks the server to cancel a task. The task may still end differently.
func (s *Session) CancelTask(ctx context.Context, id string) wire.Outcome {
	return s.Do(ctx, newTaskCall("tasks/cancel", id))
}

// AnswerTask sends the answers to a task's input requests, as an object by key. It is for the
// modern era, whose tasks contain their input requests.
func (s *Session) AnswerTask(ctx context.Context, id string, answers json.RawMessage) wire.Outcome {
	call := newTaskCall("tasks/update", id)
	call.Params = jsonraw.With(call.Params, "inputResponses", answers)
	return s.Do(ctx, call)
}

// ParseTask reads an entry of tasks/list. It reports false if the entry is not a valid task.
func (s *Session) ParseTask(raw json.RawMessage) (Task, bool) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return Task{}, false
	}
	// An entry has the form of a result of tasks/get.
	task, problem, ok := s.connection().era().readTask(&Call{Method: "tasks/get"}, members)
	return task, ok && problem == ""
}

// newTaskCall returns the call of a task method for the task with an id.
func newTaskCall(method, id string) Call {
	return Call{Method: method, Params: jsonraw.With(nil, "taskId", jsonraw.Quote(id))}
}

// parseTaskMembers reads a task. ttl and poll are the names of its two durations. problem says why
// the task is invalid, or is "".
func parseTaskMembers(members jsonraw.Members, ttl, poll string) (task Task, problem string) {
	task = Task{
		ID:      members.Text("taskId"),
		Status:  TaskStatus(members.Text("status")),
		Message: members.Text("statusMessage"),
	}
	task.Created, _ = time.Parse(time.RFC3339, members.Text("createdAt"))
	task.TTL = millisecondsIn(members, ttl)
	task.Poll = millisecondsIn(members, poll)
	if task.ID == "" {
		return task, "the task has no taskId"
	}
	if !task.Status.isKnown() {
		status, _ := members.Get("status")
		return task, "the task's status is " + transport.IDText(status) + ", which is not a task status"
	}
	return task, ""
}

// millisecondsIn returns a duration in milliseconds, at most a hundred years; 0 if the member is
// not a positive number.
func millisecondsIn(members jsonraw.Members, name string) time.Duration {
	const longest = 100 * 365 * 24 * time.Hour
	raw, _ := members.Get(name)
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(ms > 0) { // not ms <= 0, which a NaN would pass
		return 0
	}
	return time.Duration(math.Min(ms, float64(longest/time.Millisecond))) * time.Millisecond
}

// The interval between two requests for a task's status: the default and the minimum.
const (
	defaultPoll = time.Second
	minPoll     = 100 * time.Millisecond
)

// AwaitOptions configure Await and AnswerInputs.
type AwaitOptions struct {
	// Tool is the name of the tool for the outcome; "" if it is unknown.
	Tool string
	// Once requests the status once. If the task has not ended, the outcome is CheckFailed.
	Once bool
	// OnStatus is called with each status that Await receives. It may be nil.
	OnStatus func(Task)
	// Answered are the keys of the input requests with an earlier answer, which are not answered
	// again. Answers is called with the keys of the answers that the server accepted; it may be
	// nil.
	Answered  []string
	OnAnswers func(keys []string)
}

// Await polls a task, at the server's interval, until it has ended, and returns the outcome that
// the call would have had. Options.Asker answers the task's input requests. A task without a Status
// is requested at once. The hard limit applies to the whole wait. If ctx ends, the task continues
// at the server.
func (s *Session) Await(ctx context.Context, task Task, w AwaitOptions) wire.Outcome {
	began := s.opt.Now()
	const spent = 0 // the limit begins now
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--max-time", What: "the task did not end", After: s.opt.Limits.Hard},
		spent,
	)
	defer stop()
	forgetToken := s.pending.keepToken(task.token)
	defer forgetToken()
	o := s.await(ctx, task, &w)
	o.Took = s.opt.Now().Sub(began)
	return o
}

// await polls a task until it has ended, without a time limit, and returns the outcome that the
// call would have had. If ctx ends, it returns the outcome of an abandoned request.
func (s *Session) await(ctx context.Context, task Task, w *AwaitOptions) wire.Outcome {
	asked := wire.Outcome{Method: "tasks/get", Name: task.ID, ServerName: s.opt.Server.Name}
	// Only a task that is known to be working is worth a wait before the first request.
	for wait := task.Status == TaskWorking; ; wait = true {
		pause := defaultPoll
		if task.Poll != 0 {
			pause = max(task.Poll, minPoll)
		}
		if wait && !transport.Sleep(ctx, pause) {
			return abandoned(ctx, asked)
		}
		token := task.token // a status does not contain it
		task, asked = s.Task(ctx, task.ID)
		if !asked.OK() {
			return asked
		}
		task.token = token
		if w.OnStatus != nil {
			w.OnStatus(task)
		}
		if w.Once && !task.Status.Ended() {
			return withFailure(asked, wire.CheckFailed, "the task has not ended: it is "+string(task.Status))
		}
		if end, over := s.connection().era().advanceTask(ctx, s, task, asked, w); over {
			return end
		}
	}
}

// AnswerInputs answers the task's current input requests and does not wait for the effect. It is for the
// modern era, whose tasks contain their input requests.
func (s *Session) AnswerInputs(ctx context.Context, id string, w AwaitOptions) wire.Outcome {
	task, o := s.Task(ctx, id)
	if !o.OK() || task.Status != TaskNeedsYou {
		return o
	}
	if end, over := s.connection().era().advanceTask(ctx, s, task, o, &w); over {
		return end
	}
	return o
}

// cancelledOutcome returns the outcome of a call whose task was cancelled and has no result.
func cancelledOutcome(o wire.Outcome, task Task) wire.Outcome {
	text := "the task was cancelled"
	if task.Message != "" {
		text += ": " + task.Message
	}
	o.Hint = "there is no result; the task's status is on stdout"
	return withFailure(o, wire.ToolError, text)
}

// IsUnknownTask reports whether the server does not know the task (-32602 in both eras).
func IsUnknownTask(o wire.Outcome) bool {
	return o.Kind == wire.RPCFailed && o.Method == "tasks/get" && rpcCode(o) == -32602
}

// asToolCall returns o as the outcome of the call that became the task.
func asToolCall(o wire.Outcome, tool string) wire.Outcome {
	o.Method = "tools/call"
	o.Name = tool
	return o
}
