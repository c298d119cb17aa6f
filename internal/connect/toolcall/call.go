// Package toolcall calls tools, gets prompts and reads resources: it checks arguments and
// results, asks for confirmation, and waits for tasks.
package toolcall

import (
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

// CallTool checks a call, asks for confirmation, sends it, and checks the result. It returns the
// task if o.Task asks for one and the call became a task.
func CallTool(ctx context.Context, c *connect.Conn, o *Request) (wire.Outcome, *client.Task) {
	tool, out := checkCall(ctx, c, o)
	if out.OK() {
		showNotes(c, o)
		out = Confirmed(ctx, c, tool, *o)
	}
	if !out.OK() {
		return out.WithPart(wire.BeforeOperation), nil
	}
	return send(ctx, c, tool, *o)
}

// A Request is a call of a tool.
type Request struct {
	Name string
	// Given are the arguments as typed. The Reading has them with the types of the tool's schema.
	Given arguments.Given
	arguments.Reading
	// NoValidate sends arguments that the schema forbids. Yes skips the confirmation.
	NoValidate, Yes bool
	// Params are the params to send, if they contain more than name and arguments. Otherwise nil.
	Params json.RawMessage
	// Task asks for a task with this lifetime; below 0 with any lifetime. 0 does not ask for a
	// task.
	Task time.Duration
}

// addDefaults adds required arguments that have a default in the schema, with a warning for each,
// and reports whether it added any. Some servers add them too, others refuse the call, and no
// server objects to its own default.
func (o *Request) addDefaults(schema *validate.Schema) bool {
	filled, added := schema.Complete(o.Arguments)
	for _, d := range added {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%s requires %s, which was not given: sending its default %s",
			o.Name, d.Where, jsonraw.Excerpt(d.Value, 60)))
	}
	o.Arguments = filled
	o.Filled = len(added) > 0
	return o.Filled
}

// ClientCall returns the request for the server: o.Params if they are set, otherwise name and
// arguments. tool may be nil; then the request has no header fields from the tool's schema.
func (o Request) ClientCall(tool *connect.Definition) client.Call {
	var members jsonraw.Members
	params := o.Params
	if params == nil {
		members = jsonraw.Members{{Name: "name", Value: jsonraw.Quote(o.Name)}, {Name: "arguments", Value: o.Arguments}}
		params = jsonraw.Append(json.RawMessage("{}"), members...)
	} else if o.Filled { // o.Params have the arguments without the defaults
		params = jsonraw.With(params, "arguments", o.Arguments)
	}
	call := client.Call{Method: "tools/call", Params: params, Members: members, Progress: true}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	return call
}

// showNotes shows what the user may have meant otherwise by the arguments.
func showNotes(c *connect.Conn, o *Request) {
	arguments.Tell(c.Env, o.Reading)
	if split := o.Given.Split(); split != "" {
		c.Env.UI.Note(split)
	}
}

// Prepare checks the arguments of a call, asks for confirmation, and returns the request with the
// tool's definition, for callers that send it many times and check the results themselves. The
// definition is nil if it is unknown and was not needed.
func Prepare(ctx context.Context, c *connect.Conn, o *Request) (client.Call, *connect.Definition, wire.Outcome) {
	tool, out := checkCall(ctx, c, o)
	if out.OK() {
		showNotes(c, o)
		out = Confirmed(ctx, c, tool, *o)
	}
	if !out.OK() {
		return client.Call{}, nil, out.WithPart(wire.BeforeOperation)
	}
	call := o.ClientCall(tool)
	return call, tool, askForTask(c, &call, tool, *o)
}

