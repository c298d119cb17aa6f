//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28 and still spoken

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askingTools returns tools that need an answer of the client for their result.
//
// Until 2025-11-25 the server sends a request and waits. Since 2026-07-28 the call ends with the
// request, and the client repeats the call with the answer (multi round-trip requests).
func askingTools() []tool {
	return []tool{{
		name:        "trigger-elicitation-request",
		title:       "Trigger Elicitation Request Tool",
		description: "Trigger a Request from the Server for User Elicitation",
		input:       `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`,
		hints:       askingHints(),
		run:         triggerElicitation,
	}, {
		name:        "trigger-sampling-request",
		title:       "Trigger Sampling Request Tool",
		description: "Trigger a Request from the Server for LLM Sampling",
		input: `{"type":"object","properties":{
			"prompt":{"type":"string","description":"The prompt to send to the LLM"},
			"maxTokens":{"type":"integer","default":100,"description":"Maximum number of tokens to generate",` +
			`"minimum":1,"maximum":1000000}
		},"required":["prompt"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: askingHints(),
		run:   triggerSampling,
	}, {
		name:  "get-roots-list",
		title: "Get Roots List Tool",
		description: "Lists the current MCP roots provided by the client. Demonstrates the roots protocol " +
			"capability even though this server doesn't access files.",
		input: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`,
		hints: askingHints(),
		run:   getRootsList,
	}}
}

// elicitationSchema has one field of each kind that forms support.
const elicitationSchema = `{"type":"object","properties":{
	"name":{"title":"Name","type":"string","description":"What to call you","minLength":1},
	"check":{"title":"Agree","type":"boolean","description":"Agree to the terms and conditions","default":false},
	"email":{"title":"Email","type":"string","format":"email","description":"Never sent anywhere"},
	"integer":{"title":"Integer","type":"integer","description":"Your favorite integer","minimum":1,` +
	`"maximum":100,"default":42},
	"number":{"title":"Number","type":"number","description":"Your favorite number","minimum":0,` +
	`"maximum":1000,"default":3.14},
	"friend":{"title":"Friend","type":"string","description":"Choose a friend","enum":["Ada","Grace",` +
	`"Barbara"],"default":"Ada"},
	"hero":{"title":"Hero","type":"string","description":"Choose a hero","oneOf":[{"const":"hero-1",` +
	`"title":"Superman"},{"const":"hero-2","title":"Wonder Woman"}],"default":"hero-1"},
	"instruments":{"title":"Instruments","type":"array","description":"Choose some instruments","minItems":1,` +
	`"maxItems":2,"items":{"type":"string","enum":["Guitar","Piano","Violin"]},"default":["Piano"]}
},"required":["name"]}`

// earlyElicitationSchema is the same form for revisions before titledFormsRevision: only booleans have
// defaults, there are no multiple choices, and titles of choices are in enumNames.
const earlyElicitationSchema = `{"type":"object","properties":{
	"name":{"title":"Name","type":"string","description":"What to call you","minLength":1},
	"check":{"title":"Agree","type":"boolean","description":"Agree to the terms and conditions","default":false},
	"email":{"title":"Email","type":"string","format":"email","description":"Never sent anywhere"},
	"integer":{"title":"Integer","type":"integer","description":"Your favorite integer","minimum":1,"maximum":100},
	"number":{"title":"Number","type":"number","description":"Your favorite number","minimum":0,"maximum":1000},
	"friend":{"title":"Friend","type":"string","description":"Choose a friend","enum":["Ada","Grace","Barbara"]},
	"hero":{"title":"Hero","type":"string","description":"Choose a hero","enum":["hero-1","hero-2"],` +
	`"enumNames":["Superman","Wonder Woman"]}
},"required":["name"]}`

// triggerElicitation asks the client's user to fill in a form, and returns the answer as text.
func triggerElicitation(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil {
		return c.missingCapability("elicitation", `{"elicitation":{"form":{}}}`)
	}
	form := &mcp.ElicitParams{
		Mode:            "form",
		Message:         "Please provide inputs for the following fields:",
		RequestedSchema: json.RawMessage(elicitationSchema),
	}
	if c.ProtocolVersion() < titledFormsRevision {
		form.RequestedSchema = json.RawMessage(earlyElicitationSchema)
	}
	answer, pending, err := askClient[*mcp.ElicitResult](ctx, c, form)
	if answer == nil {
		return pending, err
	}
	said := map[string]string{
		"accept":  "✅ User provided the requested information!",
		"decline": "❌ User declined to provide the requested information.",
		"cancel":  "⚠️ User cancelled the elicitation dialog.",
	}[answer.Action]
	return result(textContent(said), textContent("Raw result: "+indentedJSON(answer))), nil
}

