package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// describeOptions are what `mcpc describe` was asked.
type describeOptions struct {
	kind kind
	name string
	argv []string
}

func newDescribe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "describe [tool|prompt|resource|template] NAME [-- COMMAND...]",
		Short: "show one tool, prompt, resource or template in full",
		Long: `Show a tool's description, arguments and output, and an example call that works
when pasted (VALUE stands for a value to fill in); or a prompt, a resource or a
template by its URI. Without a kind NAME is a tool, or if it is a URI a resource
or template. --json prints the definition unchanged.

If a tool has a UI resource (MCP Apps), its metadata is read and shown; it is
never opened.`,
		Example: `  mcpc -s demo describe get-sum
  mcpc -s demo describe prompt args-prompt
  mcpc -s demo describe demo://resource/static/image/logo.png
  mcpc -s demo describe get-sum --jq .inputSchema`,
		ValidArgsFunction: a.beforeDash(a.completeDescribe()),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if err := a.misplaced("describe", own, argv); err != nil {
				return err
			}
			o, err := a.describeWhat(own)
			if err != nil {
				return err
			}
			o.argv = argv
			a.describe(cmd.Context(), o)
			return nil
		},
	}
	a.addIndex(cmd.Flags())
	a.addCut(cmd.Flags())
	return cmd
}

// describeWhat reads the kind and the name. A URI alone tells its kind.
func (a *app) describeWhat(words []string) (o describeOptions, err error) {
	switch {
	case len(words) == 2:
		k, ok := kindNamed(words[0])
		if !ok {
			return o, hinted(fmt.Sprintf("unknown kind %q", words[0]), didYouMean(wire.There("describe %s "+shellwords.Quote(words[1])), words[0], []string{"tool", "prompt", "resource", "template"}, wire.There("describe tool|prompt|resource|template NAME")))
		}
		return describeOptions{kind: k, name: words[1]}, nil
	case len(words) != 1:
		return o, hinted("describe takes one name, optionally after its kind", wire.There("list all")+" shows what is available")
	case !strings.Contains(words[0], "://"):
		return describeOptions{kind: toolKind, name: words[0]}, nil
	case strings.Contains(words[0], "{"):
		return describeOptions{kind: templateKind, name: words[0]}, nil
	}
	return describeOptions{kind: resourceKind, name: words[0]}, nil
}

func (a *app) describe(ctx context.Context, o describeOptions) {
	c, out := a.open(ctx, opening{argv: o.argv})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	var found described
	if o.kind == toolKind {
		found, out = c.describeTool(ctx, o.name, a.showsTables())
	} else {
		found, out = c.describeEntry(ctx, o.kind, o.name)
	}
	if !out.Good() {
		out.Method = o.kind.method
		if out.Kind == wire.InvalidArguments {
			out.Reached = wire.Answered // the list was all that there was to ask for
			if hint := c.otherKind(ctx, o); hint != "" {
				out.Hint = hint
			}
			if isURL(o.name) {
				out.Hint += "; name a server with -s"
			}
		}
		a.end(out)
		return
	}
	a.show(ctx, out, document(found.raw, found.human))
	a.explained(o.kind.method)
}

// otherKind leads on to a prompt or a resource that has the name, where the server has
// no tool of it.
func (c *conversation) otherKind(ctx context.Context, o describeOptions) wire.Hint {
	if o.kind != toolKind {
		return ""
	}
	for _, k := range []kind{promptKind, resourceKind} {
		if declared, known := c.declares(k.capability); known && !declared {
			continue
		}
		if _, out := c.entry(ctx, k, o.name); out.Good() {
			return "there is a " + wire.Hint(k.one) + " of that name: " + wire.There("describe "+k.one+" "+shellwords.Quote(o.name))
		}
	}
	return ""
}

// described is a definition, and how a person is shown it.
type described struct {
	raw   json.RawMessage
	human func(w io.Writer, st render.Style) error
}

