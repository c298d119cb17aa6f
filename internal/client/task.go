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

// A call may become a task: the server answers at once with the task's id, and
// the client asks for the result later. There are two shapes of it, an
// experimental part of one revision and an extension of the next, and an era
// knows its own (task_legacy.go, task_modern.go).

// A TaskStatus is how a task is. The last three are final.
type TaskStatus string

const (
	TaskWorking   TaskStatus = "working"
	TaskNeedsYou  TaskStatus = "input_required"
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	TaskCancelled TaskStatus = "cancelled"
)

// Ended reports whether nothing more will happen to the task.
func (s TaskStatus) Ended() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

func (s TaskStatus) known() bool { return s == TaskWorking || s == TaskNeedsYou || s.Ended() }

// A Task is work that goes on at a server without an open request.
type Task struct {
	ID     string
	Status TaskStatus
	// Message is what the server says about the status; often empty.
	Message string
	// Created is by the server's clock; zero where it gave no time.
	Created time.Time
	// TTL is how long after Created the server keeps the task; 0 where it names no
	// end.
	TTL time.Duration
	// Poll is how long the server wants to be left alone between two questions;
	// 0 where it does not say.
	Poll time.Duration
	// token is the progress token of the call, which is good until the task has
	// ended; nil where there is none.
	token json.RawMessage
}

// A TaskWish lets a call become a task.
type TaskWish struct {
	// TTL is for how long the server is asked to keep the task; 0 leaves it to the
	// server, as does an era in which it cannot be asked.
	TTL time.Duration
}

// A TaskOffer says how calls become tasks in a conversation.
type TaskOffer struct {
	// Asked is set where a client asks for a task call by call; elsewhere the
	// server alone decides, and the client says that it can take one.
	Asked bool
	// Must is set where the tool runs as a task only.
	Must bool
	// Lists and Cancels say whether tasks can be listed and cancelled.
	Lists, Cancels bool
	// Why says why there are no tasks here; "" where there may be.
	Why string
}

// TaskOffer is the offer for a tool with that taskSupport.
func (s *Session) TaskOffer(support string) TaskOffer {
	c := s.connection()
	return c.era().taskOffer(c.load().info.Capabilities, support)
}

// TaskIn is the task that an outcome of the call tells of; false where it is no
// task, or where the outcome is not good.
func (s *Session) TaskIn(call Call, o wire.Outcome) (Task, bool) {
	if !o.Good() || o.Message == nil {
		return Task{}, false
	}
	members, _ := o.Message.ResultMembers()
	task, problem, ok := s.connection().era().readTask(&call, members)
	if ok && call.Progress {
		task.token = o.Message.ID
	}
	return task, ok && problem == ""
}

// Task asks how a task is.
func (s *Session) Task(ctx context.Context, id string) (Task, wire.Outcome) {
	call := newTaskCall("tasks/get", id)
	o := s.Do(ctx, call)
	task, _ := s.TaskIn(call, o)
	if raw, _ := jsonraw.Text(jsonraw.First(o.Result, "resultType")); raw == "task" {
		s.connection().addFinding(wire.Info, "result_type", "the result of tasks/get has the type task, but must be complete")
	}
	return task, o
}

// CancelTask asks the server to give a task up. The task may end in another way
// all the same.
func (s *Session) CancelTask(ctx context.Context, id string) wire.Outcome {
	return s.Do(ctx, newTaskCall("tasks/cancel", id))
}

// AnswerTask gives a task what it asked for, as an object of answers by key.
// It is for the era in which a task carries its questions.
func (s *Session) AnswerTask(ctx context.Context, id string, answers json.RawMessage) wire.Outcome {
	call := newTaskCall("tasks/update", id)
	call.Params = jsonraw.With(call.Params, "inputResponses", answers)
	return s.Do(ctx, call)
}

// ParseTask reads an entry of tasks/list.
func (s *Session) ParseTask(raw json.RawMessage) (Task, bool) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return Task{}, false
	}
	task, problem, ok := s.connection().era().readTask(&Call{Method: "tasks/get"}, members)
	return task, ok && problem == ""
}

func newTaskCall(method, id string) Call {
	return Call{Method: method, Params: jsonraw.With(nil, "taskId", jsonraw.Quote(id))}
}

