package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds the resources and templates that the conformance tests read.
func addResources(s *mcp.Server) {
	for _, c := range []mcp.ResourceContents{
		{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel()},
		{URI: "test://watched-resource", MIMEType: "text/plain", Text: "This resource can be subscribed to."},
	} {
		s.AddResource(&mcp.Resource{URI: c.URI, Name: strings.TrimPrefix(c.URI, "test://"), MIMEType: c.MIMEType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
			})
	}
	s.AddResourceTemplate(
		&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			uri := req.Params.URI
			id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
			body, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			if err != nil {
				return nil, err
			}
			return &mcp.ReadResourceResult{
				Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(body)}},
			}, nil
		},
	)
}

// A prompt is one row of the table of prompts. Its arguments are required.
type prompt struct {
	name, description string
	arguments         []string
	get               func(*mcp.GetPromptRequest) (*mcp.GetPromptResult, error)
}

// addPrompts adds the prompts that the conformance tests get.
func (f *fixtures) addPrompts() {
	for _, p := range f.prompts() {
		def := &mcp.Prompt{Name: p.name, Description: p.description}
		for _, name := range p.arguments {
			def.Arguments = append(
				def.Arguments,
				&mcp.PromptArgument{Name: name, Description: "Test argument " + name, Required: true},
			)
		}
		f.server.AddPrompt(def, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			for _, name := range p.arguments {
				if _, ok := req.Params.Arguments[name]; !ok {
					return nil, invalidParams(fmt.Sprintf("prompt %s: required argument %q is missing", p.name, name))
				}
			}
			return p.get(req)
		})
	}
}

func (f *fixtures) prompts() []prompt {
	return []prompt{
		{name: "test_simple_prompt", description: "A text", get: func(*mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return prompts("This is a simple prompt for testing."), nil
		}},
		{
			name: "test_prompt_with_arguments", description: "A text with two arguments in it",
			arguments: []string{"arg1", "arg2"},
			get: func(req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				args := req.Params.Arguments
				return prompts(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])), nil
			},
		},
		{
			name: "test_prompt_with_embedded_resource", description: "A resource and a text", arguments: []string{"resourceUri"},
			get: func(req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				resource := embedded(req.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
				return prompts("Please process the embedded resource above.", resource), nil
			},
		},
		{
			name:        "test_prompt_with_image",
			description: "An image and a text",
			get: func(*mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return prompts("Please analyze the image above.", redPixel()), nil
			},
		},
		{
			name:        "test_input_required_result_prompt",
			description: "Asks the client before it returns a text",
			get:         f.promptThatAsks,
		},
	}
}

// prompts returns a result with messages of the user: the content before, and the text.
func prompts(text string, before ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, c := range append(before, &mcp.TextContent{Text: text}) {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return res
}

// completes returns a handler that answers completion/complete for the arguments of
// test_prompt_with_arguments.
func completes(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c, ok := req.(*mcp.CompleteRequest)
		if !ok || c.Params.Ref.Name != "test_prompt_with_arguments" ||
			!slices.Contains([]string{"arg1", "arg2"}, c.Params.Argument.Name) {
			return next(ctx, method, req)
		}
		values := []string{}
		for _, word := range []string{"paris", "park", "party"} {
			if strings.HasPrefix(word, c.Params.Argument.Value) {
				values = append(values, word)
			}
		}
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
	}
}

func invalidParams(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
