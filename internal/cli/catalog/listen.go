package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/mcp"
	"mcpc/internal/render"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// listenOptions are the flags of `mcpc listen`, and the server's command.
type listenOptions struct {
	argv                      []string
	tools, prompts, resources bool
	uris                      []string
	// logs is a level, anyLevel for --logs without a level, "" for no log messages.
	logs  string
	jsonl bool
	until cmdutil.ListenLimits
}

// anyLevel is the value of --logs without a level.
const anyLevel = "any"

// NewListen returns the command `mcpc listen`.
func NewListen(f *cmdutil.Factory) *cobra.Command {
	var o listenOptions
	cmd := &cobra.Command{
		Use:   "listen [URL] [-- COMMAND...]",
		Short: "stream server notifications: changes, updates, log messages",
		Long: `Print a server's notifications, one per line, until Ctrl-C, or the limit of
--for or --count. Without a kind it subscribes to everything that the server
supports. A lost connection is opened again; changes in between are not
reported.

The time of --for starts when the server acknowledges the subscription. If it
does not do so within that time, or within 5 s if that is longer, the exit code
is 9; --timeout TIME waits longer.

--jsonl prints each notification unchanged, one per line; so do --json and
--wire, and --jq filters each.`,
		Example: `  mcpc -s demo listen --for 100ms
  mcpc -s demo listen --tools --prompts --for 100ms --jsonl
  mcpc -s demo listen --resource demo://resource/dynamic/text/1 --for 100ms
  mcpc -s demo --protocol ` + client.Revisions()[1] + ` listen --logs=warning --for 100ms`,
		RunE: func(cmd *cobra.Command, args []string) error {
			argv, err := meant.OnlyURL(f, cmd, args)
			if err != nil {
				return err
			}
			if err := o.check(f); err != nil {
				return err
			}
			o.argv = argv
			return runListen(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.tools, "tools", false, "changes of the list of tools")
	flags.BoolVar(&o.prompts, "prompts", false, "changes of the list of prompts")
	flags.BoolVar(&o.resources, "resources", false, "changes of the list of resources")
	flags.StringArrayVar(&o.uris, "resource", nil, "updates of the resource with this `URI` (repeatable)")
	flags.StringVar(&o.logs, "logs", "", "log messages; --logs=`LEVEL` of that level and above")
	flags.Lookup("logs").NoOptDefVal = anyLevel
	_ = cmd.RegisterFlagCompletionFunc("logs", cmdutil.CompleteFixed(mcp.LogLevels...))
	o.until.Flags(flags, "notifications")
	flags.BoolVar(&o.jsonl, "jsonl", false, "print each notification unchanged, one per line")
	f.AddAnswering(flags)
	return cmd
}

// check returns a usage error for invalid flags. It sets o.jsonl if a flag of all commands selects
// JSON.
func (o *listenOptions) check(f *cmdutil.Factory) error {
	if o.logs != "" && o.logs != anyLevel && !slices.Contains(mcp.LogLevels, o.logs) {
		return usage.New(
			fmt.Sprintf("unknown log level %q", o.logs),
			suggest.DidYouMean(
				"--logs=%s",
				o.logs,
				mcp.LogLevels,
				wire.Hint("levels are "+strings.Join(mcp.LogLevels, ", ")),
			),
		)
	}
	if f.Output != "" {
		return usage.New("listen writes until it is stopped, so it has no -o", "use > FILE")
	}
	o.jsonl = o.jsonl || f.JSON || f.Wire || f.Jq != ""
	return o.until.Check()
}

// everything reports whether no flag selects a kind of notification.
func (o *listenOptions) everything() bool {
	return !o.tools && !o.prompts && !o.resources && len(o.uris) == 0 && o.logs == ""
}

// runListen subscribes to the notifications and prints them until a limit, an interrupt, or the end
// of the subscription.
func runListen(ctx context.Context, f *cmdutil.Factory, o listenOptions) error {
	queue := cmdutil.NewNoticeQueue(ctx)
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, RequireServerInfo: true, OnNotification: queue.Add})
	defer queue.Stop()
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	selected, out := selectNotifications(c, o)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	out, err := cmdutil.EachNotification(
		ctx, f, c, queue, selected.listenRequest(f, c, o.until), o.until,
		func(n cmdutil.Notice) (int, error) {
			if !selected.includes(n.Method) {
				return 0, nil // it does not count for --count
			}
			return 1, printNotice(ctx, f, o, n)
		},
	)
	if out.OK() && out.Method != "" { // the outcome of --for and --count has no method
		f.Note("the server closed the subscription")
	}
	f.Record.SetOutcome(out)
	cmdutil.PrintExplanation(ctx, f, "subscriptions/listen", "resources/subscribe")
	return cmdutil.Join(err, cmdutil.Exit(out))
}

