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
	"mcpc/internal/wire"
)

// A server may make a task of its own question: it hears at once that the user
// is being asked, and fetches the answer later (2025-11-25 basic/utilities/tasks).

// maxErrands is how many such tasks a conversation keeps. Each that is open takes
// one of maxAnswering, and the questions about them must find room beside them.
const maxErrands = 16

// server tasks are the tasks that the client took upon itself, oldest first. They end
// with the conversation.
type errands struct {
	mu  sync.Mutex
	all []*errand
}

// An errand is a question that became a task. Its last three members belong to
// the mutex of the server tasks.
type errand struct {
	id      string
	ttl     json.RawMessage
	created time.Time
	// withdraw ends the asking; over is closed when the task has ended.
	withdraw func()
	over     chan struct{}

	status  TaskStatus
	updated time.Time
	answer  said
}

// open notes a task. Where there are too many, the oldest that has ended is
// forgotten; nil where none has.
func (es *errands) open(params json.RawMessage, now time.Time, withdraw func()) *errand {
	es.mu.Lock()
	defer es.mu.Unlock()
	if len(es.all) == maxErrands {
		at := slices.IndexFunc(es.all, func(e *errand) bool { return e.status.Ended() })
		if at < 0 {
			return nil
		}
		es.all = slices.Delete(es.all, at, at+1)
	}
	e := &errand{id: rand.Text(), ttl: wishedTTL(params), created: now, withdraw: withdraw, over: make(chan struct{}),
		status: TaskWorking, updated: now}
	es.all = append(es.all, e)
	return e
}

// wishedTTL is for how long the server wants the task to be kept, which it is;
// null, where it does not say so in whole milliseconds, is until the end.
func wishedTTL(params json.RawMessage) json.RawMessage {
	raw := jsonraw.First(jsonraw.First(params, "task"), "ttl")
	if ms, err := strconv.ParseInt(string(raw), 10, 64); err != nil || ms < 0 {
		return json.RawMessage("null")
	}
	return raw
}

func (es *errands) find(id string) *errand {
	es.mu.Lock()
	defer es.mu.Unlock()
	if at := slices.IndexFunc(es.all, func(e *errand) bool { return e.id == id }); at >= 0 {
		return es.all[at]
	}
	return nil
}

// end is the end of a task; false where it had ended before, and stays so.
func (es *errands) end(e *errand, status TaskStatus, answer said, now time.Time) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e.status.Ended() {
		return false
	}
	e.status, e.answer, e.updated = status, answer, now
	close(e.over)
	return true
}

// shown is the Task object that is sent to the server.
func (es *errands) shown(e *errand) json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	return e.shown()
}

func (e *errand) shown() json.RawMessage {
	task := jsonraw.With(nil, "taskId", jsonraw.Quote(e.id))
	task = jsonraw.With(task, "status", jsonraw.Quote(string(e.status)))
	if e.answer.text != "" {
		task = jsonraw.With(task, "statusMessage", jsonraw.Quote(e.answer.text))
	}
	task = jsonraw.With(task, "createdAt", jsonraw.Quote(e.created.UTC().Format(time.RFC3339Nano)))
	task = jsonraw.With(task, "lastUpdatedAt", jsonraw.Quote(e.updated.UTC().Format(time.RFC3339Nano)))
	task = jsonraw.With(task, "ttl", e.ttl)
	return jsonraw.With(task, "pollInterval", strconv.AppendInt(nil, usualPoll.Milliseconds(), 10))
}

func (es *errands) list() json.RawMessage {
	es.mu.Lock()
	defer es.mu.Unlock()
	tasks := make([]json.RawMessage, len(es.all))
	for i, e := range es.all {
		tasks[i] = e.shown()
	}
	return jsonraw.With(nil, "tasks", jsonraw.List(tasks))
}

// errand makes a task of the server's question, tells the server so, and asks. It
// gives what is left to say: a refusal, or nothing.
func (r responder) errand(ctx context.Context, m *wire.Message, tell func([]byte)) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	e := r.errands.open(m.Params, r.s.opt.Now(), withdraw)
	if e == nil {
		return wire.ComposeError(m.ID, -32603, "Internal error: too many tasks at a time")
	}
	defer r.questions.open(e.id, withdraw)()
	tell(wire.ComposeResult(m.ID, relate(jsonraw.With(nil, "task", r.errands.shown(e)), m)))
	answer, taken := r.puts(ctx, m)
	status := TaskCompleted
	switch {
	case taken:
		status, answer = TaskCancelled, goneBack
	case answer.result == nil:
		status = TaskFailed
	}
	r.errands.end(e, status, answer, r.s.opt.Now())
	return nil
}

// goneBack is what there is instead of the answer to a question that was taken
// back.
var goneBack = said{code: -32602, text: "Invalid params: the task was cancelled and has no result"}

// aboutErrand answers what a server asks about a task of its client's; nil where it
// does not want to know any more.
func (r responder) aboutErrand(ctx context.Context, m *wire.Message) []byte {
	if m.Method == "tasks/list" {
		if jsonraw.First(m.Params, "cursor") != nil {
			return wire.ComposeError(m.ID, -32602, "Invalid params: there is no such cursor, the list has one page")
		}
		return wire.ComposeResult(m.ID, r.errands.list())
	}
	id, _ := jsonraw.Text(jsonraw.First(m.Params, "taskId"))
	e := r.errands.find(id)
	switch {
	case e == nil:
		return wire.ComposeError(m.ID, -32602, "Invalid params: there is no such task")
	case m.Method == "tasks/result":
		return r.errandResult(ctx, m, e)
	case m.Method == "tasks/cancel" && !r.errands.end(e, TaskCancelled, goneBack, r.s.opt.Now()):
		return wire.ComposeError(m.ID, -32602, "Invalid params: the task has ended already")
	case m.Method == "tasks/cancel":
		r.found(wire.Info, "withdrawn", "the server cancelled its request")
		e.withdraw()
	}
	return wire.ComposeResult(m.ID, r.errands.shown(e))
}

// errandResult waits for the end of a task, and answers as the question would
// have been answered.
func (r responder) errandResult(ctx context.Context, m *wire.Message, e *errand) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	defer r.questions.open(string(m.ID), withdraw)()
	select {
	case <-e.over:
	case <-ctx.Done():
		return nil
	}
	answer := e.answer // which does not change once over is closed
	if answer.result != nil {
		task := jsonraw.With(nil, "taskId", jsonraw.Quote(e.id))
		answer.result = withMeta(answer.result, jsonraw.Member{Name: metaRelatedTask, Value: task})
	}
	return answer.to(m.ID)
}
