package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A prompt is an entry of prompts/list, with the function that makes the result of prompts/get from
// the arguments. All arguments are strings.
type prompt struct {
	mcp.Prompt
	get func(args map[string]string) ([]*mcp.PromptMessage, error)
}

// addPrompts adds all prompts to a server. A prompt without a required argument is a JSON-RPC
// error.
func addPrompts(s *mcp.Server) {
	for _, p := range prompts() {
		s.AddPrompt(&p.Prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			for _, a := range p.Arguments {
				if _, ok := req.Params.Arguments[a.Name]; a.Required && !ok {
					return nil, invalidParams(fmt.Sprintf("prompt %s: required argument %q is missing", p.Name, a.Name))
				}
			}
			messages, err := p.get(req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{Description: p.Description, Messages: messages}, nil
		})
	}
}

// prompts returns the prompts of the demo.
func prompts() []prompt {
	return []prompt{{
		Prompt: mcp.Prompt{Name: "simple-prompt", Title: "Simple Prompt", Description: "A prompt with no arguments"},
		get: func(map[string]string) ([]*mcp.PromptMessage, error) {
			return userMessage("This is a simple prompt without arguments."), nil
		},
	}, {
		Prompt: mcp.Prompt{
			Name:        "args-prompt",
			Title:       "Arguments Prompt",
			Description: "A prompt with two arguments, one required and one optional",
			Arguments: []*mcp.PromptArgument{
				{Name: "city", Description: "Name of the city", Required: true},
				{Name: "state", Description: "Name of the state"},
			},
		},
		get: func(args map[string]string) ([]*mcp.PromptMessage, error) {
			location := args["city"]
			if args["state"] != "" {
				location += ", " + args["state"]
			}
			return userMessage("What's weather in " + location + "?"), nil
		},
	}, {
		Prompt: mcp.Prompt{
			Name:        "completable-prompt",
			Title:       "Team Management",
			Description: "First argument choice narrows values for second argument.",
			Arguments: []*mcp.PromptArgument{
				{Name: "department", Description: "Choose the department.", Required: true},
				{Name: "name", Description: "Choose a team member to lead the selected department.", Required: true},
			},
		},
		get: func(args map[string]string) ([]*mcp.PromptMessage, error) {
			text := fmt.Sprintf("Please promote %s to the head of the %s team.", args["name"], args["department"])
			return userMessage(text), nil
		},
	}, {
		Prompt: mcp.Prompt{
			Name:        "resource-prompt",
			Title:       "Resource Prompt",
			Description: "A prompt that includes an embedded resource reference",
			Arguments: []*mcp.PromptArgument{
				{Name: "resourceType", Description: "Type of resource to fetch", Required: true},
				{Name: "resourceId", Description: "ID of the text resource to fetch", Required: true},
			},
		},
		get: resourcePrompt,
	}}
}

// resourcePrompt returns a prompt with an embedded resource. It rejects unknown types and ids.
func resourcePrompt(args map[string]string) ([]*mcp.PromptMessage, error) {
	kind := args["resourceType"]
	id := args["resourceId"]
	if !slices.Contains(resourceTypes(), kind) {
		return nil, invalidParams(fmt.Sprintf("resourceType: expected one of %q, got %q", resourceTypes(), kind))
	}
	if !isResourceID(id) {
		return nil, invalidParams(fmt.Sprintf("resourceId: expected a positive integer, got %q", id))
	}
	said := fmt.Sprintf("This prompt includes the %s resource with id: %s. Please analyze the following resource:", kind,
		id)
	return append(userMessage(said), &mcp.PromptMessage{
		Role:    "user",
		Content: &mcp.EmbeddedResource{Resource: dynamicResource(kind, id)},
	}), nil
}

// userMessage returns a prompt of one text message of the user.
func userMessage(s string) []*mcp.PromptMessage {
	return []*mcp.PromptMessage{{Role: "user", Content: textContent(s)}}
}

func resourceTypes() []string { return []string{"Text", "Blob"} }

// teams returns the members of the departments for completable-prompt.
func teams() map[string][]string {
	return map[string][]string{
		"Engineering": {"Alice", "Bob", "Charlie"},
		"Sales":       {"David", "Eve", "Frank"},
		"Marketing":   {"Grace", "Henry", "Iris"},
		"Support":     {"John", "Kim", "Lee"},
	}
}

// complete handles completion/complete. It returns the candidates that begin with the typed value.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	p := req.Params
	candidates, ok := completionCandidates(p)
	if !ok {
		return nil, invalidParams(
			fmt.Sprintf("nothing to complete for argument %q of %s", p.Argument.Name, p.Ref.Name+p.Ref.URI),
		)
	}
	values := []string{}
	for _, v := range candidates {
		if strings.HasPrefix(v, p.Argument.Value) {
			values = append(values, v)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

// completionCandidates returns all values for an argument. It reports false if nothing is completed
// there.
func completionCandidates(p *mcp.CompleteParams) ([]string, bool) {
	switch p.Ref.Name + p.Ref.URI + " " + p.Argument.Name {
	case "completable-prompt department":
		return slices.Sorted(maps.Keys(teams())), true
	case "completable-prompt name":
		if p.Context == nil {
			return nil, true
		}
		return teams()[p.Context.Arguments["department"]], true
	case "resource-prompt resourceType":
		return resourceTypes(), true
	case "resource-prompt resourceId", textTemplate + " resourceId", blobTemplate + " resourceId":
		return resourceIDs(p.Argument.Value), true
	}
	return nil, false
}

// resourceIDs returns a typed number as the only candidate, because every number is valid.
func resourceIDs(typed string) []string {
	if typed == "" {
		return []string{"1", "2", "3"}
	}
	if isResourceID(typed) {
		return []string{typed}
	}
	return nil
}
