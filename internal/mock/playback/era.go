package playback

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// The revisions that are played, newest first. Up to 2025-11-25 a conversation is opened with initialize
// (legacy), from 2026-07-28 on every request stands alone (modern).
const (
	modernRevision = "2026-07-28"
	batchRevision  = "2025-03-26"
)

var legacyRevisions = []string{"2025-11-25", "2025-06-18", batchRevision, "2024-11-05"}

// Eras are those that a Player serves.
type Eras string

// The choices of Eras.
const (
	BothEras   Eras = "both"
	LegacyOnly Eras = "legacy"
	ModernOnly Eras = "modern"
)

func (e Eras) stateless() bool { return e != LegacyOnly }
func (e Eras) sessions() bool  { return e != ModernOnly }

// revisions are those that are served.
func (e Eras) revisions() []string {
	var all []string
	if e.stateless() {
		all = append(all, modernRevision)
	}
	if e.sessions() {
		all = append(all, legacyRevisions...)
	}
	return all
}

// standsAlone reports a revision of the modern era; "" is none.
func standsAlone(revision string) bool { return revision >= modernRevision }

// negotiated is the revision with which an initialize is answered.
func negotiated(asked string) string {
	if slices.Contains(legacyRevisions, asked) {
		return asked
	}
	return legacyRevisions[0]
}

const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaClient       = metaPrefix + "clientInfo"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServer       = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
	tasksExtension   = metaPrefix + "tasks"
)

// cacheable are the methods whose modern results say how long they may be kept.
var cacheable = []string{"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}

// asksBack are the methods whose modern results may ask for input.
var asksBack = []string{"tools/call", "prompts/get", "resources/read"}

func isList(method string) bool {
	return slices.Contains(cacheable[1:5], method)
}

func isOpening(method string) bool { return method == "initialize" || method == "server/discover" }

// capabilityOf names the server's capability that a method belongs to; "" for a method of none.
func capabilityOf(method string) string {
	before, _, _ := strings.Cut(method, "/")
	if before == "completion" {
		return "completions"
	}
	if slices.Contains([]string{"tools", "prompts", "resources", "logging", "tasks"}, before) {
		return before
	}
	return ""
}

// resultFor gives a recorded result to a client of an era: as it is where that is the recording's own. A
// member that is there stays as it is.
func resultFor(stateless, recordedModern bool, method string, result json.RawMessage) json.RawMessage {
	members, bad := jsonraw.Object(result)
	if bad != nil || stateless == recordedModern {
		return result
	}
	if stateless {
		add := func(name, value string) {
			if _, has := members.Get(name); !has {
				result = jsonraw.Append(result, jsonraw.Member{Name: name, Value: json.RawMessage(value)})
			}
		}
		add("resultType", `"complete"`)
		if slices.Contains(cacheable, method) {
			add("ttlMs", "0")
			add("cacheScope", `"private"`)
		}
		return result
	}
	result = jsonraw.Without(result, "resultType")
	if slices.Contains(cacheable, method) {
		result = jsonraw.Without(jsonraw.Without(result, "ttlMs"), "cacheScope")
	}
	return withoutMeta(result, metaServer)
}

// errorFor is resultFor for an error. Only a missing resource has another code.
func errorFor(stateless, recordedModern bool, method string, failed json.RawMessage) json.RawMessage {
	if stateless && !recordedModern && method == "resources/read" && string(jsonraw.First(failed, "code")) == "-32002" {
		return jsonraw.With(failed, "code", json.RawMessage("-32602"))
	}
	return failed
}

// withoutMeta removes a member of _meta, and a _meta that is empty then.
func withoutMeta(object json.RawMessage, name string) json.RawMessage {
	meta := jsonraw.First(object, "_meta")
	less := jsonraw.Without(meta, name)
	if len(less) == len(meta) {
		return object
	}
	if members, _ := jsonraw.Object(less); len(members) == 0 {
		return jsonraw.Without(object, "_meta")
	}
	return jsonraw.With(object, "_meta", less)
}

// withMeta sets a member of _meta.
func withMeta(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	return jsonraw.With(object, "_meta", jsonraw.With(jsonraw.First(object, "_meta"), name, value))
}

// questionFor gives the params of a server's request to a client of an era: a page has an id in the legacy
// one only.
func questionFor(stateless bool, method string, params json.RawMessage) json.RawMessage {
	if stateless && method == "elicitation/create" {
		return jsonraw.Without(params, "elicitationId")
	}
	if !stateless && jsonraw.TextOrRaw(jsonraw.First(params, "mode")) == "url" && jsonraw.First(params, "elicitationId") == nil {
		return jsonraw.With(params, "elicitationId", json.RawMessage(`"mock"`))
	}
	return params
}

// capabilityFor names the client's capability that a server's request needs; "" where it needs none.
func capabilityFor(method string) string {
	switch method {
	case "elicitation/create":
		return "elicitation"
	case "sampling/createMessage":
		return "sampling"
	case "roots/list":
		return "roots"
	}
	return ""
}

var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// loud reports whether a log message is at or above a level.
func loud(params json.RawMessage, level string) bool {
	return slices.Index(logLevels, jsonraw.TextOrRaw(jsonraw.First(params, "level"))) >= slices.Index(logLevels, level)
}
