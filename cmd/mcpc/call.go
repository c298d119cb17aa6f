package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// A callRequest is a call of a tool.
type callRequest struct {
	name string
	// given is what was typed, reading what the tool's schema makes of it.
	given given
	reading
	// noValidate sends what the schema forbids, yes what should be confirmed.
	noValidate, yes bool
	// params are those of the request where they say more than name and arguments.
	params json.RawMessage
	// task is not 0 where the call is to become a task, for that time, or below 0 for any.
	task time.Duration
}

// callOptions are what `mcpc call` was asked.
type callOptions struct {
	callRequest
	argv []string
	// dryRun shows the request and sends nothing, curl shows it as a command.
	dryRun, curl bool
	// offline keeps them from asking for the definition.
	offline bool
	// save is a file that the call is to be added to, saving what is in it; nil where
	// there is none.
	save   string
	saving *saving
	// expectResult makes the result that comes what is expected of the saved call.
	expectResult bool
}

func newCall(a *app) *cobra.Command {
	var o callOptions
	var document string
	cmd := &cobra.Command{
		Use:   "call NAME [JSON] [NAME=VALUE...] [-- COMMAND...]",
		Short: "call a tool",
		Long: `Call a tool and print its result.

Arguments are NAME=VALUE words, typed by the tool's inputSchema, or one JSON
object, @FILE or - for stdin; words after an object change its members (mcpc
help arguments). Arguments are validated against the inputSchema before they are
sent, and structuredContent against the outputSchema.`,
		Example: `  mcpc -s demo call get-sum a=1 b=2
  mcpc -s demo call get-sum '{"a":1}' b=2
  mcpc -s demo call get-structured-content location='New York' --json
  mcpc -s demo call get-sum a=1 b=2 --save sums.mcpc.yaml --expect-result
  echo '{"message":"hi"}' | mcpc -s demo call echo -
  mcpc -s http://localhost:3001/mcp call get-sum a:=1 b:=2 --curl --offline`,
		ValidArgsFunction: a.beforeDash(a.completeCall()),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			args, o.argv = splitDash(cmd, args)
			if len(args) == 0 {
				return hinted("call needs the name of a tool", wire.There("list")+" shows the tools")
			}
			if err := a.misplaced("call", args, o.argv); err != nil {
				return err
			}
			o.name = args[0]
			if o.given, err = a.given(args[1:], document, false); err != nil {
				return a.unnamed(cmd, toolKind, []string{"call", o.name}, args[1:], err)
			}
			if o.save != "" && (o.dryRun || o.curl || o.task != 0) {
				return hinted("--save needs a call that is sent and answered", "remove --dry-run, --curl and --task")
			}
			if o.dryRun || o.curl {
				return a.dryRun(cmd.Context(), o)
			}
			if o.saving, err = newSaving(o.save, o.expectResult); err != nil {
				return err
			}
			a.call(cmd.Context(), o)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&document, "args", "", "the arguments: `JSON`, @FILE or - for standard input")
	f.BoolVarP(&o.yes, "yes", "y", false, "call without a confirmation")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the request without sending it")
	f.BoolVar(&o.curl, "curl", false, "print the request as a curl command")
	f.BoolVar(&o.offline, "offline", false, "with --dry-run or --curl: do not request the tool's definition")
	f.BoolVar(&o.noValidate, "no-validate", false, "do not validate arguments and result")
	a.addIndex(f)
	a.addCut(f)
	f.StringVar(&o.save, "save", "", "add the call to a `file` of saved calls for mcpc run")
	f.BoolVar(&o.expectResult, "expect-result", false, "save the result as expectation; if saved twice, only what both have in common")
	f.Var((*seconds)(&o.task), "task", "start a task, print its id and do not wait (mcpc tasks)")
	f.Lookup("task").NoOptDefVal = "0"
	a.addAnswering(f)
	return cmd
}

// call is the walk of a tool call, from the server that is meant to the ending.
func (a *app) call(ctx context.Context, o callOptions) {
	if o.offline {
		a.end(usage(hinted("--offline needs --dry-run or --curl", "remove it")))
		return
	}
	if out := appendableAs("--save", o.save); !out.Good() {
		a.end(out)
		return
	}
	c, out := a.open(ctx, opening{argv: o.argv, greet: o.task != 0, fits: o.saving.fits})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	out, begun := c.perform(ctx, &o.callRequest)
	ans := answerOf(out)
	if begun != nil {
		ans.method, ans.human = "tasks/get", func(w io.Writer, st render.Style) error {
			_, err := fmt.Fprintln(w, st.Line(begun.ID))
			return err
		}
	}
	a.show(ctx, out, ans)
	o.saving.add(a, c, o.callRequest, out)
	a.explained("tools/call", "tasks/get", "tasks/result", "tasks/update")
}

// perform checks a call, sends it, and checks what came back.
func (c *conversation) perform(ctx context.Context, o *callRequest) (wire.Outcome, *client.Task) {
	tool, out := c.checked(ctx, o)
	if out.Good() {
		c.a.tell(o.reading)
		out = c.confirmed(ctx, tool, *o)
	}
	if !out.Good() {
		return out.As(wire.Before), nil
	}
	return c.callTool(ctx, tool, *o)
}

