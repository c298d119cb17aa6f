package mock

import (
	"testing"
	"time"
)

const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

const aTask = `
	> {"id":1,"method":"tools/call","params":{"name":"job",` + tasksMeta + `}}
	< {"id":1,"result":{"resultType":"task","taskId":"task-one","status":"working","createdAt":"2026-11-01T00:00:00Z","ttlMs":null}}
	> {"id":2,"method":"tasks/get","params":{"taskId":"task-one",` + tasksMeta + `}}
	< {"id":2,"result":{"resultType":"complete","taskId":"task-one","status":"working"}}
	> {"id":3,"method":"tasks/get","params":{"taskId":"task-one",` + tasksMeta + `}}
	< {"id":3,"result":{"resultType":"complete","taskId":"task-one","status":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}}
	> {"id":4,"method":"tasks/update","params":{"taskId":"task-one","inputResponses":{"a":{"action":"decline"}},` + tasksMeta + `}}
	< {"id":4,"result":{"resultType":"complete"}}
	> {"id":5,"method":"tasks/get","params":{"taskId":"task-one",` + tasksMeta + `}}
	< {"id":5,"result":{"resultType":"complete","taskId":"task-one","status":"completed","result":{"content":[],"done":true}}}`

func TestTasks(t *testing.T) {
	p, said := player(t, recordingOf(talk(aTask)), nil)
	plays(t, p, aTask)
	// Another one has another id; it waits for the update, whose answer is another one than recorded.
	plays(t, p, `
	> {"id":1,"method":"tools/call","params":{"name":"job",`+tasksMeta+`}}
	< {"id":1,"result":{"resultType":"task","taskId":"task-one-2","status":"working","createdAt":"2026-11-01T00:00:00Z","ttlMs":null}}
	> {"id":2,"method":"tasks/get","params":{"taskId":"task-one-2",`+tasksMeta+`}}
	< {"id":2,"result":{"resultType":"complete","taskId":"task-one-2","status":"working"}}
	> {"id":3,"method":"tasks/get","params":{"taskId":"task-one-2",`+tasksMeta+`}}
	< {"id":3,"result":{"resultType":"complete","taskId":"task-one-2","status":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}}
	> {"id":4,"method":"tasks/get","params":{"taskId":"task-one-2",`+tasksMeta+`}}
	< {"id":4,"result":{"resultType":"complete","taskId":"task-one-2","status":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}}
	> {"id":5,"method":"tasks/update","params":{"taskId":"task-one-2","inputResponses":{"a":{"action":"cancel"}},`+tasksMeta+`}}
	< {"id":5,"result":{"resultType":"complete"}}
	> {"id":6,"method":"tasks/get","params":{"taskId":"task-one-2",`+tasksMeta+`}}
	< {"id":6,"result":{"resultType":"complete","taskId":"task-one-2","status":"completed","result":{"content":[],"done":true}}}`)
	if len(said.lines) != 2 || !said.has("no handshake was recorded") || !said.has("at /inputResponses/a/action: recorded \"decline\", live \"cancel\"") {
		t.Errorf("reported %q", said.lines)
	}
	plays(t, p, `
	> {"id":1,"method":"tasks/get","params":{"taskId":"other",`+tasksMeta+`}}
	< {"id":1,"error":{"code":-32602,"message":"the recording has no such request","data":{"nearest":[]}}}`)
}

// A client without tasks gets what the task came to.
func TestClientWithoutTasksGetsFinalResult(t *testing.T) {
	p, _ := player(t, recordingOf(talk(aTask)), nil)
	plays(t, p, `
	> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
	< {"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mcpc mock","version":"0"}}}
	> {"id":2,"method":"tools/call","params":{"name":"job"}}
	< {"id":2,"result":{"content":[],"done":true}}`)
	plays(t, p, `
	> {"id":2,"method":"tools/call","params":{"name":"job",`+meta+`}}
	< {"id":2,"result":{"content":[],"done":true}}`)
}

// With the recorded pace a poll gets what its time had.
func TestTasksAtTheRecordedPace(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	p, _ := player(t, recordingOf(talk(aTask)), func(o *PlayerOptions) {
		o.Pace, o.Now = Pace{Factor: 2}, func() time.Time { return now }
	})
	one := p.tasks.start("task-one", p.library.exchange(0).Time)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {79 * time.Millisecond, 1}, {80 * time.Millisecond, 2}, {time.Hour, 2}} {
		now = one.started.Add(c.after)
		if got := p.tasks.nextExchange(one, "tasks/get"); got != c.want {
			t.Errorf("after %v: got %d, want %d", c.after, got, c.want)
		}
		now = one.started
	}
}
