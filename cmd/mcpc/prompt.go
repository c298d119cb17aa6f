package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// promptOptions are what `mcpc prompt` was asked.
type promptOptions struct {
	name       string
	arguments  json.RawMessage
	argv       []string
	noValidate bool
}

func newPrompt(a *app) *cobra.Command {
	var o promptOptions
	cmd := &cobra.Command{
		Use:   "prompt NAME [JSON] [NAME=VALUE...] [-- COMMAND...]",
		Short: "get a prompt, filled with arguments",
		Long: `Get a prompt and print its messages, each with its role.

A prompt's arguments are strings: NAME=VALUE or NAME=@FILE, or one JSON object,
@FILE or - for stdin (mcpc help arguments). Missing required arguments are
detected with the server's list before anything is sent; --no-validate skips
that.`,
		Example: `  mcpc -s demo prompt simple-prompt
  mcpc -s demo prompt args-prompt city=Paris
  mcpc -s demo prompt args-prompt '{"city":"Paris","state":"Texas"}' --json`,
		ValidArgsFunction: a.beforeDash(a.completePrompt()),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.argv = splitDash(cmd, args)
			if len(args) == 0 {
				return hinted("prompt takes a prompt's name and its arguments", wire.There("list prompts")+" lists the prompts")
			}
			if err := a.misplaced("prompt", args, o.argv); err != nil {
				return err
			}
			o.name = args[0]
			typed, err := a.given(args[1:], "", true)
			if err != nil {
				return a.unnamed(cmd, promptKind, []string{"prompt", o.name}, args[1:], err)
			}
			o.arguments = typed.texts()
			a.prompt(cmd.Context(), o)
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.noValidate, "no-validate", false, "do not check the arguments")
	a.addCut(cmd.Flags())
	a.addAnswering(cmd.Flags())
	return cmd
}

func (a *app) prompt(ctx context.Context, o promptOptions) {
	c, out := a.open(ctx, opening{argv: o.argv})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	out = c.getPrompt(ctx, o)
	a.show(ctx, out, answerOf(out))
	a.explained("prompts/get")
}

// getPrompt asks the server for one prompt.
func (c *conversation) getPrompt(ctx context.Context, o promptOptions) wire.Outcome {
	remembered := false
	if !o.noValidate {
		var out wire.Outcome
		if remembered, out = c.checkPrompt(ctx, o); !out.Good() {
			return out.As(wire.Before)
		}
	}
	params := wire.With(wire.With(nil, "name", wire.Quote(o.name)), "arguments", o.arguments)
	out := c.Do(ctx, client.Call{Method: "prompts/get", Params: params})
	listed := !o.noValidate
	if remembered && client.DeniesTool(out) {
		c.forget(promptKind)
		_, fresh := c.entry(ctx, promptKind, o.name)
		if listed = fresh.Good(); fresh.Kind == wire.InvalidArguments {
			out.Hint = fresh.Hint
		}
	}
	if listed && client.DeniesTool(out) {
		c.describes(&out, "describe prompt "+shellwords.Quote(o.name))
	}
	return c.lacking(out, promptKind.capability)
}

// checkPrompt holds the arguments against the prompt's definition, the remembered one if
// they fit that, else a fresh one.
func (c *conversation) checkPrompt(ctx context.Context, o promptOptions) (remembered bool, out wire.Outcome) {
	if raw := c.kept(promptKind, o.name); raw != nil {
		if out, unlisted := c.fitsPrompt(raw, o); out.Good() && len(unlisted) == 0 {
			return true, out
		}
	}
	raw, out := c.entry(ctx, promptKind, o.name)
	if out.Kind == wire.InvalidArguments {
		out.Method, out.Hint = "prompts/get", cmp.Or(c.otherwiseNamed(promptKind, o.name), out.Hint)
	}
	if !out.Good() {
		return false, out
	}
	out, unlisted := c.fitsPrompt(raw, o)
	if out.Good() {
		for _, text := range unlisted {
			c.a.ui.warn(text)
		}
	}
	return false, out
}

// fitsPrompt judges by one definition: there is no schema, only names, and which of them
// are required (server/prompts, "Prompt"). What becomes of an argument that it does not
// list is the server's to say.
func (c *conversation) fitsPrompt(raw json.RawMessage, o promptOptions) (out wire.Outcome, unlisted []string) {
	prompt, bad := wire.ParsePrompt(raw)
	if bad != nil {
		return c.unsent("prompts/get", o.name, bad.Text, "--no-validate requests it anyway"), nil
	}
	given, _ := wire.Object(o.arguments)
	var findings []wire.Finding
	names := mapped(prompt.Arguments, func(a wire.PromptArgument) string { return a.Name })
	unknown := slices.DeleteFunc(mapped(given, func(m wire.Member) string { return m.Name }), func(name string) bool { return slices.Contains(names, name) })
	for _, a := range prompt.Arguments {
		if _, there := given.Get(a.Name); a.Required && !there {
			text := "is required and missing"
			if near := wire.Nearest(a.Name, unknown); near != "" {
				text += fmt.Sprintf("; %q is not an argument of this prompt", near)
			}
			findings = append(findings, wire.Finding{Rule: "required", Level: wire.Error, Where: pointer(a.Name), Text: text})
		}
	}
	findings = append(findings, notStrings(given)...)
	if len(findings) > 0 {
		out := c.unsent("prompts/get", o.name, "the arguments do not match the prompt", "")
		out.Findings = findings
		return out, nil
	}
	for _, name := range unknown {
		unlisted = append(unlisted, orMeant(fmt.Sprintf("the prompt %s has no argument %q", o.name, name), name, names))
	}
	return wire.Outcome{}, unlisted
}

// notStrings finds the arguments that no prompt can take.
func notStrings(given wire.Members) (findings []wire.Finding) {
	for _, m := range given {
		if _, ok := wire.Text(m.Value); !ok {
			findings = append(findings, wire.Finding{Rule: "type", Level: wire.Error, Where: pointer(m.Name),
				Text: "must be a string", Got: wire.Excerpt(m.Value, 40)})
		}
	}
	return findings
}

// pointer is a JSON pointer to a member (RFC 6901).
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
