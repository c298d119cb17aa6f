package call

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// readOptions are the arguments of mcpc read.
type readOptions struct {
	uri string
	// unsetVariables are the variables of the template that have no value.
	unsetVariables []string
	argv           []string
}

// NewRead returns the command mcpc read.
func NewRead(f *cmdutil.Factory) *cobra.Command {
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
		ValidArgsFunction: f.CompleteRead,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.argv = cmdutil.SplitDash(cmd, args)
			if len(args) == 0 {
				return usage.New("read takes a resource's URI", wire.RunOnServer("list resources")+" lists the resources")
			}
			if err := meant.CheckMisplaced(f, "read", args, o.argv); err != nil {
				return err
			}
			if err := resolveURI(f, &o, args, template); err != nil {
				return err
			}
			return runRead(cmd.Context(), f, o)
		},
	}
	cmd.Flags().BoolVar(&template, "template", false, "treat the URI as a template, even without values")
	f.AddMaxChars(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	return cmd
}

// resolveURI sets o.uri to the URI in args[0]. If values follow or template is set, the URI is a
// template: it is expanded, and o.unsetVariables are the variables without a value.
func resolveURI(f *cmdutil.Factory, o *readOptions, args []string, template bool) error {
	o.uri = args[0]
	if len(args) == 1 && !template {
		return nil
	}
	if !strings.Contains(o.uri, "{") && len(args) > 1 {
		return usage.New(
			fmt.Sprintf("%s has no {variable} for %q", o.uri, args[1]),
			wire.RunOnServer("list templates")+" lists the templates",
		)
	}
	t, err := mcp.ParseURITemplate(o.uri)
	if err != nil {
		return fmt.Errorf("invalid URI template: %w", err)
	}
	raw, err := arguments.Assigned(&f.Env, args[1:])
	if err != nil {
		return err
	}
	values, _ := jsonraw.Object(raw)
	if err := toolcall.UnknownVariable(t, values); err != nil {
		return err
	}
	o.unsetVariables = slices.DeleteFunc(t.Variables(), func(name string) bool {
		_, given := values.Get(name)
		return given
	})
	o.uri, err = t.Expand(values)
	return err
}

// runRead reads the resource and prints its contents.
func runRead(ctx context.Context, f *cmdutil.Factory, o readOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, OneAnswer: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if len(o.unsetVariables) > 0 {
		f.Note("no value for " + strings.Join(o.unsetVariables, ", ") + "; reading " + o.uri)
	}
	out = toolcall.ReadResource(ctx, c, o.uri)
	noteContents(f, out)
	return cmdutil.Show(ctx, f, out, cmdutil.AnswerOf(out), "resources/read")
}

// noteContents warns if the resource has no contents. It names several contents if the output has
// no headings for them.
func noteContents(f *cmdutil.Factory, out wire.Outcome) {
	if !out.OK() {
		return
	}
	names := render.Contents(out.Result)
	if len(names) == 0 {
		f.Warn("the resource has no contents; for a missing resource the server should return an error")
	}
	printsJSON := f.JSON || f.Wire || f.Jq != ""
	hasHeadings := f.OutStyle.Terminal && f.Output == ""
	if len(names) < 2 || printsJSON || hasHeadings {
		return
	}
	for i, name := range names {
		f.Note(fmt.Sprintf("content %d of %d: %s", i+1, len(names), name))
	}
}
