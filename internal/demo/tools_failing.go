package demo

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failingTools returns tools that fail, each on a different channel.
func failingTools() []tool {
	return []tool{{
		name:        "fail",
		title:       "Fail Tool",
		description: "Always returns a tool error: the result has isError true.",
		input: `{"type":"object","properties":{
			"message":{"type":"string","description":"What it says","default":"This tool always fails."}
		},"additionalProperties":false}`,
		hints: readOnlyHints(),
		run: func(_ context.Context, c call) (*mcp.CallToolResult, error) {
			return toolError(c.args.stringValue("message")), nil
		},
	}, {
		name:  "raise-protocol-error",
		title: "Raise Protocol Error Tool",
		description: "Answers with a JSON-RPC error in the place of a result. " +
			"Over HTTP most codes arrive under status 200; without sessions some have their own status.",
		input: `{"type":"object","properties":{
			"code":{"type":"integer","description":"The error's code","default":-32000,"minimum":-2147483648,` +
			`"maximum":2147483647},
			"message":{"type":"string","description":"The error's message","default":"This tool always raises an error."}
		},"additionalProperties":false}`,
		hints: readOnlyHints(),
		run:   raiseProtocolError,
	}, {
		name:  "break-output-schema",
		title: "Break Output Schema Tool",
		description: "Returns structured content that its own outputSchema allows, " +
			"or, when asked to, that it does not.",
		input: `{"type":"object","properties":{
			"break":{"type":"boolean","description":"Whether to break the schema","default":false}
		},"additionalProperties":false}`,
		output: `{"type":"object","properties":{
			"count":{"type":"integer","minimum":0},
			"label":{"type":"string"}
		},"required":["count","label"],"additionalProperties":false}`,
		hints: readOnlyHints(),
		run: func(_ context.Context, c call) (*mcp.CallToolResult, error) {
			if c.args.boolValue("break") {
				return structuredResult(`{"count":"three","extra":true}`), nil
			}
			return structuredResult(`{"count":3,"label":"three"}`), nil
		},
	}}
}

func raiseProtocolError(_ context.Context, c call) (*mcp.CallToolResult, error) {
	return nil, &jsonrpc.Error{
		Code:    int64(c.args.intValue("code")),
		Message: c.args.stringValue("message"),
		Data:    json.RawMessage(`{"tool":"raise-protocol-error"}`),
	}
}
