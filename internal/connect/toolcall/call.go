// Package toolcall calls tools, gets prompts and reads resources: it checks arguments and
// results, asks for confirmation, and waits for tasks.
package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/pin"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// CallTool checks a call, sends it, and checks what came back.
func CallTool(ctx context.Context, c *connect.Conn, o *Request) (wire.Outcome, *client.Task) {
	tool, out := checked(ctx, c, o)
	if out.Good() {
		tell(c, o)
		out = Confirmed(ctx, c, tool, *o)
	}
	if !out.Good() {
		return out.As(wire.Before), nil
	}
	return callTool(ctx, c, tool, *o)
}

// A Request is a call of a tool.
type Request struct {
	Name string
	// Given is what was typed, reading what the tool's schema makes of it.
	Given arguments.Given
	arguments.Reading
	// NoValidate sends what the schema forbids, yes what should be confirmed.
	NoValidate, Yes bool
	// Params are those of the request where they say more than name and arguments.
	Params json.RawMessage
	// Task is not 0 where the call is to become a task, for that time, or below 0 for any.
	Task time.Duration
}

// fill gives the arguments what the schema requires and has a default for, and says
// so; false where there is nothing of that. Some servers fill it in themselves, others
// refuse a call without it, and none minds its own default.
func (o *Request) fill(schema *validate.Schema) bool {
	filled, added := schema.Complete(o.Arguments)
	for _, d := range added {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%s requires %s, which was not given: sending its default %s",
			o.Name, d.Where, jsonraw.Excerpt(d.Value, 60)))
	}
	o.Arguments = filled
	o.Filled = len(added) > 0
	return o.Filled
}

// ClientCall is what is asked of the server.
func (o Request) ClientCall(tool *connect.Definition) client.Call {
	var members jsonraw.Members
	params := o.Params
	if params == nil {
		members = jsonraw.Members{{Name: "name", Value: jsonraw.Quote(o.Name)}, {Name: "arguments", Value: o.Arguments}}
		params = jsonraw.Append(json.RawMessage("{}"), members...)
	} else if o.Filled {
		params = jsonraw.With(params, "arguments", o.Arguments)
	}
	call := client.Call{Method: "tools/call", Params: params, Members: members, Progress: true}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	return call
}

// tell says what a person may have meant otherwise by arguments that are sent.
func tell(c *connect.Conn, o *Request) {
	arguments.Tell(c.Env, o.Reading)
	if split := o.Given.Split(); split != "" {
		c.Env.UI.Note(split)
	}
}

// Prepare checks a call as CallTool does, and composes what is sent, for callers that send it
// many times and judge the results themselves.
func Prepare(ctx context.Context, c *connect.Conn, o *Request) (client.Call, *connect.Definition, wire.Outcome) {
	tool, out := checked(ctx, c, o)
	if out.Good() {
		tell(c, o)
		out = Confirmed(ctx, c, tool, *o)
	}
	if !out.Good() {
		return client.Call{}, nil, out.As(wire.Before)
	}
	call := o.ClientCall(tool)
	return call, tool, askForTask(c, &call, tool, *o)
}

// checked gets the tool's definition and checks the arguments against it. Before a remembered
// definition rejects arguments, or if it does not list one of them, a new one is fetched.
func checked(ctx context.Context, c *connect.Conn, o *Request) (*connect.Definition, wire.Outcome) {
	tool := c.Remembered(o.Name)
	if o.NoValidate && (tool != nil || !needsDefinition(c) && o.Task == 0 && len(o.Given.Words) == 0) {
		out := Unchecked(c, tool, o)
		if tool == nil || !Unlisted(tool, o) {
			return tool, out
		}
	}
	if tool != nil && CheckArguments(c, tool, o).Good() && !Unlisted(tool, o) {
		return tool, wire.Outcome{}
	}
	tool, out := c.DefineOnce(ctx, o.Name)
	if out.Good() {
		out = unchanged(ctx, c, tool, *o)
	}
	switch {
	case o.NoValidate && out.Kind == wire.InvalidArguments:
		return nil, Unchecked(c, nil, o)
	case out.Good() && o.NoValidate:
		out = Unchecked(c, tool, o)
	case out.Good():
		out = completed(ctx, c, tool, o, CheckArguments(c, tool, o))
	}
	return tool, out
}

// Unchecked reads the arguments with the types of a tool, if it is known, and
// takes what does not fit as a text.
func Unchecked(c *connect.Conn, tool *connect.Definition, o *Request) wire.Outcome {
	var schema *validate.Schema
	var hint wire.Hint
	if tool == nil {
		hint = wire.Run("help arguments")
	} else if len(o.Given.Words) > 0 {
		schema = tool.Input.Types(tool.InputSchema)
	}
	o.Reading = o.Given.Read(schema, true)
	return misfit(c, o, o.Findings, hint)
}

