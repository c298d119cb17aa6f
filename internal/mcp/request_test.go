package mcp

import "testing"

func TestNameMember(t *testing.T) {
	for method, want := range map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "resources/subscribe": "",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId", "tasks/list": "",
		"tools/list": "", "completion/complete": "", "": "",
	} {
		if got := NameMember(method); got != want {
			t.Errorf("%q: got %q, want %q", method, got, want)
		}
	}
}
