package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// An Asking is what a server wants to know of its client: a request of its own
// until 2025-11-25, one of the inputRequests of a result since (client/elicitation,
// client/sampling, client/roots).
type Asking struct {
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string
	// Params are the server's bytes; nil where there are none.
	Params json.RawMessage
	// Key tells apart what is asked in one round; a request of the server's own
	// has none.
	Key string
	// Again is set where the request is sent again as soon as all is answered:
	// what the user has to do elsewhere, as in a browser, must be done by then.
	Again bool
}

// An Answer is what an Asker has to say.
type Answer struct {
	// Result is the bare result object; nil where there is none.
	Result json.RawMessage
	// Declined is set where there is no Result because the user declined.
	Declined bool
	// Ending says why there is neither; it becomes the ending of the exchange. Beside a
	// no it says whose that was: the ending where the server fails for it.
	Ending wire.Outcome
}

// An Asker answers for the user. It is called for one question at a time, and
// gives up when ctx ends.
type Asker func(ctx context.Context, q Asking) Answer

// Unanswered is the ending of a question without an answer, as where there is no Asker.
func Unanswered(method string) wire.Outcome {
	return wire.Outcome{Kind: wire.InputRequired, Text: "the server requested " + method + ", and there was no answer"}
}

// ask puts one question. The idle timers are stopped until it is answered.
func (s *Session) ask(ctx context.Context, q Asking) Answer {
	if s.opt.Asker == nil {
		return Answer{Ending: Unanswered(q.Method)}
	}
	s.pending.Hold()
	defer s.pending.Release()
	select {
	case s.askingUser <- struct{}{}:
		defer func() { <-s.askingUser }()
	case <-ctx.Done():
	}
	// The session may have closed when the semaphore was acquired: Close cancels pending
	// requests one by one.
	if ctx.Err() != nil || s.isClosed() {
		return Answer{Ending: Unanswered(q.Method)}
	}
	return s.opt.Asker(ctx, q)
}

// An offer is what a client declared that it answers: ClientCapabilities.
type clientSupport struct {
	form, url, sampling, tools, roots bool
	// tasks are the methods about tasks of the client's own, and those that may
	// become one.
	tasks map[string]bool
}

// offerOf reads capabilities. An elicitation without modes means forms (client/
// elicitation, "Capabilities").
func parseSupport(capabilities json.RawMessage) clientSupport {
	var o clientSupport
	members, _ := jsonraw.Object(capabilities)
	_, o.roots = members.Get("roots")
	if modes, ok := members.Get("elicitation"); ok {
		o.url = jsonraw.First(modes, "url") != nil
		o.form = !o.url || jsonraw.First(modes, "form") != nil
	}
	if raw, ok := members.Get("sampling"); ok {
		o.sampling, o.tools = true, jsonraw.First(raw, "tools") != nil
	}
	o.tasks = taskMethods(capabilities)
	return o
}

// MayAsk reports whether capabilities allow a server to ask for something.
func MayAsk(capabilities json.RawMessage) bool {
	return !parseSupport(nil).covers(parseSupport(capabilities))
}

// Covers reports whether the capabilities that were declared allow a server to
// ask for all that the wanted ones do, and declare the same extensions.
func Covers(declared, wanted json.RawMessage) bool {
	theirs := jsonraw.First(declared, "extensions")
	extensions, _ := jsonraw.Object(jsonraw.First(wanted, "extensions"))
	for _, m := range extensions {
		if !bytes.Equal(jsonraw.Compact(jsonraw.First(theirs, m.Name)), jsonraw.Compact(m.Value)) {
			return false
		}
	}
	return parseSupport(declared).covers(parseSupport(wanted))
}

func (o clientSupport) covers(w clientSupport) bool {
	return (o.form || !w.form) && (o.url || !w.url) && (o.sampling || !w.sampling) && (o.tools || !w.tools) &&
		(o.roots || !w.roots)
}

// forbids says why a question was not offered to be answered, and with which
// code of JSON-RPC that is refused; 0 where it was offered. A method without its
// capability is unknown, a mode of elicitation or tools of sampling without
// theirs are bad params.
func (o clientSupport) rejection(method string, params json.RawMessage) (code int64, what string) {
	members, _ := jsonraw.Object(params)
	offered := false
	switch method {
	case "elicitation/create":
		offered = o.form || o.url
	case "sampling/createMessage":
		offered = o.sampling
	case "roots/list":
		offered = o.roots
	default:
		offered = mcp.IsTaskMethod(method) && o.tasks[method]
	}
	_, tools := members.Get("tools")
	_, choice := members.Get("toolChoice")
	mode := cmp.Or(members.Text("mode"), "form")
	if !offered {
		return -32601, method
	}
	if method == "elicitation/create" && !(mode == "form" && o.form || mode == "url" && o.url) {
		return -32602, method + " in the mode " + jsonraw.Excerpt([]byte(mode), 40)
	}
	if method == "sampling/createMessage" && (tools || choice) && !o.tools {
		return -32602, method + " with tools"
	}
	return 0, ""
}

// broken says why a question that was offered to be answered is none, or nothing: in
// the messages of sampling each use of a tool is followed by its results, which stand
// alone in their message (2025-11-25 client/sampling, "Message Content Constraints").
func invalidSampling(method string, params json.RawMessage) string {
	if method != "sampling/createMessage" {
		return ""
	}
	messages, _ := jsonraw.Array(jsonraw.First(params, "messages"))
	var used []string // in the message before
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

// toolBlocks are the ids of a message's uses of tools and of their results, and how much
// else there is.
func toolBlocks(content json.RawMessage) (uses, results []string, others int) {
	blocks, err := jsonraw.Array(content)
	if err != nil {
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