// printNotice prints a notification for people, or unchanged on one line with --jsonl.
func printNotice(ctx context.Context, f *cmdutil.Factory, o listenOptions, n cmdutil.Notice) error {
	if o.jsonl {
		return cmdutil.PrintLine(ctx, f, n.Raw)
	}
	if err := render.Notification(f.Stdout(), f.OutStyle, n.At, n.Message); err != nil {
		return f.WriteError("writing the result", err)
	}
	return nil
}

// A selection is the set of notifications that listen prints. The SubscriptionFilter is the part
// that needs a subscription.
type selection struct {
	client.SubscriptionFilter
	// all is set if listen also prints notifications that no flag selects.
	all   bool
	logs  bool
	level string
}

// selectNotifications returns the selection for the flags, without notifications that the server
// does not declare, which it reports in a note. It fails if the server declares none of the
// notifications.
func selectNotifications(c *connect.Conn, o listenOptions) (selection, wire.Outcome) {
	all := o.everything()
	s := selection{all: all, level: o.logs}
	var missing []string
	// isSelected reports whether a kind of notification is asked for and declared by the server.
	isSelected := func(asked bool, capability, member, description string) bool {
		if !asked && !all {
			return false
		}
		if !c.Offers(capability, member) {
			missing = append(missing, description)
			return false
		}
		return true
	}
	s.Tools = isSelected(o.tools, "tools", "listChanged", changesOf("tools"))
	s.Prompts = isSelected(o.prompts, "prompts", "listChanged", changesOf("prompts"))
	s.Resources = isSelected(o.resources, "resources", "listChanged", changesOf("resources"))
	// Without a URI there is nothing to subscribe to, even if all kinds are selected.
	if len(o.uris) > 0 && isSelected(true, "resources", "subscribe", "updates of resources") {
		s.URIs = o.uris
	}
	if client.Stateless(c.Revision()) && o.logs != "" {
		c.Env.UI.Warn("in this revision log messages are sent with the request that they belong to: " +
			"use --log-level LEVEL with mcpc call")
	} else if !client.Stateless(c.Revision()) {
		s.logs = isSelected(o.logs != "", "logging", "", "log messages")
	}
	if s.level == anyLevel {
		s.level = "" // no level is requested: the server decides
	}
	if len(missing) > 0 {
		c.Env.UI.Note("not supported by the server: " + strings.Join(missing, ", "))
	}
	if len(s.names()) == 0 {
		return s, nothingOffered(c, all)
	}
	return s, wire.Outcome{}
}

func changesOf(list string) string { return "changes of the list of " + list }

// nothingOffered returns the outcome for a server that declares none of the notifications. all is
// set if no flag selects a kind.
func nothingOffered(c *connect.Conn, all bool) wire.Outcome {
	o := wire.Outcome{
		Kind: wire.InvalidArguments, ServerName: c.Where, Phase: "arguments",
		Text: "the server supports none of the requested notifications",
		Hint: wire.RunOnServer("describe") + " shows the server's capabilities",
	}
	if all && c.Offers("resources", "subscribe") {
		o.Text = "the server does not declare list-change notifications"
		o.Hint = "it supports resource updates: " + wire.RunOnServer("listen --resource URI")
	}
	return o
}

// names returns a description of each kind of notification in the selection.
func (s selection) names() []string {
	var names []string
	for i, on := range []bool{s.Tools, s.Prompts, s.Resources} {
		if on {
			names = append(names, changesOf(connect.Kinds[i].Many))
		}
	}
	if s.logs {
		names = append(names, "log messages")
	}
	for _, uri := range s.URIs {
		names = append(names, "updates of "+uri)
	}
	return names
}

// includes reports whether the selection includes notifications of the method. Progress is never
// included.
func (s selection) includes(method string) bool {
	isSelected := map[string]bool{
		"notifications/tools/list_changed":     s.Tools,
		"notifications/prompts/list_changed":   s.Prompts,
		"notifications/resources/list_changed": s.Resources,
		"notifications/resources/updated":      len(s.URIs) > 0,
		"notifications/message":                s.logs,
	}
	return method != "notifications/progress" && (s.all || isSelected[method])
}

// listenRequest returns the request of the client for the selection. It prints a note when the
// server accepts the subscription, loses it, and accepts it again.
func (s selection) listenRequest(f *cmdutil.Factory, c *connect.Conn, until cmdutil.ListenLimits) client.ListenRequest {
	var hasBegun atomic.Bool
	return client.ListenRequest{
		SubscriptionFilter: s.SubscriptionFilter,
		LogLevel:           s.level,
		Patience:           until.AgreementTimeout(c.Env.Limits.Idle),
		Began: func(agreed client.SubscriptionFilter) {
			f.Progress.Done()
			if hasBegun.Swap(true) {
				c.Env.UI.Note("reconnected; changes in between were not reported")
				return
			}
			accepted := s // the server may have accepted only a part
			accepted.SubscriptionFilter = agreed
			c.Env.UI.Note("listening to " + cmp.Or(strings.Join(accepted.names(), ", "), "nothing") + "; Ctrl-C stops")
		},
		Lost: func(why string) { c.Env.UI.Note(why + "; retrying") },
	}
}
