package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The tools of every peer in this repository. The names, arguments and texts of echo, get-sum,
// get-structured-content and trigger-long-running-operation are the same as in server-everything,
// so that one table of calls is valid for all servers.

const noteURI = "peer://note"

func addTools(peer *server.MCPServer, tasks bool) {
	mayBeTask := func(*mcp.Tool) {}
	if tasks {
		mayBeTask = mcp.WithTaskSupport(mcp.TaskSupportOptional)
	}
	peer.AddTool(mcp.NewTool("echo",
		mcp.WithDescription("Echoes back the input string"),
		mcp.WithString("message", mcp.Required()),
	), echo)
	peer.AddTool(mcp.NewTool("get-sum",
		mcp.WithDescription("Returns the sum of two numbers"),
		mcp.WithNumber("a", mcp.Required()),
		mcp.WithNumber("b", mcp.Required()),
	), getSum)
	peer.AddTool(mcp.NewTool("get-structured-content",
		mcp.WithDescription("Returns structured content along with an output schema"),
		mcp.WithString("location", mcp.Required(), mcp.Enum("New York", "Chicago", "Los Angeles")),
		mcp.WithOutputSchema[weather](),
	), getStructuredContent)
	peer.AddTool(mcp.NewTool("trigger-long-running-operation",
		mcp.WithDescription("Sleeps for duration seconds and reports each of its steps as progress"),
		mcp.WithNumber("duration", mcp.DefaultNumber(10.0)),
		mcp.WithInteger("steps", mcp.Min(1), mcp.DefaultNumber(5)),
		mayBeTask,
	), longRunning)
	peer.AddTool(mcp.NewToolWithRawSchema(
		"region-query",
		"Its region travels in the header Mcp-Param-Region as well",
		json.RawMessage(
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}},"required":["region"]}`,
		),
	), regionQuery)
	peer.AddTool(mcp.NewTool("repeat-integer",
		mcp.WithDescription("Answers the integer that it got, digit by digit"),
		mcp.WithInteger("value", mcp.Required()),
	), repeatInteger)
	peer.AddTool(mcp.NewTool("fail",
		mcp.WithDescription("Runs and says no: a result with isError"),
		mayBeTask,
	), fail)
	peer.AddTool(mcp.NewTool("rpc-error",
		mcp.WithDescription("The handler returns a Go error, which becomes -32603"),
		mayBeTask,
	), rpcError)
	peer.AddTool(mcp.NewTool("ask-name",
		mcp.WithDescription("Asks the user for a name in the middle of the call"),
	), askName)
	addTouch(peer)
}

func echo(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("Echo: " + req.GetString("message", "")), nil
}

func getSum(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, b := req.GetFloat("a", 0), req.GetFloat("b", 0)
	return mcp.NewToolResultText(fmt.Sprintf("The sum of %v and %v is %v.", a, b, a+b)), nil
}

type weather struct {
	Temperature float64 `json:"temperature"`
	Conditions  string  `json:"conditions"`
	Humidity    float64 `json:"humidity"`
}

var forecasts = map[string]weather{
	"New York":    {33, "Cloudy", 82},
	"Chicago":     {36, "Light rain / drizzle", 82},
	"Los Angeles": {73, "Sunny / Clear", 48},
}

func getStructuredContent(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultStructuredOnly(forecasts[req.GetString("location", "")]), nil
}

func longRunning(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	duration, steps := req.GetFloat("duration", 10), req.GetInt("steps", 5)
	pause := time.Duration(duration * float64(time.Second) / float64(steps))
	for step := 1; step <= steps; step++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		report(ctx, req, step, steps)
	}
	return mcp.NewToolResultText(
		fmt.Sprintf("Long running operation completed. Duration: %v seconds, Steps: %d.", duration, steps),
	), nil
}

// report sends progress and ignores the error: without a stream there is no way to send progress,
// and the call continues.
func report(ctx context.Context, req mcp.CallToolRequest, step, steps int) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return
	}
	_ = server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": req.Params.Meta.ProgressToken,
		"progress":      step,
		"total":         steps,
	})
}

func regionQuery(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("region " + req.GetString("region", "")), nil
}

func repeatInteger(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Value json.RawMessage `json:"value"`
	}
	if err := req.BindArguments(&in); err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	return mcp.NewToolResultText(string(in.Value)), nil
}

func fail(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultError("the tool said no"), nil
}

func rpcError(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("the peer says no")
}

// askName requests a name. It is written for 2026-07-28, where a call returns the request and is
// repeated with the answer. For an older client the SDK sends elicitation/create and repeats the
// call itself.
func askName(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := server.ElicitationResponse(req.Params.InputResponses, "name")
	if answer == nil {
		return server.NewInputRequestBuilder("").Elicit("name", nameQuestion()).ToolResult(), nil
	}
	if answer.Action != mcp.ElicitationResponseActionAccept {
		return mcp.NewToolResultText(fmt.Sprintf("No name (%s).", answer.Action)), nil
	}
	content, _ := answer.Content.(map[string]any)
	return mcp.NewToolResultText(fmt.Sprintf("Hello, %v!", content["name"])), nil
}

func nameQuestion() mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Mode:            mcp.ElicitationModeForm,
		Message:         "What is your name?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
}

// addTouch adds a tool that adds itself again. The list stays the same, so that tests can share a
// server, and the SDK sends a notification of a change. The SDK sends resources/updated to every
// session of the handshake era, subscribed or not, and to no subscriptions/listen stream over HTTP.
func addTouch(peer *server.MCPServer) {
	peer.AddTool(mcp.NewTool("touch",
		mcp.WithDescription("Announces that the tools and the note changed, though neither did"),
	), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTouch(peer)
		peer.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": noteURI})
		return mcp.NewToolResultText("touched"), nil
	})
}

func addNote(peer *server.MCPServer) {
	peer.AddResource(mcp.NewResource(noteURI, "note", mcp.WithMIMEType("text/plain")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{
				mcp.TextResourceContents{URI: noteURI, MIMEType: "text/plain", Text: "a note"},
			}, nil
		})
}

func addGreeting(peer *server.MCPServer) {
	peer.AddPrompt(mcp.NewPrompt("greeting",
		mcp.WithPromptDescription("A greeting"),
		mcp.WithArgument("name", mcp.RequiredArgument()),
	), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		greet := mcp.NewTextContent(fmt.Sprintf("Greet %s.", req.Params.Arguments["name"]))
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, greet)}), nil
	})
}