// Unlisted reports whether the arguments have one that the definition does not list although it
// lists arguments: the server may have added it since.
func Unlisted(tool *connect.Definition, o *Request) bool {
	if o.Unlisted {
		return true
	}
	schema := tool.Input.Types(tool.InputSchema)
	lists, takesAny := tool.ListsArguments()
	if schema == nil || !lists {
		return false
	}
	root := schema.Expected()
	listed := sync.OnceValue(root.Names)
	given, _ := jsonraw.Object(o.Arguments)
	return slices.ContainsFunc(given, func(m jsonraw.Member) bool {
		_, described := schema.Member(root, m.Name)
		return (!described || takesAny) && !slices.Contains(listed(), m.Name)
	})
}

// needsDefinition: the header fields of a request are made from the tool's
// definition where requests stand alone.
func needsDefinition(c *connect.Conn) bool {
	return c.Transport() == transport.StreamableHTTP && client.Stateless(c.Revision())
}

// CheckArguments types the words and checks the arguments against the inputSchema. A schema that
// breaks its own rules, or whose dialect is not known, is the server's fault and stops the call only
// with --strict; one that cannot be followed safely always stops it.
func CheckArguments(c *connect.Conn, tool *connect.Definition, o *Request) wire.Outcome {
	bad := func(text string, hint wire.Hint) wire.Outcome { return c.RefusedCall(o.Name, text, hint) }
	schema, warnings, err := tool.Input.Of(tool.InputSchema)
	o.Reading = o.Given.Read(tool.Input.Types(tool.InputSchema), false)
	findings := o.Findings
	if err == nil && len(findings) == 0 {
		findings, err = schema.Check(o.Arguments)
	} else if err == nil {
		besides, _ := schema.Check(o.Given.Read(schema, true).Arguments)
		findings = slices.Concat(findings, arguments.Unreported(besides, findings))
	}
	if err == nil && len(o.Findings) == 0 && len(findings) > 0 && o.fill(schema) {
		findings, err = schema.Check(o.Arguments)
	}
	if failed, ok := errors.AsType[*validate.Error](err); ok {
		if failed.IsOfPart() && failed.Reason != validate.ExternalRef && !c.Env.Strict {
			warnFresh(c, tool, "the inputSchema of "+o.Name+" cannot be used, so the arguments were not validated: "+failed.Text)
			return misfit(c, o, findings, wire.Hint(o.Otherwise(findings)))
		}
		return bad("the arguments could not be validated: "+failed.Text, "--no-validate sends them anyway")
	}
	for _, w := range warnings {
		if c.Env.Strict {
			return bad("the arguments could not be validated: "+w.Text, "without --strict they are sent")
		}
		warnFresh(c, tool, w.Text)
	}
	if len(findings) == 0 && c.Session != nil && needsDefinition(c) { // a draft has no session
		if unsafe := mcp.UnsafeHeaders(tool.InputSchema, o.Arguments); len(unsafe) > 0 {
			out := bad("an argument cannot be sent in the header field that the tool declares", "--no-validate sends it anyway")
			out.Findings = unsafe
			return out
		}
	}
	hint := cmp.Or(o.Otherwise(findings), o.Given.Joined(findings))
	if len(findings) > 0 {
		hint = cmp.Or(hint, o.Given.Split())
	}
	if len(findings) > 0 && takesNone(tool.InputSchema) {
		hint = o.Name + " takes no arguments; --no-validate sends them anyway"
	}
	return misfit(c, o, findings, wire.Hint(hint))
}

// misfit is the ending of a call whose arguments have findings; it is a good one
// where there are none.
func misfit(c *connect.Conn, o *Request, findings []wire.Finding, hint wire.Hint) wire.Outcome {
	if len(findings) == 0 {
		return wire.Outcome{}
	}
	out := c.RefusedCall(o.Name, "the arguments do not match the tool's inputSchema", hint)
	for _, text := range o.Warnings {
		findings = append(findings, wire.Finding{Rule: "argument", Level: wire.Warning, Text: text})
	}
	out.Findings = findings
	return out
}

// takesNone reports whether a schema allows no arguments at all.
func takesNone(schema json.RawMessage) bool {
	members, _ := jsonraw.Object(schema)
	properties, _ := members.Get("properties")
	inner, _ := jsonraw.Object(properties)
	more, _ := members.Get("additionalProperties")
	return len(inner) == 0 && string(more) == "false"
}

// warnFresh says what is wrong with a definition when it is read, and not again
// at every call.
func warnFresh(c *connect.Conn, tool *connect.Definition, text string) {
	if tool.Fresh || c.Env.Verbose > 0 {
		c.Env.UI.Warn(text)
	}
}

