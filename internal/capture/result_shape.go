package capture

import (
	"cmp"
	"maps"
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

// oneForList are the members of arrays for which clients take one item, too.
var oneForList = []string{"content", "contents", "messages"}

// batchesUntil is before the first revision without arrays of messages, 2025-06-18.
const batchesUntil = "2025-06"

// resultFault says why a response is no answer that a client may take, or nothing.
func (r *Row) resultFault(p *placed) string {
	m := p.message
	isInArray := p.Item >= 0 && p.conn.revision > batchesUntil
	if isInArray && p.items == 1 { // which some clients take
		r.Findings = append(r.Findings, wire.Finding{Rule: "batch", Level: wire.Warning, Text: "the response is in an array"})
	}
	switch result := m == nil || m.Kind == wire.Response; {
	case r.foreign != "" && r.Status/100 == 2 && p.frame.Kind == wire.Body:
		return "expected application/json or text/event-stream, got " + r.foreign
	case isInArray && p.items > 1:
		return "the response is in an array"
	case p.peeked.traits.NoID && result:
		return "the response has no id"
	case m == nil:
		return r.peekedFault(p.peeked.has)
	case !result:
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

// shapeNames are the members of results by which their shape is judged.
var shapeNames = append([]string{"structuredContent", "task"}, slices.Sorted(maps.Values(arrays))...)

// shapeMembers are the shapeNames that a result has.
type shapeMembers uint16

func (s *shapeMembers) note(name []byte) {
	if i := slices.Index(shapeNames, string(name)); i >= 0 {
		*s |= 1 << i
	}
}

func (s shapeMembers) have(name string) bool { return s&(1<<slices.Index(shapeNames, name)) != 0 }

// peekedFault is shapeFault for a result that was only peeked at: of such a one the members that
// have to be arrays are.
func (r *Row) peekedFault(has shapeMembers) string {
	name := arrays[r.Method]
	if name == "" || has.have(name) || has.have("structuredContent") || has.have("task") {
		return ""
	}
	return r.missing(name)
}

// missing says of a result that it has not the member that it needs.
func (r *Row) missing(name string) string {
	if r.Method == "tools/call" {
		r.Findings = append(r.Findings, wire.Finding{Rule: "content", Level: wire.Error, Text: "the result of the tool call has no content"})
		return ""
	}
	return "the result of " + r.Method + " has no " + name
}

// shapeFault judges a complete result by what every revision asks of it. Without any
// content a tool's result is taken by some clients.
func (r *Row) shapeFault(result jsonraw.Members) string {
	name := arrays[r.Method]
	value, there := result.Get(name)
	_, structured := result.Get("structuredContent")
	_, task := result.Get("task")
	flag, _ := result.Get("isError")
	_, isPlain := wire.ParseIsError(flag)
	switch tool := r.Method == "tools/call"; {
	case name == "" || structured || task:
	case tool && !isPlain:
		return "isError is neither true nor false: " + jsonraw.Excerpt(flag, 40)
	case !there:
		return r.missing(name)
	case slices.Contains(oneForList, name) && (value[0] == '{' || tool && value[0] == '"'):
		text := "in the result of " + r.Method + " " + name + " is not an array"
		r.Findings = append(r.Findings, wire.Finding{Rule: "content", Level: wire.Warning, Text: text})
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
