package toolcall

import (
	"context"
	"encoding/json"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// ReadApp reads the UI resource of a tool (extension MCP Apps), which must have one. If that fails, the
// App has only what the tool's definition says.
func ReadApp(ctx context.Context, c *connect.Conn, tool mcp.Tool) (mcp.App, wire.Outcome) {
	out := ReadResource(ctx, c, tool.UI)
	if !out.OK() {
		return mcp.AppOf(tool, nil), out
	}
	items, _ := out.Message.ResultItems("contents")
	// Not nil even without items: for AppOf, nil means that the resource could not be read.
	return mcp.AppOf(tool, append([]json.RawMessage{}, items...)), out
}

// appMethods are the requests that the page of a tool may send to its server, except tools/call.
var appMethods = map[string]bool{
	"resources/read": true, "resources/list": true, "resources/templates/list": true, "prompts/list": true,
}

// RequestOfApp sends a request of the page of a tool to the page's server. A tool is called as CallTool
// calls it, with the consents of agreed, and only if it is for pages.
func RequestOfApp(
	ctx context.Context, c *connect.Conn, method string, params json.RawMessage, agreed Request,
) wire.Outcome {
	members, _ := jsonraw.Object(params)
	refused := func(text string) wire.Outcome {
		return wire.Outcome{Kind: wire.Refused, Method: method, Name: members.Text("name"), Text: text}
	}
	if method != "tools/call" {
		if !appMethods[method] {
			return refused("a page may not send this request")
		}
		return c.Do(ctx, client.Call{Method: method, Params: params})
	}
	agreed.Name = members.Text("name")
	tool, out := c.DefineOnce(ctx, agreed.Name)
	if out.Kind == wire.InvalidArguments { // the server has no such tool, which no consent changes
		return refused(out.Text)
	}
	if !out.OK() {
		return out
	}
	if !mcp.ForApps(tool.Meta) {
		return refused("the tool " + agreed.Name + " is not for pages (visibility)")
	}
	// The arguments are one JSON object; nothing is given by --args ("") or as flat names (false).
	var err error
	object := string(jsonraw.OrEmpty(members.Value("arguments")))
	agreed.Given, err = arguments.Parse(c.Env, []string{object}, "", false)
	if err != nil {
		return refused(err.Error())
	}
	out, _ = CallTool(ctx, c, &agreed)
	return out
}
