//lint:file-ignore SA1019 sampling and roots are deprecated and still spoken

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The forms of these tools.
const (
	nameForm    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	colorForm   = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
	okForm      = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	contextForm = `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`
	userForm    = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},` +
		`"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`
	defaultsForm = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},` +
		`"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},` +
		`"verified":{"type":"boolean","default":true}}}`
	enumsForm = `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
		`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},` +
		`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},` +
		`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},` +
		`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
)

// An asking is a tool that returns a text when it has the answers to its requests.
type askingTool struct {
	name, description string
	input             string
	state             string // the text in requestState, or ""
	requests          func(args map[string]any) mcp.InputRequestMap
	answer            func(mcp.InputResponseMap) string
}

// askingTools returns all tools that ask the client.
func (f *fixtures) askingTools() []tool {
	rows := []tool{
		{
			name:        "test_input_required_result_multi_round",
			description: "Asks twice, one thing after the other",
			run:         f.askTwice,
		},
		{
			name:        "test_input_required_result_capabilities",
			description: "Asks for what the client can answer",
			run:         f.askByCapabilities,
		},
		{name: "test_tool_with_task", description: "Asks for a name, and then becomes a task", run: f.askThenRunTask},
	}
	for _, a := range singleAskingTools() {
		rows = append(rows, tool{
			name: a.name, description: a.description, input: a.input,
			run: func(_ context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
				answers, pending, err := f.answersOrRequest(req, a.requests(args), a.state)
				if answers == nil {
					return pending, err
				}
				return says(a.answer(answers)), nil
			},
		})
	}
	return rows
}

// singleAskingTools returns the tools that ask the client once.
func singleAskingTools() []askingTool {
	return []askingTool{
		{
			name: "test_sampling", description: "Asks for a text of a model",
			requests: func(args map[string]any) mcp.InputRequestMap {
				return mcp.InputRequestMap{"sampling": newSampling(text(args["prompt"]), 100)}
			}, answer: func(a mcp.InputResponseMap) string { return "LLM response: " + samplingText(a["sampling"]) },
			input: `{"type":"object","properties":{"prompt":{"type":"string","description":"The prompt to send to the LLM"}},"required":["prompt"],"additionalProperties":false}`,
		},
		{
			name: "test_elicitation", description: "Asks for a name and an address",
			requests: func(args map[string]any) mcp.InputRequestMap {
				return mcp.InputRequestMap{"user": newForm(text(args["message"]), userForm)}
			}, answer: func(a mcp.InputResponseMap) string { return "User response: " + elicitationText(a["user"]) },
			input: `{"type":"object","properties":{"message":{"type":"string","description":"The message to show the user"}},"required":["message"],"additionalProperties":false}`,
		},
		{
			name: "test_elicitation_sep1034_defaults", description: "Asks with a form that has defaults",
			requests: singleRequest("form", newForm("Please review the defaults.", defaultsForm)),
			answer:   completionText("form"),
		},
		{
			name: "test_elicitation_sep1330_enums", description: "Asks with a form that has each kind of choice",
			requests: singleRequest("form", newForm("Please choose.", enumsForm)), answer: completionText("form"),
		},
		{
			name: "test_missing_capability", description: "Needs a client with sampling",
			requests: singleRequest(
				"sampling",
				newSampling("Say hello.", 50),
			), answer: func(a mcp.InputResponseMap) string { return samplingText(a["sampling"]) },
		},
		{
			name: "test_streaming_elicitation", description: "Asks for a confirmation",
			requests: singleRequest("confirm", newForm("Please confirm", okForm)), answer: completionText("confirm"),
		},
		{
			name: "test_input_required_result_elicitation", description: "Asks for a name",
			requests: singleRequest("user_name", newForm("What is your name?", nameForm)),
			answer: func(a mcp.InputResponseMap) string {
				return "Hello, " + text(acceptedContent(a["user_name"])["name"]) + "!"
			},
		},
		{
			name: "test_input_required_result_sampling", description: "Asks for a text of a model",
			requests: singleRequest("capital_question", newSampling("What is the capital of France?", 100)),
			answer:   func(a mcp.InputResponseMap) string { return samplingText(a["capital_question"]) },
		},
		{
			name: "test_input_required_result_list_roots", description: "Asks for the roots",
			requests: singleRequest(
				"client_roots",
				&mcp.ListRootsParams{},
			), answer: func(a mcp.InputResponseMap) string { return rootsText(a["client_roots"]) },
		},
		{
			name:        "test_input_required_result_request_state",
			description: "Asks for a confirmation, with a signed state", state: "confirming",
			requests: singleRequest(
				"confirm",
				newForm("Please confirm", okForm),
			), answer: func(mcp.InputResponseMap) string { return "state-ok" },
		},
		{
			name: "test_input_required_result_tampered_state", description: "Refuses a state that it has not signed",
			state:    "confirming",
			requests: singleRequest("confirm", newForm("Please confirm", okForm)), answer: completionText("confirm"),
		},
		{
			name:        "test_input_required_result_multiple_inputs",
			description: "Asks for a form, a text of a model and the roots at once", state: "three",
			requests: func(map[string]any) mcp.InputRequestMap { return threeRequests() },
			answer: func(a mcp.InputResponseMap) string {
				name := text(acceptedContent(a["user_name"])["name"])
				return name + ": " + samplingText(a["greeting"]) + " " + rootsText(a["client_roots"])
			},
		},
	}
}

func singleRequest(key string, request mcp.InputRequest) func(map[string]any) mcp.InputRequestMap {
	return func(map[string]any) mcp.InputRequestMap { return mcp.InputRequestMap{key: request} }
}

func threeRequests() mcp.InputRequestMap {
	return mcp.InputRequestMap{
		"user_name": newForm(
			"What is your name?",
			nameForm,
		), "greeting": newSampling("Generate a greeting", 50), "client_roots": &mcp.ListRootsParams{},
	}
}

func newForm(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
}

func newSampling(prompt string, maxTokens int64) *mcp.CreateMessageWithToolsParams {
	return &mcp.CreateMessageWithToolsParams{
		MaxTokens: maxTokens,
		Messages:  []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: prompt}}}},
	}
}

// acceptedContent returns the content of an accepted form, or nil.
func acceptedContent(answer mcp.InputResponse) map[string]any {
	if r, ok := answer.(*mcp.ElicitResult); ok && r.Action == "accept" {
		return r.Content
	}
	return nil
}

func elicitationText(answer mcp.InputResponse) string {
	r, ok := answer.(*mcp.ElicitResult)
	if !ok {
		return ""
	}
	content, err := json.Marshal(r.Content)
	if err != nil {
		return err.Error()
	}
	return "action=" + r.Action + ", content=" + string(content)
}

func completionText(key string) func(mcp.InputResponseMap) string {
	return func(a mcp.InputResponseMap) string { return "Elicitation completed: " + elicitationText(a[key]) }
}

// samplingText returns the text of a model's message.
func samplingText(answer mcp.InputResponse) (said string) {
	if r, ok := answer.(*mcp.CreateMessageWithToolsResult); ok {
		for _, c := range r.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				said += t.Text
			}
		}
	}
	return said
}

func rootsText(answer mcp.InputResponse) string {
	r, ok := answer.(*mcp.ListRootsResult)
	if !ok {
		return ""
	}
	said := fmt.Sprintf("%d roots:", len(r.Roots))
	for _, root := range r.Roots {
		said += " " + root.URI
	}
	return said
}
