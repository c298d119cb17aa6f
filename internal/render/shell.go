package render

import (
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
)

// ExampleCall is a command line that calls tool with arguments that satisfy its
// inputSchema, quoted for a POSIX shell, or where they are nil with placeholders. A
// name that reads like a flag has its place in the params.
func (c Aim) ExampleCall(tool mcp.Tool, arguments json.RawMessage) string {
	if arguments == nil {
		arguments = placeholder(tool.InputSchema)
	}
	arguments = escapeHidden(arguments)
	if strings.HasPrefix(tool.Name, "-") {
		var params object
		params.raw("name", escapeHidden(jsonraw.Quote(tool.Name)))
		params.raw("arguments", arguments)
		return c.Command("raw tools/call " + shellwords.Quote(string(params.bytes())))
	}
	return c.Command("call " + shellwords.Quote(tool.Name) + " " + shellwords.Quote(string(arguments)))
}
