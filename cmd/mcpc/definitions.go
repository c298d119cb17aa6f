package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// A definition is a tool as the server described it, and whether that was in
// this run.
type definition struct {
	wire.Tool
	fresh bool
	// input and output are its schemas.
	input, output compiled
}

// A compiled schema is compiled once, by whoever needs it first.
type compiled struct {
	once     sync.Once
	schema   *validate.Schema
	warnings []wire.Finding
	err      error
}

func (c *compiled) of(raw json.RawMessage) (*validate.Schema, []wire.Finding, error) {
	c.once.Do(func() { c.schema, c.warnings, c.err = validate.Compile(raw) })
	return c.schema, c.warnings, c.err
}

// A catalogue is what the server lists: the tools that can be called, and why
// the others cannot.
type catalogue struct {
	client.List
	tools   []wire.Tool
	leftOut []leftOut
}

// leftOut is an entry of a list that cannot be used: how it is told of, and why it is
// left out. tool is the name that it would be called by, where it has one.
type leftOut struct{ name, why, tool string }

// in says which entry of a method's list it is, and why it is left out.
func (l leftOut) in(method string) string {
	return fmt.Sprintf("%s from %s is omitted: %s", l.name, method, l.why)
}

// tools lists the server's tools, page by page until enough says so. The list
// is remembered with the session.
func (c *conversation) tools(ctx context.Context, enough func([]json.RawMessage) bool) (catalogue, wire.Outcome) {
	list, o := c.listed(ctx, toolKind, enough)
	return c.sort(list), o
}

// listed lists one kind, for who shows the entries as they crossed, whatever they are
// good for.
func (c *conversation) listed(ctx context.Context, k kind, enough func([]json.RawMessage) bool) (client.List, wire.Outcome) {
	list, o := c.ListUntil(ctx, k.method, enough)
	for _, f := range list.Findings {
		c.found(f)
	}
	if o.Good() && (list.Whole || c.saved == nil && enough != nil) {
		c.keepList(ctx, k, list)
	}
	return list, c.lacking(o, k.capability)
}

// sort parts what can be called from what cannot.
func (c *conversation) sort(list client.List) catalogue {
	all := catalogue{List: list, tools: make([]wire.Tool, len(list.Items))}
	problems := make([]leftOut, len(list.Items))
	wire.Spread(len(list.Items), func(i int) {
		tool, bad := wire.ParseTool(list.Items[i])
		if bad != nil {
			name, _ := wire.Text(wire.First(list.Items[i], "name"))
			problems[i] = leftOut{fmt.Sprintf("entry %d", i), bad.Text, name}
		} else if problem := c.headerProblem(tool); problem != "" {
			problems[i] = leftOut{tool.Name, problem, tool.Name}
		}
		all.tools[i] = tool
	})
	good := all.tools[:0]
	for i, problem := range problems {
		if problem.why == "" {
			good = append(good, all.tools[i])
		} else {
			all.leftOut = append(all.leftOut, problem)
		}
	}
	all.tools = good
	for _, f := range wire.Confusable("tool", mapped(good, func(tool wire.Tool) string { return tool.Name })) {
		c.found(f)
	}
	return all
}

// ambiguous says which names several tools have.
func ambiguous(tools []wire.Tool) (texts []string) {
	times := map[string]int{}
	for _, t := range tools {
		times[t.Name]++
	}
	for _, t := range tools {
		if n := times[t.Name]; n > 1 {
			texts = append(texts, fmt.Sprintf("the server lists %d tools named %q: use --index to call one", n, t.Name))
			times[t.Name] = 1 // told once
		}
	}
	return texts
}

// headerProblem: only by HTTP, and only where requests stand alone, do broken
// x-mcp-header annotations make a tool unusable.
func (c *conversation) headerProblem(tool wire.Tool) string {
	if c.Transport() != client.StreamableHTTP || !client.Stateless(c.Revision()) {
		return ""
	}
	return client.HeaderProblem(tool.InputSchema)
}

