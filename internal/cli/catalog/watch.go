package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// watchOptions are the flags of `mcpc list --watch`.
type watchOptions struct {
	on    bool
	jsonl bool
	until cmdutil.ListenLimits
}

func (o *watchOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "watch", false, "keep running, and print changes")
	o.until.Flags(f, "changes")
	f.BoolVar(&o.jsonl, "jsonl", false, "with --watch: print one JSON document per entry and change")
}

// check returns a usage error for invalid flags. It sets o.jsonl if a flag of all commands selects
// JSON.
func (o *watchOptions) check(f *cmdutil.Factory) error {
	if !o.on && (o.jsonl || o.until != cmdutil.ListenLimits{}) {
		return usage.New(
			"--jsonl, --for and --count need --watch",
			wire.RunOnServer("list --watch")+" runs until it is stopped",
		)
	}
	if o.on && (f.Output != "" || f.Wire) {
		return usage.New("--watch runs until it is stopped, so it has no --wire and no -o", "use --jsonl and > FILE")
	}
	o.jsonl = o.jsonl || f.JSON || f.Jq != ""
	return o.until.Check()
}

// A watcher has the last lists of a server, and the kinds whose lists have changed since. mu guards
// stale.
type watcher struct {
	f *cmdutil.Factory
	c *connect.Conn
	o listOptions
	// known has the items of the last lists; nil before the lists are read.
	known map[connect.Kind][]item
	read  time.Time
	// printErr is the first failure to print, which ends the command.
	printErr error

	mu    sync.Mutex
	stale map[connect.Kind]bool
	wake  chan struct{}
}

// An item is one entry of a list. about is the first line of its description.
type item struct {
	name, about string
	raw         json.RawMessage
}

// minReadInterval is the shortest time between two reads of the lists, even if the server notifies
// of changes more often.
const minReadInterval = time.Second

// watchLists prints the lists and their changes until a limit, an interrupt, or the end of the
// subscription.
func watchLists(ctx context.Context, f *cmdutil.Factory, o listOptions) error {
	w := &watcher{f: f, o: o, stale: map[connect.Kind]bool{}, wake: make(chan struct{}, 1)}
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, RequireServerInfo: true, OnNotification: w.markChanged})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	w.c = c
	if len(o.kinds) > 1 {
		w.o.kinds = c.Declared(o.kinds)
	}
	filter, out := w.filter()
	if out.OK() {
		out = w.follow(ctx, filter)
	}
	f.Record.SetOutcome(out)
	cmdutil.PrintExplanation(ctx, f, append(connect.MethodsOf(w.o.kinds), "subscriptions/listen")...)
	return cmdutil.Join(w.printErr, cmdutil.Exit(out))
}

// filter returns the subscription to the changes of the lists. It fails if the server declares no
// notifications for any of them, and prints a note if it declares them for some.
func (w *watcher) filter() (f client.SubscriptionFilter, out wire.Outcome) {
	var missing []string
	for _, k := range w.o.kinds {
		if !w.c.Offers(k.Capability, "listChanged") {
			missing = append(missing, k.Many)
			continue
		}
		switch k {
		case connect.ToolKind:
			f.Tools = true
		case connect.PromptKind:
			f.Prompts = true
		case connect.ResourceKind, connect.TemplateKind: // one notification is for both lists
			f.Resources = true
		}
	}
	text := "the server does not report changes of its " + strings.Join(missing, ", ")
	if len(missing) == len(w.o.kinds) {
		return f, wire.Outcome{
			Kind: wire.InvalidArguments, ServerName: w.c.Where, Phase: "arguments",
			Text: text, Hint: "omit --watch to list once",
		}
	}
	if len(missing) > 0 {
		w.f.Note(text)
	}
	return f, wire.Outcome{}
}

