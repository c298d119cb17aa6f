package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// listenOptions are what `mcpc listen` was asked.
type listenOptions struct {
	argv                      []string
	tools, prompts, resources bool
	uris                      []string
	// logs is a level, anyLevel where none was named, "" for no log messages.
	logs  string
	jsonl bool
	until endurance
}

const anyLevel = "any"

func newListen(a *app) *cobra.Command {
	var o listenOptions
	cmd := &cobra.Command{
		Use:   "listen [URL] [-- COMMAND...]",
		Short: "stream server notifications: changes, updates, log messages",
		Long: `Print a server's notifications, one per line, until Ctrl-C, or the limit of
--for or --count. Without a kind it subscribes to everything that the server
supports. A lost connection is opened again; changes in between are not
reported.

--for starts when the server acknowledges the subscription. If it does not
within that time, or 5 s, the exit code is 9; --timeout TIME waits longer.

--jsonl prints each notification unchanged, one per line; so do --json and
--wire, and --jq filters each.`,
		Example: `  mcpc -s demo listen --for 100ms
  mcpc -s demo listen --tools --prompts --for 100ms --jsonl
  mcpc -s demo listen --resource demo://resource/dynamic/text/1 --for 100ms
  mcpc -s demo --protocol ` + client.Revisions()[1] + ` listen --logs=warning --for 100ms`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if err := a.onlyURL(cmd, own, argv); err != nil {
				return err
			}
			if err := o.check(a); err != nil {
				return err
			}
			o.argv = argv
			a.listen(cmd.Context(), o)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.tools, "tools", false, "changes of the list of tools")
	f.BoolVar(&o.prompts, "prompts", false, "changes of the list of prompts")
	f.BoolVar(&o.resources, "resources", false, "changes of the list of resources")
	f.StringArrayVar(&o.uris, "resource", nil, "updates of the resource with this `URI` (repeatable)")
	f.StringVar(&o.logs, "logs", "", "log messages; --logs=`LEVEL` of that level and above")
	f.Lookup("logs").NoOptDefVal = anyLevel
	_ = cmd.RegisterFlagCompletionFunc("logs", fixed(logLevels...))
	o.until.flags(f, "notifications")
	f.BoolVar(&o.jsonl, "jsonl", false, "print each notification unchanged, one per line")
	a.addAnswering(f)
	return cmd
}

func (o *listenOptions) check(a *app) error {
	if o.logs != "" && o.logs != anyLevel && !slices.Contains(logLevels, o.logs) {
		return hinted(fmt.Sprintf("unknown log level %q", o.logs), didYouMean("--logs=%s", o.logs, logLevels, wire.Hint("levels are "+strings.Join(logLevels, ", "))))
	}
	if a.output != "" {
		return hinted("listen writes until it is stopped, so it has no -o", "use > FILE")
	}
	o.jsonl = o.jsonl || a.json || a.wire || a.jq != ""
	return o.until.check()
}

// everything reports that no kind was named.
func (o *listenOptions) everything() bool {
	return !o.tools && !o.prompts && !o.resources && len(o.uris) == 0 && o.logs == ""
}

func (a *app) listen(ctx context.Context, o listenOptions) {
	ear := newEar(ctx)
	c, out := a.open(ctx, opening{argv: o.argv, greet: true, heard: ear.hear})
	defer a.close(ctx, c)
	defer ear.deaf()
	if !out.Good() {
		a.end(out)
		return
	}
	want, out := c.wish(o)
	if !out.Good() {
		a.end(out)
		return
	}
	out = a.hearAll(ctx, c, ear, want.listening(a, c, o.until), o.until, func(n notice) int {
		if !want.takes(n.Method) {
			return 0
		}
		a.printNotice(ctx, o, n)
		return 1
	})
	if out.Good() && out.Method != "" {
		a.note("the server closed the subscription")
	}
	a.end(out)
	a.explained("subscriptions/listen", "resources/subscribe")
}

func (a *app) printNotice(ctx context.Context, o listenOptions, n notice) {
	if o.jsonl {
		a.printLine(ctx, n.Raw)
	} else if err := render.Heard(a.stdout(), a.outStyle, n.at, n.Message); err != nil {
		a.end(a.unwritten(err))
	}
}