// keepList remembers a list: the tools for the calls that follow, and all kinds for
// the completion of a command line.
func (c *conversation) keepList(ctx context.Context, k kind, list client.List) {
	if !c.remembers(k) {
		return
	}
	kept := state.ToolList{FetchedAt: c.a.now(), TTLms: list.TTL}
	times := map[string]int{}
	for _, raw := range list.Items {
		if c.a.secrets.Holds(raw) { // a server may say again what it was sent
			return
		}
		if name, ok := k.nameIn(raw); ok {
			kept.Tools = append(kept.Tools, state.Tool{Name: name, Raw: raw})
			times[name]++
		}
	}
	// Of two tools with one name none is called, so none is remembered.
	kept.Tools = slices.DeleteFunc(kept.Tools, func(t state.Tool) bool { return times[t.Name] > 1 })
	if err := c.store.SaveTools(ctx, c.listKey(k), kept); err != nil && c.a.verbose > 0 {
		c.a.ui.warn("the list of " + k.many + " could not be cached: " + err.Error())
	}
}

// nameIn is what an entry of a list is asked for by; false where nobody could.
func (k kind) nameIn(raw json.RawMessage) (string, bool) {
	if k == toolKind {
		tool, bad := wire.ParseTool(raw)
		return tool.Name, bad == nil
	}
	name, ok := wire.Text(wire.First(raw, k.key))
	return name, ok && name != ""
}

// listKey names what is remembered of one kind.
func (c *conversation) listKey(k kind) string {
	if k == toolKind {
		return c.toolsKey(c.promised)
	}
	return c.toolsKey(c.promised) + "\n" + k.method
}

func (c *conversation) forgetTools() {
	c.box.empty()
	c.forget(toolKind)
}

func (c *conversation) forget(k kind) {
	if c.remembers(k) {
		_ = c.store.DropTools(c.listKey(k))
	}
}

// remembers reports that lists of a kind are kept for the commands that follow: all of a
// session, and the tools of a server without one.
func (c *conversation) remembers(k kind) bool {
	return c.store != nil && (c.saved != nil || k == toolKind)
}

// toolsKey returns the cache key of a server's tools for these credentials: another token may
// see other tools (2026-07-28 server/utilities/caching, "private"). Without a session the
// declared client capabilities are part of it.
func (c *conversation) toolsKey(declared json.RawMessage) string {
	var key string
	if c.saved != nil {
		key = c.saved.Key
	} else {
		key = c.oneOffKey(declared)
	}
	for _, f := range c.fields {
		key += "\n" + f.Name + ": " + f.Value
	}
	if g := c.a.guard; g != nil && g.Account+g.Fixed != "" {
		key += "\naccount " + g.Account + " token " + g.Fixed
	}
	return key
}

// oneOffKey returns the cache key of a server without a session: address, network options
// and the client's capabilities, by which a server may list different tools.
func (c *conversation) oneOffKey(declared json.RawMessage) string {
	key := "one-off\n" + cmp.Or(c.known, c.where+" "+c.a.version) + "\n" + c.a.protocol + "\n" + string(declared)
	if c.target.Kind == target.Command {
		folder, _ := os.Getwd() // a command with a relative path is another one elsewhere
		return key + "\n" + folder
	}
	way, _ := json.Marshal(c.a.network.Reach) // texts always marshal
	return key + "\n" + string(way)
}

// remembered gives the definition that an earlier run kept. It is used to check
// arguments before they are sent, to ask before a destructive tool is called,
// and for the header fields. A server that promises a time has that time kept:
// after it the definition is fetched anew. One that promises nothing, with a
// ttlMs of 0 or without one, is believed for a day: a call that the definition
// allows is sent, and the server judges it anew; one that it forbids is judged
// by a fresh list. Nobody is ever shown it.
func (c *conversation) remembered(name string) *definition {
	if c.a.index > 0 {
		return nil // it was chosen from a list, and is looked for in one
	}
	if tool := c.box.tool(name); tool != nil {
		return tool
	}
	tool := c.inMemory(name)
	if tool == nil || c.headerProblem(tool.Tool) != "" {
		return nil
	}
	return c.box.keep(tool)
}

// inMemory is remembered for who has no conversation.
func (c *conversation) inMemory(name string) *definition {
	raw := c.kept(toolKind, name)
	tool, bad := wire.ParseTool(raw)
	if raw == nil || bad != nil {
		return nil
	}
	return &definition{Tool: tool}
}

