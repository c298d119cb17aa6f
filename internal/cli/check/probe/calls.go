package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// callProbes returns the probes that call the tools that the user named, or read-only ones.
func callProbes() []probe {
	return []probe{
		{
			rules: []string{"L124"}, exempt: exemptUnlessCalled(requiresArgument, "needs an argument"),
			run: probeMissingArgument,
		},
		{rules: []string{"L126"}, exempt: exemptUnlessCalled(func(c calledTool) bool {
			return c.mistypedArguments() != nil
		}, "has an argument of a type other than string"), run: probeWrongType},
		{rules: []string{"L067", "L068", "L069", "L070"}, exempt: exemptUnlessCalled(func(c calledTool) bool {
			return len(mcp.HeaderFields(c.schema, c.Args)) > 0
		}, "has an x-mcp-header"), run: probeParamHeaders},
		{
			rules: []string{"L051"},
			exempt: exemptIf("no tool that was called needs a capability of the client", func(b *bench) bool {
				return !slices.ContainsFunc(b.called, func(c calledTool) bool { return c.answer.code() == -32021 })
			}),
			run: judgeCapabilityError,
		},
		{rules: []string{"L157"}, exempt: exemptIfNoQuestion, run: probeTamperedState},
		{rules: []string{"L158"}, exempt: exemptIfNoQuestion, run: probeWrongResponses},
		{rules: []string{"L184"}, exempt: exemptIfNoCalls, run: probeCreatedTask},
		{rules: []string{"L050"}, run: probeRememberedCapability},
		{rules: []string{"L193"}, run: probeEndedTask},
	}
}

// A calledTool is a tool that was called, and the answer. listed is its entry in the list of tools,
// and schema the inputSchema in it. after is the answer to the ping that followed the call.
type calledTool struct {
	Call
	listed, schema json.RawMessage
	answer, after  answer
}

// callTools calls the tools of --call with their arguments, and with --call-read-only the tools
// that are read-only, not destructive, and need no arguments. The linter judges the results.
func callTools(ctx context.Context, b *bench) {
	for _, tool := range b.lists["tools"] {
		name, _ := jsonraw.Text(jsonraw.First(tool, "name"))
		schema := jsonraw.First(tool, "inputSchema")
		isOther := func(c Call) bool { return c.Name != name }
		calls := slices.DeleteFunc(slices.Clone(b.request.Send.Calls), isOther)
		isNamed := len(calls) > 0
		isHarmless := len(requiredIn(schema)) == 0 && mcp.ToolHints(tool).OnlyReads()
		if !isNamed && b.request.Send.ReadOnly && isHarmless {
			calls = []Call{{Name: name, Args: json.RawMessage("{}")}}
		}
		for _, c := range calls {
			if b.whyNoMore() != "" || ctx.Err() != nil {
				return
			}
			during := "tools/call " + name
			call := client.Call{Method: "tools/call", Params: c.Params(), Schema: schema, Once: true}
			called := calledTool{Call: c, listed: tool, schema: schema, answer: b.callClean(ctx, call, during)}
			// A server may also exit after it answered. The many tools of --call-read-only get no
			// ping: that would use up the requests of other probes.
			if isNamed && called.answer.Message != nil && ctx.Err() == nil {
				ping := client.Call{Method: client.PingMethod(b.cleanSession.Revision()), Once: true}
				called.after = b.callClean(ctx, ping, during)
			}
			b.called = append(b.called, called)
		}
	}
	for _, c := range b.request.Send.Calls {
		if !slices.Contains(b.lists.names("tools", "name"), c.Name) {
			b.unlisted = append(b.unlisted, c.Name)
		}
	}
}

// toolAnswersProbe returns the probe that judges the calls of callTools. It runs first and is never
// repeated.
func toolAnswersProbe() probe {
	return probe{
		rules: []string{"tool-answers"}, sendsNothing: true, exempt: exemptIfNoCalls, run: judgeToolAnswers,
	}
}

// judgeToolAnswers reports the calls that were not answered, and the calls after which the server
// ended.
func judgeToolAnswers(_ context.Context, b *bench) []miss {
	var misses []miss
	for _, c := range b.called {
		var a answer
		var want string
		if c.isUnanswered() {
			a = c.answer
			want = "a result, with isError true if the tool failed"
		} else if c.after.hasEndedServer() {
			a = c.after
			want = "an answer to " + c.after.Method + " after the call"
		} else {
			continue
		}
		m := newMiss("tool-answers", "tool "+c.Name, a, want)
		m.skip = b.pacer.whyStopped() != "" && !a.hasEndedServer() // the call was perhaps not sent
		misses = append(misses, m)
	}
	return misses
}

// request returns a call of the tool with other arguments, and header fields that fit them.
func (c calledTool) request(args json.RawMessage) probeRequest {
	params := Call{Name: c.Name, Args: args}.Params()
	return probeRequest{method: "tools/call", params: params, edits: mcp.HeaderFields(c.schema, args)}
}

func requiredIn(schema json.RawMessage) []string { return stringsIn(schema, "required") }

// exemptUnlessCalled returns a condition: the probe does not apply if no called tool fits. what
// completes the sentence "no tool that was called ...".
func exemptUnlessCalled(fits func(calledTool) bool, what string) func(b *bench) string {
	return exemptIf("no tool that was called "+what,
		func(b *bench) bool { return !slices.ContainsFunc(b.called, fits) })
}

// exemptIfNoQuestion exempts servers whose called tools never ask for input.
func exemptIfNoQuestion(b *bench) string {
	return exemptUnlessCalled(asksForInput, "asks for input")(b)
}

