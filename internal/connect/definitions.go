package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// A Definition is a tool as the server described it, and whether that was in
// this run.
type Definition struct {
	mcp.Tool
	Fresh bool
	// Until is the time until which it may be used without asking the server.
	Until time.Time
	// fetched is when an earlier list of it was fetched, zero if it is of no such list.
	fetched time.Time
	// Input and output are its schemas.
	Input, Output compiled
	// Pin is what package pin found of it in this run.
	Pin atomic.Int32

	listsOnce sync.Once
	// lists is set if the inputSchema has properties, takesAny if it says that there may be others.
	lists, takesAny bool
}

// ListsArguments reports whether the inputSchema lists arguments, and whether it says that it takes any others, too.
func (d *Definition) ListsArguments() (lists, takesAny bool) {
	d.listsOnce.Do(func() {
		d.lists = jsonraw.First(d.InputSchema, "properties") != nil
		d.takesAny = string(jsonraw.First(d.InputSchema, "additionalProperties")) == "true"
	})
	return d.lists, d.takesAny
}

// compiled is a schema that is compiled once, at its first use.
type compiled struct {
	once     sync.Once
	schema   *validate.Schema
	warnings []wire.Finding
	err      error

	readOnce sync.Once
	readable *validate.Schema
}

// Of compiles the schema. The warnings say what is wrong with it or not checked.
func (c *compiled) Of(raw json.RawMessage) (*validate.Schema, []wire.Finding, error) {
	c.once.Do(func() { c.schema, c.warnings, c.err = validate.CompileTolerant(raw) })
	return c.schema, c.warnings, c.err
}

// Types returns the schema for the types of arguments: if it does not compile, what can be read of it, or nil. The
// result must not check values.
func (c *compiled) Types(raw json.RawMessage) *validate.Schema {
	schema, _, err := c.Of(raw)
	if err == nil {
		return schema
	}
	c.readOnce.Do(func() { c.readable = validate.Readable(raw) })
	return c.readable
}

// A Catalogue is what the server lists: the tools that can be called, and why
// the others cannot.
type Catalogue struct {
	client.List
	Tools   []mcp.Tool
	LeftOut []LeftOut
}

// LeftOut is an entry of a list that cannot be used: how messages name it, and why it is
// left out. tool is the name that it would be called by, where it has one.
type LeftOut struct{ Name, Why, tool string }

// in says which entry of a method's list it is, and why it is left out.
func (l LeftOut) in(method string) string {
	return fmt.Sprintf("%s from %s is omitted: %s", l.Name, method, l.Why)
}

// Tools lists the server's tools, page by page until enough says so. The list
// is remembered with the session.
func (c *Conn) Tools(ctx context.Context, enough func([]json.RawMessage) bool) (Catalogue, wire.Outcome) {
	list, o := c.Listed(ctx, ToolKind, enough)
	return c.sort(list), o
}

// Listed lists one kind, for callers that show the entries as received, usable or not.
func (c *Conn) Listed(ctx context.Context, k Kind, enough func([]json.RawMessage) bool) (client.List, wire.Outcome) {
	list, o := c.ListUntil(ctx, k.Method, enough)
	if o.Good() && (list.Whole || c.Saved == nil && enough != nil) {
		keep := c.newKeeper(k)
		for _, raw := range list.Items {
			keep.add(raw, "")
		}
		defer keep.save(ctx, list.TTL)
	}
	return list, c.listEnded(k, list, o)
}

// listEnded tells what was found in a list, and explains its ending.
func (c *Conn) listEnded(k Kind, list client.List, o wire.Outcome) wire.Outcome {
	for _, f := range list.Findings {
		c.found(c.Env, nil, f)
	}
	return c.ExplainUnsupported(o, k.Capability)
}

// sort parts what can be called from what cannot.
func (c *Conn) sort(list client.List) Catalogue {
	all := Catalogue{List: list}
	all.Tools, all.LeftOut = c.sortTools(list.Items, 0)
	c.tellConfusable(sliceutil.Map(all.Tools, func(tool mcp.Tool) string { return tool.Name }))
	return all
}

// tellConfusable tells of tools whose names may be taken for those of others.
func (c *Conn) tellConfusable(names []string) {
	for _, f := range mcp.Confusable("tool", names) {
		c.found(c.Env, nil, f)
	}
}

