// Package catalog has the commands that show a server's lists, definitions, info and notifications:
// list, describe, info, grep and listen.
package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/render/failure"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// listOptions are the arguments and flags of `mcpc list`.
type listOptions struct {
	// kinds are the kinds to list, at least one.
	kinds []connect.Kind
	// argv is the command of a stdio server after --, or nil.
	argv []string
	long bool
	// bill prints the size of each tool. It excludes watch.
	bill  bool
	watch watchOptions
	// all lists the entries of all known servers, with the flags in survey.
	all    bool
	survey surveyOptions
}

// NewList returns the command `mcpc list`.
func NewList(f *cmdutil.Factory) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [tools|prompts|resources|templates|skills|all] [URL] [-- COMMAND...]",
		Short: "list a server's tools, prompts, resources, templates or skills",
		Long: `List a server's tools: name, arguments as a signature, annotations and the first
line of the description. Prompts are listed in the same way; resources and
templates by URI, with name, type and size; skills by the URI of SKILL.md. All
pages are fetched. In a pipe the output is one line per entry, with TABs between
the columns.

The annotations are hints of the server: ro is read-only, destr destructive,
idem idempotent, open interacts with external systems, ui has a UI resource, app
only marks a tool for that UI and not for a model (--bill does not count it).
Names that can be confused with others are marked. Some servers list more tools
if the client declares elicitation, as mcpc does at a terminal; a note gives the
size of the other list if mcpc has seen it.

"all" lists everything for which the server declares a capability. In a pipe
each line then begins with the kind; --json prints one document.

--watch keeps running, lists again when the server reports a change, and prints
the differences: "+" is new, "-" is removed, "~" is changed.

--all queries all known servers: the sessions, and the servers that mcpc servers
lists. Servers that are disabled or not trusted are named and skipped. If
servers fail, the exit code is the most severe one. With --bill it prints the
size of each server's tools, and the sum.`,
		Example: `  mcpc -s demo list
  mcpc -s demo list resources
  mcpc -s demo list all --long
  mcpc -s demo list --bill
  mcpc -s demo list --watch --for 100ms
  mcpc list --all
  mcpc list --all --bill
  mcpc -s demo list --jq '.tools[].name'`,
		ValidArgsFunction: cmdutil.CompleteFixed(append(connect.KindWords(), "all")...),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			o.argv = argv
			own, err := f.UseURL(own, argv)
			if err != nil {
				return err
			}
			o.kinds, err = kindsOf(f, own)
			if err != nil {
				return err
			}
			return listAs(cmd.Context(), f, o, len(own) > 0)
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "show descriptions in full")
	cmd.Flags().BoolVar(&o.all, "all", false, "list all known servers (mcpc servers)")
	o.survey.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.bill, "bill", false, "show the size of the tools: bytes, and tokens at 4 bytes each")
	f.AddMaxChars(cmd.Flags())
	o.watch.flags(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	return cmd
}

// listAs runs the kind of list that the flags select: once, of all servers (--all), with the size
// of each tool (--bill), or repeatedly (--watch). named says that the user named what to list.
func listAs(ctx context.Context, f *cmdutil.Factory, o listOptions, named bool) error {
	if err := o.watch.check(f); err != nil {
		return err
	}
	onlyTools := !named || slices.Equal(o.kinds, connect.Kinds[:1]) // the first kind is tools
	if o.bill && (o.watch.on || !onlyTools) {
		return usage.New("--bill applies to tools only, without --watch, --json or --jq", wire.RunOnServer("list --bill"))
	}
	if o.all {
		return listAll(ctx, f, o)
	}
	if o.bill {
		return runBill(ctx, f, o)
	}
	if o.watch.on {
		return watchLists(ctx, f, o)
	}
	return runList(ctx, f, o)
}

