package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/lint/poison"
	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/skill"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// describeOptions are the arguments and flags of `mcpc describe`.
type describeOptions struct {
	kind connect.Kind
	name string
	argv []string
}

// NewDescribe returns the command `mcpc describe`.
func NewDescribe(f *cmdutil.Factory) *cobra.Command {
	appInfo := false
	cmd := &cobra.Command{
		Use:   "describe [[tool|prompt|resource|template|skill] NAME] [-- COMMAND...]",
		Short: "show the server, or one tool, prompt, resource, template or skill",
		Long: `Show the server, or with a NAME one thing that it offers.

Without a NAME: the server's name, version and website, the negotiated revision
and why, its capabilities and extensions with their settings, and its
instructions. Nothing is stored. A session is queried in its own revision,
unless --protocol is given. --json prints the result of server/discover or
initialize unchanged.

Of a tool: its description, arguments and output, and an example call that works
when pasted (VALUE stands for a value to fill in). NAME may also be a prompt,
the URI of a resource or a template, or a skill. Without a kind, NAME is a tool
or, if it is a URI, a resource or template. --json prints the definition
unchanged.

If a tool has a UI resource (MCP Apps), mcpc reads the resource and shows its
declarations and the resulting Content-Security-Policy; it never opens the
resource. --app-info prints that as one line of JSON; for a tool without such a
resource the exit code is 1.`,
		Example: `  mcpc -s demo describe
  mcpc -s demo describe get-sum
  mcpc -s demo describe prompt args-prompt
  mcpc -s demo describe demo://resource/static/image/logo.png
  mcpc -s demo describe get-sum --jq .inputSchema
  mcpc -s demo describe show-weather --app-info`,
		ValidArgsFunction: f.CompleteDescribe,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if err := meant.CheckMisplaced(f, "describe", own, argv); err != nil {
				return err
			}
			if len(own) == 1 && own[0] == connect.DemoEndpoint && !f.ServerGiven && argv == nil {
				return usage.New("describe takes a server after -s", wire.Run("describe -s demo")+" shows the demo server")
			}
			if len(own) == 0 && !appInfo {
				return runInfo(cmd.Context(), f, argv)
			}
			o, err := parseDescribeArgs(own)
			if err != nil {
				return err
			}
			o.argv = argv
			if !appInfo {
				return runDescribe(cmd.Context(), f, o)
			}
			if o.kind != connect.ToolKind {
				return usage.New("--app-info takes a tool", wire.RunOnServer("describe TOOL --app-info"))
			}
			return showApp(cmd.Context(), f, o.name, argv)
		},
	}
	f.AddIndex(cmd.Flags())
	f.AddMaxChars(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	cmd.Flags().BoolVar(&appInfo, "app-info", false, "print a tool's UI resource (MCP Apps) as one JSON line")
	return cmd
}

// parseDescribeArgs parses the arguments: a name with its kind before it, or alone. Without a kind, a
// URI with a { is of a template, another URI of a resource, and any other name of a tool.
func parseDescribeArgs(words []string) (o describeOptions, err error) {
	if len(words) == 2 {
		k, ok := connect.KindNamed(words[0])
		if !ok {
			return o, usage.New(
				fmt.Sprintf("unknown kind %q", words[0]),
				suggest.DidYouMean(
					wire.RunOnServer("describe %s "+shellwords.Quote(words[1])),
					words[0],
					[]string{"tool", "prompt", "resource", "template", "skill"},
					wire.RunOnServer("describe tool|prompt|resource|template|skill NAME"),
				),
			)
		}
		return describeOptions{kind: k, name: words[1]}, nil
	}
	if len(words) != 1 {
		return o, usage.New(
			"describe takes one name, optionally after its kind",
			wire.RunOnServer("list all")+" shows what is available",
		)
	}
	if !strings.Contains(words[0], "://") {
		return describeOptions{kind: connect.ToolKind, name: words[0]}, nil
	}
	if strings.Contains(words[0], "{") {
		return describeOptions{kind: connect.TemplateKind, name: words[0]}, nil
	}
	return describeOptions{kind: connect.ResourceKind, name: words[0]}, nil
}

