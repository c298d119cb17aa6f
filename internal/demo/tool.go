package demo

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is a row of the tables in this package: an entry of tools/list, and the function for
// tools/call.
type tool struct {
	name, title, description string

	input  string // a JSON object schema, sent unchanged
	output string // the same for structuredContent, or ""
	hints  *mcp.ToolAnnotations
	meta   mcp.Meta
	run    func(context.Context, call) (*mcp.CallToolResult, error)
}

// A call is one tools/call whose arguments fit the tool's input schema.
type call struct {
	*mcp.CallToolRequest
	args arguments
}

// tools returns every tool. The SDK lists them by name.
func tools(s *mcp.Server) []tool {
	return slices.Concat(plainTools(), contentTools(), markedTools(), waitingTools(s), changingTools(s), askingTools(),
		roundTools(), failingTools())
}

// add adds the tool to a server. Calls with invalid arguments end with a tool error and do not run
// it.
func (t tool) add(s *mcp.Server) {
	schema := parseSchema(t.input)
	def := &mcp.Tool{
		Name:        t.name,
		Title:       t.title,
		Description: t.description,
		InputSchema: json.RawMessage(t.input),
		Annotations: t.hints,
		Meta:        t.meta,
	}
	if t.output != "" {
		def.OutputSchema = json.RawMessage(t.output)
	}
	s.AddTool(def, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, problems := schema.checkArguments(req.Params.Arguments)
		if len(problems) > 0 {
			// Invalid arguments are a tool error, so that the model can correct them (2025-11-25, tools,
			// error handling).
			return toolError("Invalid arguments for tool " + t.name + ":\n- " + strings.Join(problems, "\n- ")), nil
		}
		return t.run(ctx, call{req, args})
	})
}

// noInput is the schema of a tool without arguments.
const noInput = `{"type":"object","properties":{},"additionalProperties":false}`

// readOnlyHints returns the hints of a tool that changes nothing.
func readOnlyHints() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		ReadOnlyHint:    true,
		IdempotentHint:  true,
		DestructiveHint: new(false),
		OpenWorldHint:   new(false),
	}
}

// harmlessHints returns the hints of a tool with a harmless effect, which it repeats with each call.
func harmlessHints() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}
}

// askingHints returns the hints of a tool whose result depends on the client.
func askingHints() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(false), OpenWorldHint: new(true)}
}

func result(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func textContent(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

func toolError(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{textContent(s)}, IsError: true}
}

// structuredResult returns a result with structured content and the same bytes as text, "for backwards
// compatibility" (2025-06-18, tools, structured content).
func structuredResult(value string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{textContent(value)},
		StructuredContent: json.RawMessage(value),
	}
}