// triggerSampling asks the client's model to answer a prompt, and returns the answer as text.
func triggerSampling(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.Sampling == nil {
		return c.missingCapability("sampling", `{"sampling":{}}`)
	}
	answer, pending, err := askClient[*mcp.CreateMessageWithToolsResult](ctx, c, &mcp.CreateMessageWithToolsParams{
		Messages: []*mcp.SamplingMessageV2{{
			Role:    "user",
			Content: []mcp.Content{textContent("Resource trigger-sampling-request context: " + c.args.stringValue("prompt"))},
		}},
		SystemPrompt: "You are a helpful test server.",
		MaxTokens:    int64(c.args.intValue("maxTokens")),
		Temperature:  0.7,
	})
	if answer == nil {
		return pending, err
	}
	return result(textContent("LLM sampling result: \n" + indentedJSON(answer))), nil
}

// getRootsList asks the client for its roots, and lists them as text.
func getRootsList(ctx context.Context, c call) (*mcp.CallToolResult, error) {
	caps := c.ClientCapabilities()
	if caps == nil || caps.RootsV2 == nil {
		return c.missingCapability("roots", `{"roots":{}}`)
	}
	answer, pending, err := askClient[*mcp.ListRootsResult](ctx, c, &mcp.ListRootsParams{})
	if answer == nil {
		return pending, err
	}
	lines := []string{fmt.Sprintf("Current MCP Roots (%d total):", len(answer.Roots))}
	for i, root := range answer.Roots {
		name := root.Name
		if name == "" {
			name = "Unnamed Root"
		}
		lines = append(lines, fmt.Sprintf("%d. %s\n   URI: %s", i+1, name, root.URI))
	}
	return result(textContent(strings.Join(lines, "\n\n"))), nil
}

// question is the key of the only request of a call here. askedState is the state that the client
// must return with the answer.
const (
	questionKey = "answer"
	askedState  = "the-state-of-the-demo"
)

// askClient returns the client's answer. Before the answer it returns the result or error that ends the
// call.
func askClient[T interface {
	comparable
	mcp.InputResponse
}](ctx context.Context, c call, q mcp.InputRequest) (answer T, pending *mcp.CallToolResult, err error) {
	var got mcp.InputResponse
	switch {
	case c.ProtocolVersion() < statelessRevision:
		got, err = sendRequest(ctx, c.Session, q)
	case c.Params.InputResponses == nil:
		return answer, &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{questionKey: q},
			RequestState:  askedState,
		}, nil
	case c.Params.RequestState != askedState:
		return answer, nil, invalidParams("requestState is not what this server sent")
	default:
		got = c.Params.InputResponses[questionKey]
	}
	if err != nil {
		return answer, toolError("The client answered with an error: " + err.Error()), nil
	}
	answer, ok := got.(T)
	if !ok {
		return answer, nil, invalidParams(fmt.Sprintf("inputResponses has no fitting %q", questionKey))
	}
	return answer, nil, nil
}

// sendRequest sends a request to the client and waits for the answer.
func sendRequest(ctx context.Context, ss *mcp.ServerSession, q mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		return ss.Elicit(ctx, q)
	case *mcp.CreateMessageWithToolsParams:
		return ss.CreateMessageWithTools(ctx, q)
	case *mcp.ListRootsParams:
		return ss.ListRoots(ctx, q)
	}
	return nil, fmt.Errorf("cannot ask %T", q)
}

// missingCapability returns the outcome of a call whose client lacks a capability. Since 2026-07-28 it is
// an error with the required capability.
func (c call) missingCapability(capability, required string) (*mcp.CallToolResult, error) {
	said := "This tool needs a client that declares the " + capability + " capability."
	if c.ProtocolVersion() < statelessRevision {
		return toolError(said), nil
	}
	return nil, &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: said,
		Data:    json.RawMessage(`{"requiredCapabilities":` + required + `}`),
	}
}

// invalidParams returns the JSON-RPC error for params that break a rule of the server.
func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// indentedJSON returns a value as indented JSON, or the error of encoding it.
func indentedJSON(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}
