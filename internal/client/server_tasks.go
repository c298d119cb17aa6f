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

// A server may ask the client to run the server's request as a task: the client responds
// at once with the task, and the server gets the user's answer later (2025-11-25
// basic/utilities/tasks).

// maxServerTasks limits the tasks of a connection. Each open task counts towards maxAnswering,
// which must leave room for the requests about the tasks.
const maxServerTasks = 16

// serverTasks are the tasks that the client runs for the server, oldest first. They end with the
// connection.
type serverTasks struct {
	mu  sync.Mutex
	all []*serverTask
}

// A serverTask is a request from the server that became a task. The mutex of serverTasks guards
// status, updated and answer.
type serverTask struct {
	id      string
	ttl     json.RawMessage
	created time.Time
	// withdraw stops asking the user. over is closed when the task has ended.
	withdraw func()
	over     chan struct{}

	status  TaskStatus
	updated time.Time
	answer  mcp.Answer
}

// add adds a task. If there are too many, it removes the oldest ended task. It returns nil if all
// tasks are still open.
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
	// The ttl is taken from the request. It is null, without a limit, if the request's is not a
	// number of milliseconds.
	ttl := jsonraw.First(jsonraw.First(params, "task"), "ttl")
	if ms, err := strconv.ParseInt(string(ttl), 10, 64); err != nil || ms < 0 {
		ttl = json.RawMessage("null")
	}
	e := &serverTask{
		id: rand.Text(), ttl: ttl, created: now, withdraw: withdraw, over: make(chan struct{}),
		status: TaskWorking, updated: now,
	}
	es.all = append(es.all, e)
	return e
}

// find returns the task with an id, or nil.
func (es *serverTasks) find(id string) *serverTask {
	es.mu.Lock()
	defer es.mu.Unlock()
	if at := slices.IndexFunc(es.all, func(e *serverTask) bool { return e.id == id }); at >= 0 {
		return es.all[at]
	}
	return nil
}

// end ends a task. It reports false, and changes nothing, if the task had ended before.
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

// object returns the Task object for the server.
func (es *serverTasks) object(e *serverTask) json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	return e.object()
}

// object returns the Task object; the caller holds the mutex of serverTasks.
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

// list returns the result of tasks/list.
func (es *serverTasks) list() json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	tasks := make([]json.RawMessage, len(es.all))
	for i, e := range es.all {
		tasks[i] = e.object()
	}
	return jsonraw.With(nil, "tasks", jsonraw.List(tasks))
}

// runAsTask runs a request from the server as a task: it sends the task, and then asks the user. It
// returns an error response to send, or nil.
func (c *connection) runAsTask(ctx context.Context, m *wire.Message, send func([]byte)) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	task := c.serverTasks.add(m.Params, c.s.opt.Now(), withdraw)
	if task == nil {
		return wire.ComposeError(m.ID, -32603, "Internal error: too many tasks at a time")
	}
	removeQuestion := c.questions.add(task.id, withdraw)
	defer removeQuestion()
	send(wire.ComposeResult(m.ID, withRelatedTask(jsonraw.With(nil, "task", c.serverTasks.object(task)), m)))
	answer, withdrawn := c.askUser(ctx, m)
	status := TaskCompleted
	if withdrawn {
		status = TaskCancelled
		answer = cancelledAnswer
	} else if answer.Result == nil {
		status = TaskFailed
	}
	c.serverTasks.end(task, status, answer, c.s.opt.Now()) // without effect after tasks/cancel
	return nil
}

// cancelledAnswer replaces the answer to a request that was withdrawn.
var cancelledAnswer = mcp.Answer{Code: -32602, Text: "Invalid params: the task was cancelled and has no result"}

// answerTaskRequest returns the response to a request about a task of the client; nil if the server
// cancelled the request.
func (c *connection) answerTaskRequest(ctx context.Context, m *wire.Message) []byte {
	if m.Method == "tasks/list" {
		if jsonraw.First(m.Params, "cursor") != nil {
			return wire.ComposeError(m.ID, -32602, "Invalid params: there is no such cursor, the list has one page")
		}
		return wire.ComposeResult(m.ID, c.serverTasks.list())
	}
	id, _ := jsonraw.Text(jsonraw.First(m.Params, "taskId"))
	e := c.serverTasks.find(id)
	if e == nil {
		return wire.ComposeError(m.ID, -32602, "Invalid params: there is no such task")
	}
	if m.Method == "tasks/result" {
		return c.taskResult(ctx, m, e)
	}
	if m.Method == "tasks/cancel" && !c.serverTasks.end(e, TaskCancelled, cancelledAnswer, c.s.opt.Now()) {
		return wire.ComposeError(m.ID, -32602, "Invalid params: the task has ended already")
	}
	if m.Method == "tasks/cancel" { // the condition above has ended the task
		c.addFinding(wire.Info, "withdrawn", "the server cancelled its request")
		e.withdraw()
	}
	return wire.ComposeResult(m.ID, c.serverTasks.object(e))
}

// taskResult waits for the end of a task and returns the response that the original request would
// have got; nil if the server cancelled m.
func (c *connection) taskResult(ctx context.Context, m *wire.Message, e *serverTask) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	removeQuestion := c.questions.add(string(m.ID), withdraw)
	defer removeQuestion()
	select {
	case <-e.over:
	case <-ctx.Done():
		return nil
	}
	answer := e.answer // does not change after over is closed
	if answer.Result != nil {
		task := jsonraw.With(nil, "taskId", jsonraw.Quote(e.id))
		answer.Result = withMeta(answer.Result, jsonraw.Member{Name: metaRelatedTask, Value: task})
	}
	return answer.Compose(m.ID)
}