// A wish is what is listened to, and what of it has to be asked for.
type wish struct {
	client.Filter
	// all takes what nobody named as well.
	all   bool
	logs  bool
	level string
}

// wish holds what was asked against what the server declares. What it does not
// offer is left out and told of; where nothing is left nothing is sent.
func (c *conversation) wish(o listenOptions) (wish, wire.Outcome) {
	all := o.everything()
	w := wish{all: all, level: o.logs}
	var missing []string
	offer := func(asked bool, capability, member, what string) bool {
		there := c.offers(capability, member)
		if !there && (asked || all) {
			missing = append(missing, what)
		}
		return there && (asked || all)
	}
	w.Tools = offer(o.tools, "tools", "listChanged", changesOf("tools"))
	w.Prompts = offer(o.prompts, "prompts", "listChanged", changesOf("prompts"))
	w.Resources = offer(o.resources, "resources", "listChanged", changesOf("resources"))
	if len(o.uris) > 0 && offer(true, "resources", "subscribe", "updates of resources") {
		w.URIs = o.uris
	}
	if client.Stateless(c.Revision()) && o.logs != "" {
		c.a.ui.warn("in this revision log messages are sent with the request that they belong to: use --log-level LEVEL with mcpc call")
	} else if !client.Stateless(c.Revision()) {
		w.logs = offer(o.logs != "", "logging", "", "log messages")
	}
	if w.level == anyLevel {
		w.level = ""
	}
	if len(missing) > 0 {
		c.a.ui.note("not supported by the server: " + strings.Join(missing, ", "))
	}
	if len(w.names()) == 0 {
		return w, c.nothingToHear(all)
	}
	return w, wire.Outcome{}
}

func changesOf(list string) string { return "changes of the list of " + list }

// nothingToHear is the ending where the server offers nothing of what was asked.
func (c *conversation) nothingToHear(all bool) wire.Outcome {
	o := wire.Outcome{Kind: wire.InvalidArguments, Where: c.where, Phase: "arguments",
		Text: "the server supports none of the requested notifications", Hint: wire.There("info") + " shows the server's capabilities"}
	if all && c.offers("resources", "subscribe") {
		o.Text, o.Hint = "the server does not declare list-change notifications", "it supports resource updates: "+wire.There("listen --resource URI")
	}
	return o
}

// offers reports that a capability is declared, with that member set. Of a server
// that said nothing of itself everything is believed.
func (c *conversation) offers(capability, member string) bool {
	declared, known := c.declares(capability)
	if !known || member == "" {
		return !known || declared
	}
	members, _ := wire.Object(c.Info().Capabilities)
	raw, _ := members.Get(capability)
	settings, _ := wire.Object(raw)
	flag, _ := settings.Get(member)
	return string(flag) == "true"
}

// names is what is listened to, in words.
func (w wish) names() (names []string) {
	for i, on := range []bool{w.Tools, w.Prompts, w.Resources} {
		if on {
			names = append(names, changesOf(kinds[i].many))
		}
	}
	if w.logs {
		names = append(names, "log messages")
	}
	for _, uri := range w.URIs {
		names = append(names, "updates of "+uri)
	}
	return names
}

// takes reports whether a notification is one that was asked for.
func (w wish) takes(method string) bool {
	named := map[string]bool{
		"notifications/tools/list_changed":     w.Tools,
		"notifications/prompts/list_changed":   w.Prompts,
		"notifications/resources/list_changed": w.Resources,
		"notifications/resources/updated":      len(w.URIs) > 0,
		"notifications/message":                w.logs,
	}
	return method != "notifications/progress" && (w.all || named[method])
}

// listening is the wish as the client takes it. What the server agreed to is told
// each time.
func (w wish) listening(a *app, c *conversation, until endurance) client.Listening {
	var before atomic.Bool
	return client.Listening{Filter: w.Filter, LogLevel: w.level, Patience: until.patience(c.a.limits.Idle),
		Began: func(agreed client.Filter) {
			a.progress.Done()
			if before.Swap(true) {
				c.a.ui.note("reconnected; changes in between were not reported")
				return
			}
			given := w
			given.Filter = agreed
			c.a.ui.note("listening to " + cmp.Or(strings.Join(given.names(), ", "), "nothing") + "; Ctrl-C stops")
		},
		Lost: func(why string) { c.a.ui.note(why + "; retrying") },
	}
}