// follow reads the lists when the subscription begins, and again after each notification and each
// reconnect, because notifications may have been lost. --for begins when the lists are first shown.
func (w *watcher) follow(ctx context.Context, filter client.SubscriptionFilter) wire.Outcome {
	f := w.f
	remaining := w.o.watch.until.Count
	subscription := cmdutil.StartListening(
		ctx,
		w.c,
		client.ListenRequest{
			SubscriptionFilter: filter, Patience: w.o.watch.until.AgreementTimeout(f.Limits.Idle),
			Began: func(client.SubscriptionFilter) { w.mark(w.o.kinds...) },
			Lost:  func(why string) { f.Note(why + "; retrying") },
		},
		cmdutil.ListenLimits{}, // none: this loop counts the changes and starts the timer
	)
	defer subscription.Stop()
	stdoutPoll := time.NewTicker(cmdutil.StdoutPollInterval)
	defer stdoutPoll.Stop()
	for {
		select {
		case <-stdoutPoll.C:
			w.printErr = cmp.Or(w.printErr, f.StdoutClosed())
			if w.printErr != nil {
				subscription.Stop() // Ended then reports the end
			}
		case <-w.wake:
			isFirst := w.known == nil // the first read only shows the lists
			changes, out := w.reread(ctx, subscription.Ctx)
			if !out.OK() && subscription.Ctx.Err() == nil {
				return out
			}
			if isFirst && w.known != nil {
				w.o.watch.until.StartTimer(subscription.Stop)
			}
			remaining -= changes
			isEnough := w.o.watch.until.Count > 0 && changes > 0 && remaining <= 0
			if isEnough || w.printErr != nil {
				subscription.Stop()
			}
		case out := <-subscription.Ended:
			if out.OK() {
				f.Note("the server closed the subscription")
			}
			return subscription.CommandOutcome(out)
		}
	}
}

// markChanged marks the kinds whose list has changed according to the notification m.
func (w *watcher) markChanged(m *wire.Message) {
	for _, k := range connect.Kinds {
		if m.Method == "notifications/"+k.Capability+"/list_changed" {
			w.mark(k)
		}
	}
}

