package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// markedTools returns tools with definitions that require more of the client than a call.
func markedTools() []tool {
	return []tool{{
		name:  "route-by-region",
		title: "Route By Region Tool",
		description: "Echoes where a request would be routed: its arguments, and the Mcp-Param-* headers " +
			"that came with them. The arguments are annotated with x-mcp-header.",
		input: `{"type":"object","properties":{
			"region":{"type":"string","description":"Where to route to, e.g. eu-1","x-mcp-header":"Region"},
			"priority":{"type":"integer","description":"How urgent it is","x-mcp-header":"Priority","minimum":0,"maximum":9},
			"dryRun":{"type":"boolean","description":"Only say what would happen","x-mcp-header":"Dry-Run"}
		},"required":["region"],"additionalProperties":false}`,
		hints: readOnlyHints(),
		run:   routeByRegion,
	}, {
		name:  "forget-everything",
		title: "Forget Everything Tool",
		description: "Returns a text and changes nothing. It is marked as " +
			"destructive, to show how a client confirms the call of such a tool.",
		input: noInput,
		hints: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true), OpenWorldHint: new(false)},
		run: func(context.Context, call) (*mcp.CallToolResult, error) {
			return result(textContent("Everything is forgotten. (Nothing was stored, so nothing is lost.)")), nil
		},
	}, {
		name:  "show-weather",
		title: "Show Weather Tool",
		description: "Says what the weather is like, and names a page that shows it (MCP Apps), " +
			"for clients that have a browser.",
		input: noInput,
		hints: readOnlyHints(),
		meta:  mcp.Meta{"ui": map[string]any{"resourceUri": pageURI}},
		run: func(context.Context, call) (*mcp.CallToolResult, error) {
			return result(textContent("Sunny, 24 degrees. (It always is, here.)")), nil
		},
	}}
}

// The extension MCP Apps, and the type of its pages.
const (
	appsExtension = "io.modelcontextprotocol/ui"
	pageType      = "text/html;profile=mcp-app"
)

// routeByRegion returns one line per annotated argument: its received value, and the received
// header, still encoded.
func routeByRegion(_ context.Context, c call) (*mcp.CallToolResult, error) {
	lines := []string{"Routed to region " + c.args.stringValue("region") + "."}
	for _, p := range []struct{ argument, header string }{
		{"region", "Mcp-Param-Region"},
		{"priority", "Mcp-Param-Priority"},
		{"dryRun", "Mcp-Param-Dry-Run"},
	} {
		if c.args.has(p.argument) {
			lines = append(lines,
				fmt.Sprintf("%s: %s; %s: %s", p.argument, c.args[p.argument], p.header, headerText(c, p.header)))
		}
	}
	return result(textContent(strings.Join(lines, "\n"))), nil
}

func headerText(c call, name string) string {
	if c.Extra == nil || len(c.Extra.Header.Values(name)) == 0 {
		return "(no header)"
	}
	return c.Extra.Header.Get(name)
}