// runDescribe prints the definition. If there is no tool of that name, the hint of the error names an
// entry of a different kind that has it.
func runDescribe(ctx context.Context, f *cmdutil.Factory, o describeOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.argv})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	var found described
	if o.kind == connect.ToolKind {
		found, out = describeTool(ctx, c, o.name, f.ShowsTables())
	} else {
		found, out = describeEntry(ctx, c, o.kind, o.name)
	}
	if !out.OK() {
		out.Method = o.kind.Method
		if out.Kind == wire.InvalidArguments {
			out.Reached = wire.Answered // the server responded to the only request, of the list
			if hint := otherKindHint(ctx, c, o); hint != "" {
				out.Hint = hint
			}
			if cmdutil.IsURL(o.name) { // perhaps meant as the server
				out.Hint += "; name a server with -s"
			}
		}
		return cmdutil.Exit(out)
	}
	return cmdutil.Show(ctx, f, out, cmdutil.Document(found.raw, found.human), o.kind.Method)
}

// otherKindHint returns the hint for a prompt, a resource or a skill that has the name of the tool
// that the user asked for. It returns "" if there is none, or if the user named another kind. It may
// request the lists of these kinds.
func otherKindHint(ctx context.Context, c *connect.Conn, o describeOptions) wire.Hint {
	if o.kind != connect.ToolKind {
		return ""
	}
	for _, k := range []connect.Kind{connect.PromptKind, connect.ResourceKind} {
		if declared, known := c.Declares(k.Capability); known && !declared {
			continue
		}
		if _, out := c.Entry(ctx, k, o.name); out.OK() {
			return "there is a " + wire.Hint(k.One) + " of that name: " +
				wire.RunOnServer("describe "+k.One+" "+shellwords.Quote(o.name))
		}
	}
	if settings, _ := c.Extension(skill.Extension); settings != nil {
		if _, out := describeSkill(ctx, c, o.name); out.OK() {
			return "there is a skill of that name: " + wire.RunOnServer("describe skill "+shellwords.Quote(o.name))
		}
	}
	return ""
}

// described is a definition, and the function that shows it to people.
type described struct {
	raw   json.RawMessage
	human func(w io.Writer, st term.Style) error
}

// describeTool returns the definition of a tool. The text for people also has suspicious parts of the
// definition, and, if withApp is set, the tool's UI resource, which is read from the server.
func describeTool(ctx context.Context, c *connect.Conn, name string, withApp bool) (described, wire.Outcome) {
	tool, out := c.Define(ctx, name)
	if !out.OK() {
		return described{}, out
	}
	var app *mcp.App
	if tool.UI != "" && withApp {
		app = readApp(ctx, c, tool.Tool)
	}
	return described{tool.Raw, func(w io.Writer, st term.Style) error {
		var suspicious []string
		for _, mark := range poison.Scan(tool.Raw, nil) {
			if mark.Kind != poison.Hidden { // render.Describe warns of hidden characters itself
				suspicious = append(suspicious, mark.String())
			}
		}
		return render.Describe(w, st, tool.Tool, suspicious, console.ValidExample(tool.InputSchema), app)
	}}, out
}

// readApp reads the UI resource of a tool, which must have one. If that fails, it warns, and the App
// has only what the tool's definition says.
func readApp(ctx context.Context, c *connect.Conn, tool mcp.Tool) *mcp.App {
	app, out := toolcall.ReadApp(ctx, c, tool)
	if !out.OK() {
		c.Env.UI.Warn("the tool's UI resource " + tool.UI + " could not be read: " + out.Text)
	}
	return &app
}

