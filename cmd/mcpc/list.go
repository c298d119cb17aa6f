package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// listOptions are what `mcpc list` was asked.
type listOptions struct {
	kinds []kind
	argv  []string
	long  bool
	bill  bool
	watch watchOptions
	// all asks every known server.
	all    bool
	survey surveyOptions
}

func newList(a *app) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [tools|prompts|resources|templates|all] [URL] [-- COMMAND...]",
		Short: "list a server's tools, prompts, resources or templates",
		Long: `List a server's tools: name, arguments as a signature, annotations and the first
line of the description. Prompts are listed in the same way; resources and
templates by URI, with name, type and size. All pages are fetched. In a pipe the
output is one line per entry, with TABs between the columns.

The annotations are hints of the server: ro is read-only, destr destructive,
idem idempotent, open interacts with external systems, ui has a UI resource, app
only is for that UI and not for a model (--bill does not count it). Names that
can be confused with others are marked. Some servers list more tools if the
client declares elicitation, as mcpc does at a terminal; a note gives the other
number, if mcpc has seen it.

"all" lists everything for which the server declares a capability. In a pipe
each line then begins with the kind; --json prints one document.

--watch keeps running, lists again when the server reports a change, and prints
the differences: "+" is new, "-" is removed, "~" is changed.

--all queries all known servers: the sessions, and the servers of mcpc servers.
Servers that are disabled or not trusted are named and skipped. If servers fail,
the exit code is the most severe one. With --bill it prints the size of each
server's tools, and the sum.`,
		Example: `  mcpc -s demo list
  mcpc -s demo list resources
  mcpc -s demo list all --long
  mcpc -s demo list --bill
  mcpc -s demo list --watch --for 100ms
  mcpc list --all
  mcpc list --all --bill
  mcpc -s demo list --jq '.tools[].name'`,
		ValidArgsFunction: a.beforeDash(fixed(append(kindWords(), "all")...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			o.argv = argv
			own, err := a.withoutURL(own, argv)
			if err != nil {
				return err
			}
			if o.kinds, err = a.kindsOf(own); err != nil {
				return err
			}
			return a.listAs(cmd.Context(), o, len(own) > 0)
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "show descriptions in full")
	cmd.Flags().BoolVar(&o.all, "all", false, "list all known servers (mcpc servers)")
	o.survey.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.bill, "bill", false, "show the size of the tools: bytes, and tokens at 4 bytes each")
	a.addCut(cmd.Flags())
	o.watch.flags(cmd.Flags())
	a.addAnswering(cmd.Flags())
	return cmd
}

// listAs picks among the ways to list: as it is, of all servers, as a bill, going on.
func (a *app) listAs(ctx context.Context, o listOptions, named bool) error {
	if err := o.watch.check(a); err != nil {
		return err
	}
	switch {
	case o.bill && (o.watch.on || named && !slices.Equal(o.kinds, kinds[:1])):
		return hinted("--bill applies to tools only, without --watch, --json or --jq", wire.There("list --bill"))
	case o.all:
		return a.listAll(ctx, o)
	case o.bill:
		a.bill(ctx, o)
	case o.watch.on:
		a.watchLists(ctx, o)
	default:
		a.list(ctx, o)
	}
	return nil
}

// kindsOf reads what is to be listed.
func (a *app) kindsOf(words []string) ([]kind, error) {
	switch {
	case len(words) == 0:
		return kinds[:1], nil
	case len(words) > 1:
		return nil, hinted(fmt.Sprintf("list takes one argument, not %q", strings.Join(words, " ")),
			a.behindDashes("list", words))
	case words[0] == "all":
		return kinds, nil
	}
	if k, ok := kindNamed(words[0]); ok {
		return []kind{k}, nil
	}
	hint := a.behindDashes("list", words)
	if words[0] == "demo" {
		return nil, hinted("name a server with -s", wire.Run("list -s "+shellwords.Quote(words[0])))
	}
	if near := wire.Nearest(words[0], kindWords()); near != "" && !isFile(words[0]) {
		hint = "did you mean " + wire.There("list "+near) + "?"
	}
	return nil, hinted(fmt.Sprintf("list does not support %q: use %s or all", words[0], strings.Join(kindWords(), ", ")), hint)
}

// listAll lists what every known server has.
func (a *app) listAll(ctx context.Context, o listOptions) error {
	if o.watch.on {
		return hinted("--watch needs one server", "-s NAME names it")
	}
	o.survey.kinds, o.survey.long, o.survey.bill = o.kinds, o.long, o.bill
	if err := o.survey.check(a, "list --all", o.argv); err != nil {
		return err
	}
	a.survey(ctx, o.survey)
	return nil
}

func (a *app) list(ctx context.Context, o listOptions) {
	all := len(o.kinds) > 1
	c, out := a.open(ctx, opening{argv: o.argv, greet: all})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	if all {
		o.kinds = c.offered(o.kinds)
	}
	var l listing
	for _, k := range o.kinds {
		var left bool
		if out, left = l.add(ctx, c, k, all, a.showsTables()); left {
			out = wire.Outcome{}
		}
		if !out.Good() {
			break
		}
	}
	ans := a.answerOfLists(l, all, o.long)
	// A list that a limit cut is shown as far as it came, and is no success.
	if len(ans.messages) > 0 && out.Kind == wire.BadResponse {
		a.print(ctx, ans)
	}
	if out.Good() && l.shown == 0 {
		a.note("the server lists no " + nothing(o.kinds, l.unusable > 0))
	}
	a.record.many = all && out.Good() // else it names the list that failed
	a.show(ctx, out, ans)
	for _, list := range l.lists {
		c.compareNumbers(ctx, list, a.showsTables())
	}
	a.explained(methodsOf(o.kinds)...)
}

// nothing names what a server turned out not to have, or none that can be used.
func nothing(asked []kind, unusable bool) string {
	what := strings.Join(kindWords(), ", ")
	if len(asked) == 1 {
		what = asked[0].many
	}
	if unusable {
		what = "usable " + what
	}
	return what
}
