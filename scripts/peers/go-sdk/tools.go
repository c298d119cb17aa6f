package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools of every peer in this repository. The names, arguments and texts of echo, get-sum,
// get-structured-content and trigger-long-running-operation are the same as in server-everything,
// so that one table of calls is valid for all servers.

const noteURI = "peer://note"

var noArguments = json.RawMessage(`{"type":"object"}`)

func addTools(server *mcp.Server) {
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{
		Name:        "echo",
		Description: "Echoes back the input string",
		Annotations: readOnly,
	}, echo)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "get-sum",
		Description: "Returns the sum of two numbers",
		Annotations: readOnly,
	}, getSum)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "get-structured-content",
		Description: "Returns structured content along with an output schema",
		Annotations: readOnly,
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"location":{"type":"string","enum":["New York","Chicago","Los Angeles"]}},"required":["location"]}`,
		),
	}, getStructuredContent)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "trigger-long-running-operation",
		Description: "Sleeps for duration seconds and reports each of its steps as progress",
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"duration":{"type":"number","default":10},"steps":{"type":"integer","minimum":1,"default":5}}}`,
		),
	}, longRunning)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "region-query",
		Description: "Its region travels in the header Mcp-Param-Region as well",
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}},"required":["region"]}`,
		),
	}, regionQuery)
	// The low-level handler receives the bytes of the arguments. A typed handler would parse the
	// number into a Go int and reject a larger number.
	server.AddTool(&mcp.Tool{
		Name:        "repeat-integer",
		Description: "Answers the integer that it got, digit by digit",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"value":{"type":"integer"}},"required":["value"]}`),
	}, repeatInteger)
	server.AddTool(&mcp.Tool{
		Name:        "fail",
		Description: "Runs and says no: a result with isError",
		InputSchema: noArguments,
	}, fail)
	server.AddTool(&mcp.Tool{
		Name:        "rpc-error",
		Description: "The handler returns a JSON-RPC error with data",
		InputSchema: noArguments,
	}, rpcError)
	server.AddTool(&mcp.Tool{
		Name:        "ask-name",
		Description: "Asks the user for a name in the middle of the call",
		InputSchema: noArguments,
	}, askName)
	addTouch(server)
}

type echoArguments struct {
	Message string `json:"message"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoArguments) (*mcp.CallToolResult, any, error) {
	return text("Echo: " + in.Message), nil, nil
}

type sumArguments struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

func getSum(_ context.Context, _ *mcp.CallToolRequest, in sumArguments) (*mcp.CallToolResult, any, error) {
	return text(fmt.Sprintf("The sum of %v and %v is %v.", in.A, in.B, in.A+in.B)), nil, nil
}

type place struct {
	Location string `json:"location"`
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

func getStructuredContent(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, weather, error) {
	return nil, forecasts[in.Location], nil
}

type operation struct {
	Duration float64 `json:"duration"`
	Steps    int     `json:"steps"`
}

func longRunning(ctx context.Context, req *mcp.CallToolRequest, in operation) (*mcp.CallToolResult, any, error) {
	pause := time.Duration(in.Duration * float64(time.Second) / float64(in.Steps))
	for step := 1; step <= in.Steps; step++ {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
		report(ctx, req, step, in.Steps)
	}
	return text(
		fmt.Sprintf("Long running operation completed. Duration: %v seconds, Steps: %d.", in.Duration, in.Steps),
	), nil, nil
}

// report sends progress and ignores the error: in mode json there is no stream for progress, and
// the call continues.
func report(ctx context.Context, req *mcp.CallToolRequest, step, steps int) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token,
		Progress:      float64(step),
		Total:         float64(steps),
	})
}

type regionArguments struct {
	Region string `json:"region"`
	Query  string `json:"query"`
}

func regionQuery(_ context.Context, _ *mcp.CallToolRequest, in regionArguments) (*mcp.CallToolResult, any, error) {
	return text("region " + in.Region), nil, nil
}

func repeatInteger(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	return text(string(in.Value)), nil
}

func fail(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	result := text("the tool said no")
	result.IsError = true
	return result, nil
}

func rpcError(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, &jsonrpc.Error{
		Code:    -32010,
		Message: "the peer says no",
		Data:    json.RawMessage(`{"reason":"asked to"}`),
	}
}

// askName requests a name. It is written for 2026-07-28, where a call returns the request and is
// repeated with the answer. For an older client the SDK sends elicitation/create and repeats the
// call itself.
func askName(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": nameQuestion()}}, nil
	}
	if answer.Action != "accept" {
		return text(fmt.Sprintf("No name (%s).", answer.Action)), nil
	}
	return text(fmt.Sprintf("Hello, %v!", answer.Content["name"])), nil
}

func nameQuestion() *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Mode:            "form",
		Message:         "What is your name?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
}

// addTouch adds a tool that adds itself again. The list stays the same, so that tests can share a
// server, and the SDK sends a notification of a change.
func addTouch(server *mcp.Server) {
	tool := &mcp.Tool{
		Name:        "touch",
		Description: "Announces that the tools and the note changed, though neither did",
		InputSchema: noArguments,
	}
	server.AddTool(tool, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTouch(server)
		if err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI}); err != nil {
			return nil, err
		}
		return text("touched"), nil
	})
}

func addNote(server *mcp.Server) {
	server.AddResource(&mcp.Resource{URI: noteURI, Name: "note", MIMEType: "text/plain"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
				{URI: noteURI, MIMEType: "text/plain", Text: "a note"},
			}}, nil
		})
}

func addGreeting(server *mcp.Server) {
	server.AddPrompt(&mcp.Prompt{
		Name:        "greeting",
		Description: "A greeting",
		Arguments:   []*mcp.PromptArgument{{Name: "name", Required: true}},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{
			Role:    "user",
			Content: &mcp.TextContent{Text: fmt.Sprintf("Greet %s.", req.Params.Arguments["name"])},
		}}}, nil
	})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