// kept is an entry of a remembered list that is still believed, or nil.
func (c *conversation) kept(k kind, name string) json.RawMessage {
	if !c.remembers(k) {
		return nil
	}
	entry, list, err := c.store.Tool(c.listKey(k), name)
	if err != nil || entry == nil || c.a.now().Sub(list.FetchedAt) > rememberFor {
		return nil
	}
	if promised := list.TTLms != nil && *list.TTLms > 0; promised && !list.Fresh(c.a.now()) {
		return nil
	}
	return entry.Raw
}

// define gets a tool's definition from the server. That there is no such tool
// in a fresh list is an ending of its own: nothing has to be sent to know it. A
// list that will be remembered is fetched whole; else the page with the tool is
// enough.
func (c *conversation) define(ctx context.Context, name string) (*definition, wire.Outcome) {
	var enough func([]json.RawMessage) bool
	if c.saved == nil && c.box == nil && c.a.index == 0 {
		enough = func(items []json.RawMessage) bool { return lists(items, name) }
	}
	all, o := c.tools(ctx, enough)
	if !o.Good() {
		return nil, o
	}
	c.box.fill(all, c.a.now())
	return c.pick(name, all)
}

// addIndex declares --index on a command that names a tool.
func (a *app) addIndex(f *pflag.FlagSet) {
	f.IntVar(&a.index, "index", 0, "which of several tools with the same name, from 1")
}

// pick finds a tool in a fresh list: the one of that name, or of several the one that
// --index says.
func (c *conversation) pick(name string, all catalogue) (*definition, wire.Outcome) {
	index := c.a.index
	if tool := c.box.tool(name); tool != nil && tool.fresh && index == 0 {
		return tool, wire.Outcome{}
	}
	found := slices.DeleteFunc(slices.Clone(all.tools), func(tool wire.Tool) bool { return tool.Name != name })
	switch n := len(found); {
	case n == 0:
		return nil, c.noSuchTool(name, all)
	case n == 1 && index == 0:
		index = 1
	case index < 1 || index > n:
		return nil, c.refusedCall(name, fmt.Sprintf("the server lists %s called %q", plural(n, "tool"), name),
			wire.Hint(fmt.Sprintf("--index selects one, from 1 to %d; only the name is sent to the server", n)))
	}
	return &definition{Tool: found[index-1], fresh: true}, wire.Outcome{}
}

func lists(items []json.RawMessage, name string) bool {
	return slices.ContainsFunc(items, func(raw json.RawMessage) bool {
		listed, ok := toolKind.nameIn(raw)
		return ok && listed == name
	})
}

// noSuchTool says that a fresh list has no tool of that name that can be called,
// and names the one that was perhaps meant.
func (c *conversation) noSuchTool(name string, all catalogue) wire.Outcome {
	var names []string
	for _, out := range all.leftOut {
		if out.tool == name {
			return c.refusedCall(name, out.in("tools/list"), "")
		}
		if out.tool != "" {
			names = append(names, out.tool)
		}
	}
	for _, tool := range all.tools {
		names = append(names, tool.Name)
	}
	other := c.otherwiseNamed(toolKind, name)
	hint := cmp.Or(other, nearestIn(toolKind, name, names))
	if other == "" && len(names) > fewNames && wire.Nearest(name, names) == "" && string(c.promised) == "{}" {
		hint += "; some tools are listed only for clients that support elicitation: " + wire.Run("help answering")
	}
	return c.refusedCall(name, fmt.Sprintf("the server has no tool %q", name), hint)
}

// refusedCall is a call that was not sent because of what the list says.
func (c *conversation) refusedCall(name, text string, hint wire.Hint) wire.Outcome {
	return c.unsent("tools/call", name, text, hint)
}

// unsent is a request that was not sent because of what a list says.
func (c *conversation) unsent(method, name, text string, hint wire.Hint) wire.Outcome {
	return wire.Outcome{Kind: wire.InvalidArguments, Method: method, Name: name, Where: c.where,
		Phase: "arguments", Text: text, Hint: hint}
}
