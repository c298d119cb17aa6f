package demo

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Reading is a read-only tool.
type Reading struct {
	Name, Title, Description string
	// Input is a JSON object schema. It has only keywords that schema supports.
	Input string
	// Call returns a text and a JSON object with the same contents. The arguments are valid for Input
	// and have its defaults. An error becomes a tool error.
	Call func(ctx context.Context, arguments json.RawMessage) (text string, structured json.RawMessage, err error)
}

// A Reader is a server that only has Readings.
type Reader struct {
	Name, Title, Version, Instructions string
	Tools                              []Reading
}

// ServeReader serves a Reader over a byte stream, like Serve.
func ServeReader(ctx context.Context, in io.Reader, out io.Writer, r Reader) error {
	return serveOver(ctx, in, out, func(context.Context) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: r.Name, Title: r.Title, Version: r.Version},
			&mcp.ServerOptions{Instructions: r.Instructions, Capabilities: &mcp.ServerCapabilities{}})
		for _, t := range r.Tools {
			t.add(s)
		}
		s.AddReceivingMiddleware(rejectOtherFeatures, rejectMalformed)
		return s
	})
}

// rejectOtherFeatures returns a handler that rejects the methods of features that a Reader does not declare.
// The SDK would return empty lists.
func rejectOtherFeatures(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch feature, _, _ := strings.Cut(method, "/"); feature {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not supported"}
		}
		return next(ctx, method, req)
	}
}

// add adds the tool to a server.
func (t Reading) add(s *mcp.Server) {
	schema := parseSchema(t.Input)
	closed := false
	def := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: json.RawMessage(t.Input),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}
	s.AddTool(def, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, problems := schema.checkArguments(req.Params.Arguments)
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
		result := &mcp.CallToolResult{Content: []mcp.Content{textContent(said)}}
		if structured != nil {
			result.StructuredContent = structured
		}
		return result, nil
	})
}
