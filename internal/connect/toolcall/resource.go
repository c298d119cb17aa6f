package toolcall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// UnknownVariable returns an error if a value is not for a variable of the template. It would be
// ignored silently.
func UnknownVariable(t mcp.URITemplate, values jsonraw.Members) error {
	names := t.Variables()
	for _, m := range values {
		if slices.Contains(names, m.Name) {
			continue
		}
		return usage.New(fmt.Sprintf("the template has no variable %q", m.Name),
			suggest.DidYouMean("%s=", m.Name, names, wire.Hint("its variables are: "+strings.Join(names, ", "))))
	}
	return nil
}

// ReadResource requests one resource. If the server refuses uri, a hint explains that it is a
// template without values, or names a similar resource.
func ReadResource(ctx context.Context, c *connect.Conn, uri string) wire.Outcome {
	out := c.Do(ctx, client.Call{Method: "resources/read", Params: jsonraw.With(nil, "uri", jsonraw.Quote(uri))})
	if t, err := mcp.ParseURITemplate(uri); out.Kind == wire.RPCFailed && err == nil && t.Variables() != nil {
		values := strings.Join(t.Variables(), "=VALUE ") + "=VALUE"
		out.Hint = "a template needs values: " + wire.RunOnServer("read "+shellwords.Quote(uri)+" "+values)
	}
	rpc := out.RPCError()
	isNotFound := rpc != nil && (rpc.Code == -32602 || rpc.Code == -32002) // -32002 in older revisions
	if isNotFound && out.Hint == "" {
		if near := suggest.Nearest(uri, c.RememberedNames(connect.ResourceKind)); near != "" && near != uri {
			out.Hint = wire.Hint("did you mean " + near + "?")
		}
	}
	return c.ExplainUnsupported(out, connect.ResourceKind.Capability)
}
