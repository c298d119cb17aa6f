package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

func newList(a *app) *cobra.Command {
	var long bool
	cmd := &cobra.Command{
		Use:   "list [-- COMMAND...]",
		Short: "list the tools of a server",
		Long: `List the tools of a server: name, arguments as a signature, hints and the first
line of the description. All pages are fetched. Into a pipe goes one line a
tool, with a TAB between name, arguments, hints and description.`,
		Example: `  mcpc -s demo list
  mcpc -s demo list --long
  mcpc -s demo list --jq '.tools[].name'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if err := noArguments(cmd, own); err != nil {
				return err
			}
			a.list(cmd.Context(), argv, long)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&long, "long", "l", false, "whole descriptions")
	return cmd
}

func (a *app) list(ctx context.Context, argv []string, long bool) {
	c, out := a.open(ctx, opening{argv: argv})
	defer c.close(ctx)
	if !out.Good() {
		a.end(out)
		return
	}
	list, out := c.listed(ctx, nil)
	ans := answer{method: "tools/list", messages: list.Pages}
	if a.json || a.jq != "" || a.output != "" {
		ans.result = list.Result()
	}
	shown := len(list.Items)
	if !a.json && !a.wire && a.jq == "" { // those show all that came
		all := c.sort(list)
		for _, left := range all.leftOut {
			a.warn(fmt.Sprintf("%s of tools/list is left out: %s", left.name, left.why))
		}
		ans.human = func(w io.Writer, st render.Style) error { return render.Tools(w, st, all.tools, long) }
		shown = len(all.tools)
	}
	// A list that a limit cut is shown as far as it came, and is no success.
	if len(list.Pages) > 0 && out.Kind == wire.BadResponse {
		a.print(ctx, ans)
	}
	if out.Good() && shown == 0 {
		a.note("the server lists no tools")
	}
	a.show(ctx, out, ans)
	c.explained("tools/list")
}

func newDescribe(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME [-- COMMAND...]",
		Short: "show what a tool takes and gives, with an example call",
		Long: `Show a tool's description, arguments and output as readable fields, and an
example call that works when it is pasted. --json gives the definition's own
bytes.`,
		Example: `  mcpc -s demo describe get-sum
  mcpc -s demo describe get-structured-content
  mcpc -s demo describe get-sum --jq .inputSchema`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if len(own) != 1 {
				return hintedError{"describe takes one tool's name", "mcpc list shows the tools"}
			}
			a.describe(cmd.Context(), own[0], argv)
			return nil
		},
	}
}

func (a *app) describe(ctx context.Context, name string, argv []string) {
	c, out := a.open(ctx, opening{argv: argv})
	defer c.close(ctx)
	if !out.Good() {
		a.end(out)
		return
	}
	tool, out := c.define(ctx, name)
	if !out.Good() {
		out.Method = "tools/list"
		a.end(out)
		return
	}
	ans := answer{result: tool.Raw, messages: []*wire.Message{{Raw: tool.Raw}}}
	ans.human = func(w io.Writer, st render.Style) error { return render.Describe(w, st, tool.Tool) }
	a.show(ctx, out, ans)
	c.explained("tools/list")
}
