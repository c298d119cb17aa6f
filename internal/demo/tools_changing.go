package demo

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// extra is the name of the entry that change-list adds and removes.
const (
	extraEntry = "extra"
	extraURI   = documentsURI + extraEntry
)

// changingTools returns tools that change the lists of the server.
func changingTools(s *mcp.Server) []tool {
	return []tool{{
		name:  "change-list",
		title: "Change List Tool",
		description: "Adds an entry called extra to one of the server's lists, or removes it again, " +
			"and notifies subscribers that the list changed. Nothing else depends on it.",
		input: `{"type":"object","properties":{
			"list":{"type":"string","description":"Which list to change","enum":["tools","prompts","resources"]},
			"remove":{"type":"boolean","default":false,"description":"Take the entry away"}
		},"required":["list"],"additionalProperties":false}`,
		hints: harmlessHints(),
		run:   func(_ context.Context, c call) (*mcp.CallToolResult, error) { return changeList(s, c) },
	}}
}

// changeList adds the extra entry to a list of the server, or removes it.
func changeList(s *mcp.Server, c call) (*mcp.CallToolResult, error) {
	list := c.args.stringValue("list")
	if string(c.args["remove"]) == "true" {
		removeExtra(s, list)
		return result(textContent(fmt.Sprintf("The list of %s is as it was at first.", list))), nil
	}
	addExtra(s, list)
	return result(textContent(fmt.Sprintf("The list of %s has an extra entry.", list))), nil
}

// addExtra adds the extra entry to a list: tools, prompts or resources.
func addExtra(s *mcp.Server, list string) {
	const about = "Added and removed by the tool change-list."
	switch list {
	case "tools":
		tool{
			name:        extraEntry,
			description: about,
			input:       noInput,
			hints:       readOnlyHints(),
			run: func(context.Context, call) (*mcp.CallToolResult, error) {
				return result(textContent("This entry was added by change-list.")), nil
			},
		}.add(s)
	case "prompts":
		s.AddPrompt(
			&mcp.Prompt{Name: extraEntry, Description: about},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{
					Messages: []*mcp.PromptMessage{{Role: "user", Content: textContent("This entry was added by change-list.")}},
				}, nil
			},
		)
	case "resources":
		s.AddResource(&mcp.Resource{URI: extraURI, Name: extraEntry, Description: about, MIMEType: "text/plain"},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return oneContent(
					&mcp.ResourceContents{URI: extraURI, MIMEType: "text/plain", Text: "This entry was added by change-list."},
				), nil
			})
	}
}

// removeExtra removes the extra entry from a list.
func removeExtra(s *mcp.Server, list string) {
	switch list {
	case "tools":
		s.RemoveTools(extraEntry)
	case "prompts":
		s.RemovePrompts(extraEntry)
	case "resources":
		s.RemoveResources(extraURI)
	}
}
