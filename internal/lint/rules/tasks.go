package rules

import (
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/recent"
)

// taskMethods are the methods whose results in 2026 are of the tasks extension.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

var taskChecks = []Check{
	{
		ID:      "L183",
		Kind:    conv.OnResult,
		Methods: []string{"tools/call"},
		When:    func(e *conv.Event) bool { return e.Text("resultType") == "task" },
		Do:      checkCreatedTask,
	},
	{ID: "L185", Kind: conv.OnResult, Methods: taskMethods, Do: func(e *conv.Event) {
		if kind := e.Raw("resultType"); kind != nil && e.Text("resultType") != "complete" {
			e.Find("/resultType", e.Show(kind), `"complete"`)
		}
	}},
	{ID: "L186", Kind: conv.OnResult, Methods: []string{"tasks/get"}, Do: func(e *conv.Event) {
		if e.Text("status") != "failed" {
			return
		}
		if !conv.IsObject(e.Raw("error")) {
			e.Find("/status", "failed without error", "completed, or failed with error")
		} else if string(e.Raw("result", "isError")) == "true" {
			e.Find("/status", "failed with isError", "completed")
		}
	}},
	{
		ID:      "L187",
		Kind:    conv.OnResult,
		Methods: []string{"tasks/get"},
		When:    func(e *conv.Event) bool { return e.Raw("inputRequests") != nil },
		Do:      checkNewKeys,
	},
	{ID: "L187", Kind: conv.OnSent, Methods: []string{"tasks/update"}, Do: func(e *conv.Event) {
		answers, _ := jsonraw.Object(conv.Inside(e.Value, "inputResponses"))
		keys := answeredKeys(e, conv.TextInside(e.Value, "taskId"))
		for _, m := range answers[:min(len(answers), 1000)] {
			keys[m.Name] = false
		}
	}},
	{ID: "L190", Kind: conv.OnResult, When: func(e *conv.Event) bool { return createdTaskID(e) != "" }, Do: checkTaskID},
	{ID: "L191", Kind: conv.OnResult, When: func(e *conv.Event) bool {
		return isOneOf(e.Method, "tasks/get", "tasks/cancel") || e.Method == "tools/call" && conv.IsObject(e.Raw("task"))
	}, Do: checkTaskStatus},
	{ID: "L191", Kind: conv.OnNotice, Methods: []string{"notifications/tasks/status"}, Do: checkTaskStatus},
	{ID: "L192", Kind: conv.OnResult, Methods: []string{"tasks/result"}, Do: func(e *conv.Event) {
		if conv.TextInside(e.Raw("_meta"), conv.MetaPrefix+"related-task", "taskId") != e.Call.Name {
			e.Find("/_meta/io.modelcontextprotocol~1related-task",
				e.Got("_meta", conv.MetaPrefix+"related-task"), "the taskId "+e.Call.Name)
		}
	}},
}

func checkCreatedTask(e *conv.Event) {
	if conv.IsObject(e.Raw("task")) {
		e.Find("", e.Show(e.Value), "the members of the task in the result itself")
		return
	}
	for _, name := range []string{"taskId", "status", "createdAt", "lastUpdatedAt"} {
		if conv.TypeOf(e.Raw(name)) != "string" {
			e.Find("/"+name, e.Got(name), "a string")
		}
	}
	if kind := conv.TypeOf(e.Raw("ttlMs")); kind != "integer" && kind != "null" {
		e.Find("/ttlMs", e.Got("ttlMs"), "an integer or null")
	}
}

// answeredKeys returns the keys of a task's input requests that the client has answered. The value
// of a key is set once the key was missing from a result after the answer.
func answeredKeys(e *conv.Event, task string) map[string]bool {
	byTask := conv.State[recent.Map[string, map[string]bool]](e.Conversation, "answered keys")
	keys, ok := byTask.Lookup(task)
	if !ok {
		keys = map[string]bool{}
		byTask.Put(task, keys)
	}
	return keys
}

// checkNewKeys reports a key that a task uses a second time. An answer takes effect some time after
// it was sent: a key is used again only if it was missing in between.
func checkNewKeys(e *conv.Event) {
	keys := answeredKeys(e, e.Call.Name)
	requests, _ := jsonraw.Object(e.Raw("inputRequests"))
	for name := range keys {
		if requests.Value(name) == nil {
			keys[name] = true
		}
	}
	for _, m := range requests {
		if keys[m.Name] {
			e.Find(jsonraw.Pointer("/inputRequests", m.Name), m.Name+" again, after it was answered", "a new key")
		}
	}
}

// createdTaskID returns the id of the task that a result creates, or "".
func createdTaskID(e *conv.Event) string {
	if e.Text("resultType") == "task" {
		return e.Text("taskId")
	}
	if e.Method == "tools/call" && e.Rev == conv.Rev20251125 {
		return e.Text("task", "taskId")
	}
	return ""
}

const minTaskID = 16

func checkTaskID(e *conv.Event) {
	id := createdTaskID(e)
	before := conv.State[string](e.Conversation, "task id")
	at := "/taskId"
	if e.Raw("taskId") == nil {
		at = "/task/taskId"
	}
	if len(id) < minTaskID || strings.Trim(id, "0123456789") == "" {
		e.Hit(conv.Hit{Subject: "tasks", Pointer: at, Got: id, Want: "at least 16 random characters"})
	} else if areConsecutive(*before, id) {
		e.Hit(conv.Hit{Subject: "tasks", Pointer: at, Got: id + " after " + *before, Want: "ids that cannot be guessed"})
	}
	*before = id
}

var finalStatuses = []string{"completed", "failed", "cancelled"}

// checkTaskStatus checks the status of a task (2025-11-25 basic/utilities/tasks, "Task Status
// Lifecycle").
func checkTaskStatus(e *conv.Event) {
	at := ""
	task := e.Value
	if created := e.Raw("task"); conv.IsObject(created) {
		at = "/task"
		task = created
	}
	id := conv.TextInside(task, "taskId")
	status := conv.TextInside(task, "status")
	seen := conv.State[recent.Map[string, string]](e.Conversation, "task status")
	before, known := seen.Lookup(id)
	switch {
	case !isOneOf(status, "working", "input_required", "completed", "failed", "cancelled"):
		e.Find(at+"/status", e.Show(conv.Inside(task, "status")), "working, input_required, completed, failed or cancelled")
	case at != "" && status != "working":
		e.Find(at+"/status", status, "working at first")
	case known && isOneOf(before, finalStatuses...) && status != before:
		e.Find(at+"/status", status+" after "+before, before)
	case conv.TextInside(task, "createdAt") == "":
		e.Find(at+"/createdAt", e.Show(conv.Inside(task, "createdAt")), "a time")
	}
	seen.Put(id, status)
}
