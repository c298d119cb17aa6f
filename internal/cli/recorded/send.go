package recorded

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// OneWordHint returns the hint for a command that takes one exchange and was given args. A file and a
// number have to be one word: FILE#NUMBER.
func OneWordHint(verb string, args []string) wire.Hint {
	if len(args) == 2 && NamesFile(args[0]) && IsNumber(args[1]) {
		return wire.Run(verb + " " + shellwords.Quote(args[0]+"#"+args[1]))
	}
	kinds := []string{"tool", "prompt", "resource", "template", "skill"}
	if verb == "show" && slices.Contains(kinds, strings.TrimSuffix(args[0], "s")) {
		kind := strings.TrimSuffix(args[0], "s")
		return "did you mean " + wire.RunOnServer("describe "+kind+" "+shellwords.Quote(args[1])) + "?"
	}
	return wire.Run("log") + " lists them"
}

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

// RequestIn returns the request of a row. word names it in hints. It fails for a row that is not a
// JSON-RPC request of a client.
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

// definitionOf returns the definition of a tool; nil if the server has no tool of that name.
func definitionOf(ctx context.Context, c *connect.Conn, name string) (*connect.Definition, wire.Outcome) {
	if tool := c.Remembered(name); tool != nil {
		return tool, wire.Outcome{}
	}
	tool, out := c.Define(ctx, name)
	isUnlisted := out.Kind == wire.InvalidArguments // the request is sent all the same
	if !out.OK() && !isUnlisted {
		return nil, out.WithPart(wire.BeforeOperation)
	}
	return tool, wire.Outcome{}
}

// ParseArguments parses the words NAME=VALUE that change the arguments of a recorded tools/call with
// these params.
func ParseArguments(f *cmdutil.Factory, params json.RawMessage, words []string) (arguments.Given, error) {
	members, _ := jsonraw.Object(params)
	recorded, _ := members.Get("arguments")
	const flat = false
	return arguments.Parse(&f.Env, words, string(jsonraw.OrEmpty(recorded)), flat)
}

// WithArguments returns the params of a tools/call with the given arguments, in the types of the tool's
// inputSchema. Values that do not fit are strings: the arguments are not checked.
func WithArguments(
	ctx context.Context, c *connect.Conn, params json.RawMessage, given arguments.Given,
) (json.RawMessage, wire.Outcome) {
	members, _ := jsonraw.Object(params)
	tool, out := definitionOf(ctx, c, members.Text("name"))
	if !out.OK() {
		return nil, out
	}
	var schema *validate.Schema
	if tool != nil {
		schema = tool.Input.Types(tool.InputSchema)
	}
	const lenient = true
	return jsonraw.With(params, "arguments", given.Read(schema, lenient).Arguments), wire.Outcome{}
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
	tool, out := definitionOf(ctx, c, name)
	if !out.OK() {
		return out
	}
	request := toolcall.Request{Name: name, Reading: arguments.Reading{Arguments: given}, Yes: yes}
	if out := toolcall.Confirmed(ctx, c, tool, request); !out.OK() {
		return out
	}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	out = c.Do(ctx, call)
	if out.OK() && tool != nil {
		return toolcall.JudgeResult(ctx, c, tool, out)
	}
	return out
}