func (c *conversation) describeTool(ctx context.Context, name string, withPage bool) (described, wire.Outcome) {
	tool, out := c.define(ctx, name)
	if !out.Good() {
		return described{}, out
	}
	var page json.RawMessage
	if tool.UI != "" && withPage {
		page = c.page(ctx, tool.UI)
	}
	return described{tool.Raw, func(w io.Writer, st render.Style) error {
		return render.Describe(w, st, tool.Tool, validExample(tool.InputSchema), page)
	}}, out
}

// validExample is a small value that satisfies a schema, nil where none is known. What
// is no schema is not checked in a call either: no arguments are as good as any.
func validExample(raw json.RawMessage) json.RawMessage {
	example := render.Example(raw)
	schema, warnings, err := validate.Compile(raw)
	if failed, ok := errors.AsType[*validate.SchemaError](err); ok && failed.Reason == validate.NotASchema && string(example) == "{}" {
		return example
	}
	if err != nil || len(warnings) > 0 {
		return nil
	}
	if findings, err := schema.Check(example); err != nil || len(findings) > 0 {
		return nil
	}
	return example
}

// page reads what a UI resource says of itself, nil where it cannot be read.
func (c *conversation) page(ctx context.Context, uri string) json.RawMessage {
	out := c.readResource(ctx, uri)
	if !out.Good() {
		c.a.ui.warn("the tool's UI resource " + uri + " could not be read: " + out.Text)
		return nil
	}
	items, _ := out.Message.ResultItems("contents")
	if len(items) > 0 {
		if said := wire.First(wire.First(items[0], "_meta"), "ui"); said != nil {
			return said
		}
	}
	return json.RawMessage("{}")
}

func (c *conversation) describeEntry(ctx context.Context, k kind, name string) (described, wire.Outcome) {
	raw, out := c.entry(ctx, k, name)
	if !out.Good() {
		return described{}, out
	}
	var human func(w io.Writer, st render.Style) error
	var bad *wire.Finding
	switch k {
	case promptKind:
		human, bad = shownBy(raw, wire.ParsePrompt, render.DescribePrompt)
	case resourceKind:
		human, bad = shownBy(raw, wire.ParseResource, render.DescribeResource)
	default:
		human, bad = shownBy(raw, wire.ParseTemplate, render.DescribeTemplate)
	}
	if bad != nil {
		return described{}, c.unsent(k.method, name, bad.Text, "")
	}
	return described{raw, human}, out
}

func shownBy[T any](raw json.RawMessage, parse func(json.RawMessage) (T, *wire.Finding),
	show func(io.Writer, render.Style, T) error) (func(io.Writer, render.Style) error, *wire.Finding) {
	one, bad := parse(raw)
	return func(w io.Writer, st render.Style) error { return show(w, st, one) }, bad
}

// entry finds one thing in a list of its kind, by the name or URI that asks for
// it, else by the name that it has beside its URI. That it is not there is an
// ending of its own.
func (c *conversation) entry(ctx context.Context, k kind, name string) (json.RawMessage, wire.Outcome) {
	found := func(items []json.RawMessage, members ...string) json.RawMessage {
		for _, raw := range items {
			for _, member := range members {
				if text, ok := wire.Text(wire.First(raw, member)); ok && text == name {
					return raw
				}
			}
		}
		return nil
	}
	enough := func(items []json.RawMessage) bool { return found(items, k.key) != nil }
	if c.saved != nil && k == promptKind {
		enough = nil // the list will be remembered
	}
	list, out := c.listed(ctx, k, enough)
	if !out.Good() {
		return nil, out
	}
	for _, member := range []string{k.key, "name"} {
		if raw := found(list.Items, member); raw != nil {
			return raw, out
		}
	}
	var names []string
	for _, raw := range list.Items {
		if text, ok := wire.Text(wire.First(raw, k.key)); ok {
			names = append(names, text)
		}
	}
	return nil, c.unsent(k.method, name, fmt.Sprintf("the server has no %s %q", k.one, name), nearestIn(k, name, names))
}
