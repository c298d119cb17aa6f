//lint:file-ignore SA1019 logging is deprecated and still spoken

package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/pause"
)

// moment is the time between two notifications.
const moment = 50 * time.Millisecond

// runningTools returns tools that send messages before their result, or change the lists of the
// server.
func (f *fixtures) runningTools() []tool {
	var changed sync.Mutex // one change at a time
	return []tool{
		{name: "test_tool_with_logging", description: "Sends three log messages", run: f.logs},
		{name: "test_logging_tool", description: "Sends three log messages", run: f.logs},
		{name: "test_tool_with_progress", description: "Sends three progress notifications", run: f.progresses},
		{name: "test_reconnection", description: "Closes its event stream before it returns", run: f.reconnects},
		{
			name: "test_trigger_tool_change", description: "Changes the list of tools, and changes it back",
			run: func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
				changed.Lock()
				defer changed.Unlock()
				tool{name: "test_passing_tool", description: "Is there for a moment", run: f.passes}.add(f.server)
				f.server.RemoveTools("test_passing_tool")
				return says("The list of tools has changed."), nil
			},
		},
		{
			name: "test_trigger_prompt_change", description: "Changes the list of prompts, and changes it back",
			run: func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
				changed.Lock()
				defer changed.Unlock()
				f.server.AddPrompt(&mcp.Prompt{Name: "test_passing_prompt", Description: "Is there for a moment"},
					func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
						return prompts("This prompt was there for a moment."), nil
					})
				f.server.RemovePrompts("test_passing_prompt")
				return says("The list of prompts has changed."), nil
			},
		},
		{
			name:        "json_schema_2020_12_tool",
			description: "Tool with JSON Schema 2020-12 features",
			input:       wideSchema,
			run:         repeats,
		},
	}
}

func (f *fixtures) passes(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
	return says("This tool was there for a moment."), nil
}

func (f *fixtures) logs(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
	for i, data := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 && pause.For(ctx, moment) != nil {
			return nil, ctx.Err()
		}
		// The SDK drops messages below the level that the client requested.
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{
			Level: "info", Logger: "mcpc-demo",
			Data: data,
		}); err != nil {
			return nil, err
		}
	}
	return says("The tool has logged three messages."), nil
}

func (f *fixtures) progresses(
	ctx context.Context,
	req *mcp.CallToolRequest,
	_ map[string]any,
) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for i, progress := range []float64{0, 50, 100} {
		if i > 0 && pause.For(ctx, moment) != nil {
			return nil, ctx.Err()
		}
		if token == nil {
			continue
		}
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      progress, Total: 100,
		}); err != nil {
			return nil, err
		}
	}
	return says("The tool has made progress."), nil
}

// reconnects ends the stream if the revision has resumable streams.
func (f *fixtures) reconnects(
	ctx context.Context,
	req *mcp.CallToolRequest,
	_ map[string]any,
) (*mcp.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 2 * moment})
		if pause.For(ctx, moment) != nil {
			return nil, ctx.Err()
		}
	}
	return says("Reconnection test completed."), nil
}

// wideSchema has the keywords that a server must send unchanged.
const wideSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
	"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
	"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
		"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
	"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
	"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
	"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func repeats(_ context.Context, _ *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	b, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return says("Called with " + string(b)), nil
}
