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
	mostTasks    = 1000
)

// taskMethods returns the methods of the extension.
func taskMethods() []string { return []string{"tasks/get", "tasks/update", "tasks/cancel"} }

// A taskManager adds the extension io.modelcontextprotocol/tasks to a server of the Go SDK, which has no
// tasks: a tool's handler calls BeginTask, and what it does from there on is a task that the client polls
// with tasks/get, answers with tasks/update and ends with tasks/cancel. What the handler returned before is
// an ordinary result, so that input rounds come first and what is quick needs no task (extension, "Creating
// tasks").
//
// Tasks exist since 2026-07-28, for requests that declare the extension. They are kept in memory until their time to
// live has passed, at most mostTasks of them. Status notifications are optional and not sent: the SDK's filter of
// subscriptions/listen has no task ids, and the acknowledgement says so.
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

// A task is a tool call that has outlived its request. taskManager.mu guards it.
type task struct {
	m       *taskManager
	id      string
	created time.Time
	updated time.Time
	status  string
	stop    func()
	stopped bool // by tasks/cancel

	asked    map[string]bool // each key of pending that there ever was
	pending  mcp.InputRequestMap
	answers  mcp.InputResponseMap
	answered chan struct{} // closed when nothing is pending any more

	result mcp.Result
	err    *jsonrpc.Error
}

// addTasks adds the extension's methods to a server, and lets its tools begin tasks. When end is
// done, so is each task. Now is the clock. The caller declares Extension among the
// server's capabilities.
func addTasks(end context.Context, s *mcp.Server, now func() time.Time) *taskManager {
	m := &taskManager{now: now, end: end, tasks: map[string]*task{}}
	for i, handler := range []func(*task, *taskParams) (*taskRecord, error){m.get, m.update, m.cancel} {
		if err := mcp.AddReceivingCustomMethod(s, taskMethods()[i], m.gated(taskMethods()[i], handler)); err != nil {
			panic(fmt.Sprintf("tasks: %v", err))
		}
	}
	s.AddReceivingMiddleware(m.calls)
	return m
}

// A taskStarter is what Begin finds in the context of a call whose client declared tasks.
type taskStarter struct {
	m     *taskManager
	began chan struct{} // closed when task is there
	task  *task
}

type taskStarterKey struct{}

type taskKey struct{}

// calls answers tools/call when the handler returns, or when it begins a task.
func (m *taskManager) calls(next mcp.MethodHandler) mcp.MethodHandler {
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
			return s.task.creation(), nil
		case o := <-done:
			return o.result, o.err
		}
	}
}

// BeginTask makes a task of the rest of a tool call, and returns the task's context, which
// outlives the request. It is called by the goroutine that runs the tool's handler, at
// most once. The error, -32021, tells a client that did not declare the extension to do so;
// a tool that can do without a task ignores it, and goes on within the request.
func BeginTask(ctx context.Context) (context.Context, error) {
	s, ok := ctx.Value(taskStarterKey{}).(*taskStarter)
	if !ok {
		return nil, tasksNotDeclared()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(s.m.end, cancel)
	stop := func() { release(); cancel() }
	now := s.m.now()
	t := &task{
		m:       s.m,
		id:      rand.Text(),
		created: now,
		updated: now,
		status:  taskWorking,
		stop:    stop,
		asked:   map[string]bool{},
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.expireLocked()
	if len(s.m.tasks) >= mostTasks {
		stop()
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("this server keeps %d tasks, and has as many", mostTasks),
		}
	}
	s.m.tasks[t.id] = t
	s.task = t
	close(s.began)
	return context.WithValue(ctx, taskKey{}, t), nil
}

// awaitAnswers puts requests to the client of the task whose context ctx is, and returns the answers
// when the last one is there. The keys of requests have to be new to the task.
func awaitAnswers(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return nil, errors.New("only a task asks in this way")
	}
	t.m.mu.Lock()
	for key := range requests {
		if t.asked[key] {
			t.m.mu.Unlock()
			return nil, fmt.Errorf("the task has asked for %q before", key)
		}
		t.asked[key] = true
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

// finish ends the task with what tools/call would have returned. An error is a JSON-RPC
// error; a tool's own is part of the result, and the task completed.
func (t *task) finish(result mcp.Result, err error) {
	t.stop()
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.pending = nil
	switch {
	case t.stopped:
		t.setLocked(taskCancelled)
	case err != nil:
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			t.err = wire
		} else {
			t.err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		t.setLocked(taskFailed)
	default:
		t.result = result
		t.setLocked(taskCompleted)
	}
}

// expireLocked forgets the tasks whose time has passed, and ends them.
func (m *taskManager) expireLocked() {
	for id, t := range m.tasks {
		if m.now().Sub(t.created) > timeToLive {
			t.stop()
			delete(m.tasks, id)
		}
	}
}

// get handles tasks/get.
func (m *taskManager) get(t *task, _ *taskParams) (*taskRecord, error) { return t.detailLocked(), nil }

// cancel handles tasks/cancel. It asks the tool to stop; tasks/get returns how the task ended. A
// task that has ended does not change.
func (m *taskManager) cancel(t *task, _ *taskParams) (*taskRecord, error) {
	if t.status == taskWorking || t.status == taskInputRequired {
		t.stopped = true
		t.stop()
	}
	return &taskRecord{ResultType: completeResult}, nil
}

// update handles tasks/update: answers to some or all pending requests. Unknown keys are ignored.
func (m *taskManager) update(t *task, p *taskParams) (*taskRecord, error) {
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
