package recorded

import (
	"context"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// RequestOf returns the request that an argument names.
func RequestOf(f *cmdutil.Factory, word string) (Request, wire.Outcome) {
	c, row, out := Pick(f, word)
	if !out.OK() {
		return Request{}, out
	}
	defer c.Close()
	WarnDamage(f, c)
	return RequestIn(f, c, row, word)
}

// RequestIn returns the request of a row. Word names it in hints.
func RequestIn(f *cmdutil.Factory, c *rows.Capture, row *rows.Row, word string) (Request, wire.Outcome) {
	exchange, err := row.Exchange()
	if err != nil {
		return Request{}, usage.LocalIO("reading "+row.Path(), err)
	}
	if rows.IsByServer(row) {
		return Request{}, usage.Outcome(usage.New(NameOf(row)+" is a server request, not a client request",
			wire.Run("show "+shellwords.Quote(word))+" shows it"))
	}
	if exchange != nil && exchange.Request.Raw == nil {
		return Request{}, usage.Outcome(usage.New(NameOf(row)+" contains no JSON-RPC request",
			wire.Run("export "+shellwords.Quote(word)+" --as curl")+" sends it again"))
	}
	if exchange == nil {
		return Request{}, usage.Outcome(usage.New("nothing was sent in "+NameOf(row),
			wire.Run("show "+shellwords.Quote(word))+" shows how it ended"))
	}
	return Request{Row: row, Exchange: exchange, Capture: c, Version: f.Version}, wire.Outcome{}
}

// Send sends a recorded request. It asks before it calls a destructive tool, as every command does,
// unless yes is set. It does not check the arguments, but the result.
func Send(ctx context.Context, c *connect.Conn, call client.Call, yes bool) wire.Outcome {
	if call.Method != "tools/call" {
		return c.Do(ctx, call)
	}
	params, _ := jsonraw.Object(call.Params)
	given, _ := params.Get("arguments")
	name := params.Text("name")
	tool := c.Remembered(name)
	if tool == nil {
		var out wire.Outcome
		tool, out = c.Define(ctx, name)
		isUnlisted := out.Kind == wire.InvalidArguments // the request is sent all the same
		if !out.OK() && !isUnlisted {
			return out.WithPart(wire.BeforeOperation)
		}
	}
	request := toolcall.Request{Name: name, Reading: arguments.Reading{Arguments: given}, Yes: yes}
	if out := toolcall.Confirmed(ctx, c, tool, request); !out.OK() {
		return out
	}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	out := c.Do(ctx, call)
	if out.OK() && tool != nil {
		return toolcall.JudgeResult(ctx, c, tool, out)
	}
	return out
}