// checkCall returns the tool's definition after checking the arguments against it. It fetches a new
// definition before a remembered one rejects arguments or if that one does not list an argument.
// With NoValidate it only reads the arguments, and the definition is nil if it is unknown.
func checkCall(ctx context.Context, c *connect.Conn, o *Request) (*connect.Definition, wire.Outcome) {
	tool := c.Remembered(o.Name)
	// Only the header fields, a task and the types of words come from a definition.
	canDoWithout := !needsDefinition(c) && o.Task == 0 && len(o.Given.Words) == 0
	if o.NoValidate && (tool != nil || canDoWithout) {
		out := Unchecked(c, tool, o)
		if tool == nil || !Unlisted(tool, o) {
			return tool, out
		}
	}
	if tool != nil && CheckArguments(c, tool, o).OK() && !Unlisted(tool, o) {
		return tool, wire.Outcome{}
	}
	// The remembered definition is missing, or the tool may have changed since.
	tool, out := c.DefineOnce(ctx, o.Name)
	if out.OK() {
		out = refuseChanged(ctx, c, tool, *o)
	}
	if o.NoValidate && out.Kind == wire.InvalidArguments { // the server lists no such tool
		return nil, Unchecked(c, nil, o)
	}
	if out.OK() && o.NoValidate {
		out = Unchecked(c, tool, o)
	} else if out.OK() {
		out = askForMissing(ctx, c, tool, o, CheckArguments(c, tool, o))
	}
	return tool, out
}

// Unchecked reads the arguments with the types of the tool's schema, without checking them. A value
// that does not fit is sent as a string. tool may be nil. It fails only if a word's path does not
// fit the other arguments.
func Unchecked(c *connect.Conn, tool *connect.Definition, o *Request) wire.Outcome {
	var schema *validate.Schema
	var hint wire.Hint
	if tool == nil {
		hint = wire.Run("help arguments")
	} else if len(o.Given.Words) > 0 {
		schema = tool.Input.Types(tool.InputSchema)
	}
	const lenient = true
	o.Reading = o.Given.Read(schema, lenient)
	return invalidArguments(c, o, o.Findings, hint)
}

// Unlisted reports whether an argument is missing in a definition that lists arguments: the server
// may have added it since. An argument that a pattern of the schema describes is not missing.
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
	listed := sync.OnceValue(root.Names) // computed once, and not for most calls
	given, _ := jsonraw.Object(o.Arguments)
	return slices.ContainsFunc(given, func(m jsonraw.Member) bool {
		_, isDescribed := schema.Member(root, m.Name)
		// additionalProperties: true describes every name, so it says nothing about this one.
		isDescribedByName := isDescribed && !takesAny
		return !isDescribedByName && !slices.Contains(listed(), m.Name)
	})
}

// needsDefinition reports whether a call needs the tool's definition: stateless HTTP requests carry
// header fields derived from it.
func needsDefinition(c *connect.Conn) bool {
	return c.Transport() == transport.StreamableHTTP && client.Stateless(c.Revision())
}

// CheckArguments reads the arguments and checks them against the inputSchema. A schema with errors
// or an unknown dialect is the server's fault: it stops the call only with --strict. A schema that
// cannot be evaluated safely always stops it.
func CheckArguments(c *connect.Conn, tool *connect.Definition, o *Request) wire.Outcome {
	const lenient = true // sends a word that does not fit as a string, instead of reporting it
	refuse := func(text string, hint wire.Hint) wire.Outcome { return c.RefusedCall(o.Name, text, hint) }
	schema, warnings, err := tool.Input.Of(tool.InputSchema)
	o.Reading = o.Given.Read(tool.Input.Types(tool.InputSchema), !lenient)
	findings := o.Findings
	if err == nil && len(findings) == 0 {
		findings, err = schema.Check(o.Arguments)
	} else if err == nil {
		// The words that do not fit are reported. A lenient reading has them too, so that the check
		// also finds what is wrong with the others.
		others, _ := schema.Check(o.Given.Read(schema, lenient).Arguments)
		findings = slices.Concat(findings, arguments.Unreported(others, findings))
	}
	canAddDefaults := err == nil && len(o.Findings) == 0 && len(findings) > 0
	if canAddDefaults && o.addDefaults(schema) {
		findings, err = schema.Check(o.Arguments)
	}
	if failed, ok := errors.AsType[*validate.Error](err); ok {
		// A schema with an external reference may be right: only the user can decide to skip the check.
		isServersFault := failed.IsOfPart() && failed.Reason != validate.ExternalRef
		if isServersFault && !c.Env.Strict {
			warnFresh(c, tool, "the inputSchema of "+o.Name+" cannot be used, so the arguments were not validated: "+
				failed.Text)
			return invalidArguments(c, o, findings, wire.Hint(o.Otherwise(findings)))
		}
		return refuse("the arguments could not be validated: "+failed.Text, "--no-validate sends them anyway")
	}
	for _, w := range warnings {
		if c.Env.Strict {
			return refuse("the arguments could not be validated: "+w.Text, "without --strict they are sent")
		}
		warnFresh(c, tool, w.Text)
	}
	hasSession := c.Session != nil // a draft has no session, and needsDefinition would fail
	if len(findings) == 0 && hasSession && needsDefinition(c) {
		if unsafe := mcp.UnsafeHeaders(tool.InputSchema, o.Arguments); len(unsafe) > 0 {
			const text = "an argument cannot be sent in the header field that the tool declares"
			out := refuse(text, "--no-validate sends it anyway")
			out.Findings = unsafe
			return out
		}
	}
	return invalidArguments(c, o, findings, hintForArguments(tool, o, findings))
}

