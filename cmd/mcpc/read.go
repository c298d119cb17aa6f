package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// readOptions are what `mcpc read` was asked.
type readOptions struct {
	uri string
	// left are the variables of a template that nothing was put into.
	left []string
	argv []string
}

func newRead(a *app) *cobra.Command {
	var o readOptions
	var template bool
	cmd := &cobra.Command{
		Use:   "read URI [NAME=VALUE... | JSON] [-- COMMAND...]",
		Short: "read a resource",
		Long: `Read a resource and print its contents: text unchanged; binary data as bytes in
a pipe or with -o FILE, and as a line with type and size at a terminal. If there
are several contents, each is named.

With NAME=VALUE the URI is a template (RFC 6570), which is expanded with the
values; a repeated name makes a list, and a JSON object can contain lists and
maps. --template expands without any value. The URI is sent to the server,
whatever its scheme: mcpc never fetches it itself.`,
		Example: `  mcpc -s demo read demo://resource/static/document/features.md
  mcpc -s demo read demo://resource/static/image/logo.png -o logo.png
  mcpc -s demo read 'demo://resource/dynamic/text/{resourceId}' resourceId=3`,
		ValidArgsFunction: a.beforeDash(a.completeRead()),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.argv = splitDash(cmd, args)
			if len(args) == 0 {
				return hinted("read takes a resource's URI", wire.There("list resources")+" lists the resources")
			}
			if err := a.misplaced("read", args, o.argv); err != nil {
				return err
			}
			if err := a.aimRead(&o, args, template); err != nil {
				return err
			}
			a.read(cmd.Context(), o)
			return nil
		},
	}
	cmd.Flags().BoolVar(&template, "template", false, "treat the URI as a template, even without values")
	a.addCut(cmd.Flags())
	a.addAnswering(cmd.Flags())
	return cmd
}

// aimRead settles which URI is meant.
func (a *app) aimRead(o *readOptions, args []string, template bool) error {
	o.uri = args[0]
	if len(args) == 1 && !template {
		return nil
	}
	if !strings.Contains(o.uri, "{") && len(args) > 1 {
		return hinted(fmt.Sprintf("%s has no {variable} for %q", o.uri, args[1]), wire.There("list templates")+" lists the templates")
	}
	t, err := wire.ParseURITemplate(o.uri)
	if err != nil {
		return fmt.Errorf("invalid URI template: %w", err)
	}
	raw, err := a.assigned(args[1:])
	if err != nil {
		return err
	}
	values, _ := wire.Object(raw)
	if err := unknownVariable(t, values); err != nil {
		return err
	}
	o.left = slices.DeleteFunc(t.Variables(), func(name string) bool {
		_, given := values.Get(name)
		return given
	})
	o.uri, err = t.Expand(values)
	return err
}

// unknownVariable refuses a value that the template has no place for: it would
// be lost without a word.
func unknownVariable(t wire.URITemplate, values wire.Members) error {
	names := t.Variables()
	for _, m := range values {
		if slices.Contains(names, m.Name) {
			continue
		}
		return hinted(fmt.Sprintf("the template has no variable %q", m.Name),
			didYouMean("%s=", m.Name, names, wire.Hint("its variables are: "+strings.Join(names, ", "))))
	}
	return nil
}

func (a *app) read(ctx context.Context, o readOptions) {
	c, out := a.open(ctx, opening{argv: o.argv})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	if len(o.left) > 0 {
		a.note("no value for " + strings.Join(o.left, ", ") + "; reading " + o.uri)
	}
	out = c.readResource(ctx, o.uri)
	a.nameContents(out)
	a.show(ctx, out, answerOf(out))
	a.explained("resources/read")
}

// readResource asks the server for one resource.
func (c *conversation) readResource(ctx context.Context, uri string) wire.Outcome {
	out := c.Do(ctx, client.Call{Method: "resources/read", Params: wire.With(nil, "uri", wire.Quote(uri))})
	if t, err := wire.ParseURITemplate(uri); out.Kind == wire.RPCFailed && err == nil && t.Variables() != nil {
		out.Hint = "a template needs values: " + wire.There("read "+shellwords.Quote(uri)+" "+strings.Join(t.Variables(), "=VALUE ")+"=VALUE")
	}
	if rpc := out.RPC(); rpc != nil && (rpc.Code == -32602 || rpc.Code == -32002) && out.Hint == "" {
		if near := wire.Nearest(uri, c.rememberedNames(resourceKind)); near != "" && near != uri {
			out.Hint = wire.Hint("did you mean " + near + "?")
		}
	}
	return c.lacking(out, resourceKind.capability)
}

// nameContents says what is wrong with a resource's contents, and where there
// are several and no reader sees their headings, which they are.
func (a *app) nameContents(out wire.Outcome) {
	if !out.Good() {
		return
	}
	items, _ := out.Message.ResultItems("contents")
	if len(items) == 0 {
		a.warn("the resource has no contents; for a missing resource the server should return an error")
	}
	names := render.Contents(out.Result)
	if len(names) < 2 || a.json || a.wire || a.jq != "" || a.outStyle.Terminal && a.output == "" {
		return
	}
	for i, name := range names {
		a.note(fmt.Sprintf("content %d of %d: %s", i+1, len(names), name))
	}
}
