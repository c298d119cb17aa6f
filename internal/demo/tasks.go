package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is the name of the extension in capabilities.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	timeToLive   = 10 * time.Minute
	pollInterval = 200 * time.Millisecond
	maxTasks     = 1000
)

// taskMethods returns the methods of the extension.
func taskMethods() []string { return []string{"tasks/get", "tasks/update", "tasks/cancel"} }

// A taskManager adds the extension io.modelcontextprotocol/tasks to a server of the Go SDK, which
// lacks tasks. A tool handler calls BeginTask. The rest of the handler is then a task, which the
// client polls with tasks/get, answers with tasks/update and ends with tasks/cancel. A handler that
// returns before BeginTask has an ordinary result, such as an input round or a quick response
// (extension, "Creating tasks").
//
// Tasks exist since 2026-07-28, for requests that declare the extension. They are kept in memory
// until their time to live has passed, at most maxTasks of them. Status notifications are optional
// and not sent: the SDK's filter of subscriptions/listen has no task ids, and the acknowledgement
// reports that.
type taskManager struct {
	now func() time.Time
	end context.Context

	mu    sync.Mutex
	tasks map[string]*task
}

// The states of a task; the last three are final.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// A task is a tool call that continues after its request. taskManager.mu protects it.
type task struct {
	m         *taskManager
	id        string
	created   time.Time
	updated   time.Time
	status    string
	stop      func()
	isStopped bool // by tasks/cancel

	usedKeys map[string]bool // all keys that pending ever had
	pending  mcp.InputRequestMap
	answers  mcp.InputResponseMap
	answered chan struct{} // closed when no request is pending

	result mcp.Result
	err    *jsonrpc.Error
}

// addTasks adds the extension's methods to a server and lets its tools begin tasks. All tasks end
// when end is done. now returns the current time. The caller declares the extension in the server's
// capabilities.
func addTasks(end context.Context, s *mcp.Server, now func() time.Time) *taskManager {
	m := &taskManager{now: now, end: end, tasks: map[string]*task{}}
	for i, handler := range []func(*task, *taskParams) (*taskRecord, error){m.getTask, m.updateTask, m.cancelTask} {
		method := taskMethods()[i]
		if err := mcp.AddReceivingCustomMethod(s, method, m.handleTaskMethod(method, handler)); err != nil {
			panic(fmt.Sprintf("tasks: %v", err))
		}
	}
	s.AddReceivingMiddleware(m.awaitTaskOrResult)
	return m
}

// A taskStarter is in the context of a call whose client declared tasks. BeginTask reads it.
type taskStarter struct {
	m     *taskManager
	began chan struct{} // closed when task is set
	task  *task
}

type taskStarterKey struct{}

type taskKey struct{}

// awaitTaskOrResult returns a handler for tools/call that responds when the tool returns or begins a task.
func (m *taskManager) awaitTaskOrResult(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || !declaresTasks(call.Params.GetMeta()) {
			return next(ctx, method, req)
		}
		type outcome struct {
			result mcp.Result
			err    error
		}
		s := &taskStarter{m: m, began: make(chan struct{})}
		done := make(chan outcome, 1)
		go func() {
			result, err := next(context.WithValue(ctx, taskStarterKey{}, s), method, req)
			if s.task != nil {
				s.task.finish(result, err)
				return
			}
			done <- outcome{result, err}
		}()
		select {
		case <-s.began:
			return s.task.newRecord(), nil
		case o := <-done:
			return o.result, o.err
		}
	}
}

// BeginTask makes a task of the rest of a tool call. It returns the task's context, which is not
// cancelled with the request. The goroutine that runs the tool's handler calls it, at most once. If
// the client did not declare the extension, the error has the code -32021. A tool that can run
// without a task ignores the error and continues within the request.
func BeginTask(ctx context.Context) (context.Context, error) {
	s, ok := ctx.Value(taskStarterKey{}).(*taskStarter)
	if !ok {
		return nil, undeclaredTasksError()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(s.m.end, cancel)
	stop := func() { release(); cancel() }
	now := s.m.now()
	t := &task{
		m:        s.m,
		id:       rand.Text(),
		created:  now,
		updated:  now,
		status:   taskWorking,
		stop:     stop,
		usedKeys: map[string]bool{},
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.expireLocked()
	if len(s.m.tasks) >= maxTasks {
		stop()
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("this server keeps %d tasks, and has as many", maxTasks),
		}
	}
	s.m.tasks[t.id] = t
	s.task = t
	close(s.began)
	return context.WithValue(ctx, taskKey{}, t), nil
}

// awaitAnswers sends requests to the client of the task in ctx, and returns the answers when it has
// all of them. The keys of the requests must be new in the task.
func awaitAnswers(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return nil, errors.New("only a task asks in this way")
	}
	t.m.mu.Lock()
	for key := range requests {
		if t.usedKeys[key] {
			t.m.mu.Unlock()
			return nil, fmt.Errorf("the task has asked for %q before", key)
		}
		t.usedKeys[key] = true
	}
	t.pending = maps.Clone(requests)
	t.answers = mcp.InputResponseMap{}
	t.answered = make(chan struct{})
	t.setLocked(taskInputRequired)
	answered := t.answered
	t.m.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return t.answers, nil
}

// setLocked sets the status and the time of the update. t.m.mu is locked.
func (t *task) setLocked(status string) {
	t.status = status
	t.updated = t.m.now()
}

// finish ends the task with the result of tools/call. An error becomes a JSON-RPC error. A tool
// error is part of the result, and the task is completed.
func (t *task) finish(result mcp.Result, err error) {
	t.stop()
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.pending = nil
	if t.isStopped {
		t.setLocked(taskCancelled)
	} else if err != nil {
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			t.err = wire
		} else {
			t.err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		t.setLocked(taskFailed)
	} else {
		t.result = result
		t.setLocked(taskCompleted)
	}
}

// expireLocked ends and removes the tasks whose time to live has passed. m.mu is locked.
func (m *taskManager) expireLocked() {
	for id, t := range m.tasks {
		if m.now().Sub(t.created) > timeToLive {
			t.stop()
			delete(m.tasks, id)
		}
	}
}

// getTask handles tasks/get.
func (m *taskManager) getTask(t *task, _ *taskParams) (*taskRecord, error) {
	return t.detailedRecordLocked(), nil
}

// cancelTask handles tasks/cancel. It cancels the context of the tool; tasks/get returns the outcome.
// It does nothing to a task that has ended.
func (m *taskManager) cancelTask(t *task, _ *taskParams) (*taskRecord, error) {
	if t.status == taskWorking || t.status == taskInputRequired {
		t.isStopped = true
		t.stop()
	}
	return &taskRecord{ResultType: completeResult}, nil
}

// updateTask handles tasks/update: answers to pending requests. It ignores unknown keys.
func (m *taskManager) updateTask(t *task, p *taskParams) (*taskRecord, error) {
	known := map[string]json.RawMessage{}
	for key, raw := range p.InputResponses {
		if t.pending[key] != nil {
			known[key] = raw
		}
	}
	answers, err := readTaskAnswers(known, t.pending)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	for key, answer := range answers {
		t.answers[key] = answer
		delete(t.pending, key)
	}
	if len(answers) > 0 {
		t.setLocked(t.status)
		if len(t.pending) == 0 {
			t.setLocked(taskWorking)
			close(t.answered)
		}
	}
	return &taskRecord{ResultType: completeResult}, nil
}
