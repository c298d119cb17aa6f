// Command go-client is a session of a client on the official Go SDK:
//
//	go-client http URL
//	go-client stdio COMMAND...
//
// It prints what came back, one line each, so that two runs can be compared.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kind string, rest []string) error {
	answer := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
	}
	progress := make(chan *mcp.ProgressNotificationParams, 100)
	told := func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { progress <- req.Params }
	client := mcp.NewClient(&mcp.Implementation{Name: "go-client", Version: "1.8.0"},
		&mcp.ClientOptions{ElicitationHandler: answer, ProgressNotificationHandler: told})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: rest[0]}
	if kind == "stdio" {
		transport = &mcp.CommandTransport{Command: exec.Command(rest[0], rest[1:]...)}
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	for tool, err := range session.Tools(ctx, nil) {
		print("tool", tool, err)
	}
	for _, call := range []mcp.CallToolParams{
		{Name: "echo", Arguments: map[string]any{"message": "Grüße \u0000\u2028 \"x\""}},
		{Name: "echo", Arguments: map[string]any{"message": strings.Repeat("x", 300_000)}},
		{Name: "get-sum", Arguments: map[string]any{"a": 1, "b": 0.1}},
		{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.3, "steps": 3}},
		{Name: "ask-name", Arguments: map[string]any{}},
		{Name: "trigger-elicitation-request", Arguments: map[string]any{}},
		{Name: "get-sum", Arguments: map[string]any{"a": "one"}},
		{Name: "no-such-tool", Arguments: map[string]any{}},
	} {
		call.SetProgressToken(call.Name)
		result, err := session.CallTool(ctx, &call)
		print(call.Name, result, err)
		if call.Name != "trigger-long-running-operation" {
			continue
		}
		for range 3 { // the client may handle them after the result
			select {
			case told := <-progress:
				print("told", told, nil)
			case <-time.After(10 * time.Second):
				print("told", nil, nil)
			}
		}
	}
	for resource, err := range session.Resources(ctx, nil) {
		print("resource", resource, err)
	}
	for prompt, err := range session.Prompts(ctx, nil) {
		print("prompt", prompt, err)
	}
	for _, uri := range []string{"peer://note", "demo://resource/dynamic/text/1"} {
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		print(uri, result, err)
	}
	for _, name := range []string{"greeting", "simple-prompt"} {
		result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"name": "Ada"}})
		print(name, result, err)
	}
	_ = session.Close() // some servers exit only after a signal
	return nil
}

func print(name string, value any, err error) {
	if failed := (*jsonrpc.Error)(nil); errors.As(err, &failed) {
		value = map[string]any{"code": failed.Code}
	} else if err != nil {
		value = map[string]any{"code": nil}
	}
	line, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name, string(line))
}