// sortTools parts entries of a list, which begin with the number first.
func (c *Conn) sortTools(items []json.RawMessage, first int) (good []mcp.Tool, leftOut []LeftOut) {
	tools := make([]mcp.Tool, len(items))
	problems := make([]*LeftOut, len(items)) // few have one
	sliceutil.Parallel(len(items), func(i int) {
		tool, bad := mcp.ParseTool(items[i])
		if bad != nil {
			name, _ := jsonraw.Text(jsonraw.First(items[i], "name"))
			problems[i] = &LeftOut{fmt.Sprintf("entry %d", first+i), bad.Text, name}
		} else if problem := c.headerProblem(tool); problem != "" {
			problems[i] = &LeftOut{tool.Name, problem, tool.Name}
		}
		tools[i] = tool
	})
	good = tools[:0]
	for i, problem := range problems {
		if problem == nil {
			good = append(good, tools[i])
		} else {
			leftOut = append(leftOut, *problem)
		}
	}
	return good, leftOut
}

// Ambiguous says which names several tools have.
func Ambiguous(names []string) (texts []string) {
	times := make(map[string]int, len(names))
	for _, name := range names {
		times[name]++
	}
	if len(times) == len(names) {
		return nil
	}
	for _, name := range names {
		if n := times[name]; n > 1 {
			texts = append(texts, fmt.Sprintf("the server lists %d tools named %q: use --index to call one", n, name))
			times[name] = 1 // told once
		}
	}
	return texts
}

// headerProblem: only by HTTP, and only where requests stand alone, do broken
// x-mcp-header annotations make a tool unusable.
func (c *Conn) headerProblem(tool mcp.Tool) string {
	if c.Transport() != transport.StreamableHTTP || !client.Stateless(c.Revision()) {
		return ""
	}
	return mcp.HeaderProblem(tool.InputSchema)
}

// NameIn returns the name to request an entry of a list by; false where it has no usable one.
func (k Kind) NameIn(raw json.RawMessage) (string, bool) {
	if k == ToolKind {
		return mcp.ToolName(raw)
	}
	name, ok := jsonraw.Text(jsonraw.First(raw, k.Key))
	return name, ok && name != ""
}

// listKey names what is remembered of one kind.
func (c *Conn) listKey(k Kind) string {
	if k == ToolKind {
		return c.toolsKey(c.Promised)
	}
	return c.toolsKey(c.Promised) + "\n" + k.Method
}

func (c *Conn) ForgetTools() {
	c.Box.empty()
	c.Forget(ToolKind)
}

// ForgetLists drops the remembered lists that requests are checked with, so that they are fetched
// again.
func (c *Conn) ForgetLists() {
	c.ForgetTools()
	c.Forget(PromptKind)
}

// Forget drops the remembered list of a kind. A notification may ask for it at any time.
func (c *Conn) Forget(k Kind) {
	c.Mu.Lock()
	known := c.remembers(k)
	key := ""
	if known {
		key = c.listKey(k)
	}
	c.Mu.Unlock()
	if known {
		_ = c.Store.DropTools(key)
	}
}

// SaveAs sets the session as which the connection is remembered from now on. Notifications may
// come meanwhile.
func (c *Conn) SaveAs(s *state.Session) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Saved = s
	c.Passing = false
}

// remembers reports whether lists of a kind are kept for later commands: all of a session, and
// the tools and prompts of a server without one.
func (c *Conn) remembers(k Kind) bool {
	return c.Store != nil && (c.Saved != nil || k == ToolKind || k == PromptKind)
}

// Remembered returns a definition that may be used without asking the server: of a list that is
// still fresh, fetched by this connection or, unless the server is listed first, by an earlier
// command. Returns nil if there is none. It is used to check arguments before they are sent, to ask
// before a destructive tool is called, and for the header fields; it is never shown to the user.
func (c *Conn) Remembered(name string) *Definition {
	if c.Env.Index > 0 {
		return nil // it was chosen from a list, and is looked for in one
	}
	tool := c.Box.tool(name)
	if tool == nil && !c.StartsServer() {
		tool = c.LastKnown(name)
		if tool != nil && c.Box != nil {
			tool.Fresh = !tool.fetched.Before(c.Box.opened)
		}
	}
	if tool == nil || !c.Env.Now().Before(tool.Until) || c.headerProblem(tool.Tool) != "" {
		return nil
	}
	return c.Box.keep(tool)
}

