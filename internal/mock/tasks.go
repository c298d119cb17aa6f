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

// tasks are those of the recording, and those of the present run that play them.
type tasks struct {
	library *library
	pace    Pace
	now     func() time.Time
	// recorded are the exchanges about each task of the recording, in their order.
	recorded map[string][]int

	mu   sync.Mutex
	live map[string]*task
	// begun counts how often each recorded task was begun.
	begun map[string]int
}

// A task is one of the present run.
type task struct {
	was     string // its id in the recording
	binder  *match.Binder
	started time.Time
	// recordedAt is when the recorded one was made, or first asked about.
	recordedAt time.Time
	next       map[string]int // by method: how many exchanges of it were played
	updates    int            // how often the client changed it
}

const mostTasks = 10_000

// taskOf is the id of the task that a request is about, "" for other requests.
func taskOf(m *wire.Message) string {
	if !mcp.IsTaskMethod(m.Method) {
		return ""
	}
	id, _ := jsonraw.Text(jsonraw.First(m.Params, "taskId"))
	return id
}

// withoutTask gives params without the member with which a client of 2025-11-25 asks for a task, and
// whether it was there.
func withoutTask(method string, params json.RawMessage) (json.RawMessage, bool) {
	if method != "tools/call" || jsonraw.First(params, "task") == nil {
		return params, false
	}
	return jsonraw.Without(params, "task"), true
}

// madeIn is the id of the task that a result made, "" where it made none.
func madeIn(result json.RawMessage) string {
	from := jsonraw.First(result, "task")
	if jsonraw.TextOrRaw(jsonraw.First(result, "resultType")) == "task" {
		from = result
	}
	id, _ := jsonraw.Text(jsonraw.First(from, "taskId"))
	return id
}

// begin makes a task of the present run, of one that was made at a time: its id is the recorded one the first time.
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

func (t *tasks) make(id, was string, at time.Time) *task {
	one := &task{was: was, binder: match.NewBinder(), started: t.now(), recordedAt: at, next: map[string]int{}}
	if id != was {
		one.binder.Bind("taskId", jsonraw.Quote(was), jsonraw.Quote(id))
	}
	if len(t.live) < mostTasks {
		t.live[id] = one
	}
	return one
}

// task is that with an id: one that was begun, or one of the recording that was begun before the mock
// was started again.
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

// exchangeFor gives the exchange that a request about a task gets; -1 where there is none.
func (t *tasks) exchangeFor(one *task, method string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes := 0
	var all []int
	for _, n := range t.recorded[one.was] {
		switch x := t.library.exchange(n); {
		case x.Method == method && (changes <= one.updates || len(all) == 0):
			all = append(all, n)
			if method == "tasks/update" || method == "tasks/cancel" {
				changes++
			}
		case x.Method == "tasks/update" || x.Method == "tasks/cancel":
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
	if method == "tasks/update" || method == "tasks/cancel" {
		one.updates++
	}
	return all[k]
}

// reached is the last of some polls whose recorded time has come.
func (t *tasks) reached(one *task, polls []int) (k int) {
	for i, n := range polls {
		at := time.Duration(float64(t.library.exchange(n).Time.Sub(one.recordedAt)) * t.pace.Factor)
		if t.now().Sub(one.started) >= at {
			k = i
		}
	}
	return k
}

// endOf is the response that a task of the recording led to, for a client without tasks: what
// tasks/get or tasks/result ended with. It is nil where that was not recorded.
func (t *tasks) endOf(was string) (m *wire.Message, n int) {
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
