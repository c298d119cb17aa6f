package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// An InputRequest is a request for input from the server: a separate request up to 2025-11-25, an
// entry of inputRequests in a result since then (client/elicitation, client/sampling,
// client/roots).
type InputRequest struct {
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string
	// Params are the bytes that the server sent; nil if the request has no params.
	Params json.RawMessage
	// Key is the key in inputRequests; "" if the server sent a separate request.
	Key string
	// WillRetry reports whether the client repeats its request once all input is given: an action
	// elsewhere, such as in a browser, must then be complete.
	WillRetry bool
}

// An Answer is the result of an Asker.
type Answer struct {
	// Result is the result object without its JSON-RPC envelope; nil without a result.
	Result json.RawMessage
	// Declined reports whether Result is nil because the user declined.
	Declined bool
	// Outcome explains an answer without Result, or a Result that declines. It becomes the outcome
	// of the client's request if the request fails because of this answer.
	Outcome wire.Outcome
}

// An Asker answers for the user. It is called for one InputRequest at a time, and returns when ctx ends.
type Asker func(ctx context.Context, q InputRequest) Answer

// UnansweredOutcome returns the outcome of a request whose input request got no answer, for example
// because there is no Asker.
func UnansweredOutcome(method string) wire.Outcome {
	return wire.Outcome{Kind: wire.InputRequired, Text: "the server requested " + method + ", and there was no answer"}
}

// ask returns the Asker's answer to q, and pauses the idle timers until then. The answer has no result
// if there is no Asker, or if ctx or the session ends before the Asker is called.
func (s *Session) ask(ctx context.Context, q InputRequest) Answer {
	if s.opt.Asker == nil {
		return Answer{Outcome: UnansweredOutcome(q.Method)}
	}
	s.pending.Hold()
	defer s.pending.Release()
	select {
	case s.askingUser <- struct{}{}:
		defer func() { <-s.askingUser }()
	case <-ctx.Done():
	}
	// The session may have closed before the semaphore was acquired: Close cancels pending
	// requests one by one.
	if ctx.Err() != nil || s.isClosed() {
		return Answer{Outcome: UnansweredOutcome(q.Method)}
	}
	return s.opt.Asker(ctx, q)
}

// A clientSupport says which requests from the server a client's capabilities allow.
type clientSupport struct {
	form, url, sampling, tools, roots bool
	// tasks are the methods that may create a task at the client, and the task methods that the
	// client supports.
	tasks map[string]bool
}

// parseSupport reads ClientCapabilities. An elicitation object without modes means form mode
// (client/elicitation, "Capabilities").
func parseSupport(capabilities json.RawMessage) clientSupport {
	var o clientSupport
	members, _ := jsonraw.Object(capabilities)
	_, o.roots = members.Get("roots")
	if modes, ok := members.Get("elicitation"); ok {
		o.url = jsonraw.First(modes, "url") != nil
		o.form = !o.url || jsonraw.First(modes, "form") != nil
	}
	if raw, ok := members.Get("sampling"); ok {
		o.sampling = true
		o.tools = jsonraw.First(raw, "tools") != nil
	}
	o.tasks = taskMethods(capabilities)
	return o
}

// MayAsk reports whether capabilities allow the server to request any input.
func MayAsk(capabilities json.RawMessage) bool {
	return !parseSupport(nil).covers(parseSupport(capabilities)) // nil allows nothing
}

// Covers reports whether the declared capabilities allow each request that the wanted ones allow,
// and declare the same extensions.
func Covers(declared, wanted json.RawMessage) bool {
	declaredExtensions := jsonraw.First(declared, "extensions")
	wantedExtensions, _ := jsonraw.Object(jsonraw.First(wanted, "extensions"))
	for _, m := range wantedExtensions {
		if !bytes.Equal(jsonraw.Compact(jsonraw.First(declaredExtensions, m.Name)), jsonraw.Compact(m.Value)) {
			return false
		}
	}
	return parseSupport(declared).covers(parseSupport(wanted))
}

// covers reports whether o allows each request that wanted allows.
func (o clientSupport) covers(wanted clientSupport) bool {
	coversElicitation := (o.form || !wanted.form) && (o.url || !wanted.url)
	coversSampling := (o.sampling || !wanted.sampling) && (o.tools || !wanted.tools)
	return coversElicitation && coversSampling && (o.roots || !wanted.roots)
}

// rejection returns the JSON-RPC error code for a rejected request and a description of the missing
// capability; the code is 0 if the request is allowed. A method without its capability gets -32601
// "method not found"; an undeclared elicitation mode or undeclared sampling tools get -32602
// "invalid params".
func (o clientSupport) rejection(method string, params json.RawMessage) (int64, string) {
	members, _ := jsonraw.Object(params)
	var isOffered bool // the method as such
	switch method {
	case "elicitation/create":
		isOffered = o.form || o.url
	case "sampling/createMessage":
		isOffered = o.sampling
	case "roots/list":
		isOffered = o.roots
	default:
		isOffered = mcp.IsTaskMethod(method) && o.tasks[method]
	}
	if !isOffered {
		return -32601, method
	}
	switch method {
	case "elicitation/create":
		mode := members.Text("mode")
		if mode == "" {
			mode = "form"
		}
		if !(mode == "form" && o.form || mode == "url" && o.url) {
			return -32602, method + " in the mode " + jsonraw.Excerpt([]byte(mode), 40)
		}
	case "sampling/createMessage":
		_, hasTools := members.Get("tools")
		_, hasChoice := members.Get("toolChoice")
		if (hasTools || hasChoice) && !o.tools {
			return -32602, method + " with tools"
		}
	}
	return 0, ""
}

// invalidSampling returns why the messages of a sampling request are invalid, or "". It returns ""
// for any other method. Each tool use must be followed by its results, alone in the next message
// (2025-11-25 client/sampling, "Message Content Constraints").
func invalidSampling(method string, params json.RawMessage) string {
	if method != "sampling/createMessage" {
		return ""
	}
	messages, _ := jsonraw.Array(jsonraw.First(params, "messages"))
	var used []string // tool uses of the previous message
	for i, message := range messages {
		uses, results, others := toolBlocks(jsonraw.First(message, "content"))
		for _, id := range used {
			if !slices.Contains(results, id) {
				return fmt.Sprintf("the tool_use %q has no tool_result in the next message", id)
			}
		}
		for _, id := range results {
			if !slices.Contains(used, id) {
				return fmt.Sprintf("the tool_result %q matches no tool_use of the previous message", id)
			}
		}
		if len(results) > 0 && len(uses)+others > 0 {
			return fmt.Sprintf("message %d mixes tool results with other content", i)
		}
		used = uses
	}
	if len(used) > 0 {
		return fmt.Sprintf("the tool_use %q has no tool_result", used[0])
	}
	return ""
}

// toolBlocks returns the ids of the tool uses and of the tool results in a message's content, and
// the number of other blocks.
func toolBlocks(content json.RawMessage) (uses, results []string, others int) {
	blocks, err := jsonraw.Array(content)
	if err != nil { // the content is a single block
		blocks = []json.RawMessage{content}
	}
	for _, raw := range blocks {
		block, _ := jsonraw.Object(raw)
		switch block.Text("type") {
		case "tool_use":
			uses = append(uses, block.Text("id"))
		case "tool_result":
			results = append(results, block.Text("toolUseId"))
		default:
			others++
		}
	}
	return uses, results, others
}
