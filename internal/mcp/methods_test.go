package mcp

import "testing"

func TestListMember(t *testing.T) {
	for method, want := range map[string]struct {
		member string
		server bool
	}{
		"tools/list": {"tools", true}, "prompts/list": {"prompts", true}, "resources/list": {"resources", true},
		"resources/templates/list": {"resourceTemplates", true},
		"tasks/list":               {"tasks", false}, "skills/list": {"skills", false}, "roots/list": {"roots", false},
		"tools/call": {}, "notifications/tools/list_changed": {}, "Tools/List": {}, "": {},
	} {
		if got := ListMember(method); got != want.member {
			t.Errorf("ListMember(%q): got %q, want %q", method, got, want.member)
		}
		if got := IsServerList(method); got != want.server {
			t.Errorf("IsServerList(%q): got %t", method, got)
		}
	}
}

func TestIsCacheable(t *testing.T) {
	for method, want := range map[string]bool{
		"server/discover": true, "tools/list": true, "prompts/list": true, "resources/list": true,
		"resources/templates/list": true, "resources/read": true,
		"tools/call": false, "prompts/get": false, "tasks/list": false, "initialize": false, "": false,
	} {
		if got := IsCacheable(method); got != want {
			t.Errorf("%q: got %t", method, got)
		}
	}
}

func TestMayRequireInput(t *testing.T) {
	for method, want := range map[string]bool{
		"tools/call": true, "prompts/get": true, "resources/read": true,
		"tools/list": false, "resources/subscribe": false, "tasks/get": false, "server/discover": false, "": false,
	} {
		if got := MayRequireInput(method); got != want {
			t.Errorf("%q: got %t", method, got)
		}
	}
}

func TestOnlyReads(t *testing.T) {
	for method, want := range map[string]bool{
		"server/discover": true, "ping": true, "completion/complete": true,
		"tools/list": true, "prompts/list": true, "prompts/get": true,
		"resources/list": true, "resources/templates/list": true, "resources/read": true, "resources/directory/read": true,
		"tasks/list": true, "tasks/get": true, "tasks/result": true, "skills/list": true, "skills/get": true,
		"initialize": false, "tools/call": false, "logging/setLevel": false, "resources/subscribe": false,
		"resources/unsubscribe": false, "subscriptions/listen": false, "tasks/cancel": false, "tasks/update": false,
		"Tools/List": false, "": false,
	} {
		if got := OnlyReads(method); got != want {
			t.Errorf("%q: got %t", method, got)
		}
	}
}

func TestIsOpening(t *testing.T) {
	for method, want := range map[string]bool{
		"initialize": true, "server/discover": true,
		"notifications/initialized": false, "logging/setLevel": false, "ping": false, "tools/list": false, "Initialize": false, "": false,
	} {
		if got := IsOpening(method); got != want {
			t.Errorf("%q: got %t", method, got)
		}
	}
}
