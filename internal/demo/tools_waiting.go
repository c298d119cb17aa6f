//lint:file-ignore SA1019 logging is deprecated in 2026-07-28 and still spoken

package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/pause"
)

// waitingTools returns tools that send notifications or delay their result.
func waitingTools(s *mcp.Server) []tool {
	return []tool{{
		name:        "trigger-long-running-operation",
		title:       "Trigger Long Running Operation Tool",
		description: "Demonstrates a long running operation with progress updates.",
		input: `{"type":"object","properties":{
			"duration":{"type":"number","default":10,"description":"Duration of the operation in seconds",` +
			`"minimum":0,"maximum":3600},
			"steps":{"type":"integer","default":5,"description":"Number of steps in the operation","minimum":1,"maximum":100000}
		},"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   longRunning,
	}, {
		name:  "send-log-messages",
		title: "Send Log Messages Tool",
		description: "Sends one log message at each of the eight levels. Those below " +
			"the requested level are not sent; without a requested level none are sent.",
		input: noInput,
		hints: readOnlyHints(),
		run:   sendLogMessages,
	}, {
		name:  "touch-resource",
		title: "Touch Resource Tool",
		description: "Tells everyone who subscribed to a resource that it was updated. " +
			"Its content stays the same.",
		input: `{"type":"object","properties":{
			"uri":{"type":"string","description":"URI of the resource","default":"` + documentsURI + `instructions.md"}
		},"additionalProperties":false}`,
		hints: harmlessHints(),
		run: func(ctx context.Context, c call) (*mcp.CallToolResult, error) {
			uri := c.args.stringValue("uri")
			if err := s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
				return nil, err
			}
			return result(textContent("Touched " + uri + ".")), nil
		},
	}, {
		name:  "hang-up",
		title: "Hang Up Tool",
		description: "Closes the event stream before it answers, so that the answer has to be fetched " +
			"by resuming the stream. Only HTTP with sessions can do that; elsewhere it just answers.",
		input: noInput,
		hints: readOnlyHints(),
		run:   hangUp,
	}}
}

// longRunning waits in steps and reports progress after each step. With duration 0 it does not wait
// and cannot be cancelled, so that its messages are always the same.
func longRunning(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	steps := c.args.intValue("steps")
	seconds, _ := c.args.numberValue("duration").Float64()
	gap := time.Duration(seconds * float64(time.Second) / float64(steps))
	for step := 1; step <= steps; step++ {
		if gap > 0 && pause.For(ctx, gap) != nil {
			return toolError(fmt.Sprintf("Long running operation cancelled in step %d of %d.", step, steps)), nil
		}
		reportProgress(ctx, c, step, steps)
	}
	return result(textContent(fmt.Sprintf("Long running operation completed. Duration: %s seconds, Steps: %s.",
		c.args["duration"], c.args["steps"]))), nil
}

// reportProgress sends a progress notification if the call has a progress token.
func reportProgress(ctx context.Context, c call, step, steps int) {
	token := c.Params.GetProgressToken()
	if token == nil {
		return
	}
	// A client that receives no progress still receives the response.
	_ = c.Session.NotifyProgress(context.WithoutCancel(ctx), &mcp.ProgressNotificationParams{
		ProgressToken: token,
		Progress:      float64(step),
		Total:         float64(steps),
		Message:       fmt.Sprintf("Step %d of %d", step, steps),
	})
}

// sendLogMessages sends a log message at each level, and returns how many the SDK did not drop.
func sendLogMessages(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	sent := new(int)
	ctx = context.WithValue(context.WithoutCancel(ctx), sentCountKey{}, sent)
	for _, level := range logLevels() {
		err := c.Session.Log(ctx, &mcp.LoggingMessageParams{
			Level:  level,
			Logger: "mcpc-demo",
			Data:   "A message at level " + string(level) + ".",
		})
		if err != nil {
			return toolError("Logging failed: " + err.Error()), nil
		}
	}
	return result(textContent(fmt.Sprintf("Sent %d of %d log messages.", *sent, len(logLevels())))), nil
}

// sentCountKey is the key in the context of a call for the number of sent log messages.
type sentCountKey struct{}

// countLogs returns a handler that counts the log messages that the SDK sends. The SDK drops
// messages below the level that the client requested.
func countLogs(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if sent, ok := ctx.Value(sentCountKey{}).(*int); ok && method == "notifications/message" {
			*sent++
		}
		return next(ctx, method, req)
	}
}

// hangUpRetry is the time that the client must wait before it reconnects.
const hangUpRetry = 10 * time.Millisecond

// hangUp closes the event stream of the call before its result. The client resumes the stream to
// get it.
func hangUp(_ context.Context, c call) (*mcp.CallToolResult, error) {
	if c.Extra != nil && c.Extra.CloseSSEStream != nil {
		c.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: hangUpRetry})
	}
	return result(textContent("You found the answer.")), nil
}