// callTool sends the call. Where the server finds the header fields out of date
// the definition is fetched again and the call sent once more: it was refused
// unread. A call that becomes a task is waited for, unless the task is what was
// asked for; then it is given back as well.
func callTool(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) (wire.Outcome, *client.Task) {
	call := o.ClientCall(tool)
	if refused := askForTask(c, &call, tool, o); !refused.Good() {
		return refused, nil
	}
	out := c.Do(ctx, call)
	if client.HeaderMismatch(out) && tool != nil && !c.JustFetched(tool) {
		fresh, again := c.Define(ctx, o.Name)
		if again.Good() && pin.Check(ctx, c, fresh) == pin.Changed {
			again = Confirmed(ctx, c, fresh, o)
		}
		if !again.Good() {
			return again.As(wire.After), nil
		}
		tool = fresh
		call.Schema = fresh.InputSchema
		out = c.Do(ctx, call)
	}
	if client.DeniesTool(out) && tool != nil && (c.JustFetched(tool) || !denied(ctx, c, &out, o.Name)) {
		describes(&out, "describe "+shellwords.Quote(o.Name))
	}
	c.WarnUndeclared(out, connect.ToolKind.Capability)
	if call.Task != nil || o.Params != nil { // any other call cannot become a task
		task, isTask := c.TaskIn(call, out)
		switch {
		case isTask && o.Task != 0:
			return became(ctx, c, task, out, o), &task
		case isTask:
			out = became(ctx, c, task, out, o)
		case o.Task != 0 && out.Good():
			c.Env.UI.Note("the server returned the result at once, without a task")
		}
	}
	if out.Kind == wire.ToolError || out.Kind == wire.RPCFailed && !client.DeniesTool(out) {
		c.Doubt(ctx, tool) // the server may have changed, and some report unknown tools in this way
	}
	if !out.Good() || tool == nil || o.NoValidate {
		return out, nil
	}
	return JudgeResult(ctx, c, tool, out), nil
}

// JudgeResult checks a good result against the tool's definition, and against a new one before a
// remembered one rejects it.
func JudgeResult(ctx context.Context, c *connect.Conn, tool *connect.Definition, out wire.Outcome) wire.Outcome {
	judged := CheckResult(c, tool, out)
	if judged.Kind != wire.OutputInvalid || c.JustFetched(tool) {
		return judged
	}
	if fresh, again := c.Define(ctx, tool.Name); again.Good() {
		return CheckResult(c, fresh, out)
	}
	return judged
}

// describes leads from an error about its params to the definition of what the server
// lists: of another name there is none to be shown.
func describes(out *wire.Outcome, words string) {
	if out.Hint == "" && out.Kind == wire.RPCFailed && out.RPC().Code == -32602 && !out.RPC().BlamesResult() {
		out.Hint = wire.RunOnServer(words) + " shows its arguments"
	}
}

// denied forgets what was remembered of a tool that the server perhaps no longer knows,
// and reports whether that is so: then the hint is a name that it does know.
func denied(ctx context.Context, c *connect.Conn, out *wire.Outcome, name string) bool {
	c.ForgetTools()
	_, fresh := c.Define(ctx, name)
	if fresh.Kind == wire.InvalidArguments {
		out.Hint = fresh.Hint
	}
	return !fresh.Good()
}

// CheckResult checks structuredContent against the tool's outputSchema, in revisions that have one.
func CheckResult(c *connect.Conn, tool *connect.Definition, out wire.Outcome) wire.Outcome {
	if tool.OutputSchema == nil || !client.HasOutputSchemas(c.Revision()) {
		return out
	}
	result, err := out.Message.ResultMembers()
	if err != nil {
		return out
	}
	structured, there := result.Get("structuredContent")
	if !there {
		return outputInvalid(out, "the tool has an outputSchema, but the result has no structuredContent", nil)
	}
	schema, warnings, failed := tool.Output.Of(tool.OutputSchema)
	var findings []wire.Finding
	if failed == nil {
		findings, failed = schema.Check(structured)
	}
	if failed != nil {
		c.Env.UI.Warn("the result was not validated against the outputSchema: " + failed.Error())
		return out
	}
	for _, w := range warnings {
		warnFresh(c, tool, w.Text)
	}
	if len(findings) > 0 {
		return outputInvalid(out, "the structuredContent does not match the tool's outputSchema", findings)
	}
	return out
}

func outputInvalid(out wire.Outcome, text string, findings []wire.Finding) wire.Outcome {
	out.Kind = wire.OutputInvalid
	out.Text = text
	out.Findings = findings
	return out
}
