package main

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is one row of the tables in this package.
type tool struct {
	name, description string
	input             string // a JSON object schema, sent unchanged; "" for no arguments
	run               func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error)
}

// fixtures is the state that the tools share.
type fixtures struct {
	server *mcp.Server
	key    []byte // signs requestState
}

// addFixtures adds the fixtures to a server that has the extension tasks.
func addFixtures(s *mcp.Server) {
	f := &fixtures{server: s, key: []byte(rand.Text())}
	for _, rows := range [][]tool{contentTools(), f.runningTools(), f.askingTools()} {
		for _, t := range rows {
			t.add(s)
		}
	}
	addResources(s)
	f.addPrompts()
	s.AddReceivingMiddleware(completes)
}

func (t tool) add(s *mcp.Server) {
	if t.input == "" {
		t.input = `{"type":"object","additionalProperties":false}`
	}
	def := &mcp.Tool{Name: t.name, Description: t.description, InputSchema: json.RawMessage(t.input)}
	mcp.AddTool(
		s,
		def,
		func(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, any, error) {
			res, err := t.run(ctx, req, args)
			return res, nil, err
		},
	)
}

func says(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func fails(s string) *mcp.CallToolResult {
	res := says(s)
	res.IsError = true
	return res
}

// text returns v if it is a string, else "".
func text(v any) string {
	s, _ := v.(string)
	return s
}
