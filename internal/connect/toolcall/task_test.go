package toolcall_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

const (
	earlierTasks = `speaks 2025-11-25
capabilities {"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}
tool {"name":"must","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}
tool {"name":"may","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}
tool plain
`
	times       = `"createdAt":"2026-07-28T10:30:00Z","lastUpdatedAt":"2026-07-28T10:30:00Z"`
	earlierTask = "on tools/call\n    result " +
		`{"task":{"taskId":"t-1","status":"working",` + times + `,"ttl":60000,"pollInterval":1}}` + "\n"
	laterTasks = `speaks 2026-07-28
capabilities {"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}
tool may
`
	laterTask = "on tools/call\n    result " +
		`{"resultType":"task","taskId":"t-1","status":"working",` + times + `,"ttlMs":60000,"pollIntervalMs":1}` + "\n"
)

func later(members string) string {
	return `    result {"resultType":"complete","taskId":"t-1","pollIntervalMs":1,` + members + "}\n"
}

// A call becomes a task if the user asks for one, if its tool runs in no other way, or if the server decides so.
func TestCallsThatBecomeTasks(t *testing.T) {
	t.Parallel()
	const unknown = "on tasks/get\n    error -32602 no such task\n"
	for _, c := range []struct {
		name, script, tool string
		task               time.Duration
		want               string
		asked              bool // for a task, in the request
		remembered         bool
	}{
		{"required", earlierTasks + earlierTask + "on tasks/get\n    result " +
			`{"taskId":"t-1","status":"cancelled","statusMessage":"by its owner","ttl":1,` + times + "}" +
			"\n", "must", 0, "tool_error | the task was cancelled: by its owner", true, true},
		{"optional and not asked for", earlierTasks, "may", 0, "", false, false},
		{"optional", earlierTasks + earlierTask, "may", -1, "", true, true},
		{
			"forbidden", earlierTasks, "plain", -1,
			"invalid_arguments | the tool does not run as a task: its taskSupport is absent, which " +
				"means forbidden | (without --task the call waits for the result)", false, false,
		},
		{
			"in no session", earlierTasks + "session s-1\n", "may", -1,
			"invalid_arguments | the task would belong to a session that ends with this command | (", false, false,
		},
		{"at once", laterTasks, "may", time.Hour, "", false, false},
		{"by the server", laterTasks + laterTask + "on tasks/get\n" +
			later(`"status":"completed","result":{"content":[{"type":"text","text":"done"}]}`), "may", 0, "", false, false},
		{"by the server, and left", laterTasks + laterTask, "may", -1, "", false, true},
		{
			"unknown", laterTasks + laterTask + unknown, "may", 0,
			"rpc_error | no such task | (the server does not know this task", false, false,
		},
		{"failed", laterTasks + laterTask + "on tasks/get\n" +
			later(`"status":"failed","error":{"code":-32603,"message":"broken"}`), "may", 0, "rpc_error | broken", false, false},
	} {
		d := sit(t, c.script)
		out := d.call(c.tool, "{}", func(o *toolcall.Request) { o.Task = c.task })
		if got := ended(out); !strings.HasPrefix(got, c.want) || (c.want == "") != out.OK() {
			t.Errorf("%s: %s", c.name, got)
		}
		sent := strings.Join(d.server.Params("tools/call"), "\n")
		if strings.Contains(sent, `"task":{`) != c.asked {
			t.Errorf("%s: sent %s", c.name, sent)
		}
		if kept := d.tasks(); (len(kept) == 1) != c.remembered {
			t.Errorf("%s: remembered %+v", c.name, kept)
		}
		shown := strings.Join(d.user.Shown(), "\n")
		for name, want := range map[string]string{
			"at once": "note: in this revision the server sets the task's lifetime\n" +
				"note: the server returned the result at once, without a task",
			"by the server": "waiting: task: working; Ctrl-C leaves it running",
		} {
			if c.name == name && !strings.HasPrefix(shown, want) {
				t.Errorf("%s: shown %q", c.name, shown)
			}
		}
	}
}

