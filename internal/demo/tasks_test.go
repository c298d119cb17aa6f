package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const withTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// declaring is meta with capabilities of the client.
func declaring(capabilities string) string {
	return strings.Replace(meta, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
}

// plain is a result without what each result has since 2026-07-28.
func plain(result json.RawMessage) string {
	const server = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpc-demo","title":"mcpc demo server","version":"1.0.0"}},`
	return strings.NewReplacer(server, "", `,"resultType":"complete"`, "").Replace(string(result))
}

// A taskView is a task, or the acknowledgement of something about it.
type taskView struct {
	ResultType, TaskID, Status string
	CreatedAt, LastUpdatedAt   time.Time
	TTLMs, PollIntervalMs      int
	InputRequests              map[string]any
	Result, Error              json.RawMessage
}

func viewOf(t *testing.T, m message) (v taskView) {
	t.Helper()
	if err := json.Unmarshal(m.Result, &v); err != nil {
		t.Fatalf("%s %s: %v", m.Result, m.Error, err)
	}
	return v
}

func wantView(t *testing.T, what string, got, want taskView) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// tasking runs a test with a client of tasks: start calls a tool, and do requests
// something about a task.
func tasking(t *testing.T, test func(p *peer, start func(tool, arguments string) taskView, do func(method, id string, more ...string) message)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := serveWith(t, Options{Tasks: true, Now: time.Now})
		capable := declaring(withTasks)
		test(p, func(tool, arguments string) taskView {
			return viewOf(t, p.do(toolsCall(1, tool, arguments, capable)))
		}, func(method, id string, more ...string) message {
			return p.do(request(2, method, strings.Join(append([]string{fmt.Sprintf(`"taskId":%q`, id), capable}, more...), ",")))
		})
		p.finish()
	})
}

func TestTaskEndings(t *testing.T) {
	tasking(t, func(p *peer, start func(tool, arguments string) taskView, do func(method, id string, more ...string) message) {
		for _, c := range []struct{ tool, arguments, status, result, err string }{
			{"slow_compute", `{"seconds":2,"label":"x"}`, "completed", said(`Computed "x" in 2 seconds.`), ""},
			{"failing_job", `{}`, "completed", failed("This job always fails."), ""},
			{"protocol_error_job", `{}`, "failed", "", `{"code":-32603,"message":"this job always ends in an error"}`},
		} {
			created := start(c.tool, c.arguments)
			want(p.t, c.tool+" type", created.ResultType, "task")
			want(p.t, c.tool+" first", created.Status, "working")
			want(p.t, c.tool+" times", fmt.Sprint(created.TTLMs, created.PollIntervalMs, created.CreatedAt.Equal(time.Now())), "600000 200 true")
			want(p.t, c.tool+" at once", viewOf(p.t, do("tasks/get", created.TaskID)).Status, "working")
			time.Sleep(3 * time.Second)
			ended := viewOf(p.t, do("tasks/get", created.TaskID))
			want(p.t, c.tool+" ends", ended.ResultType+" "+ended.Status, "complete "+c.status)
			want(p.t, c.tool+" result", plain(ended.Result), c.result)
			want(p.t, c.tool+" error", string(ended.Error), c.err)
			want(p.t, c.tool+" updated", ended.LastUpdatedAt.After(ended.CreatedAt), true)
			wantView(p.t, c.tool+" cancelled too late", viewOf(p.t, do("tasks/cancel", created.TaskID)), taskView{ResultType: "complete"})
			want(p.t, c.tool+" stays", viewOf(p.t, do("tasks/get", created.TaskID)).Status, c.status)
		}
		want(p.t, "quick", start("slow_compute", `{"seconds":0}`).ResultType, "complete")
		want(p.t, "no task", start("greet", `{"name":"x"}`).ResultType, "complete")
	})
}

func TestTaskIsCancelled(t *testing.T) {
	tasking(t, func(p *peer, start func(tool, arguments string) taskView, do func(method, id string, more ...string) message) {
		for tool, arguments := range map[string]string{"slow_compute": `{"seconds":60}`, "confirm_delete": `{}`} {
			id := start(tool, arguments).TaskID
			synctest.Wait()
			wantView(p.t, "acknowledged", viewOf(p.t, do("tasks/cancel", id)), taskView{ResultType: "complete"})
			synctest.Wait()
			got := viewOf(p.t, do("tasks/get", id))
			want(p.t, tool, fmt.Sprint(got.Status, got.InputRequests, string(got.Result), string(got.Error)), "cancelledmap[]")
		}
	})
}

func TestTaskAsks(t *testing.T) {
	tasking(t, func(p *peer, start func(tool, arguments string) taskView, do func(method, id string, more ...string) message) {
		id := start("multi_input", `{}`).TaskID
		synctest.Wait()
		asked := func() string {
			v := viewOf(p.t, do("tasks/get", id))
			keys := ""
			for _, key := range []string{"first", "second"} {
				if v.InputRequests[key] != nil {
					keys += " " + key
				}
			}
			return v.Status + keys
		}
		answer := func(key, value string) message {
			return do("tasks/update", id, fmt.Sprintf(`"inputResponses":{%q:%s}`, key, value))
		}
		want(p.t, "both", asked(), "input_required first second")
		for _, wrong := range []string{`{"roots":[]}`, `{"ignored":true}`, `7`} {
			want(p.t, wrong, strings.HasPrefix(string(answer("first", wrong).Error), `{"code":-32602,`), true)
		}
		wantView(p.t, "unknown key", viewOf(p.t, answer("third", `{"ignored":true}`)), taskView{ResultType: "complete"})
		want(p.t, "still both", asked(), "input_required first second")
		wantView(p.t, "one", viewOf(p.t, answer("first", `{"action":"accept","content":{"name":"Ada"}}`)), taskView{ResultType: "complete"})
		want(p.t, "the other", asked(), "input_required second")
		wantView(p.t, "answered before", viewOf(p.t, answer("first", `{"action":"accept","content":{"name":"Bob"}}`)), taskView{ResultType: "complete"})
		answer("second", `{"action":"accept","content":{"name":"Grace"}}`)
		synctest.Wait()
		want(p.t, "result", plain(viewOf(p.t, do("tasks/get", id)).Result), said(`Collected "Ada" and "Grace".`))
	})
}