// StartsServer reports whether the command starts the server as a process of its own, in contrast to
// a server that is reached over HTTP or kept by an earlier command. Such a server is listed first: its
// author may have edited it a moment ago.
func (c *Conn) StartsServer() bool {
	place := cmp.Or(c.Saved, c.OneOff)
	return len(place.Command) > 0 && (!c.IsKept() || c.Passing)
}

// JustFetched reports whether the connection fetched a definition so recently that it does not fetch
// it again when a call fails.
func (c *Conn) JustFetched(tool *Definition) bool {
	return tool.Fresh && (c.Box == nil || c.Box.recent(c.Env.Now()) != nil)
}

// Doubt makes the next call fetch the definition of a tool again if a call failed that was made by a
// definition of an earlier command. tool is nil if the call was sent without a definition.
func (c *Conn) Doubt(ctx context.Context, tool *Definition) {
	if tool != nil && !tool.Fresh {
		c.ExpireTools(ctx)
	}
}

// ExpireTools makes the remembered list of tools stale. The completion of command lines still uses it.
func (c *Conn) ExpireTools(ctx context.Context) {
	c.Box.empty()
	if !c.remembers(ToolKind) {
		return
	}
	key := c.listKey(ToolKind)
	list, err := c.Store.Tools(key)
	if err != nil || list == nil {
		return
	}
	list.TTLms = new(int64)
	_ = c.Store.SaveTools(ctx, key, *list) // if that fails, the list is used until it is stale
}

// LastKnown returns the definition that the last list of the server had, which may be stale, or nil.
func (c *Conn) LastKnown(name string) *Definition {
	raw, list := c.cached(ToolKind, name)
	tool, bad := mcp.ParseTool(raw)
	if raw == nil || bad != nil {
		return nil
	}
	return &Definition{Tool: tool, Until: list.FreshUntil(), fetched: list.FetchedAt}
}

// RememberedEntry returns an entry of a list that may be used without asking the server, or nil.
func (c *Conn) RememberedEntry(k Kind, name string) json.RawMessage {
	raw, list := c.cached(k, name)
	if raw == nil || c.StartsServer() || !c.Env.Now().Before(list.FreshUntil()) {
		return nil
	}
	return raw
}

// cached returns an entry of the last list and that list without its entries. The entry is nil if
// none is known or if it is older than rememberFor.
func (c *Conn) cached(k Kind, name string) (json.RawMessage, *state.ToolList) {
	if !c.remembers(k) {
		return nil, nil
	}
	entry, list, err := c.Store.Tool(c.listKey(k), name)
	if err != nil || entry == nil {
		return nil, nil
	}
	age := c.Env.Now().Sub(list.FetchedAt)
	if age < 0 || age > rememberFor {
		return nil, nil
	}
	return entry.Raw, list
}

// Define gets a tool's definition from the server. That there is no such tool
// in a fresh list is an ending of its own: nothing has to be sent to know it. A
// list that will be remembered is fetched whole; else the page with the tool is
// enough.
func (c *Conn) Define(ctx context.Context, name string) (*Definition, wire.Outcome) {
	var enough func([]json.RawMessage) bool
	if c.Saved == nil && c.Box == nil && c.Env.Index == 0 {
		enough = func(items []json.RawMessage) bool {
			return slices.ContainsFunc(items, func(raw json.RawMessage) bool {
				listed, ok := ToolKind.NameIn(raw)
				return ok && listed == name
			})
		}
	}
	all, o := c.Tools(ctx, enough)
	if !o.Good() {
		return nil, o
	}
	c.Box.fill(all, c.Env.Now())
	return c.pick(name, all)
}

// pick finds a tool in a fresh list: the one of that name, or of several the one that
// --index says.
func (c *Conn) pick(name string, all Catalogue) (*Definition, wire.Outcome) {
	index := c.Env.Index
	if tool := c.Box.tool(name); tool != nil && tool.Fresh && index == 0 {
		return tool, wire.Outcome{}
	}
	found := slices.DeleteFunc(slices.Clone(all.Tools), func(tool mcp.Tool) bool { return tool.Name != name })
	switch n := len(found); {
	case n == 0:
		return nil, c.noSuchTool(name, all)
	case n == 1 && index == 0:
		index = 1
	case index < 1 || index > n:
		return nil, c.RefusedCall(name, fmt.Sprintf("the server lists %s called %q", english.Plural(n, "tool"), name),
			wire.Hint(fmt.Sprintf("--index selects one, from 1 to %d; only the name is sent to the server", n)))

	}
	return &Definition{Tool: found[index-1], Fresh: true}, wire.Outcome{}
}

