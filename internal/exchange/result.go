package exchange

import (
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// Facts are what a State needs to know of a message.
type Facts struct {
	Traits wire.Traits
	// ToolError is set if the result's isError is true.
	ToolError bool
}

// FactsOf returns the facts of a message that was parsed.
func FactsOf(m *wire.Message) Facts {
	facts := Facts{Traits: m.Traits()}
	if m.Kind == wire.Response {
		result, _ := m.ResultMembers()
		facts.ToolError, _ = wire.ParseIsError(result.Value("isError"))
	}
	return facts
}

// NoFacts describes a frame without a message.
var NoFacts Facts

// A response that no client can accept is not a good outcome, whatever it contains. Only what every client has to
// reject is judged here, and no more than one message shows.

// arrays are the members that results other than lists have to have, by method (server/tools, server/resources,
// server/prompts).
var arrays = map[string]string{
	"tools/call": "content", "resources/read": "contents", "prompts/get": "messages",
}

// oneForList are the members of arrays for which clients accept one item, too.
var oneForList = []string{"content", "contents", "messages"}

// batchesUntil is before 2025-06-18, the first revision without arrays of messages.
const batchesUntil = "2025-06"

// resultFault returns why a client has to reject the response; "" if it need not.
func (s *State) resultFault(p *Part) string {
	m := p.Message
	isInArray := p.Item >= 0 && p.Conversation.Revision > batchesUntil
	if isInArray && p.BatchSize == 1 { // some clients accept it
		s.Findings = append(s.Findings, wire.Finding{Rule: "batch", Level: wire.Warning, Text: "the response is in an array"})
	}
	isResult := m != nil && m.Kind == wire.Response
	switch {
	case s.ForeignType != "" && s.Status/100 == 2 && p.Frame.Kind == wire.Body:
		return "expected application/json or text/event-stream, got " + s.ForeignType
	case isInArray && p.BatchSize > 1:
		return "the response is in an array"
	case p.Facts.Traits.NoID && isResult:
		return "the response has no id"
	case !isResult:
		return ""
	}
	result, err := m.ResultMembers()
	if err != nil {
		return "the result is not an object: " + jsonraw.Excerpt(m.Result, 60)
	}
	if kind := result.Text("resultType"); kind == "" || kind == "complete" {
		return s.shapeFault(result)
	}
	return ""
}

// shapeFault returns what a complete result lacks that every revision requires.
func (s *State) shapeFault(result jsonraw.Members) string {
	name := arrays[s.Method]
	if mcp.IsServerList(s.Method) {
		name = mcp.ListMember(s.Method)
	}
	value, there := result.Get(name)
	_, structured := result.Get("structuredContent")
	_, task := result.Get("task")
	flag, _ := result.Get("isError")
	_, isPlain := wire.ParseIsError(flag)
	switch tool := s.Method == "tools/call"; {
	case name == "" || structured || task:
	case tool && !isPlain:
		return "isError is neither true nor false: " + jsonraw.Excerpt(flag, 40)
	case !there:
		return s.missing(name)
	case slices.Contains(oneForList, name) && (value[0] == '{' || tool && value[0] == '"'):
		text := "in the result of " + s.Method + " " + name + " is not an array"
		s.Findings = append(s.Findings, wire.Finding{Rule: "content", Level: wire.Warning, Text: text})
	case value[0] != '[':
		return "in the result of " + s.Method + " " + name + " is not an array: " + jsonraw.Excerpt(value, 40)
	}
	return ""
}

// missing returns the fault of a result without a member that it has to have. A tool's result without content is a
// finding and no fault: some clients accept it.
func (s *State) missing(name string) string {
	if s.Method == "tools/call" {
		s.Findings = append(s.Findings, wire.Finding{Rule: "content", Level: wire.Error, Text: "the result of the tool call has no content"})
		return ""
	}
	return "the result of " + s.Method + " has no " + name
}

// inputRequestsIn counts the requests in a result that requires input.
func inputRequestsIn(m *wire.Message) int {
	result, _ := m.ResultMembers()
	requests, _ := jsonraw.Object(result.Value("inputRequests"))
	return len(requests)
}
