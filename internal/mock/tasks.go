package mock

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// tasks are the tasks of the recording and the live tasks that play them.
type tasks struct {
	library *library
	pace    Pace
	now     func() time.Time
	// recorded maps each recorded task to the indexes of the exchanges about it, in order.
	recorded map[string][]int

	mu sync.Mutex
	// live maps the ids of the present run to their tasks.
	live map[string]*task
	// begun counts how often each recorded task was begun in the present run.
	begun map[string]int
}

// A task is one live task.
type task struct {
	// was is the task's id in the recording.
	was     string
	binder  *match.Binder
	started time.Time
	// recordedAt is when the recorded task was made, or else first polled.
	recordedAt time.Time
	// next counts the played exchanges by method.
	next map[string]int
	// updates counts the client's updates and cancellations.
	updates int
}

// maxTasks is the number of live tasks that are remembered.
const maxTasks = 10_000

// taskOf returns the id of the task that a request is about, "" for other requests.
func taskOf(m *wire.Message) string {
	if !mcp.IsTaskMethod(m.Method) {
		return ""
	}
	id, _ := jsonraw.Text(jsonraw.First(m.Params, "taskId"))
	return id
}

// withoutTask removes the member with which a client of 2025-11-25 asks for a task. It reports
// whether the member was present.
func withoutTask(method string, params json.RawMessage) (json.RawMessage, bool) {
	if method != "tools/call" || jsonraw.First(params, "task") == nil {
		return params, false
	}
	return jsonraw.Without(params, "task"), true
}

// madeIn returns the id of the task that a result made, "" if it made no task.
func madeIn(result json.RawMessage) string {
	from := jsonraw.First(result, "task")
	if jsonraw.TextOrRaw(jsonraw.First(result, "resultType")) == "task" {
		from = result
	}
	id, _ := jsonraw.Text(jsonraw.First(from, "taskId"))
	return id
}

// begin starts a live task for a recorded one. at is when the recorded task was made. The live id
// is the recorded id, with a number appended from the second time on.
func (t *tasks) begin(was string, at time.Time) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun[was]++
	id := was
	if n := t.begun[was]; n > 1 {
		id = fmt.Sprintf("%s-%d", was, n)
	}
	return t.make(id, was, at)
}

// make adds a live task. The caller holds mu.
func (t *tasks) make(id, was string, at time.Time) *task {
	one := &task{was: was, binder: match.NewBinder(), started: t.now(), recordedAt: at, next: map[string]int{}}
	if id != was {
		one.binder.Bind("taskId", jsonraw.Quote(was), jsonraw.Quote(id))
	}
	if len(t.live) < maxTasks {
		t.live[id] = one
	}
	return one
}

// task returns the live task with the id, or nil. An id of the recording counts as begun, because
// the mock may have been restarted since.
func (t *tasks) task(id string) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.live[id]; one != nil {
		return one
	}
	if len(t.recorded[id]) == 0 {
		return nil
	}
	return t.make(id, id, t.library.exchange(t.recorded[id][0]).Time)
}

// exchangeFor returns the index of the exchange that answers the next request about a task, or -1.
// It stops before exchanges that followed updates which the live client has not made yet.
func (t *tasks) exchangeFor(one *task, method string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := 0
	var all []int
	for _, n := range t.recorded[one.was] {
		recorded := t.library.exchange(n).Method
		if recorded == method && (changes <= one.updates || len(all) == 0) {
			all = append(all, n)
		}
		if changesTask(recorded) {
			changes++
		}
	}
	if len(all) == 0 {
		return -1
	}
	k := min(one.next[method], len(all)-1)
	if t.pace.Factor > 0 && method == "tasks/get" {
		k = t.reached(one, all)
	}
	one.next[method]++
	if changesTask(method) {
		one.updates++
	}
	return all[k]
}

// changesTask reports whether requests of the method change a task.
func changesTask(method string) bool { return method == "tasks/update" || method == "tasks/cancel" }

// reached returns the position in polls of the last poll whose recorded time has passed.
func (t *tasks) reached(one *task, polls []int) int {
	k := 0
	for i, n := range polls {
		at := time.Duration(float64(t.library.exchange(n).Time.Sub(one.recordedAt)) * t.pace.Factor)
		if t.now().Sub(one.started) >= at {
			k = i
		}
	}
	return k
}

// endOf returns the final response of a recorded task, for a client without tasks, and the index of
// its exchange. The response is nil if it was not recorded.
func (t *tasks) endOf(was string) (*wire.Message, int) {
	for _, n := range t.recorded[was] {
		x := t.library.exchange(n)
		if !x.Answered || x.Method != "tasks/get" && x.Method != "tasks/result" {
			continue
		}
		e, err := x.Load()
		if err != nil || e == nil {
			continue
		}
		got := wire.ParseMessage(e.Response.Raw)
		if x.Method == "tasks/result" {
			return got, n
		}
		if result := jsonraw.First(got.Result, "result"); result != nil {
			return wire.ParseMessage(wire.ComposeResult(json.RawMessage("0"), result)), n
		}
		if failed := jsonraw.First(got.Result, "error"); failed != nil {
			return wire.ParseMessage(mcpserver.ComposeError(json.RawMessage("0"), failed)), n
		}
	}
	return nil, -1
}
