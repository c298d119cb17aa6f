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

// withDemo runs use with an Env whose -s is a demo server, and whose user cannot be asked.
func withDemo(use func(ctx context.Context, env *host.Env)) {
	server := httptest.NewServer(demo.Handler(demo.Options{}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "mcpc-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	use(context.Background(), &host.Env{
		UI: host.Quiet{}, Getenv: func(string) string { return "" }, Environ: os.Environ, Now: time.Now,
		Server: server.URL + "/mcp", State: dir, NoRecord: true,
	})
}

// A program dials the server that -s names, and reads the definition of a tool. A Conn is
// closed also where Dial failed.
func ExampleDial() {
	withDemo(func(ctx context.Context, env *host.Env) {
		conn, outcome := connect.Dial(ctx, env, connect.Options{})
		defer conn.Close(ctx)
		if !outcome.OK() {
			fmt.Println(outcome.Kind, outcome.Text)
			return
		}
		fmt.Println("protocol", conn.Revision())

		tool, outcome := conn.Define(ctx, "get-sum")
		if !outcome.OK() {
			fmt.Println(outcome.Kind, outcome.Text)
			return
		}
		fmt.Println(tool.Description)
	})

	// Output:
	// protocol 2026-07-28
	// Returns the sum of two numbers
}

// A tool is called with arguments that are checked against its inputSchema; the Outcome names the
// layer that failed, if any.
func ExampleConn_callTool() {
	withDemo(func(ctx context.Context, env *host.Env) {
		conn, _ := connect.Dial(ctx, env, connect.Options{})
		defer conn.Close(ctx)
		for _, document := range []string{`{"a":1,"b":2}`, `{"a":1,"b":"two"}`} {
			request := toolcall.Request{Name: "get-sum", Given: arguments.Given{Document: json.RawMessage(document)}}
			outcome, _ := toolcall.CallTool(ctx, conn, &request)
			if !outcome.OK() {
				fmt.Println(outcome.Kind)
				continue
			}
			var result struct{ Content []struct{ Text string } }
			if err := json.Unmarshal(outcome.Result, &result); err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(result.Content[0].Text)
		}
	})

	// Output:
	// The sum of 1 and 2 is 3.
	// invalid_arguments
}