// tasks returns the remembered tasks.
func (d *desk) tasks() []state.Task {
	d.t.Helper()
	_, st, err := d.env.LoadState()
	if err != nil {
		d.t.Fatal(err)
	}
	return st.Tasks(d.env.Now())
}

// The lifetime that the user wants is sent if the revision's requests have it.
func TestTheLifetimeOfATask(t *testing.T) {
	t.Parallel()
	for task, want := range map[time.Duration]string{-1: `"task":{}`, time.Minute: `"task":{"ttl":60000}`} {
		d := sit(t, earlierTasks+earlierTask)
		d.call("may", "{}", func(o *toolcall.Request) { o.Task = task })
		if got := strings.Join(d.server.Params("tools/call"), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: sent %s", task, got)
		}
	}
}

// A command that stops waiting shows how to continue, and what happens to the task.
func TestAwaitTaskLeavesTheTask(t *testing.T) {
	t.Parallel()
	const question = `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"properties":{}}}}`
	for _, c := range []struct {
		name, status string
		once         bool
		want         string
	}{
		{"working", later(`"status":"working"`), true, "check_failed | "},
		{"asks", later(`"status":"input_required","inputRequests":{"q":` + question + "}"), false, "input_required | "},
	} {
		d := sit(t, laterTasks+"on tasks/get\n"+c.status)
		conn := d.dial()
		out := toolcall.AwaitTask(t.Context(), conn, client.Task{ID: "t-1"}, state.Task{ID: "t-1", Tool: "may"}, c.once)
		hint := out.Hint.String()
		if !strings.HasPrefix(ended(out), c.want) || !strings.Contains(hint, "mcpc tasks wait t-1") {
			t.Errorf("%s: %s", c.name, ended(out))
		}
	}
	d := sit(t, laterTasks+"on tasks/get\n"+later(`"status":"working"`))
	conn := d.dial()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	out := toolcall.AwaitTask(ctx, conn, client.Task{ID: "t-1", Status: "working", Message: "half"},
		state.Task{ID: "t-1"}, false)
	if out.Kind != wire.Signal || out.Hint.String() != "the task continues on the server: mcpc tasks wait t-1" {
		t.Errorf("interrupted: %s", ended(out))
	}
	if shown := d.user.Shown(); len(shown) != 1 || shown[0] != "waiting: task: half; Ctrl-C leaves it running" {
		t.Errorf("shown %q", shown)
	}
}

// A task is of the server at which it was begun: of the session, of the URL, or of the entry of a file.
func TestTaskBelongsToItsServer(t *testing.T) {
	t.Parallel()
	const url = "http://h.example/mcp"
	oneOff := &connect.Conn{OneOff: &state.Session{Endpoint: url}}
	session := &connect.Conn{Saved: &state.Session{Name: "box", Key: "k", Endpoint: url}}
	passing := &connect.Conn{Saved: &state.Session{Name: "box", Key: "k", Endpoint: url}}
	passing.Passing = true
	for name, c := range map[string]struct {
		conn *connect.Conn
		want state.Task
	}{
		"one-off": {oneOff, state.Task{Endpoint: url}}, "session": {session, state.Task{
			Session: "box", Key: "k",
			Endpoint: url,
		}},
		"passing": {passing, state.Task{Endpoint: url}},
	} {
		var got state.Task
		toolcall.PlaceTask(c.conn, &got)
		if got.Session != c.want.Session || got.Key != c.want.Key || got.Endpoint != c.want.Endpoint {
			t.Errorf("%s: %+v", name, got)
		}
		if !toolcall.IsOfServer(c.conn, got) || toolcall.IsOfServer(c.conn, state.Task{Endpoint: "http://other"}) {
			t.Errorf("%s: of another server", name)
		}
	}
}