// checked gets the tool's definition and holds the arguments against it. What a
// remembered definition forbids is held against a fresh one before it is
// refused.
func (c *conversation) checked(ctx context.Context, o *callRequest) (*definition, wire.Outcome) {
	tool := c.remembered(o.name)
	if o.noValidate && (tool != nil || !c.needsDefinition() && o.task == 0 && len(o.given.words) == 0) {
		return tool, c.unchecked(tool, o)
	}
	if tool != nil && c.checkArguments(tool, o).Good() {
		return tool, wire.Outcome{}
	}
	tool, out := c.defineOnce(ctx, o.name)
	switch {
	case o.noValidate && out.Kind == wire.InvalidArguments:
		return nil, c.unchecked(nil, o)
	case out.Good() && o.noValidate:
		out = c.unchecked(tool, o)
	case out.Good():
		out = c.completed(ctx, tool, o, c.checkArguments(tool, o))
	}
	return tool, out
}

// unchecked reads the arguments with the types of a tool, if it is known, and
// takes what does not fit as a text.
func (c *conversation) unchecked(tool *definition, o *callRequest) wire.Outcome {
	var schema *validate.Schema
	var hint wire.Hint
	switch {
	case tool == nil:
		hint = wire.Run("help arguments")
	case len(o.given.words) > 0:
		schema, _, _ = tool.input.of(tool.InputSchema)
	}
	o.reading = o.given.read(schema, true)
	return c.misfit(o, o.findings, hint)
}

// needsDefinition: the header fields of a request are made from the tool's
// definition where requests stand alone.
func (c *conversation) needsDefinition() bool {
	return c.Transport() == client.StreamableHTTP && client.Stateless(c.Revision())
}

// checkArguments holds the arguments against the inputSchema. A schema that
// breaks its own rules is the server's fault and stops nobody who did not ask
// for --strict; one that cannot be followed safely stops everybody.
func (c *conversation) checkArguments(tool *definition, o *callRequest) wire.Outcome {
	bad := func(text string, hint wire.Hint) wire.Outcome { return c.refusedCall(o.name, text, hint) }
	schema, warnings, err := tool.input.of(tool.InputSchema)
	o.reading = o.given.read(schema, false)
	findings := o.findings
	if err == nil && len(findings) == 0 {
		findings, err = schema.Check(o.arguments)
	} else if err == nil {
		besides, _ := schema.Check(o.given.read(schema, true).arguments)
		findings = slices.Concat(findings, unsaid(besides, findings))
	}
	if err == nil && len(o.findings) == 0 && len(findings) > 0 && o.fill(schema) {
		findings, err = schema.Check(o.arguments)
	}
	if failed, ok := errors.AsType[*validate.SchemaError](err); ok {
		if failed.Reason == validate.NotASchema && !c.a.strict {
			c.warnFresh(tool, "the inputSchema of "+o.name+" is not valid, so the arguments were not validated: "+failed.Text)
			return c.misfit(o, findings, "")
		}
		return bad("the arguments could not be validated: "+failed.Text, "--no-validate sends them anyway")
	}
	for _, w := range warnings {
		if c.a.strict {
			return bad("the arguments could not be validated: "+w.Text, "without --strict they are sent")
		}
		c.warnFresh(tool, w.Text)
	}
	if len(findings) == 0 && c.Session != nil && c.needsDefinition() { // a draft has no session
		if unsafe := client.HeaderUnsafe(tool.InputSchema, o.arguments); len(unsafe) > 0 {
			out := bad("an argument cannot be sent in the header field that the tool declares", "--no-validate sends it anyway")
			out.Findings = unsafe
			return out
		}
	}
	hint := o.otherwise(findings)
	if len(findings) > 0 && takesNone(tool.InputSchema) {
		hint = o.name + " takes no arguments; --no-validate sends them anyway"
	}
	return c.misfit(o, findings, wire.Hint(hint))
}

// fill gives the arguments what the schema requires and has a default for, and says
// so; false where there is nothing of that. Some servers fill it in themselves, others
// refuse a call without it, and none minds its own default.
func (o *callRequest) fill(schema *validate.Schema) bool {
	filled, added := schema.Complete(o.arguments)
	for _, d := range added {
		o.warnings = append(o.warnings, fmt.Sprintf("%s requires %s, which was not given: sending its default %s",
			o.name, d.Where, wire.Excerpt(d.Value, 60)))
	}
	o.arguments, o.filled = filled, len(added) > 0
	return o.filled
}

// misfit is the ending of a call whose arguments have findings; it is a good one
// where there are none.
func (c *conversation) misfit(o *callRequest, findings []wire.Finding, hint wire.Hint) wire.Outcome {
	if len(findings) == 0 {
		return wire.Outcome{}
	}
	out := c.refusedCall(o.name, "the arguments do not match the tool's inputSchema", hint)
	for _, text := range o.warnings {
		findings = append(findings, wire.Finding{Rule: "argument", Level: wire.Warning, Text: text})
	}
	out.Findings = findings
	return out
}