// readTask reads a task whose spans of time stand under these names; the problem
// is "" where it is one.
func parseTaskMembers(members jsonraw.Members, ttl, poll string) (task Task, problem string) {
	task = Task{
		ID:      members.Text("taskId"),
		Status:  TaskStatus(members.Text("status")),
		Message: members.Text("statusMessage"),
	}
	task.Created, _ = time.Parse(time.RFC3339, members.Text("createdAt"))
	task.TTL, task.Poll = millisecondsIn(members, ttl), millisecondsIn(members, poll)
	switch status, _ := members.Get("status"); {
	case task.ID == "":
		return task, "the task has no taskId"
	case !task.Status.known():
		return task, "the task's status is " + transport.IDText(status) + ", which is not a task status"
	}
	return task, ""
}

// millisecondsIn is 0 for what is no positive number, and at most a hundred
// years.
func millisecondsIn(members jsonraw.Members, name string) time.Duration {
	const longest = 100 * 365 * 24 * time.Hour
	raw, _ := members.Get(name)
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(ms > 0) {
		return 0
	}
	return time.Duration(math.Min(ms, float64(longest/time.Millisecond))) * time.Millisecond
}

// How long a task is left alone where the server does not say, and at least.
const (
	defaultPoll = time.Second
	minPoll     = 100 * time.Millisecond
)

// A Waiting says how Await or Inform deals with a task.
type Waiting struct {
	// Tool is the name of the tool, for the outcome; "" where it is unknown.
	Tool string
	// Once asks how the task is a single time; one that has not ended is then a
	// failed check.
	Once bool
	// Seen is called with the task each time Await has fetched it. It may be nil.
	Seen func(Task)
	// Answered are the keys of the questions that were answered before, which are
	// not asked again; Answers is called with those that the server took. It may be nil.
	Answered []string
	Answers  func(keys []string)
}

// Await asks for a task again and again, as often as the server wants to be
// asked, until it has ended, and gives the ending that the call itself would
// have had. What the task needs to know meanwhile goes to Options.Asker. A task
// without a Status is asked for at once. The hard limit is for all of it;
// a caller that gives up leaves the task running.
func (s *Session) Await(ctx context.Context, task Task, w Waiting) wire.Outcome {
	began := s.opt.Now()
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--max-time", What: "the task did not end", After: s.opt.Limits.Hard},
		0,
	)
	defer stop()
	defer s.pending.keepToken(task.token)()
	o := s.await(ctx, task, &w)
	o.Took = s.opt.Now().Sub(began)
	return o
}

func (s *Session) await(ctx context.Context, task Task, w *Waiting) wire.Outcome {
	asked := wire.Outcome{Method: "tasks/get", Name: task.ID, Where: s.opt.Server.Name}
	// One that is known to have ended, or to need something, is asked for at once.
	for wait := task.Status == TaskWorking; ; wait = true {
		pause := defaultPoll
		if task.Poll != 0 {
			pause = max(task.Poll, minPoll)
		}
		if wait && !transport.Sleep(ctx, pause) {
			return abandoned(ctx, asked)
		}
		token := task.token
		task, asked = s.Task(ctx, task.ID)
		if !asked.Good() {
			return asked
		}
		task.token = token
		if w.Seen != nil {
			w.Seen(task)
		}
		if w.Once && !task.Status.Ended() {
			return withFailure(asked, wire.CheckFailed, "the task has not ended: it is "+string(task.Status))
		}
		if end, over := s.connection().era().advanceTask(ctx, s, task, asked, w); over {
			return end
		}
	}
}

// Inform answers what a task needs to know now, without waiting for the
// effect. It is for the era in which a task carries its questions.
func (s *Session) Inform(ctx context.Context, id string, w Waiting) wire.Outcome {
	task, o := s.Task(ctx, id)
	if !o.Good() || task.Status != TaskNeedsYou {
		return o
	}
	if end, over := s.connection().era().advanceTask(ctx, s, task, o, &w); over {
		return end
	}
	return o
}

// cancelledTask is the ending of a call whose task was cancelled: there is no
// result and never will be one. What the server says about the task takes its
// place.
func cancelledOutcome(o wire.Outcome, task Task) wire.Outcome {
	text := "the task was cancelled"
	if task.Message != "" {
		text += ": " + task.Message
	}
	o.Hint = "there is no result; the task's status is on stdout"
	return withFailure(o, wire.ToolError, text)
}

// NoSuchTask reports an answer that says that the server does not know the task,
// or no longer. -32602 is the code in both shapes.
func NoSuchTask(o wire.Outcome) bool {
	return o.Kind == wire.RPCFailed && o.Method == "tasks/get" && rpcCode(o) == -32602
}

// ofCall makes the outcome that of the call which became the task.
func asToolCall(o wire.Outcome, tool string) wire.Outcome {
	o.Method = "tools/call"
	o.Name = tool
	return o
}