// A task that has ended remains if the server lists tasks, and is otherwise forgotten.
func TestEndedTaskIsForgottenUnlessListed(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{earlierTasks: 1, laterTasks: 0} {
		d := sit(t, script)
		c := d.dial()
		kept := state.Task{ID: "t-1", Tool: "may", BegunAt: c.Env.Now(), TTLms: 3_600_000}
		toolcall.PlaceTask(c, &kept)
		toolcall.KeepTask(t.Context(), c, kept)
		if got := d.tasks(); len(got) != 1 || got[0].Ended {
			t.Fatalf("%+v", got)
		}
		toolcall.EndTask(t.Context(), c, kept)
		if got := d.tasks(); len(got) != want || want == 1 && !got[0].Ended {
			t.Errorf("%+v", got)
		}
		other := wire.Outcome{Kind: wire.Timeout}
		if out := toolcall.ExplainTaskError(t.Context(), c, other, kept); out.Hint != "" {
			t.Errorf("%s", ended(out))
		}
	}
}

const prompts = `speaks 2025-11-25
capabilities {"prompts":{},"tools":{}}
tool p2
on prompts/list
    result {"prompts":[{"name":"p","arguments":[{"name":"text","required":true},{"name":"tone"}]}]}
on prompts/get
    result {"messages":[]}
`

// The arguments of a prompt are checked by name.
func TestGetPrompt(t *testing.T) {
	t.Parallel()
	const invalid = "invalid_arguments | the arguments do not match the prompt | "
	for _, c := range []struct {
		name, prompt, arguments, script string
		noValidate                      bool
		want                            string
		sent                            int
		shown                           string
	}{
		{"good", "p", `{"text":"x"}`, "", false, "", 1, ""},
		{"missing", "p", `{"tone":"x"}`, "", false, invalid + "/text is required and missing", 0, ""},
		{"misspelled", "p", `{"txt":"x"}`, "", false, invalid +
			`/text is required and missing; "txt" is not an argument of this prompt`, 0, ""},
		{"no text", "p", `{"text":1}`, "", false, invalid + "/text must be a string", 0, ""},
		{
			"unlisted", "p", `{"text":"x","tune":"y"}`, "", false, "", 1,
			`warn: the prompt p has no argument "tune"; did you mean tone?`,
		},
		{"unchecked", "p", `{"tone":1}`, "", true, "", 1, ""},
		{"unknown", "q", `{}`, "", false, `invalid_arguments | the server has no prompt "q" | (there are: p)`, 0, ""},
		{
			"refused", "p", `{"text":"x"}`, "on prompts/get #1\n    error -32602 bad\n", false,
			"rpc_error | bad | (mcpc describe prompt p shows its arguments)", 1, "",
		},
		{
			"refused unchecked", "p", `{"text":"x"}`, "on prompts/get #1\n    error -32602 bad\n", true, "rpc_error | bad", 1,
			"",
		},
		{
			"no prompts", "p", `{}`, "on prompts/list #1\n    error -32601 no\n", false,
			"rpc_error | no | (mcpc describe shows the server's capabilities)", 0, "",
		},
	} {
		d := sit(t, prompts+c.script)
		conn := d.dial()
		out := toolcall.GetPrompt(t.Context(), conn, toolcall.PromptOptions{
			Name:      c.prompt,
			Arguments: json.RawMessage(c.arguments), NoValidate: c.noValidate,
		})
		sent := len(d.server.Requests("prompts/get"))
		shown := strings.Join(d.user.Shown(), "\n")
		if ended(out) != c.want || sent != c.sent || shown != c.shown {
			t.Errorf("%s: %d sent, shown %q, %s", c.name, sent, shown, ended(out))
		}
	}
}

