package mcp

import (
	"slices"
	"strings"
)

// OpeningMethods are the methods that open a conversation. Clients send one before all other
// requests.
var OpeningMethods = []string{"initialize", "server/discover"}

// IsOpening reports whether the method opens a conversation.
func IsOpening(method string) bool { return slices.Contains(OpeningMethods, method) }

// OnlyReads reports whether requests of the method only read: the server changes nothing when it
// gets one.
func OnlyReads(method string) bool {
	switch method {
	case "server/discover", "ping", "completion/complete",
		"tools/list", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read", "resources/directory/read",
		"tasks/list", "tasks/get", "tasks/result", "skills/list", "skills/get":
		return true
	}
	return false
}

// listMembers are the array members of list results, by method.
var listMembers = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
	"resources/templates/list": "resourceTemplates", "roots/list": "roots", "tasks/list": "tasks", "skills/list": "skills",
}

// ListMember returns the name of the array member that a list method's result has its entries in,
// or "" if method lists nothing.
func ListMember(method string) string { return listMembers[method] }

// ServerLists are the list methods that every revision has.
var ServerLists = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}

// IsServerList reports whether the method lists tools, prompts, resources or resource templates.
func IsServerList(method string) bool { return slices.Contains(ServerLists, method) }

// CacheableMethods are the methods whose results of 2026-07-28 have ttlMs and cacheScope.
var CacheableMethods = append([]string{"server/discover", "resources/read"}, ServerLists...)

// IsCacheable reports whether results of the method have ttlMs and cacheScope in 2026-07-28.
func IsCacheable(method string) bool { return slices.Contains(CacheableMethods, method) }

// InputMethods are the methods whose results may be input_required (2026-07-28
// basic/patterns/mrtr).
var InputMethods = []string{"tools/call", "prompts/get", "resources/read"}

// MayRequireInput reports whether results of the method may be input_required.
func MayRequireInput(method string) bool { return slices.Contains(InputMethods, method) }

// IsTaskMethod reports whether the method is about tasks. Requests of such a method are never
// cancelled with notifications/cancelled, which would look like an attempt to cancel the task
// (2025-11-25 basic/utilities/cancellation; extension, "Task Cancellation").
func IsTaskMethod(method string) bool { return strings.HasPrefix(method, "tasks/") }
