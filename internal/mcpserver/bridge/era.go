// Package bridge converts messages between the two eras of the protocol: members of results, error
// codes and capabilities. It also lists what a server of each era supports.
package bridge

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
)

// The supported revisions. Up to 2025-11-25, initialize opens a conversation (the legacy era); from
// 2026-07-28 on, each request is complete in itself (the modern era).
const (
	ModernRevision = "2026-07-28"
	BatchRevision  = "2025-03-26"
)

// LegacyRevisions are the revisions of the legacy era, newest first.
var LegacyRevisions = []string{"2025-11-25", "2025-06-18", BatchRevision, "2024-11-05"}

// Eras selects the eras that a server supports.
type Eras string

// The values of Eras.
const (
	BothEras   Eras = "both"
	LegacyOnly Eras = "legacy"
	ModernOnly Eras = "modern"
)

// HasStateless reports whether the modern era is served.
func (e Eras) HasStateless() bool { return e != LegacyOnly }

// HasSessions reports whether the legacy era is served.
func (e Eras) HasSessions() bool { return e != ModernOnly }

// Revisions returns the served revisions, newest first.
func (e Eras) Revisions() []string {
	var all []string
	if e.HasStateless() {
		all = append(all, ModernRevision)
	}
	if e.HasSessions() {
		all = append(all, LegacyRevisions...)
	}
	return all
}

// IsStateless reports whether a revision belongs to the modern era. It reports false if revision is
// "".
func IsStateless(revision string) bool { return revision >= ModernRevision }

// NegotiateRevision returns the revision for the response to initialize: the requested one if it is
// supported, else the newest.
func NegotiateRevision(requested string) string {
	if slices.Contains(LegacyRevisions, requested) {
		return requested
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

// ServerCapability returns the server capability that a method belongs to, or "".
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

// ConvertResult converts a recorded result for a client of the other era. It returns the result unchanged
// if the eras are the same, and never replaces an existing member. stateless is set for a client of the
// modern era, recordedModern if the result was recorded in the modern era.
func ConvertResult(stateless, recordedModern bool, method string, result json.RawMessage) json.RawMessage {
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

// NoResourceCode returns the error code for a missing resource.
func NoResourceCode(stateless bool) int64 {
	if stateless {
		return -32602
	}
	return -32002
}

// ConvertError converts a recorded error for a client of the other era. Only the code for a missing
// resource differs; in the modern era, only data.uri marks such an error.
func ConvertError(stateless, recordedModern bool, method string, failed json.RawMessage) json.RawMessage {
	if stateless == recordedModern || method != "resources/read" {
		return failed
	}
	code := string(jsonraw.First(failed, "code"))
	missing := code == "-32002" || code == "-32602" && jsonraw.First(jsonraw.First(failed, "data"), "uri") != nil
	if !missing {
		return failed
	}
	return jsonraw.With(failed, "code", strconv.AppendInt(nil, NoResourceCode(stateless), 10))
}

// WithoutMeta removes a member of _meta, and _meta itself if it is empty then.
func WithoutMeta(object json.RawMessage, name string) json.RawMessage {
	meta := jsonraw.First(object, "_meta")
	reduced := jsonraw.Without(meta, name)
	if len(reduced) == len(meta) {
		return object
	}
	if members, _ := jsonraw.Object(reduced); len(members) == 0 {
		return jsonraw.Without(object, "_meta")
	}
	return jsonraw.With(object, "_meta", reduced)
}

// WithMeta sets a member of _meta.
func WithMeta(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	return jsonraw.With(object, "_meta", jsonraw.With(jsonraw.First(object, "_meta"), name, value))
}

// WithoutRequestMeta returns params without the _meta members that belong to one request of one client.
func WithoutRequestMeta(params json.RawMessage) json.RawMessage {
	for _, name := range []string{MetaVersion, MetaCapabilities, MetaClient, MetaLogLevel, "progressToken"} {
		params = WithoutMeta(params, name)
	}
	return params
}

// ConvertQuestion converts the params of a server request for a client of an era. In the legacy era only,
// a URL request has an elicitationId. It is id if params have no elicitationId.
func ConvertQuestion(stateless bool, method string, params json.RawMessage, id string) json.RawMessage {
	if stateless && method == "elicitation/create" {
		return jsonraw.Without(params, "elicitationId")
	}
	if !stateless && jsonraw.TextOrRaw(jsonraw.First(params, "mode")) == "url" &&
		jsonraw.First(params, "elicitationId") == nil {
		return jsonraw.With(params, "elicitationId", jsonraw.Quote(id))
	}
	return params
}

// ClientCapability returns the client capability that a request of the server needs, or "".
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

// IsLoudEnough reports whether a log message is at or above the level.
func IsLoudEnough(params json.RawMessage, level string) bool {
	messageLevel := jsonraw.TextOrRaw(jsonraw.First(params, "level"))
	return slices.Index(mcp.LogLevels, messageLevel) >= slices.Index(mcp.LogLevels, level)
}
