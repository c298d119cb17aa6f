package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// A server may make a task of its own question: it hears at once that the user
// is being asked, and fetches the answer later (2025-11-25 basic/utilities/tasks).

// maxServerTasks is how many such tasks a conversation keeps. Each that is open takes
// one of maxAnswering, and the questions about them must find room beside them.
const maxServerTasks = 16

// server tasks are the tasks that the client took upon itself, oldest first. They end
// with the conversation.
type serverTasks struct {
	mu  sync.Mutex
	all []*serverTask
}

// An serverTask is a question that became a task. Its last three members belong to
// the mutex of the server tasks.
type serverTask struct {
	id      string
	ttl     json.RawMessage
	created time.Time
	// withdraw ends the asking; over is closed when the task has ended.
	withdraw func()
	over     chan struct{}

	status  TaskStatus
	updated time.Time
	answer  mcp.Answer
}

// open notes a task. Where there are too many, the oldest that has ended is
// forgotten; nil where none has.
func (es *serverTasks) add(params json.RawMessage, now time.Time, withdraw func()) *serverTask {
	es.mu.Lock()
	defer es.mu.Unlock()
	if len(es.all) == maxServerTasks {
		at := slices.IndexFunc(es.all, func(e *serverTask) bool { return e.status.Ended() })
		if at < 0 {
			return nil
		}
		es.all = slices.Delete(es.all, at, at+1)
	}
	// The task is kept as long as the server wants; null, if it does not say so in whole milliseconds, is until the end.
	ttl := jsonraw.First(jsonraw.First(params, "task"), "ttl")
	if ms, err := strconv.ParseInt(string(ttl), 10, 64); err != nil || ms < 0 {
		ttl = json.RawMessage("null")
	}
	e := &serverTask{id: rand.Text(), ttl: ttl, created: now, withdraw: withdraw, over: make(chan struct{}),
		status: TaskWorking, updated: now}
	es.all = append(es.all, e)
	return e
}

func (es *serverTasks) find(id string) *serverTask {
	es.mu.Lock()
	defer es.mu.Unlock()
	if at := slices.IndexFunc(es.all, func(e *serverTask) bool { return e.id == id }); at >= 0 {
		return es.all[at]
	}
	return nil
}

// end is the end of a task; false where it had ended before, and stays so.
func (es *serverTasks) end(e *serverTask, status TaskStatus, answer mcp.Answer, now time.Time) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e.status.Ended() {
		return false
	}
	e.status = status
	e.answer = answer
	e.updated = now
	close(e.over)
	return true
}

// shown is the Task object that is sent to the server.
func (es *serverTasks) object(e *serverTask) json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	return e.object()
}

func (e *serverTask) object() json.RawMessage {
	task := jsonraw.With(nil, "taskId", jsonraw.Quote(e.id))
	task = jsonraw.With(task, "status", jsonraw.Quote(string(e.status)))
	if e.answer.Text != "" {
		task = jsonraw.With(task, "statusMessage", jsonraw.Quote(e.answer.Text))
	}
	task = jsonraw.With(task, "createdAt", jsonraw.Quote(e.created.UTC().Format(time.RFC3339Nano)))
	task = jsonraw.With(task, "lastUpdatedAt", jsonraw.Quote(e.updated.UTC().Format(time.RFC3339Nano)))
	task = jsonraw.With(task, "ttl", e.ttl)
	return jsonraw.With(task, "pollInterval", strconv.AppendInt(nil, defaultPoll.Milliseconds(), 10))
}

func (es *serverTasks) list() json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	tasks := make([]json.RawMessage, len(es.all))
	for i, e := range es.all {
		tasks[i] = e.object()
	}
	return jsonraw.With(nil, "tasks", jsonraw.List(tasks))
}

// runTask makes a task of the server's question, tells the server so, and asks. It
// gives what is left to say: a refusal, or nothing.
func (c *connection) runAsTask(ctx context.Context, m *wire.Message, send func([]byte)) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	task := c.serverTasks.add(m.Params, c.s.opt.Now(), withdraw)
	if task == nil {
		return wire.ComposeError(m.ID, -32603, "Internal error: too many tasks at a time")
	}
	defer c.questions.open(task.id, withdraw)()
	send(wire.ComposeResult(m.ID, withRelatedTask(jsonraw.With(nil, "task", c.serverTasks.object(task)), m)))
	answer, withdrawn := c.askUser(ctx, m)
	status := TaskCompleted
	if withdrawn {
		status = TaskCancelled
		answer = cancelledAnswer
	} else if answer.Result == nil {
		status = TaskFailed
	}
	c.serverTasks.end(task, status, answer, c.s.opt.Now())
	return nil
}

// goneBack is what there is instead of the answer to a question that was taken
// back.
var cancelledAnswer = mcp.Answer{Code: -32602, Text: "Invalid params: the task was cancelled and has no result"}

// answerTaskRequest answers what a server asks about a task of its client's; nil where it
// does not want to know any more.
func (c *connection) answerTaskRequest(ctx context.Context, m *wire.Message) []byte {
	if m.Method == "tasks/list" {
		if jsonraw.First(m.Params, "cursor") != nil {
			return wire.ComposeError(m.ID, -32602, "Invalid params: there is no such cursor, the list has one page")
		}
		return wire.ComposeResult(m.ID, c.serverTasks.list())
	}
	id, _ := jsonraw.Text(jsonraw.First(m.Params, "taskId"))
	e := c.serverTasks.find(id)
	switch {
	case e == nil:
		return wire.ComposeError(m.ID, -32602, "Invalid params: there is no such task")
	case m.Method == "tasks/result":
		return c.taskResult(ctx, m, e)
	case m.Method == "tasks/cancel" && !c.serverTasks.end(e, TaskCancelled, cancelledAnswer, c.s.opt.Now()):
		return wire.ComposeError(m.ID, -32602, "Invalid params: the task has ended already")
	case m.Method == "tasks/cancel":
		c.addFinding(wire.Info, "withdrawn", "the server cancelled its request")
		e.withdraw()
	}
	return wire.ComposeResult(m.ID, c.serverTasks.object(e))
}

// taskResult waits for the end of a task, and answers as the question would
// have been answered.
func (c *connection) taskResult(ctx context.Context, m *wire.Message, e *serverTask) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	defer c.questions.open(string(m.ID), withdraw)()
	select {
	case <-e.over:
	case <-ctx.Done():
		return nil
	}
	answer := e.answer // which does not change once over is closed
	if answer.Result != nil {
		task := jsonraw.With(nil, "taskId", jsonraw.Quote(e.id))
		answer.Result = withMeta(answer.Result, jsonraw.Member{Name: metaRelatedTask, Value: task})
	}
	return answer.Compose(m.ID)
}