// noSuchTool says that a fresh list has no tool of that name that can be called,
// and names the one that was perhaps meant.
func (c *Conn) noSuchTool(name string, all Catalogue) wire.Outcome {
	var names []string
	for _, out := range all.LeftOut {
		if out.tool == name {
			return c.RefusedCall(name, out.in("tools/list"), "")
		}
		if out.tool != "" {
			names = append(names, out.tool)
		}
	}
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
	}
	other := c.SuggestKind(ToolKind, name)
	near := meantName(ToolKind, name, names)
	hint := cmp.Or(other, c.otherServer(name, names), nearestIn(ToolKind, name, names))
	if other == "" && len(names) > fewNames && near == "" && string(c.Promised) == "{}" {
		hint += "; some tools are listed only for clients that support elicitation: " + wire.Run("help answering")
	}
	if other == "" && near == "" {
		hint += "; " + wire.RunOnServer("call "+shellwords.Quote(name)+" --no-validate") + " calls one that is not listed"
	}
	return c.RefusedCall(name, fmt.Sprintf("the server has no tool %q", name), hint)
}

// otherServer returns the hint for a name that is written as other clients write a tool: SERVER.TOOL or TOOL(...); ""
// if it is not.
func (c *Conn) otherServer(name string, names []string) wire.Hint {
	if tool, _, called := strings.Cut(name, "("); called && slices.Contains(names, tool) {
		return "arguments are words after the name: " + wire.RunOnServer("call "+shellwords.Quote(tool)+" NAME=VALUE")
	}
	return c.SuggestServer(name)
}

// SuggestServer returns the hint for a tool's name that begins with the name of a known server; "" if it does not.
func (c *Conn) SuggestServer(name string) wire.Hint {
	at := strings.IndexAny(name, "./:")
	if at < 1 || at == len(name)-1 {
		return ""
	}
	server := name[:at]
	tool := name[at+1:]
	known := server == DemoEndpoint || slices.Contains(c.Env.ConfiguredNames(), server)
	if _, st, err := c.Env.LoadState(); err == nil {
		known = known || slices.Contains(st.Names(), server)
	}
	if !known {
		return ""
	}
	return "did you mean " + wire.Run("-s "+shellwords.Quote(server)+" call "+shellwords.Quote(tool)) + "?"
}

// RefusedCall is a call that was not sent because of what the list says.
func (c *Conn) RefusedCall(name, text string, hint wire.Hint) wire.Outcome {
	return c.Unsent("tools/call", name, text, hint)
}

// Unsent is a request that was not sent because of what a list says.
func (c *Conn) Unsent(method, name, text string, hint wire.Hint) wire.Outcome {
	return wire.Outcome{Kind: wire.InvalidArguments, Method: method, Name: name, Where: c.Where,
		Phase: "arguments", Text: text, Hint: hint}
}

// Entry finds one thing in a list of its kind, by the name or URI that asks for
// it, else by the name that it has beside its URI. That it is not there is an
// ending of its own.
func (c *Conn) Entry(ctx context.Context, k Kind, name string) (json.RawMessage, wire.Outcome) {
	find := func(items []json.RawMessage, members ...string) json.RawMessage {
		for _, raw := range items {
			for _, member := range members {
				if text, ok := jsonraw.Text(jsonraw.First(raw, member)); ok && text == name {
					return raw
				}
			}
		}
		return nil
	}
	enough := func(items []json.RawMessage) bool { return find(items, k.Key) != nil }
	if c.Saved != nil && k == PromptKind {
		enough = nil // the whole list will be remembered
	}
	list, out := c.Listed(ctx, k, enough)
	if !out.Good() {
		return nil, out
	}
	for _, member := range []string{k.Key, "name"} {
		if raw := find(list.Items, member); raw != nil {
			return raw, out
		}
	}
	var names []string
	for _, raw := range list.Items {
		if text, ok := jsonraw.Text(jsonraw.First(raw, k.Key)); ok {
			names = append(names, text)
		}
	}
	return nil, c.Unsent(k.Method, name, fmt.Sprintf("the server has no %s %q", k.One, name), nearestIn(k, name, names))
}