// exemptIfNoCalls exempts servers without a called tool.
func exemptIfNoCalls(b *bench) string {
	if len(b.called) == 0 {
		return "no tool was called"
	}
	return ""
}

func requiresArgument(c calledTool) bool { return len(requiredIn(c.schema)) > 0 }

// mistypedArguments returns arguments that have a string in place of a number, boolean, object or
// array; nil if the tool has no such argument.
func (c calledTool) mistypedArguments() json.RawMessage {
	properties, _ := jsonraw.Object(jsonraw.First(c.schema, "properties"))
	for _, p := range properties {
		kind, _ := jsonraw.Text(jsonraw.First(p.Value, "type"))
		if slices.Contains([]string{"number", "integer", "boolean", "object", "array"}, kind) {
			return jsonraw.With(c.Args, p.Name, jsonraw.Quote("mcpc"))
		}
	}
	return nil
}

// isUnanswered reports whether the call got no JSON-RPC answer.
func (c calledTool) isUnanswered() bool {
	return c.answer.Kind == wire.Transport || c.answer.Kind == wire.Timeout
}

// probeMissingArgument calls tools without the arguments that they require: the tool itself has to
// report an error, which a model can read.
func probeMissingArgument(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, c := range b.called {
		if !requiresArgument(c) {
			continue
		}
		members, err := jsonraw.Object(c.Args)
		if err == nil && len(members) == 0 && c.isUnanswered() { // tool-answers has the call
			m := newMiss("L124", "tool "+c.Name, c.answer, "a result with isError true")
			m.skip = true
			misses = append(misses, m)
			continue
		}
		a := b.sendRough(ctx, c.request(json.RawMessage("{}")))
		if a.Kind == wire.ToolError || a.hasResult() { // L126 judges results
			continue
		}
		m := newMiss("L124", "tool "+c.Name, a, "a result with isError true")
		if b.rev >= conv.Rev20260728 && a.code() == -32602 {
			m.severity = conv.Info
		}
		misses = append(misses, m)
	}
	return misses
}

// probeWrongType calls tools with an argument of another type than their schema has.
func probeWrongType(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, c := range b.called {
		args := c.mistypedArguments()
		if args == nil {
			continue
		}
		if a := b.sendRough(ctx, c.request(args)); a.hasResult() && a.Kind != wire.ToolError {
			want := "an error: " + jsonraw.Excerpt(args, 100) + " does not match the inputSchema"
			misses = append(misses, newMiss("L126", "tool "+c.Name, a, want))
		}
	}
	return misses
}

// probeParamHeaders sends header fields that differ from the arguments, and header fields that have
// the same value in another form.
func probeParamHeaders(ctx context.Context, b *bench) []miss {
	var misses []miss
	for _, c := range b.called {
		for _, f := range mcp.HeaderFields(c.schema, c.Args) {
			subject := "tool " + c.Name + ", " + f.Name
			for _, value := range []string{"mcpc-other", ""} { // another value, and no field
				q := c.request(c.Args)
				q.edits = append(q.edits, field(f.Name, value))
				if a := b.sendRough(ctx, q); !headerMismatch.accepts(a) {
					misses = append(misses, newMiss("L067", fmt.Sprintf("%s: %q", subject, value), a, headerMismatch.text))
				}
			}
			misses = append(misses, probeHeaderForms(ctx, b, c, f, subject)...)
		}
	}
	return misses
}

// probeHeaderForms sends the argument of the header field f in forms that a server must accept: left
// out, an integer as a decimal number, and an empty string.
func probeHeaderForms(ctx context.Context, b *bench, c calledTool, f wire.Field, subject string) []miss {
	isRefused := func(a answer) bool { return a.code() == -32020 }
	arguments, _ := jsonraw.Object(c.Args)
	var misses []miss
	for _, argument := range arguments {
		schema := conv.Inside(c.schema, "properties", argument.Name)
		if name, _ := jsonraw.Text(jsonraw.First(schema, "x-mcp-header")); !strings.EqualFold("Mcp-Param-"+name, f.Name) {
			continue
		}
		if a := b.sendRough(ctx, c.request(jsonraw.Without(c.Args, argument.Name))); isRefused(a) {
			misses = append(misses, newMiss("L068", subject, a, "no error -32020 where the argument is absent"))
		}
		switch kind, _ := jsonraw.Text(jsonraw.First(schema, "type")); kind {
		case "integer":
			q := c.request(c.Args)
			q.edits = append(q.edits, field(f.Name, f.Value+".0"))
			if a := b.sendRough(ctx, q); isRefused(a) {
				misses = append(misses, newMiss("L069", subject, a, f.Value+".0 is the same number"))
			}
		case "string":
			q := c.request(jsonraw.With(c.Args, argument.Name, json.RawMessage(`""`)))
			q.edits = append(q.edits, field(f.Name, " ")) // HTTP sends it as an empty value
			if a := b.sendRough(ctx, q); isRefused(a) {
				misses = append(misses, newMiss("L070", subject, a, "an empty header for an empty string"))
			}
		}
	}
	return misses
}

// judgeCapabilityError checks the error -32021 of called tools that need a capability of the client.
func judgeCapabilityError(_ context.Context, b *bench) []miss {
	var misses []miss
	for _, c := range b.called {
		if c.answer.code() != -32021 {
			continue
		}
		_, err := jsonraw.Object(jsonraw.First(c.answer.Message.Error.Data, "requiredCapabilities"))
		hasWrongStatus := c.answer.status() != 0 && c.answer.status() != http.StatusBadRequest
		if err != nil || hasWrongStatus {
			misses = append(misses,
				newMiss("L051", "tool "+c.Name, c.answer, "HTTP 400, and data.requiredCapabilities as an object"))
		}
	}
	return misses
}
