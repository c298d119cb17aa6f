package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/pause"
)

// taskTools returns the tools that become tasks, and greet, which does not. All except greet and
// slow_compute require a client that declares the extension.
func taskTools() []tool {
	return []tool{{
		name:        "greet",
		description: "Greets, and is never a task",
		input: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],` +
			`"additionalProperties":false}`,
		run: func(_ context.Context, c call) (*mcp.CallToolResult, error) {
			return result(textContent("Hello, " + c.args.stringValue("name") + "!")), nil
		},
	}, {
		name:        "slow_compute",
		description: "Takes its time: as a task, where the client declares tasks and there is anything to wait for",
		input: `{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":300},` +
			`"label":{"type":"string"}},"additionalProperties":false}`,
		run: slowCompute,
	}, {
		name:        "failing_job",
		description: "A task that ends with a tool error after a second",
		input:       noInput,
		run: func(ctx context.Context, _ call) (*mcp.CallToolResult, error) {
			if err := waitInTask(ctx, time.Second); err != nil {
				return nil, err
			}
			return toolError("This job always fails."), nil
		},
	}, {
		name:        "protocol_error_job",
		description: "A task that ends with a JSON-RPC error",
		input:       noInput,
		run: func(ctx context.Context, _ call) (*mcp.CallToolResult, error) {
			if err := waitInTask(ctx, 50*time.Millisecond); err != nil {
				return nil, err
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "this job always ends in an error"}
		},
	}, {
		name:        "confirm_delete",
		description: "A task that asks for a confirmation, and deletes nothing",
		input:       `{"type":"object","properties":{"filename":{"type":"string"}},"additionalProperties":false}`,
		run:         confirmDelete,
	}, {
		name:        "multi_input",
		description: "A task that asks for two things at once",
		input:       noInput,
		run:         collectNames,
	}}
}

// waitInTask begins a task and waits for d.
func waitInTask(ctx context.Context, d time.Duration) error {
	ctx, err := BeginTask(ctx)
	if err != nil {
		return err
	}
	return pause.For(ctx, d)
}

// slowCompute waits for some seconds, in a task if the client declares tasks.
func slowCompute(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	seconds, _ := c.args.numberValue("seconds").Float64()
	if seconds > 0 {
		if inTask, err := BeginTask(ctx); err == nil {
			ctx = inTask
		}
		if err := pause.For(ctx, time.Duration(seconds*float64(time.Second))); err != nil {
			return nil, err
		}
	}
	return result(textContent(fmt.Sprintf("Computed %q in %v seconds.", c.args.stringValue("label"), seconds))), nil
}

// confirmDelete asks in a task whether to delete a file. It never deletes it.
func confirmDelete(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	file := c.args.stringValue("filename")
	answers, refused, err := askInTask(ctx, c, mcp.InputRequestMap{"confirm": newForm("Delete "+file+"?",
		`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)})
	if answers == nil {
		return refused, err
	}
	form, _ := acceptedContent(answers["confirm"])
	if confirmed, _ := form["confirm"].(bool); !confirmed {
		return result(textContent("Nothing is deleted.")), nil
	}
	return result(textContent("Deleted " + file + ". (There was no such file.)")), nil
}

// collectNames asks in a task for two names at once.
func collectNames(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	answers, refused, err := askInTask(ctx, c, mcp.InputRequestMap{
		"first": newForm("The first name?", anyNameForm), "second": newForm("The second name?", anyNameForm),
	})
	if answers == nil {
		return refused, err
	}
	first, _ := acceptedContent(answers["first"])
	second, _ := acceptedContent(answers["second"])
	text := fmt.Sprintf("Collected %q and %q.", formatValue(first["name"]), formatValue(second["name"]))
	return result(textContent(text)), nil
}

const anyNameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// askInTask begins a task, sends forms to its client and returns the answers. Without answers it
// returns the outcome of the call: a result for a client without forms, or an error.
func askInTask(
	ctx context.Context,
	c call,
	forms mcp.InputRequestMap,
) (mcp.InputResponseMap, *mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || caps.Elicitation.Form == nil && caps.Elicitation.URL != nil {
		refused, err := c.missingCapability("elicitation", `{"elicitation":{"form":{}}}`)
		return nil, refused, err
	}
	ctx, err := BeginTask(ctx)
	if err != nil {
		return nil, nil, err
	}
	answers, err := awaitAnswers(ctx, forms)
	return answers, nil, err
}
