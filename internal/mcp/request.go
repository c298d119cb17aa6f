package mcp

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// CancelledID returns the id of the request that notifications/cancelled names.
func CancelledID(m *wire.Message) []byte { return jsonraw.First(m.Params, "requestId") }

const (
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// SubscriptionID returns the subscription id in the _meta of params or of a result, or nil if it
// has no id.
func SubscriptionID(object json.RawMessage) json.RawMessage {
	return jsonraw.First(jsonraw.First(object, "_meta"), metaSubscription)
}

// NotificationSubscription returns the SubscriptionID of a notification's params.
func NotificationSubscription(m *wire.Message) json.RawMessage {
	if m.Params == nil {
		return nil
	}
	params, _ := m.ParamMembers()
	if meta, hasMeta := params.Get("_meta"); hasMeta {
		return jsonraw.First(meta, metaSubscription)
	}
	return nil
}

// ProgressToken returns the progress token of a request, or nil if it has no token.
func ProgressToken(params json.RawMessage) json.RawMessage {
	return jsonraw.First(jsonraw.First(params, "_meta"), "progressToken")
}

// ServerInfo returns the serverInfo in the result of initialize or server/discover, or nil if it
// has no serverInfo. It is in _meta (2026-07-28 basic/index); older revisions have it in the
// result.
func ServerInfo(result jsonraw.Members) json.RawMessage {
	if info := jsonraw.First(result.Value("_meta"), metaServerInfo); info != nil {
		return info
	}
	return result.Value("serverInfo")
}

// NameMember returns which member of a request's params is the value of Mcp-Name; "" if the method
// has no such header field (2026-07-28 basic/transports/streamable-http, "Standard headers").
func NameMember(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// TasksExtension is the id of the extension that brings tasks in 2026-07-28.
const TasksExtension = "io.modelcontextprotocol/tasks"

// LogLevels are the levels of log messages, the least severe first (2025-11-25
// server/utilities/logging).
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