// hintForArguments returns the hint for arguments with findings: that the tool takes no arguments,
// or else what is probably wrong with a word. Returns "" if it knows nothing better than the
// findings.
func hintForArguments(tool *connect.Definition, o *Request, findings []wire.Finding) wire.Hint {
	if len(findings) == 0 {
		return ""
	}
	if takesNoArguments(tool.InputSchema) {
		return wire.Hint(o.Name + " takes no arguments; --no-validate sends them anyway")
	}
	hint := o.Otherwise(findings)
	if hint == "" {
		hint = o.Given.Joined(findings)
	}
	if hint == "" {
		hint = o.Given.Split()
	}
	return wire.Hint(hint)
}

// invalidArguments returns the outcome for findings about the arguments. It is OK without findings.
func invalidArguments(c *connect.Conn, o *Request, findings []wire.Finding, hint wire.Hint) wire.Outcome {
	if len(findings) == 0 {
		return wire.Outcome{}
	}
	out := c.RefusedCall(o.Name, "the arguments do not match the tool's inputSchema", hint)
	for _, text := range o.Warnings {
		findings = append(findings, wire.Finding{Rule: "argument", Severity: wire.Warning, Text: text})
	}
	out.Findings = findings
	return out
}

// takesNoArguments reports whether a schema allows no arguments at all.
func takesNoArguments(schema json.RawMessage) bool {
	members, _ := jsonraw.Object(schema)
	properties, _ := members.Get("properties")
	listed, _ := jsonraw.Object(properties)
	additional, _ := members.Get("additionalProperties")
	return len(listed) == 0 && string(additional) == "false"
}

// warnFresh warns about a definition when it was fetched for this call, not at every later call.
func warnFresh(c *connect.Conn, tool *connect.Definition, text string) {
	if tool.Fresh || c.Env.Verbose > 0 {
		c.Env.UI.Warn(text)
	}
}