func TestTasksNeedDeclaredExtension(t *testing.T) {
	const undeclared = `{"code":-32021,"message":"This needs a client that declares the extension io.modelcontextprotocol/tasks.",` +
		`"data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`
	synctest.Test(t, func(t *testing.T) {
		p := serveWith(t, Options{Tasks: true, Now: time.Now})
		discovered := string(p.do(request(1, "server/discover", meta)).Result)
		want(t, "declared", strings.Contains(discovered, `"io.modelcontextprotocol/tasks":{}`), true)
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			want(t, method, string(p.do(request(1, method, `"taskId":"x",`+meta)).Error), undeclared)
			want(t, method+" unknown", string(p.do(request(1, method, `"taskId":"x",`+declaring(withTasks))).Error), `{"code":-32602,"message":"unknown task \"x\""}`)
		}
		for _, method := range []string{"tasks/list", "tasks/result"} {
			want(t, method, strings.HasPrefix(string(p.do(request(1, method, `"taskId":"x",`+declaring(withTasks))).Error), `{"code":-32601,`), true)
		}
		want(t, "required", string(p.do(toolsCall(1, "failing_job", `{}`, meta)).Error), undeclared)
		want(t, "within the call", plain(p.do(toolsCall(1, "slow_compute", `{"seconds":1}`, meta)).Result), said(`Computed "" in 1 seconds.`))
		p.finish()
	})
	synctest.Test(t, func(t *testing.T) {
		p := serveWith(t, Options{Tasks: true, Now: time.Now})
		p.do(initialize("2025-11-25", withTasks))
		p.send(initialized)
		want(t, "before the extension", strings.HasPrefix(string(p.do(request(1, "tasks/get", `"taskId":"x"`)).Error), `{"code":-32601,`), true)
		want(t, "without params", strings.HasPrefix(string(p.do(`{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`).Error), `{"code":-32601,`), true)
		want(t, "within the call", string(p.do(toolsCall(1, "slow_compute", `{"seconds":1}`)).Result), said(`Computed "" in 1 seconds.`))
		p.finish()
	})
}

// A task is kept for its time to live, and there is an end to how many are kept.
func TestTasksAreBounded(t *testing.T) {
	tasking(t, func(p *peer, start func(tool, arguments string) taskView, do func(method, id string, more ...string) message) {
		id := start("slow_compute", `{"seconds":1}`).TaskID
		time.Sleep(10 * time.Minute)
		want(p.t, "kept", viewOf(p.t, do("tasks/get", id)).Status, "completed")
		time.Sleep(time.Second)
		want(p.t, "gone", strings.HasPrefix(string(do("tasks/get", id).Error), `{"code":-32602,`), true)
		for range 1000 {
			want(p.t, "task", start("confirm_delete", `{}`).ResultType, "task")
		}
		full := p.do(toolsCall(1, "confirm_delete", `{}`, declaring(withTasks)))
		want(p.t, "full", string(full.Error), `{"code":-32603,"message":"this server keeps 1000 tasks, and has as many"}`)
		want(p.t, "without a task", start("slow_compute", `{"seconds":1}`).ResultType, "complete")
		time.Sleep(11 * time.Minute)
		want(p.t, "again", start("confirm_delete", `{}`).ResultType, "task")
	})
}

// Over HTTP the header Mcp-Name of a task method is the id of the task.
func TestTaskNamesOverHTTP(t *testing.T) {
	s := mount(t, Handler(Options{Tasks: true, Now: time.Now})).with("Mcp-Protocol-Version", "2026-07-28")
	for _, c := range []struct {
		method, header, name string
		status               int
		code                 string
	}{
		{"tasks/get", "tasks/get", "x", http.StatusBadRequest, `-32602`}, // there is no such task
		{"tasks/get", "tasks/get", "=?base64?eA==?=", http.StatusBadRequest, `-32602`},
		{"tasks/get", "tasks/get", "=?base64?eA?=", http.StatusBadRequest, `-32020`},
		{"tasks/get", "tasks/get", "y", http.StatusBadRequest, `-32020`},
		{"tasks/update", "tasks/update", "y", http.StatusBadRequest, `-32020`},
		{"tasks/cancel", "tasks/cancel", "", http.StatusBadRequest, `-32020`},
		{"tasks/get", "tools/call", "x", http.StatusBadRequest, `-32020`},
		{"tasks/get", "", "x", http.StatusBadRequest, `-32020`},
		{"tasks/result", "tasks/result", "", http.StatusNotFound, `-32601`},
	} {
		more := s.with("Mcp-Method", c.header, "Mcp-Name", c.name)
		resp, body := more.post(request(7, c.method, `"taskId":"x",`+declaring(withTasks)))
		want(t, c.method+" "+c.name+" status", resp.StatusCode, c.status)
		if !strings.Contains(body, `"code":`+c.code) || !strings.Contains(body, `"id":7`) {
			t.Errorf("%s %q: %s", c.method, c.name, body)
		}
	}
}
