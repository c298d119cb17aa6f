package call

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// completeOptions are the arguments of mcpc complete.
type completeOptions struct {
	kind connect.Kind
	name string
	// argument is the argument to complete, and
	// value what is typed of it.
	argument, value string
	// chosen are the values of other arguments, as an object; nil without other arguments.
	chosen json.RawMessage
	argv   []string
}

// NewComplete returns the command mcpc complete.
func NewComplete(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "complete prompt|template NAME ARGUMENT [VALUE [NAME=VALUE...]]",
		Short: "complete an argument's value",
		Long: `Complete the VALUE of a prompt's argument or a resource template's variable, and
print one value per line. Arguments with known values follow VALUE, which may be
'': some servers use them to select values.`,
		Example: `  mcpc -s demo complete prompt completable-prompt department
  mcpc -s demo complete prompt completable-prompt name '' department=Sales
  mcpc -s demo complete prompt resource-prompt resourceType T`,
		ValidArgsFunction: f.CompleteComplete,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			o, err := parseCompleteArgs(f, own)
			if err != nil {
				return err
			}
			o.argv = argv
			return runComplete(cmd.Context(), f, o)
		},
	}
	f.AddMaxChars(cmd.Flags())
	return cmd
}

// parseCompleteArgs reads the arguments of mcpc complete.
func parseCompleteArgs(f *cmdutil.Factory, words []string) (o completeOptions, err error) {
	promptForm := wire.RunOnServer("complete prompt NAME ARGUMENT")
	templateForm := wire.RunOnServer("complete template URI ARGUMENT")
	forms := promptForm + ", or " + templateForm
	if len(words) < 3 {
		return o, usage.New("complete takes a kind, a name and an argument", forms)
	}
	o.name = words[1]
	o.kind, _ = connect.KindNamed(words[0])
	switch o.kind {
	case connect.PromptKind, connect.TemplateKind, connect.ResourceKind: // the protocol's ref/resource is a template
	default:
		return o, usage.New(
			fmt.Sprintf("no completion for %q", words[0]),
			suggest.DidYouMean(wire.Run("complete %s"), words[0], []string{"prompt", "template"}, forms),
		)
	}
	o.argument = words[2]
	if len(words) > 3 {
		o.value = words[3]
	}
	if len(words) <= 4 {
		return o, nil
	}
	o.chosen, err = arguments.Assigned(&f.Env, words[4:])
	if err != nil {
		return o, err
	}
	members, _ := jsonraw.Object(o.chosen)
	if bad := toolcall.NotStrings(members); len(bad) > 0 {
		return o, fmt.Errorf("the value of %q is not a string", strings.TrimPrefix(bad[0].Pointer, "/"))
	}
	return o, nil
}

// runComplete requests the completion and prints the values. If there are none, it says which names
// the arguments have.
func runComplete(ctx context.Context, f *cmdutil.Factory, o completeOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, OneAnswer: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	params := toolcall.CompletionParams(o.kind, o.name, o.argument, o.value)
	hasContext := client.CompletesInContext(c.Revision())
	if o.chosen != nil && hasContext {
		params = jsonraw.With(params, "context", jsonraw.With(nil, "arguments", o.chosen))
	}
	if o.chosen != nil && !hasContext {
		f.Warn("revision " + c.Revision() + " does not support values of other arguments; they are not sent")
	}
	out = c.ExplainUnsupported(c.Do(ctx, client.Call{Method: "completion/complete", Params: params}), "completions")
	ans := cmdutil.AnswerOf(out)
	values := completionValues(f, o, out)
	rpc := out.RPCError()
	if rpc != nil && rpc.Code == -32602 { // invalid params: an unknown name or argument
		out.Hint = wire.Hint(describeArguments(ctx, c, o))
		if known := c.RememberedNames(o.kind); !slices.Contains(known, o.name) {
			out.Hint = suggest.DidYouMean("%s", o.name, known, out.Hint)
		}
	}
	if out.OK() && len(values) == 0 {
		if text := describeArguments(ctx, c, o); text != "" {
			f.Note(text)
		}
	}
	ans.Human = func(w io.Writer, st term.Style) error { return render.Values(w, st, values) }
	return cmdutil.Show(ctx, f, out, ans, "completion/complete")
}

// describeArguments returns a text with the names of the arguments if o.argument is not among them;
// otherwise, and if the arguments are unknown, it returns "".
func describeArguments(ctx context.Context, c *connect.Conn, o completeOptions) string {
	var names []string
	if o.kind == connect.PromptKind {
		raw, out := c.Entry(ctx, o.kind, o.name)
		if !out.OK() {
			return ""
		}
		prompt, _ := mcp.ParsePrompt(raw)
		names = sliceutil.Map(prompt.Arguments, func(a mcp.PromptArgument) string { return a.Name })
	} else if t, err := mcp.ParseURITemplate(o.name); err == nil {
		names = t.Variables()
	}
	if slices.Contains(names, o.argument) {
		return ""
	}
	if len(names) == 0 {
		return o.name + " has no arguments"
	}
	return fmt.Sprintf("%s has no argument %q; it has %s", o.name, o.argument, strings.Join(names, ", "))
}

// completionValues returns the values in a result. It prints a note if the result has no values, or
// the server has more than these.
func completionValues(f *cmdutil.Factory, o completeOptions, out wire.Outcome) []json.RawMessage {
	if !out.OK() {
		return nil
	}
	completion := jsonraw.First(out.Result, "completion")
	values, _ := jsonraw.Array(jsonraw.First(completion, "values"))
	total := string(jsonraw.First(completion, "total"))
	switch {
	case len(values) == 0 && strings.Contains(o.value, "=") && o.chosen == nil:
		f.Note(fmt.Sprintf("no values begin with %q; other arguments follow the value, which may be ''", o.value))
	case len(values) == 0:
		f.Note("no values")
	case total != "" && total != fmt.Sprint(len(values)):
		f.Note(fmt.Sprintf("%d of %s values", len(values), total))
	case string(jsonraw.First(completion, "hasMore")) == "true":
		f.Note(fmt.Sprintf("%d values, and the server has more", len(values)))
	}
	return values
}
