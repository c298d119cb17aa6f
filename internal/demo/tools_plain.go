package demo

import (
	"context"
	"fmt"
	"math/big"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// plainTools returns tools whose results depend only on their arguments.
func plainTools() []tool {
	return []tool{{
		name:        "echo",
		title:       "Echo Tool",
		description: "Echoes back the input string",
		input: `{"type":"object","properties":{
			"message":{"type":"string","description":"Message to echo"}
		},"required":["message"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   echo,
	}, {
		name:        "get-sum",
		title:       "Get Sum Tool",
		description: "Returns the sum of two numbers",
		input: `{"type":"object","properties":{
			"a":{"type":"number","description":"First number"},
			"b":{"type":"number","description":"Second number"}
		},"required":["a","b"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   getSum,
	}, {
		name:  "get-env",
		title: "Print Environment Tool",
		description: "Returns a small, made-up set of environment variables. " +
			"It never shows the real environment of this process.",
		input: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`,
		hints: readOnlyHints(),
		run:   getEnv,
	}, {
		name:        "get-structured-content",
		title:       "Get Structured Content Tool",
		description: "Returns structured content along with an output schema for client data validation",
		input: `{"type":"object","properties":{
			"location":{"type":"string","enum":["New York","Chicago","Los Angeles"],"description":"Choose city"}
		},"required":["location"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		output: `{"type":"object","properties":{
			"temperature":{"type":"number","description":"Temperature in celsius"},
			"conditions":{"type":"string","description":"Weather conditions description"},
			"humidity":{"type":"number","description":"Humidity percentage"}
		},"required":["temperature","conditions","humidity"],"additionalProperties":false,` +
			`"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   getStructuredContent,
	}}
}

func echo(_ context.Context, c call) (*mcp.CallToolResult, error) {
	return result(textContent("Echo: " + c.args.stringValue("message"))), nil
}

// getSum adds exactly, and repeats both numbers as they were received.
func getSum(_ context.Context, c call) (*mcp.CallToolResult, error) {
	sum := new(big.Rat).Add(c.args.numberValue("a"), c.args.numberValue("b"))
	text := fmt.Sprintf("The sum of %s and %s is %s.", c.args["a"], c.args["b"], formatDecimal(sum))
	return result(textContent(text)), nil
}

func getEnv(context.Context, call) (*mcp.CallToolResult, error) {
	return result(textContent(`{
  "DEMO_MODE": "synthetic",
  "HOME": "/home/demo",
  "LANG": "C.UTF-8",
  "PATH": "/usr/local/bin:/usr/bin:/bin",
  "USER": "demo"
}`)), nil
}

func getStructuredContent(_ context.Context, c call) (*mcp.CallToolResult, error) {
	switch c.args.stringValue("location") {
	case "New York":
		return structuredResult(`{"temperature":33,"conditions":"Cloudy","humidity":82}`), nil
	case "Chicago":
		return structuredResult(`{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`), nil
	default:
		return structuredResult(`{"temperature":73,"conditions":"Sunny / Clear","humidity":48}`), nil
	}
}