// showApp prints what a tool and its UI resource declare, as one line of JSON. It fails with exit code
// 1 if the tool has no UI resource.
func showApp(ctx context.Context, f *cmdutil.Factory, name string, argv []string) error {
	c, out := f.Open(ctx, connect.Options{Argv: argv})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	tool, out := c.Define(ctx, name)
	if !out.OK() {
		out.Method = connect.ToolKind.Method
		return cmdutil.Exit(out)
	}
	if tool.UI == "" {
		return cmdutil.Exit(
			wire.Outcome{
				Kind:    wire.CheckFailed,
				Reached: wire.Answered,
				Text:    "the tool " + f.ErrStyle.Line(name) + " declares no UI resource (MCP Apps)",
			},
		)
	}
	raw, err := json.Marshal(readApp(ctx, c, tool.Tool))
	if err != nil {
		return err
	}
	return cmdutil.Show(
		ctx,
		f,
		out,
		cmdutil.Document(raw, func(w io.Writer, st term.Style) error { return render.JSONLine(w, st, raw) }),
		"resources/read",
	)
}

// describeSkill returns the entry of a skill, found by its URI, the URI of its folder, or its name. It
// fails if no skill or several skills have the name.
func describeSkill(ctx context.Context, c *connect.Conn, name string) (described, wire.Outcome) {
	list, out := c.Listed(ctx, connect.SkillKind, nil)
	if !out.OK() {
		return described{}, out
	}
	var fit []skill.Entry
	var uris []string
	for _, raw := range list.Items {
		if e, _ := skill.Parse(raw); e.URI == name || e.Root == name || e.Name == name {
			fit = append(fit, e)
			uris = append(uris, e.URI)
		}
	}
	if len(fit) == 0 {
		return described{}, c.Unsent(
			"skills/list",
			name,
			fmt.Sprintf("the server lists no skill %q", name),
			wire.RunOnServer("skills get URI")+" shows one that is not listed",
		)
	}
	if len(fit) > 1 {
		return described{}, c.Unsent(
			"skills/list",
			name,
			fmt.Sprintf("%d skills are called %s", len(fit), name),
			wire.Hint("use one of: "+strings.Join(uris, ", ")),
		)
	}
	return described{
		fit[0].Raw,
		func(w io.Writer, st term.Style) error { return render.DescribeSkill(w, st, fit[0]) },
	}, out
}

// describeEntry returns the definition of a skill, prompt, resource or template. It fails if the entry
// is invalid and cannot be shown.
func describeEntry(ctx context.Context, c *connect.Conn, k connect.Kind, name string) (described, wire.Outcome) {
	if k == connect.SkillKind {
		return describeSkill(ctx, c, name)
	}
	raw, out := c.Entry(ctx, k, name)
	if !out.OK() {
		return described{}, out
	}
	var human func(w io.Writer, st term.Style) error
	var bad *wire.Finding
	switch k {
	case connect.PromptKind:
		human, bad = parseEntry(raw, mcp.ParsePrompt, render.DescribePrompt)
	case connect.ResourceKind:
		human, bad = parseEntry(raw, mcp.ParseResource, render.DescribeResource)
	default:
		human, bad = parseEntry(raw, mcp.ParseTemplate, render.DescribeTemplate)
	}
	if bad != nil {
		return described{}, c.Unsent(k.Method, name, bad.Text, "")
	}
	return described{raw, human}, out
}

// parseEntry parses an entry, and returns a function that shows it to people. If the entry is
// invalid, it returns the reason as a Finding, and the function must not be used.
func parseEntry[T any](raw json.RawMessage, parse func(json.RawMessage) (T, *wire.Finding),
	show func(io.Writer, term.Style, T) error,
) (func(io.Writer, term.Style) error, *wire.Finding) {
	one, bad := parse(raw)
	return func(w io.Writer, st term.Style) error { return show(w, st, one) }, bad
}
