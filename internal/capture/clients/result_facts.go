package clients

import (
	"bytes"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// resultFacts are what is kept of the payload of a server's result.
type resultFacts struct {
	isLarge, hasUnknownContent, hasNoContent, hasNull, hasOddText bool
	// headerTools are the listed tools with x-mcp-header in their schema.
	headerTools []string
}

// largeSize is the size of a large result in bytes.
const largeSize = 1_000_000

// contentTypes are the types of content that a revision defines.
var contentTypes = []string{"text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result"}

// factsOfResult returns the facts of the members of a result in a message of size bytes.
func factsOfResult(members jsonraw.Members, size int) resultFacts {
	facts := resultFacts{isLarge: size >= largeSize}
	for _, member := range members {
		facts.hasNull = facts.hasNull || string(member.Value) == "null"
	}
	content := members.Value("content")
	facts.hasNoContent = content == nil && members.Value("structuredContent") != nil
	facts.hasOddText = bytes.Contains(content, []byte(`\u0000`)) &&
		(bytes.Contains(content, []byte("\u2028")) || bytes.Contains(content, []byte(`\u2028`)))
	parts, _ := jsonraw.ArrayUpTo(content, jsonraw.MaxParts)
	for _, part := range parts {
		kind, _ := jsonraw.Text(jsonraw.First(part, "type"))
		facts.hasUnknownContent = facts.hasUnknownContent || kind != "" && !slices.Contains(contentTypes, kind)
	}
	tools, _ := jsonraw.ArrayUpTo(members.Value("tools"), jsonraw.MaxParts)
	for _, tool := range tools {
		if bytes.Contains(jsonraw.First(tool, "inputSchema"), []byte(`"x-mcp-header"`)) {
			name, _ := jsonraw.Text(jsonraw.First(tool, "name"))
			facts.headerTools = append(facts.headerTools, strings.Clone(name))
		}
	}
	return facts
}

// afterResult returns a function that reports whether the client continues after a result for which
// the condition holds.
func afterResult(condition func(resultFacts) bool) finder {
	return func(c *Conversation, e *Event) (string, *Event) {
		if !e.isResult() || !condition(e.result) {
			return "", nil
		}
		return c.continuesOrStops(e)
	}
}
