package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/pause"

	"mcpc/internal/demo/tasks"
)

// jobs are the tools that become tasks, and one that does not. All but slow_compute need a
// client that declares the extension.
func (f *fixtures) jobs() []tool {
	return []tool{
		{name: "greet", description: "Greets, and is never a task",
			input: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`,
			run: func(_ context.Context, _ *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
				return says("Hello, " + text(args["name"]) + "!"), nil
			}},
		{name: "slow_compute", description: "Takes its time: as a task, where the client declares tasks and there is anything to wait for",
			input: `{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":300},"label":{"type":"string"}},"additionalProperties":false}`,
			run:   f.computes},
		{name: "failing_job", description: "A task that ends with a tool error after a second",
			run: func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
				return f.inTask(ctx, time.Second, func() (*mcp.CallToolResult, error) { return fails("This job always fails."), nil })
			}},
		{name: "protocol_error_job", description: "A task that ends with a JSON-RPC error",
			run: func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
				return f.inTask(ctx, moment, func() (*mcp.CallToolResult, error) {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "this job always ends in an error"}
				})
			}},
		{name: "confirm_delete", description: "A task that asks for a confirmation, and deletes nothing",
			input: `{"type":"object","properties":{"filename":{"type":"string"}},"additionalProperties":false}`,
			run:   confirms},
		{name: "multi_input", description: "A task that asks for two things at once", run: collects},
		{name: "test_tool_with_task", description: "Asks for a name, and then becomes a task", run: f.asksFirst},
	}
}

// inTask begins a task, which waits and then returns what end returns.
func (f *fixtures) inTask(ctx context.Context, wait time.Duration, end func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	ctx, err := tasks.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if pause.For(ctx, wait) != nil {
		return nil, ctx.Err()
	}
	return end()
}

func (f *fixtures) computes(ctx context.Context, _ *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	seconds, _ := args["seconds"].(float64)
	if seconds > 0 {
		if inTask, err := tasks.Begin(ctx); err == nil {
			ctx = inTask
		}
		if pause.For(ctx, time.Duration(seconds*float64(time.Second))) != nil {
			return nil, ctx.Err()
		}
	}
	return says(fmt.Sprintf("Computed %q in %v seconds.", text(args["label"]), seconds)), nil
}

func confirms(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	answers, err := askInTask(ctx, req, mcp.InputRequestMap{"confirm": form("Delete "+text(args["filename"])+"?",
		`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)})
	if err != nil {
		return nil, err
	}
	if confirmed, _ := accepted(answers["confirm"])["confirm"].(bool); !confirmed {
		return says("Nothing is deleted."), nil
	}
	return says("Deleted " + text(args["filename"]) + ". (There was no such file.)"), nil
}

func collects(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
	answers, err := askInTask(ctx, req, mcp.InputRequestMap{"first": form("The first name?", nameForm), "second": form("The second name?", nameForm)})
	if err != nil {
		return nil, err
	}
	return says(fmt.Sprintf("Collected %q and %q.", text(accepted(answers["first"])["name"]), text(accepted(answers["second"])["name"]))), nil
}

func askInTask(ctx context.Context, req *mcp.CallToolRequest, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	if err := missing(req.Params.GetMeta(), req.ClientCapabilities(), requests); err != nil {
		return nil, err
	}
	ctx, err := tasks.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return tasks.Ask(ctx, requests)
}

// asksFirst asks within the call: input rounds come before the task.
func (f *fixtures) asksFirst(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, error) {
	answers, pending, err := f.asks(req, mcp.InputRequestMap{"user_name": form("What is your name?", nameForm)}, "name")
	if answers == nil {
		return pending, err
	}
	name := text(accepted(answers["user_name"])["name"])
	return f.inTask(ctx, moment, func() (*mcp.CallToolResult, error) { return says("The task was done for " + name + "."), nil })
}