// mark marks the lists of the kinds as changed and wakes follow. It is safe for concurrent use.
func (w *watcher) mark(kinds ...connect.Kind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range kinds {
		w.stale[k] = true
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// takeStale returns the marked kinds and clears the marks.
func (w *watcher) takeStale() map[connect.Kind]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	stale := w.stale
	w.stale = map[connect.Kind]bool{}
	return stale
}

// reread reads the lists that are marked as changed, prints the changes, and returns their number. It
// waits until minReadInterval has passed since the last read. A list that cannot be read is only a
// warning, unless it is the first read. It reads until subscribed is done, which is when the
// subscription ends, and prints until command is done.
func (w *watcher) reread(command, subscribed context.Context) (changes int, out wire.Outcome) {
	if wait := minReadInterval - w.f.Now().Sub(w.read); wait > 0 {
		select {
		case <-time.After(wait):
		case <-subscribed.Done():
			return 0, wire.Outcome{}
		}
	}
	w.read = w.f.Now()
	if w.known == nil {
		return 0, w.first(subscribed)
	}
	stale := w.takeStale()
	for _, k := range w.o.kinds {
		if _, listed := w.known[k]; !listed || !stale[k] { // not listed: the server has no such method
			continue
		}
		list, out := w.c.Listed(subscribed, k, nil) // nil: all pages
		switch {
		case subscribed.Err() != nil:
			return changes, out
		case !out.OK():
			w.f.Warn("the list of " + k.Many + " could not be read again: " + out.Text)
		default:
			old := w.known[k]
			w.known[k] = itemsOf(k, list)
			changes += w.compare(command, k, old, w.known[k])
		}
	}
	return changes, wire.Outcome{}
}

// first reads and prints all lists, as list does without --watch, and sets w.known. It leaves w.known
// nil if a list fails.
func (w *watcher) first(ctx context.Context) wire.Outcome {
	var l connect.Listing
	several := len(w.o.kinds) > 1
	w.takeStale() // all lists are read now; the marks of later notifications stay
	for _, k := range w.o.kinds {
		if out, left := l.Add(ctx, w.c, k, several, w.f.ShowsTables()); !out.OK() && !left {
			return out
		}
	}
	w.known = map[connect.Kind][]item{}
	for _, list := range l.Lists {
		w.known[list.Kind] = itemsOf(list.Kind, list.List)
		for _, it := range w.known[list.Kind] {
			w.line(ctx, "listed", list.Kind, it.name, nil, it.raw)
		}
	}
	if !w.o.watch.jsonl {
		w.f.NoPager = true // changes follow the lists
		w.printErr = cmdutil.Print(ctx, w.f, w.f.ListAnswer(l, several, w.o.long))
	}
	w.f.Note("watching for changes; Ctrl-C stops")
	return wire.Outcome{}
}

// itemsOf returns the items of a list, without entries that have no name, which cannot be compared.
func itemsOf(k connect.Kind, list client.List) []item {
	var items []item
	for _, raw := range list.Items {
		members, _ := jsonraw.Object(raw)
		about, _, _ := strings.Cut(strings.TrimSpace(members.Text("description")), "\n")
		if name := members.Text(k.Key); name != "" {
			items = append(items, item{name, about, raw})
		}
	}
	return items
}

// compare prints the items that were added, removed or changed between two lists of kind k, and
// returns their number. Items with the same name are compared by their JSON. A failure to print is
// stored in w.printErr.
func (w *watcher) compare(ctx context.Context, k connect.Kind, old, now []item) int {
	var changes []render.Change
	// show prints a change as JSON at once, and keeps it for the text for people.
	show := func(sign, change, about string, it item, was json.RawMessage) {
		changes = append(changes, render.Change{Sign: sign, Kind: k.One, Name: it.name, About: about})
		w.line(ctx, change, k, it.name, was, it.raw)
	}
	for _, it := range old {
		if !slices.ContainsFunc(now, it.isNamed) {
			show("-", "removed", "", item{name: it.name}, it.raw) // the item has no JSON now, only before
		}
	}
	for _, it := range now {
		at := slices.IndexFunc(old, it.isNamed)
		if at < 0 {
			show("+", "added", it.about, it, nil)
		} else if parts := differing(old[at].raw, it.raw); len(parts) > 0 {
			show("~", "changed", "another "+strings.Join(parts, ", "), it, old[at].raw)
		}
	}
	if !w.o.watch.jsonl {
		if err := render.Changes(w.f.Stdout(), w.f.OutStyle, changes); err != nil {
			err = w.f.WriteError("writing the result", err)
			if w.printErr == nil {
				w.printErr = err
			}
		}
	}
	return len(changes)
}

func (it item) isNamed(other item) bool { return it.name == other.name }

// differing returns the names of the members that are different in two objects, or missing in one.
// White space makes no difference.
func differing(a, b json.RawMessage) []string {
	left, _ := jsonraw.Object(a)
	right, _ := jsonraw.Object(b)
	var names []string
	for _, m := range slices.Concat(left, right) {
		x, _ := left.Get(m.Name)
		y, _ := right.Get(m.Name)
		if !bytes.Equal(jsonraw.Compact(x), jsonraw.Compact(y)) && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// line prints one change as a line of JSON, if --jsonl is set: the kind of change, and the entry
// before and after it as the server sent it. was and now may be nil.
func (w *watcher) line(ctx context.Context, change string, k connect.Kind, name string, was, now json.RawMessage) {
	if !w.o.watch.jsonl {
		return
	}
	doc := jsonraw.With(nil, "change", jsonraw.Quote(change))
	doc = jsonraw.With(doc, "kind", jsonraw.Quote(k.One))
	doc = jsonraw.With(doc, "name", jsonraw.Quote(name))
	if was != nil {
		doc = jsonraw.With(doc, "was", was)
	}
	if now != nil {
		doc = jsonraw.With(doc, "now", now)
	}
	err := cmdutil.PrintLine(ctx, w.f, doc)
	if w.printErr == nil {
		w.printErr = err
	}
}
