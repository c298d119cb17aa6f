// Package bridge says what differs between the eras of the protocol for a server: members of results, codes of errors,
// capabilities, and gives a message that was recorded in one of them as the other has it.
package bridge

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
)

// The revisions that are played, newest first. Up to 2025-11-25 a conversation is opened with initialize
// (legacy), from 2026-07-28 on every request stands alone (modern).
const (
	ModernRevision = "2026-07-28"
	BatchRevision  = "2025-03-26"
)

var LegacyRevisions = []string{"2025-11-25", "2025-06-18", BatchRevision, "2024-11-05"}

// Eras are those that a Player serves.
type Eras string

// The choices of Eras.
const (
	BothEras   Eras = "both"
	LegacyOnly Eras = "legacy"
	ModernOnly Eras = "modern"
)

// Stateless reports that the modern era is served, Sessions that the legacy one is.
func (e Eras) Stateless() bool { return e != LegacyOnly }
func (e Eras) Sessions() bool  { return e != ModernOnly }

// Revisions are those that are served.
func (e Eras) Revisions() []string {
	var all []string
	if e.Stateless() {
		all = append(all, ModernRevision)
	}
	if e.Sessions() {
		all = append(all, LegacyRevisions...)
	}
	return all
}

// StandsAlone reports a revision of the modern era; "" is none.
func StandsAlone(revision string) bool { return revision >= ModernRevision }

// Negotiated is the revision with which an initialize is answered.
func Negotiated(asked string) string {
	if slices.Contains(LegacyRevisions, asked) {
		return asked
	}
	return LegacyRevisions[0]
}

const (
	metaPrefix       = "io.modelcontextprotocol/"
	MetaVersion      = metaPrefix + "protocolVersion"
	MetaCapabilities = metaPrefix + "clientCapabilities"
	MetaClient       = metaPrefix + "clientInfo"
	MetaLogLevel     = metaPrefix + "logLevel"
	MetaServer       = metaPrefix + "serverInfo"
	MetaSubscription = metaPrefix + "subscriptionId"
)

// ServerCapability names the server's capability that a method belongs to; "" for a method of none.
func ServerCapability(method string) string {
	before, _, _ := strings.Cut(method, "/")
	if before == "completion" {
		return "completions"
	}
	if slices.Contains([]string{"tools", "prompts", "resources", "logging", "tasks"}, before) {
		return before
	}
	return ""
}

// Result gives a recorded result to a client of an era: as it is where that is the recording's own. A
// member that is there stays as it is.
func Result(stateless, recordedModern bool, method string, result json.RawMessage) json.RawMessage {
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
		if mcp.IsCacheable(method) {
			add("ttlMs", "0")
			add("cacheScope", `"private"`)
		}
		return result
	}
	result = jsonraw.Without(result, "resultType")
	if mcp.IsCacheable(method) {
		result = jsonraw.Without(jsonraw.Without(result, "ttlMs"), "cacheScope")
	}
	return WithoutMeta(result, MetaServer)
}

// NoResource is the code of the error for a resource that is not there.
func NoResource(stateless bool) int64 {
	if stateless {
		return -32602
	}
	return -32002
}

// Error is Result for an error. Only a missing resource has another code; the newer one says so by its data.uri alone.
func Error(stateless, recordedModern bool, method string, failed json.RawMessage) json.RawMessage {
	if stateless == recordedModern || method != "resources/read" {
		return failed
	}
	code := string(jsonraw.First(failed, "code"))
	missing := code == "-32002" || code == "-32602" && jsonraw.First(jsonraw.First(failed, "data"), "uri") != nil
	if !missing {
		return failed
	}
	return jsonraw.With(failed, "code", strconv.AppendInt(nil, NoResource(stateless), 10))
}

// WithoutMeta removes a member of _meta, and a _meta that is empty then.
func WithoutMeta(object json.RawMessage, name string) json.RawMessage {
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

// WithMeta sets a member of _meta.
func WithMeta(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	return jsonraw.With(object, "_meta", jsonraw.With(jsonraw.First(object, "_meta"), name, value))
}

// Plain are params without what belongs to one request of one client.
func Plain(params json.RawMessage) json.RawMessage {
	for _, name := range []string{MetaVersion, MetaCapabilities, MetaClient, MetaLogLevel, "progressToken"} {
		params = WithoutMeta(params, name)
	}
	return params
}

// Question gives the params of a server's request to a client of an era: a page has an id in the legacy
// one only, which is id where the server gave none.
func Question(stateless bool, method string, params json.RawMessage, id string) json.RawMessage {
	if stateless && method == "elicitation/create" {
		return jsonraw.Without(params, "elicitationId")
	}
	if !stateless && jsonraw.TextOrRaw(jsonraw.First(params, "mode")) == "url" &&
		jsonraw.First(params, "elicitationId") == nil {
		return jsonraw.With(params, "elicitationId", jsonraw.Quote(id))
	}
	return params
}

// ClientCapability names the client's capability that a server's request needs; "" where it needs none.
func ClientCapability(method string) string {
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

// Loud reports whether a log message is at or above a level.
func Loud(params json.RawMessage, level string) bool {
	own := jsonraw.TextOrRaw(jsonraw.First(params, "level"))
	return slices.Index(mcp.LogLevels, own) >= slices.Index(mcp.LogLevels, level)
}
