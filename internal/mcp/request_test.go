package mcp

import (
	"testing"

	"mcpc/internal/jsonraw"
)

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

func TestServerInfo(t *testing.T) {
	for _, c := range []struct{ result, want string }{
		{`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}},"serverInfo":{"name":"b"}}`, `{"name":"a"}`},
		{`{"serverInfo":{"name":"b"},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}}}`, `{"name":"a"}`},
		{`{"serverInfo":{"name":"b"},"_meta":{"serverInfo":{"name":"a"}}}`, `{"name":"b"}`},
		{`{"serverInfo":{"name":"b"},"_meta":1}`, `{"name":"b"}`},
		{`{"result":{"serverInfo":{"name":"b"}}}`, ``},
		{`{}`, ``},
	} {
		result, err := jsonraw.Object([]byte(c.result))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(ServerInfo(result)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.result, got, c.want)
		}
	}
}

func TestIsTaskMethod(t *testing.T) {
	for method, want := range map[string]bool{
		"tasks/get": true, "tasks/cancel": true, "tasks/x": true, "tasks": false, "notifications/tasks/status": false, "tools/call": false, "": false,
	} {
		if got := IsTaskMethod(method); got != want {
			t.Errorf("%q: got %t", method, got)
		}
	}
}
