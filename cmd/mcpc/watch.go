package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// watchOptions are what `mcpc list --watch` was asked.
type watchOptions struct {
	on    bool
	jsonl bool
	until endurance
}

func (o *watchOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "watch", false, "keep running, and print changes")
	o.until.flags(f, "changes")
	f.BoolVar(&o.jsonl, "jsonl", false, "with --watch: print one JSON document per entry and change")
}

func (o *watchOptions) check(a *app) error {
	switch {
	case !o.on && (o.jsonl || o.until != endurance{}):
		return hinted("--jsonl, --for and --count need --watch", wire.There("list --watch")+" runs until it is stopped")
	case o.on && (a.output != "" || a.wire):
		return hinted("--watch runs until it is stopped, so it has no --wire and no -o", "use --jsonl and > FILE")
	}
	o.jsonl = o.jsonl || a.json || a.jq != ""
	return o.until.check()
}

// A watcher knows what a server listed last, and which of it is no longer true.
type watcher struct {
	a *app
	c *conversation
	o listOptions
	// known is what was listed last; nil before the first time.
	known map[kind][]item
	read  time.Time

	mu    sync.Mutex
	stale map[kind]bool
	wake  chan struct{}
}

// An item is one entry of a list.
type item struct {
	name, about string
	raw         json.RawMessage
}

// betweenReads is the shortest time between two reads of the lists: however often
// a server says that they changed.
const betweenReads = time.Second

func (a *app) watchLists(ctx context.Context, o listOptions) {
	w := &watcher{a: a, o: o, stale: map[kind]bool{}, wake: make(chan struct{}, 1)}
	c, out := a.open(ctx, opening{argv: o.argv, greet: true, heard: w.heard})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	w.c = c
	if len(o.kinds) > 1 {
		w.o.kinds = c.offered(o.kinds)
	}
	filter, out := w.filter()
	if out.Good() {
		out = w.follow(ctx, filter)
	}
	a.end(out)
	a.explained(append(methodsOf(w.o.kinds), "subscriptions/listen")...)
}

// filter asks for the changes of what is listed. A server that tells of none of
// them cannot be watched.
func (w *watcher) filter() (f client.Filter, out wire.Outcome) {
	var missing []string
	for _, k := range w.o.kinds {
		there := w.c.offers(k.capability, "listChanged")
		f.Tools = f.Tools || there && k == toolKind
		f.Prompts = f.Prompts || there && k == promptKind
		f.Resources = f.Resources || there && (k == resourceKind || k == templateKind)
		if !there {
			missing = append(missing, k.many)
		}
	}
	text := "the server does not report changes of its " + strings.Join(missing, ", ")
	if len(missing) == len(w.o.kinds) {
		return f, wire.Outcome{Kind: wire.InvalidArguments, Where: w.c.where, Phase: "arguments",
			Text: text, Hint: "omit --watch to list once"}
	}
	if len(missing) > 0 {
		w.a.note(text)
	}
	return f, wire.Outcome{}
}

// follow reads the lists when the server begins to tell, and again whenever it
// tells or may have told somebody else. The time of --for begins when they are shown.
func (w *watcher) follow(ctx context.Context, f client.Filter) wire.Outcome {
	a, left := w.a, w.o.watch.until.count
	on := w.c.start(ctx, client.Listening{Filter: f, Patience: w.o.watch.until.patience(a.limits.Idle),
		Began: func(client.Filter) { w.mark(w.o.kinds...) },
		Lost:  func(why string) { a.note(why + "; retrying") },
	}, endurance{})
	defer on.enough()
	read := time.NewTicker(unreadEvery)
	defer read.Stop()
	for {
		select {
		case <-read.C:
			if a.unread() {
				on.enough()
			}
		case <-w.wake:
			first := w.known == nil
			n, out := w.reread(ctx, on.ctx)
			if !out.Good() && on.ctx.Err() == nil {
				return out
			}
			if first && w.known != nil {
				w.o.watch.until.begin(on.enough)
			}
			if left -= n; n > 0 && left <= 0 && w.o.watch.until.count > 0 || a.ending.Kind != wire.OK {
				on.enough()
			}
		case out := <-on.ended:
			if out.Good() {
				a.note("the server closed the subscription")
			}
			return on.ending(out)
		}
	}
}

// heard notes which list is no longer true.
func (w *watcher) heard(m *wire.Message) {
	for _, k := range kinds {
		if m.Method == "notifications/"+k.capability+"/list_changed" {
			w.mark(k)
		}
	}
}

