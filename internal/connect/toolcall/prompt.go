package toolcall

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/wire"
)

// PromptOptions are the flags and words of mcpc prompt.
type PromptOptions struct {
	Name       string
	Arguments  json.RawMessage
	Argv       []string
	NoValidate bool
}

// GetPrompt checks the arguments of a prompt, and requests it. If the server denies a prompt that was
// only remembered, it lists the prompts for a hint.
func GetPrompt(ctx context.Context, c *connect.Conn, o PromptOptions) wire.Outcome {
	remembered := false
	if !o.NoValidate {
		var out wire.Outcome
		remembered, out = checkPrompt(ctx, c, o)
		if !out.OK() {
			return out.WithPart(wire.BeforeOperation)
		}
	}
	params := jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote(o.Name)), "arguments", o.Arguments)
	out := c.Do(ctx, client.Call{Method: "prompts/get", Params: params})
	isListed := !o.NoValidate // checkPrompt has found it
	if remembered && client.DeniesTool(out) {
		c.Forget(connect.PromptKind)
		_, listing := c.Entry(ctx, connect.PromptKind, o.Name)
		isListed = listing.OK()
		if listing.Kind == wire.InvalidArguments { // a fresh list does not have the prompt
			out.Hint = listing.Hint
		}
	}
	if isListed && client.DeniesTool(out) { // so the server objects to the arguments
		addDescribeHint(&out, "describe prompt "+shellwords.Quote(o.Name))
	}
	return c.ExplainUnsupported(out, connect.PromptKind.Capability)
}

// checkPrompt checks the arguments against the prompt's definition: the remembered one if they fit
// it, otherwise a new one. remembered reports which one was used.
func checkPrompt(ctx context.Context, c *connect.Conn, o PromptOptions) (remembered bool, out wire.Outcome) {
	if raw := c.RememberedEntry(connect.PromptKind, o.Name); raw != nil {
		if out, unlisted := checkDefinition(c, raw, o); out.OK() && len(unlisted) == 0 {
			return true, out
		}
		// The arguments do not fit, perhaps because the server has changed the prompt since.
	}
	raw, out := c.Entry(ctx, connect.PromptKind, o.Name)
	if out.Kind == wire.InvalidArguments {
		out.Method = "prompts/get"
		if hint := c.SuggestKind(connect.PromptKind, o.Name); hint != "" {
			out.Hint = hint
		}
	}
	if !out.OK() {
		return false, out
	}
	out, unlisted := checkDefinition(c, raw, o)
	if out.OK() {
		for _, text := range unlisted {
			c.Env.UI.Warn(text)
		}
	}
	return false, out
}

// checkDefinition checks the arguments against one definition. A prompt has no schema, only names,
// and some are required (server/prompts, "Prompt"). unlisted has a warning for each argument that
// the definition does not list: the server decides about it.
func checkDefinition(c *connect.Conn, raw json.RawMessage, o PromptOptions) (out wire.Outcome, unlisted []string) {
	prompt, bad := mcp.ParsePrompt(raw)
	if bad != nil {
		return c.Unsent("prompts/get", o.Name, bad.Text, "--no-validate requests it anyway"), nil
	}
	given, _ := jsonraw.Object(o.Arguments)
	var findings []wire.Finding
	names := sliceutil.Map(prompt.Arguments, func(a mcp.PromptArgument) string { return a.Name })
	unknown := sliceutil.Map(given, func(m jsonraw.Member) string { return m.Name })
	unknown = slices.DeleteFunc(unknown, func(name string) bool { return slices.Contains(names, name) })
	for _, a := range prompt.Arguments {
		if _, isGiven := given.Get(a.Name); a.Required && !isGiven {
			text := "is required and missing"
			if near := suggest.Nearest(a.Name, unknown); near != "" {
				text += fmt.Sprintf("; %q is not an argument of this prompt", near)
			}
			pointer := jsonraw.Pointer("", a.Name)
			findings = append(findings, wire.Finding{Rule: "required", Severity: wire.Error, Pointer: pointer, Text: text})
		}
	}
	findings = append(findings, NotStrings(given)...)
	if len(findings) > 0 {
		out := c.Unsent("prompts/get", o.Name, "the arguments do not match the prompt", "")
		out.Findings = findings
		return out, nil
	}
	for _, name := range unknown {
		text := fmt.Sprintf("the prompt %s has no argument %q", o.Name, name)
		unlisted = append(unlisted, suggest.OrMeant(text, name, names))
	}
	return wire.Outcome{}, unlisted
}

// NotStrings returns a finding for each argument that is not a string. Prompts take strings only.
func NotStrings(given jsonraw.Members) []wire.Finding {
	var findings []wire.Finding
	for _, m := range given {
		if _, ok := jsonraw.Text(m.Value); !ok {
			findings = append(findings, wire.Finding{
				Rule: "type", Severity: wire.Error, Pointer: jsonraw.Pointer("", m.Name),
				Text: "must be a string", Got: jsonraw.Excerpt(m.Value, 40),
			})
		}
	}
	return findings
}
