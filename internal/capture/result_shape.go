package capture

import (
	"cmp"
	"mime"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A response that no client can take for the answer has not ended well, whatever it
// contains: the reader of a proxy's listing would look for the fault at the wrong end. Only
// what every client must refuse is judged here, and no more than can be seen in one
// message.

// arrays are the members that results cannot do without, by method (server/tools,
// server/resources, server/prompts).
var arrays = map[string]string{
	"tools/call": "content", "resources/read": "contents", "prompts/get": "messages",
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// batchesUntil is before the first revision without arrays of messages, 2025-06-18.
const batchesUntil = "2025-06"

// resultFault says why a response is no answer that a client may take, or nothing.
func (r *Row) resultFault(p *placed) string {
	m := p.message
	switch result := m == nil || m.Kind == wire.Response; {
	case r.foreign != "" && r.Status/100 == 2 && p.frame.Kind == wire.Body:
		return "expected application/json or text/event-stream, got " + r.foreign
	case p.Item >= 0 && p.conn.revision > batchesUntil:
		return "the response is in an array"
	case p.peeked.traits.NoID && result:
		return "the response has no id"
	case m == nil || !result:
		return ""
	}
	result, err := m.ResultMembers()
	if err != nil {
		return "the result is not an object: " + jsonraw.Excerpt(m.Result, 60)
	}
	if kind := result.Text("resultType"); kind == "" || kind == "complete" {
		return r.shapeFault(result)
	}
	return ""
}

// shapeFault judges a complete result by what every revision asks of it. Without any
// content a tool's result is taken by some clients.
func (r *Row) shapeFault(result jsonraw.Members) string {
	name := arrays[r.Method]
	value, there := result.Get(name)
	_, structured := result.Get("structuredContent")
	_, task := result.Get("task")
	flag, _ := result.Get("isError")
	switch tool := r.Method == "tools/call"; {
	case name == "" || structured || task:
	case tool && !slices.Contains([]string{"", "true", "false", "null"}, string(flag)):
		return "isError is neither true nor false: " + jsonraw.Excerpt(flag, 40)
	case !there && tool:
		r.Findings = append(r.Findings, wire.Finding{Rule: "content", Level: wire.Error, Text: "the result of the tool call has no content"})
	case !there:
		return "the result of " + r.Method + " has no " + name
	case value[0] != '[':
		return "in the result of " + r.Method + " " + name + " is not an array: " + jsonraw.Excerpt(value, 40)
	}
	return ""
}

// foreignType is the type of a response with a status that no answer may have, or
// nothing.
func foreignType(contentType string) string {
	switch kind, _, _ := mime.ParseMediaType(contentType); kind {
	case "application/json", "text/event-stream":
		return ""
	case "":
		return cmp.Or(contentType, "no Content-Type")
	default:
		return kind
	}
}

func isEventStream(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}
