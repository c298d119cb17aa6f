// Command sdk is the least client that can be written on the official Go SDK:
// it connects, lists or calls, and prints the result as JSON.
//
//	sdk URL list
//	sdk URL call NAME ARGUMENTS
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
}

// run connects to a server, and lists its tools or calls one.
func run(ctx context.Context, url, command string, args []string) error {
	progress := func(context.Context, *mcp.ProgressNotificationClientRequest) {}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench-sdk", Version: "1.8.0"},
		&mcp.ClientOptions{ProgressNotificationHandler: progress})
	// Without DisableStandaloneSSE the client would send one more request.
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	out := json.NewEncoder(os.Stdout)
	if command == "list" {
		return list(ctx, session, out)
	}
	params := &mcp.CallToolParams{Name: args[0], Arguments: json.RawMessage(args[1])}
	params.SetProgressToken(1)
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	return out.Encode(result)
}

func list(ctx context.Context, session *mcp.ClientSession, out *json.Encoder) error {
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if err := out.Encode(tool); err != nil {
			return err
		}
	}
	return nil
}
