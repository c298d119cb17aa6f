package connect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/demo"
)

// A program dials a server as -s names it, calls a tool, and closes the connection.
func ExampleDial() {
	server := httptest.NewServer(demo.Handler(demo.Options{}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "mcpc-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	env := &host.Env{
		UI: host.Quiet{}, Getenv: func(string) string { return "" }, Environ: os.Environ, Now: time.Now,
		Settings: host.Settings{Server: server.URL + "/mcp", State: dir, NoRecord: true},
	}
	ctx := context.Background()
	conn, outcome := connect.Dial(ctx, env, connect.Options{})
	defer conn.Close(ctx)
	if !outcome.Good() {
		fmt.Println(outcome.Kind, outcome.Text)
		return
	}
	fmt.Println("protocol", conn.Revision())

	request := toolcall.Request{Name: "get-sum", Given: arguments.Given{Document: json.RawMessage(`{"a":1,"b":2}`)}}
	outcome, _ = toolcall.CallTool(ctx, conn, &request)
	if !outcome.Good() {
		fmt.Println(outcome.Kind, outcome.Text)
		return
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(outcome.Result, &result); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].Text)

	// Output:
	// protocol 2026-07-28
	// The sum of 1 and 2 is 3.
}