// send sends the call. If the server rejects its header fields, it fetches the definition and sends
// the call again: the server did not execute it. If the call becomes a task, it waits for the
// result, unless o.Task asks for the task itself; then it returns the task too.
func send(ctx context.Context, c *connect.Conn, tool *connect.Definition, o Request) (wire.Outcome, *client.Task) {
	call := o.ClientCall(tool)
	if refused := askForTask(c, &call, tool, o); !refused.OK() {
		return refused, nil
	}
	out := c.Do(ctx, call)
	if client.IsHeaderMismatch(out) && tool != nil && !c.JustFetched(tool) {
		fresh, defined := c.Define(ctx, o.Name) // the outcome of listing the tools
		if defined.OK() && pin.Check(ctx, c, fresh) == pin.Changed {
			defined = Confirmed(ctx, c, fresh, o)
		}
		if !defined.OK() {
			return defined.WithPart(wire.AfterOperation), nil // a request was sent already
		}
		tool = fresh
		call.Schema = fresh.InputSchema
		out = c.Do(ctx, call)
	}
	if client.DeniesTool(out) && tool != nil {
		isListed := c.JustFetched(tool) || !refetchDenied(ctx, c, &out, o.Name)
		if isListed { // so the server objects to the arguments
			addDescribeHint(&out, "describe "+shellwords.Quote(o.Name))
		}
	}
	c.WarnUndeclared(out, connect.ToolKind.Capability)
	if call.Task != nil || o.Params != nil { // any other call cannot become a task
		task, isTask := c.TaskIn(call, out)
		if isTask && o.Task != 0 {
			return followTask(ctx, c, task, out, o), &task
		}
		if isTask {
			out = followTask(ctx, c, task, out, o)
		} else if o.Task != 0 && out.OK() {
			c.Env.UI.Note("the server returned the result at once, without a task")
		}
	}
	// The tool may have changed: some servers report that, or an unknown tool, in these ways.
	isFailedCall := out.Kind == wire.RPCFailed && !client.DeniesTool(out)
	if isFailedCall || out.Kind == wire.ToolError {
		c.Doubt(ctx, tool)
	}
	if !out.OK() || tool == nil || o.NoValidate { // there is nothing to check, or no schema
		return out, nil
	}
	return JudgeResult(ctx, c, tool, out), nil
}

// JudgeResult checks a result against the tool's definition, and returns out, or out as
// wire.OutputInvalid. Before a remembered definition rejects the result, it fetches a new one.
func JudgeResult(ctx context.Context, c *connect.Conn, tool *connect.Definition, out wire.Outcome) wire.Outcome {
	judged := CheckResult(c, tool, out)
	if judged.Kind != wire.OutputInvalid || c.JustFetched(tool) {
		return judged
	}
	if fresh, listing := c.Define(ctx, tool.Name); listing.OK() {
		return CheckResult(c, fresh, out)
	}
	return judged
}

// addDescribeHint adds the hint to run the command in words to a server's error about the params.
// The server must list the thing: only then it can be described. It changes no other outcome, and
// no outcome that has a hint.
func addDescribeHint(out *wire.Outcome, words string) {
	if out.Hint != "" || out.Kind != wire.RPCFailed {
		return
	}
	if rpc := out.RPCError(); rpc.Code == -32602 && !rpc.BlamesResult() {
		out.Hint = wire.RunOnServer(words) + " shows its arguments"
	}
}

// refetchDenied fetches the tools again after the server denied one, and reports whether the server
// no longer lists it, or gave no list. If the tool is not listed, the hint of out suggests a listed
// name.
func refetchDenied(ctx context.Context, c *connect.Conn, out *wire.Outcome, name string) bool {
	c.ForgetTools()
	_, listing := c.Define(ctx, name)
	if listing.Kind == wire.InvalidArguments { // a fresh list does not have the tool
		out.Hint = listing.Hint
	}
	return !listing.OK()
}

// CheckResult checks structuredContent against the tool's outputSchema, in revisions that have one. It
// returns out, or out as wire.OutputInvalid. A schema that cannot be used only causes a warning.
func CheckResult(c *connect.Conn, tool *connect.Definition, out wire.Outcome) wire.Outcome {
	if tool.OutputSchema == nil || !client.HasOutputSchemas(c.Revision()) {
		return out
	}
	result, err := out.Message.ResultMembers()
	if err != nil { // not an object, so it has no structuredContent to check
		return out
	}
	structured, found := result.Get("structuredContent")
	if !found {
		return withInvalidOutput(out, "the tool has an outputSchema, but the result has no structuredContent", nil)
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
		return withInvalidOutput(out, "the structuredContent does not match the tool's outputSchema", findings)
	}
	return out
}

// withInvalidOutput returns out as a result that does not match the outputSchema.
func withInvalidOutput(out wire.Outcome, text string, findings []wire.Finding) wire.Outcome {
	out.Kind = wire.OutputInvalid
	out.Text = text
	out.Findings = findings
	return out
}
