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
	// startCounts counts how often each recorded task was begun in the present run.
	startCounts map[string]int
}

// A task is one live task.
type task struct {
	// recordedID is the task's id in the recording.
	recordedID string
	binder     *match.Binder
	started    time.Time
	// recordedAt is when the recorded task was made, or else first polled.
	recordedAt time.Time
	// played counts the played exchanges by method.
	played map[string]int
	// updates counts the client's updates and cancellations.
	updates int
}

// maxTasks is the number of live tasks that are remembered.
const maxTasks = 10_000

// requestedTask returns the id of the task that a request is about, or "" if it is about something
// else.
func requestedTask(m *wire.Message) string {
	if !mcp.IsTaskMethod(m.Method) {
		return ""
	}
	id, _ := jsonraw.Text(jsonraw.First(m.Params, "taskId"))
	return id
}

// withoutTask removes the member that a client of 2025-11-25 requests a task with. It reports
// whether the member was present.
func withoutTask(method string, params json.RawMessage) (json.RawMessage, bool) {
	if method != "tools/call" || jsonraw.First(params, "task") == nil {
		return params, false
	}
	return jsonraw.Without(params, "task"), true
}

// createdTask returns the id of the task that a result made, "" if it made no task.
func createdTask(result json.RawMessage) string {
	from := jsonraw.First(result, "task")
	if jsonraw.TextOrRaw(jsonraw.First(result, "resultType")) == "task" {
		from = result
	}
	id, _ := jsonraw.Text(jsonraw.First(from, "taskId"))
	return id
}

// start starts a live task for a recorded one. recordedAt is when the recorded task was made. The live
// id is the recorded id, with a number appended from the second time on.
func (t *tasks) start(recordedID string, recordedAt time.Time) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startCounts[recordedID]++
	id := recordedID
	if n := t.startCounts[recordedID]; n > 1 {
		id = fmt.Sprintf("%s-%d", recordedID, n)
	}
	return t.add(id, recordedID, recordedAt)
}

// add adds a live task, and returns it even if it cannot be remembered because there are maxTasks. The
// caller holds mu.
func (t *tasks) add(id, recordedID string, recordedAt time.Time) *task {
	added := &task{
		recordedID: recordedID,
		binder:     match.NewBinder(),
		started:    t.now(),
		recordedAt: recordedAt,
		played:     map[string]int{},
	}
	if id != recordedID {
		added.binder.Bind("taskId", jsonraw.Quote(recordedID), jsonraw.Quote(id))
	}
	if len(t.live) < maxTasks {
		t.live[id] = added
	}
	return added
}

// find returns the live task with the id, or nil. It begins the task for an id of the recording, because
// the mock may have been restarted since the client got the id.
func (t *tasks) find(id string) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.live[id]; one != nil {
		return one
	}
	if len(t.recorded[id]) == 0 {
		return nil
	}
	return t.add(id, id, t.library.exchange(t.recorded[id][0]).Time)
}

// nextExchange returns the index of the exchange that answers the next request about a task, or -1.
// It stops before exchanges that followed updates which the live client has not made yet.
func (t *tasks) nextExchange(live *task, method string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	updates := 0 // recorded before exchange n
	var candidates []int
	for _, n := range t.recorded[live.recordedID] {
		recordedMethod := t.library.exchange(n).Method
		isReached := updates <= live.updates
		if recordedMethod == method && (isReached || len(candidates) == 0) { // at least the first
			candidates = append(candidates, n)
		}
		if changesTask(recordedMethod) {
			updates++
		}
	}
	if len(candidates) == 0 {
		return -1
	}
	position := min(live.played[method], len(candidates)-1) // the last one again, once all were played
	if t.pace.Factor > 0 && method == "tasks/get" {         // a poll gets the status of its time
		position = t.lastPollReached(live, candidates)
	}
	live.played[method]++
	if changesTask(method) {
		live.updates++
	}
	return candidates[position]
}

// changesTask reports whether requests of the method change a task.
func changesTask(method string) bool { return method == "tasks/update" || method == "tasks/cancel" }

// lastPollReached returns the position in polls of the last poll whose recorded time has passed, at the
// pace, or 0.
func (t *tasks) lastPollReached(live *task, polls []int) int {
	last := 0
	for i, n := range polls {
		recordedOffset := t.library.exchange(n).Time.Sub(live.recordedAt)
		offset := time.Duration(float64(recordedOffset) * t.pace.Factor)
		if t.now().Sub(live.started) >= offset {
			last = i
		}
	}
	return last
}

// finalResponse returns the final response of a recorded task, for a client without tasks, and the index of
// its exchange. The response is nil if it was not recorded.
func (t *tasks) finalResponse(recordedID string) (*wire.Message, int) {
	for _, n := range t.recorded[recordedID] {
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
		// tasks/get of the stateless era contains the result or the error. The caller replaces the id.
		if result := jsonraw.First(got.Result, "result"); result != nil {
			return wire.ParseMessage(wire.ComposeResult(json.RawMessage("0"), result)), n
		}
		if failed := jsonraw.First(got.Result, "error"); failed != nil {
			return wire.ParseMessage(mcpserver.ComposeError(json.RawMessage("0"), failed)), n
		}
	}
	return nil, -1
}