// A remembered prompt that the server no longer has is forgotten, and the hint is of the new list.
func TestARememberedPrompt(t *testing.T) {
	t.Parallel()
	d := sit(t, prompts+"on prompts/get #2\n    error -32602 gone\n"+
		"on prompts/list #2\n    result {\"prompts\":[{\"name\":\"pp\"}]}\n")
	want := []string{"", "rpc_error | gone | (there are: pp)"}
	for i, text := range want {
		o := toolcall.PromptOptions{Name: "p", Arguments: json.RawMessage(`{"text":"x"}`)}
		if out := toolcall.GetPrompt(t.Context(), d.dial(), o); ended(out) != text {
			t.Errorf("%d: %s", i+1, ended(out))
		}
		if got := len(d.server.Requests("prompts/list")); got != i+1 {
			t.Errorf("%d: %d lists", i+1, got)
		}
	}
}

// A remembered prompt that the server denies is not believed again, even if its list cannot be fetched.
func TestADeniedPromptIsForgotten(t *testing.T) {
	t.Parallel()
	d := sit(t, prompts+"on prompts/get #2\n    error -32602 gone\n"+
		"on prompts/list #2\n    error -32000 busy\n")
	for i, lists := range []int{1, 2, 3} {
		o := toolcall.PromptOptions{Name: "p", Arguments: json.RawMessage(`{"text":"x"}`)}
		toolcall.GetPrompt(t.Context(), d.dial(), o)
		if got := len(d.server.Requests("prompts/list")); got != lists {
			t.Errorf("%d: %d lists", i+1, got)
		}
	}
}

// An unknown resource is reported with the URI that was perhaps meant.
func TestReadResource(t *testing.T) {
	t.Parallel()
	const start = `speaks 2025-11-25
capabilities {"resources":{}}
on resources/list
    result {"resources":[{"uri":"test://one","name":"o"}]}
`
	for _, c := range []struct{ name, uri, answer, want string }{
		{"good", "test://one", `result {"contents":[]}`, ""},
		{
			"a template", "test://{a}/{b}", "error -32002 none",
			"rpc_error | none | (a template needs values: mcpc read 'test://{a}/{b}' a=VALUE b=VALUE)",
		},
		{"misspelled", "test://onne", "error -32002 none", "rpc_error | none | (did you mean test://one?)"},
		{"one of the list", "test://one", "error -32002 none", "rpc_error | none"},
		{"another code", "test://onne", "error -32000 none", "rpc_error | none"},
		{"far off", "x://y", "error -32602 none", "rpc_error | none"},
		{"no resources", "test://one", "error -32601 none", "rpc_error | none | (mcpc describe shows the server's capabilities)"},
	} {
		d := sit(t, start+"on resources/read\n    "+c.answer+"\n")
		store, _, err := d.env.LoadState()
		if err != nil {
			t.Fatal(err)
		}
		err = store.Update(t.Context(), func(st *state.State) error {
			st.Put(state.Session{Name: "box", Endpoint: d.server.URL, Revision: "2025-11-25", Transport: "http"})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		d.env.Server = "box" // of a session resources are remembered
		conn := d.dial()
		if _, out := conn.Listed(t.Context(), connect.ResourceKind, nil); !out.OK() {
			t.Fatal(ended(out))
		}
		if got := ended(toolcall.ReadResource(t.Context(), conn, c.uri)); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestUnknownVariable(t *testing.T) {
	t.Parallel()
	template, err := mcp.ParseURITemplate("test://{one}/{two}")
	if err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]string{
		`{}`: "", `{"one":1,"two":2}`: "", `{"on":1}`: `the template has no variable "on" did you mean one=`,
		`{"zzzz":1}`: `the template has no variable "zzzz" its variables are: one, two`,
	} {
		members, _ := jsonraw.Object(json.RawMessage(values))
		got := ""
		if err := toolcall.UnknownVariable(template, members); err != nil {
			out := usage.Outcome(err)
			got = out.Text + " " + out.Hint.String()
		}
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %s", values, got)
		}
	}
}