func (w *watcher) mark(kinds ...kind) {
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

func (w *watcher) takeStale() map[kind]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	stale := w.stale
	w.stale = map[kind]bool{}
	return stale
}

// reread reads what is no longer true and shows what became of it; it gives how
// many changes there were. That a list cannot be read now is no reason to stop,
// unless it never could. What was read is shown also when ctx ends meanwhile, and
// until whole does.
func (w *watcher) reread(whole, ctx context.Context) (changes int, out wire.Outcome) {
	if wait := betweenReads - w.a.now().Sub(w.read); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, wire.Outcome{}
		}
	}
	w.read = w.a.now()
	if w.known == nil {
		return 0, w.first(ctx)
	}
	stale := w.takeStale()
	for _, k := range w.o.kinds {
		if _, listed := w.known[k]; !listed || !stale[k] {
			continue
		}
		list, out := w.c.listed(ctx, k, nil)
		switch {
		case ctx.Err() != nil:
			return changes, out
		case !out.Good():
			w.a.warn("the list of " + k.many + " could not be read again: " + out.Text)
		default:
			old := w.known[k]
			w.known[k] = itemsOf(k, list)
			changes += w.compare(whole, k, old, w.known[k])
		}
	}
	return changes, wire.Outcome{}
}

// first lists everything, as without --watch.
func (w *watcher) first(ctx context.Context) wire.Outcome {
	var l listing
	several := len(w.o.kinds) > 1
	w.takeStale()
	for _, k := range w.o.kinds {
		if out, left := l.add(ctx, w.c, k, several, w.a.showsTables()); !out.Good() && !left {
			return out
		}
	}
	w.known = map[kind][]item{}
	for _, list := range l.lists {
		w.known[list.kind] = itemsOf(list.kind, list.List)
		for _, it := range w.known[list.kind] {
			w.line(ctx, "listed", list.kind, it.name, nil, it.raw)
		}
	}
	if !w.o.watch.jsonl {
		w.a.noPager = true // it goes on below
		w.a.print(ctx, w.a.answerOfLists(l, several, w.o.long))
	}
	w.a.note("watching for changes; Ctrl-C stops")
	return wire.Outcome{}
}

// itemsOf names the entries of a list: what has no name cannot be told from
// others.
func itemsOf(k kind, list client.List) (items []item) {
	for _, raw := range list.Items {
		members, _ := wire.Object(raw)
		about, _, _ := strings.Cut(strings.TrimSpace(members.Text("description")), "\n")
		if name := members.Text(k.key); name != "" {
			items = append(items, item{name, about, raw})
		}
	}
	return items
}

// compare shows what is new, what is gone and what is another of the same name,
// and counts it.
func (w *watcher) compare(ctx context.Context, k kind, old, now []item) int {
	var changes []render.Change
	show := func(sign, change, about string, it item, was json.RawMessage) {
		changes = append(changes, render.Change{Sign: sign, Kind: k.one, Name: it.name, About: about})
		w.line(ctx, change, k, it.name, was, it.raw)
	}
	for _, it := range old {
		if !slices.ContainsFunc(now, it.isNamed) {
			show("-", "removed", "", item{name: it.name}, it.raw)
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
		if err := render.Changes(w.a.stdout(), w.a.outStyle, changes); err != nil {
			w.a.end(w.a.unwritten(err))
		}
	}
	return len(changes)
}

func (it item) isNamed(other item) bool { return it.name == other.name }

// differing names the members of which one has another value than the other.
func differing(a, b json.RawMessage) (names []string) {
	left, _ := wire.Object(a)
	right, _ := wire.Object(b)
	for _, m := range slices.Concat(left, right) {
		x, _ := left.Get(m.Name)
		y, _ := right.Get(m.Name)
		if !bytes.Equal(wire.Compact(x), wire.Compact(y)) && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// line writes an entry for scripts: what happened to it, what it was before and
// what it is now, as it came.
func (w *watcher) line(ctx context.Context, change string, k kind, name string, was, now json.RawMessage) {
	if !w.o.watch.jsonl {
		return
	}
	doc := wire.With(nil, "change", wire.Quote(change))
	doc = wire.With(doc, "kind", wire.Quote(k.one))
	doc = wire.With(doc, "name", wire.Quote(name))
	if was != nil {
		doc = wire.With(doc, "was", was)
	}
	if now != nil {
		doc = wire.With(doc, "now", now)
	}
	w.a.printLine(ctx, doc)
}