// kindsOf returns the kinds to list: tools if words is empty, all kinds for "all".
func kindsOf(f *cmdutil.Factory, words []string) ([]connect.Kind, error) {
	if len(words) == 0 {
		return connect.Kinds[:1], nil
	}
	if kind, isKind := connect.KindNamed(words[0]); isKind && len(words) == 2 {
		return nil, usage.New("list takes a kind only",
			"did you mean "+wire.RunOnServer("describe "+kind.One+" "+shellwords.Quote(words[1]))+"?")
	}
	if len(words) > 1 {
		return nil, usage.New(fmt.Sprintf("list takes one argument, not %q", strings.Join(words, " ")),
			meant.ServerCommandHint(f, "list", words))
	}
	if words[0] == "all" {
		return connect.Kinds, nil
	}
	if k, ok := connect.KindNamed(words[0]); ok {
		return []connect.Kind{k}, nil
	}
	hint := meant.ServerCommandHint(f, "list", words)
	if words[0] == "demo" { // the built-in server's name, which other commands take as an argument
		return nil, usage.New("name a server with -s", wire.Run("list -s "+shellwords.Quote(words[0])))
	}
	// A file is more likely the server's command than a kind with a typing error.
	if near := suggest.Nearest(words[0], connect.KindWords()); near != "" && !cmdutil.IsFile(words[0]) {
		hint = "did you mean " + wire.RunOnServer("list "+near) + "?"
	}
	return nil, usage.New(
		fmt.Sprintf("list does not support %q: use %s or all", words[0], strings.Join(connect.KindWords(), ", ")),
		hint,
	)
}

// listAll lists the entries of all known servers.
func listAll(ctx context.Context, f *cmdutil.Factory, o listOptions) error {
	if o.watch.on {
		return usage.New("--watch needs one server", "-s NAME names it")
	}
	o.survey.kinds, o.survey.long, o.survey.bill = o.kinds, o.long, o.bill
	if err := o.survey.check(f, "list --all", o.argv); err != nil {
		return err
	}
	return runSurvey(ctx, f, o.survey)
}

// runList lists the entries of one server once. If a list fails, it still prints what was received,
// of that list and the others. The error is the first failure of writing, or the outcome as an exit
// code.
func runList(ctx context.Context, f *cmdutil.Factory, o listOptions) error {
	all := len(o.kinds) > 1
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, RequireServerInfo: all})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if all {
		o.kinds = c.Declared(o.kinds)
	}
	var l connect.Listing
	out = addLists(ctx, f, &l, c, o, all)
	ans := f.ListAnswer(l, all, o.long)
	// A list that a limit cut is shown as far as it was received, and so are the other lists if one
	// fails. Neither is a success.
	hasOtherLists := all && !out.OK() && out.Kind != wire.Signal
	isPart := out.Kind == wire.BadResponse || hasOtherLists
	var printErr error
	if len(ans.Messages) > 0 && isPart && !f.HasAnswer(out) { // else Show prints it
		printErr = cmdutil.Print(ctx, f, ans)
	}
	if out.OK() && l.Shown == 0 {
		f.Note("the server lists no " + nothing(o.kinds, l.Unusable > 0))
	}
	f.Record.Many = all && out.OK() // otherwise the recording names the list that failed
	err := cmdutil.Join(printErr, cmdutil.Show(ctx, f, out, ans))
	for _, list := range l.Lists {
		c.NoteListLength(ctx, list, f.ShowsTables())
	}
	cmdutil.PrintExplanation(ctx, f, connect.MethodsOf(o.kinds)...)
	return err
}

// addLists fetches the lists of o.kinds and adds them to l. It returns the outcome of the first list
// that failed, OK if none failed, and warns of further failures. It continues after a failure that
// does not affect the other lists. all is set if the user asked for all kinds.
func addLists(
	ctx context.Context, f *cmdutil.Factory, l *connect.Listing, c *connect.Conn, o listOptions, all bool,
) wire.Outcome {
	var out wire.Outcome
	for _, k := range o.kinds {
		one, left := cmdutil.AddList(ctx, f, l, c, k, all, o.long)
		if left { // the server declares the kind but has no such method: no failure
			continue
		}
		if out.OK() {
			out = one
		} else if !one.OK() {
			f.Warn(k.Method + " failed: " + failure.Headline(one))
		}
		if !one.OK() && (!all || !connect.FailsAlone(one)) {
			break
		}
	}
	return out
}

// nothing returns what a server with empty lists does not have, such as "tools", for a note. If only
// some kinds were asked for, asked has one kind. unusable is set if the server has only entries that
// mcpc cannot use; the text is then "usable tools".
func nothing(asked []connect.Kind, unusable bool) string {
	what := strings.Join(connect.KindWords(), ", ")
	if len(asked) == 1 {
		what = asked[0].Many
	}
	if unusable {
		what = "usable " + what
	}
	return what
}