// takesNone reports whether a schema allows no arguments at all.
func takesNone(schema json.RawMessage) bool {
	members, _ := wire.Object(schema)
	properties, _ := members.Get("properties")
	inner, _ := wire.Object(properties)
	more, _ := members.Get("additionalProperties")
	return len(inner) == 0 && string(more) == "false"
}

// warnFresh says what is wrong with a definition when it is read, and not again
// at every call.
func (c *conversation) warnFresh(tool *definition, text string) {
	if tool.fresh || c.a.verbose > 0 {
		c.a.ui.warn(text)
	}
}

// request is what is asked of the server.
func (o callRequest) request(tool *definition) client.Call {
	params := o.params
	if params == nil {
		params = wire.Append(json.RawMessage("{}"), wire.Member{Name: "name", Value: wire.Quote(o.name)}, wire.Member{Name: "arguments", Value: o.arguments})
	} else if o.filled {
		params = wire.With(params, "arguments", o.arguments)
	}
	call := client.Call{Method: "tools/call", Params: params, Progress: true}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	return call
}

// callTool sends the call. Where the server finds the header fields out of date
// the definition is fetched again and the call sent once more: it was refused
// unread. A call that becomes a task is waited for, unless the task is what was
// asked for; then it is given back as well.
func (c *conversation) callTool(ctx context.Context, tool *definition, o callRequest) (wire.Outcome, *client.Task) {
	call := o.request(tool)
	if refused := c.askForTask(&call, tool, o); !refused.Good() {
		return refused, nil
	}
	out := c.Do(ctx, call)
	if client.HeaderMismatch(out) && tool != nil && !tool.fresh {
		fresh, again := c.define(ctx, o.name)
		if !again.Good() {
			return again.As(wire.After), nil
		}
		tool, call.Schema = fresh, fresh.InputSchema
		out = c.Do(ctx, call)
	}
	if client.DeniesTool(out) && tool != nil && (tool.fresh || !c.denied(ctx, &out, o.name)) {
		c.describes(&out, "describe "+shellwords.Quote(o.name))
	}
	c.undeclared(out, toolKind.capability)
	switch task, ok := c.TaskIn(call, out); {
	case ok:
		if out = c.became(ctx, task, out, o); o.task != 0 {
			return out, &task
		}
	case o.task != 0 && out.Good():
		c.a.ui.note("the server returned the result at once, without a task")
	}
	if tool == nil || tool.fresh {
		return c.judged(tool, o, out), nil
	}
	judged := c.judged(tool, o, out)
	if judged.Kind == wire.OutputInvalid { // by what may be true no more
		if fresh, again := c.define(ctx, o.name); again.Good() {
			judged = c.judged(fresh, o, out)
		}
	}
	rpc := out.RPC()
	if c.saved == nil && c.box == nil && (out.Kind == wire.ToolError || rpc != nil && rpc.Code == -32602) {
		c.forget(toolKind) // another program may stand there by now
	}
	return judged, nil
}

// judged is the ending by the tool's definition, where the outcome is good.
func (c *conversation) judged(tool *definition, o callRequest, out wire.Outcome) wire.Outcome {
	if !out.Good() || tool == nil || o.noValidate {
		return out
	}
	return c.checkResult(tool, out)
}

// describes leads from an error about its params to the definition of what the server
// lists: of another name there is none to be shown.
func (c *conversation) describes(out *wire.Outcome, words string) {
	if out.Hint == "" && out.Kind == wire.RPCFailed && out.RPC().Code == -32602 {
		out.Hint = wire.There(words) + " shows its arguments"
	}
}

// denied forgets what was remembered of a tool that the server perhaps no longer knows,
// and reports whether that is so: then the hint is a name that it does know.
func (c *conversation) denied(ctx context.Context, out *wire.Outcome, name string) bool {
	c.forgetTools()
	_, fresh := c.define(ctx, name)
	if fresh.Kind == wire.InvalidArguments {
		out.Hint = fresh.Hint
	}
	return !fresh.Good()
}

// checkResult holds structuredContent against the tool's outputSchema.
func (c *conversation) checkResult(tool *definition, out wire.Outcome) wire.Outcome {
	if tool.OutputSchema == nil {
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
	schema, warnings, failed := tool.output.of(tool.OutputSchema)
	var findings []wire.Finding
	if failed == nil {
		findings, failed = schema.Check(structured)
	}
	if failed != nil {
		c.a.ui.warn("the result was not validated against the outputSchema: " + failed.Error())
		return out
	}
	for _, w := range warnings {
		c.warnFresh(tool, w.Text)
	}
	if len(findings) > 0 {
		return outputInvalid(out, "the structuredContent does not match the tool's outputSchema", findings)
	}
	return out
}

func outputInvalid(out wire.Outcome, text string, findings []wire.Finding) wire.Outcome {
	out.Kind, out.Text, out.Findings = wire.OutputInvalid, text, findings
	return out
}
