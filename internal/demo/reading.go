package demo

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Reading is a tool that reads, and changes nothing.
type Reading struct {
	Name, Title, Description string
	// Input is a JSON object schema, of the keywords that the tools of the demo use.
	Input string
	// Call returns a text and the same as a JSON object. Arguments fit Input, and have its
	// defaults. An error is a tool error.
	Call func(ctx context.Context, arguments json.RawMessage) (text string, structured json.RawMessage, err error)
}

// A Reader is a server that has such tools, and nothing else.
type Reader struct {
	Name, Title, Version, Instructions string
	Tools                              []Reading
}

// ServeReader works like Serve, but serves a Reader.
func ServeReader(ctx context.Context, in io.Reader, out io.Writer, r Reader) error {
	return serveOver(ctx, in, out, func(context.Context) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: r.Name, Title: r.Title, Version: r.Version},
			&mcp.ServerOptions{Instructions: r.Instructions, Capabilities: &mcp.ServerCapabilities{}})
		for _, t := range r.Tools {
			t.add(s)
		}
		s.AddReceivingMiddleware(onlyTools, malformed)
		return s
	})
}

// onlyTools rejects the methods of features that a Reader does not declare: the SDK returns empty
// lists.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch feature, _, _ := strings.Cut(method, "/"); feature {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not supported"}
		}
		return next(ctx, method, req)
	}
}

func (t Reading) add(s *mcp.Server) {
	schema := parseSchema(t.Input)
	closed := false
	def := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: json.RawMessage(t.Input),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}
	s.AddTool(def, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, problems := schema.arguments(req.Params.Arguments)
		if len(problems) > 0 {
			return toolError("Invalid arguments for tool " + t.Name + ":\n- " + strings.Join(problems, "\n- ")), nil
		}
		raw, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		said, structured, err := t.Call(ctx, raw)
		if err != nil {
			return toolError(err.Error()), nil
		}
		result := &mcp.CallToolResult{Content: []mcp.Content{text(said)}}
		if structured != nil {
			result.StructuredContent = structured
		}
		return result, nil
	})
}
