package connect

import (
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

// A Definition is a tool as the server described it.
type Definition struct {
	mcp.Tool
	// Fresh is set if this run received the definition.
	Fresh bool
	// Until is when the definition becomes stale: after that the server has to be asked.
	Until time.Time
	// fetched is when an earlier command received the definition. It is zero otherwise.
	fetched time.Time
	// Input and Output are the schemas of the tool.
	Input, Output compiledSchema
	// Pin is the result of package pin's check in this run.
	Pin atomic.Int32

	listsOnce sync.Once
	// listsArguments is set if the inputSchema has properties, allowsOthers if it explicitly allows
	// any others.
	listsArguments, allowsOthers bool
}

// ListsArguments reports whether the inputSchema has properties, and whether it explicitly allows
// any others. It reads the schema once.
func (d *Definition) ListsArguments() (lists, takesAny bool) {
	d.listsOnce.Do(func() {
		d.listsArguments = jsonraw.First(d.InputSchema, "properties") != nil
		d.allowsOthers = string(jsonraw.First(d.InputSchema, "additionalProperties")) == "true"
	})
	return d.listsArguments, d.allowsOthers
}

// compiledSchema is a schema that is compiled once, when it is first used.
type compiledSchema struct {
	once     sync.Once
	schema   *validate.Schema
	warnings []wire.Finding
	err      error

	readOnce sync.Once
	readable *validate.Schema
}

// Of compiles raw at the first call. The warnings list what is wrong in the schema or not checked.
func (c *compiledSchema) Of(raw json.RawMessage) (*validate.Schema, []wire.Finding, error) {
	c.once.Do(func() { c.schema, c.warnings, c.err = validate.CompileTolerant(raw) })
	return c.schema, c.warnings, c.err
}

// Types returns a schema for reading the types of arguments. If raw does not compile, it returns
// what can be read, or nil. The result must not be used to check values.
func (c *compiledSchema) Types(raw json.RawMessage) *validate.Schema {
	schema, _, err := c.Of(raw)
	if err == nil {
		return schema
	}
	c.readOnce.Do(func() { c.readable = validate.Readable(raw) })
	return c.readable
}

// A Catalogue is a list of tools: the tools that can be called, and why the others cannot.
type Catalogue struct {
	client.List
	Tools   []mcp.Tool
	LeftOut []LeftOut
}

// A LeftOut is an entry of a list that cannot be used: its name in messages, and why it is omitted.
// tool is the tool's name, or "".
type LeftOut struct{ Name, Why, tool string }

// text returns the warning about an entry of the method's list.
func (l LeftOut) text(method string) string {
	return fmt.Sprintf("%s from %s is omitted: %s", l.Name, method, l.Why)
}

// Tools lists the server's tools, page by page until enough returns true. It caches a complete
// list.
func (c *Conn) Tools(ctx context.Context, enough func([]json.RawMessage) bool) (Catalogue, wire.Outcome) {
	list, o := c.Listed(ctx, ToolKind, enough)
	return c.newCatalogue(list), o
}

// Listed lists kind k for callers that show the entries as received, usable or not. It stops at the
// first page after which enough returns true; a nil enough reads all pages. It caches the list as
// listWith does.
func (c *Conn) Listed(ctx context.Context, k Kind, enough func([]json.RawMessage) bool) (client.List, wire.Outcome) {
	return c.listWith(ctx, k, client.WalkOptions{}, enough)
}

// listWith lists kind k with the given options, and stops at the first page after which enough
// returns true; a nil enough reads all pages. It caches a complete list, and for a server without a
// session also a list that enough has cut short.
func (c *Conn) listWith(
	ctx context.Context, k Kind, opt client.WalkOptions, enough func([]json.RawMessage) bool,
) (client.List, wire.Outcome) {
	list, o := c.ListUntil(ctx, k.Method, opt, enough)
	// Without a session the next command probably wants the same entry: a part of the list helps it.
	isPartUseful := c.Saved == nil && enough != nil
	if o.OK() && (list.IsComplete || isPartUseful) {
		cache := c.newListCache(k)
		for _, raw := range list.Items {
			cache.add(raw, "") // "": add reads the name from raw
		}
		defer cache.save(ctx, list.TTL) // after finishList has shown the findings
	}
	return list, c.finishList(k, list, o)
}

// finishList reports the findings of a list, and explains its outcome.
func (c *Conn) finishList(k Kind, list client.List, o wire.Outcome) wire.Outcome {
	for _, f := range list.Findings {
		c.reportFinding(c.Env, nil, f)
	}
	return c.ExplainUnsupported(o, k.Capability)
}

// newCatalogue splits the tools of a list into usable and omitted ones, and warns about confusable
// names.
func (c *Conn) newCatalogue(list client.List) Catalogue {
	all := Catalogue{List: list}
	all.Tools, all.LeftOut = c.parseTools(list.Items, 0)
	c.warnConfusable(sliceutil.Map(all.Tools, func(tool mcp.Tool) string { return tool.Name }))
	return all
}

// warnConfusable warns about tool names that are easily mistaken for each other.
func (c *Conn) warnConfusable(names []string) {
	for _, f := range mcp.Confusable("tool", names) {
		c.reportFinding(c.Env, nil, f)
	}
}

// parseTools splits entries of a list into usable and omitted tools. first is the number of the
// first entry in the whole list.
func (c *Conn) parseTools(items []json.RawMessage, first int) (usable []mcp.Tool, leftOut []LeftOut) {
	tools := make([]mcp.Tool, len(items))
	problems := make([]*LeftOut, len(items)) // few have one
	sliceutil.Parallel(len(items), func(i int) {
		tool, bad := mcp.ParseTool(items[i])
		if bad != nil {
			name, _ := jsonraw.Text(jsonraw.First(items[i], "name"))
			problems[i] = &LeftOut{Name: fmt.Sprintf("entry %d", first+i), Why: bad.Text, tool: name}
		} else if problem := c.headerProblem(tool); problem != "" {
			problems[i] = &LeftOut{Name: tool.Name, Why: problem, tool: tool.Name}
		}
		tools[i] = tool
	})
	usable = tools[:0]
	for i, problem := range problems {
		if problem == nil {
			usable = append(usable, tools[i])
		} else {
			leftOut = append(leftOut, *problem)
		}
	}
	return usable, leftOut
}

// Ambiguous returns a warning for each name that several tools have, and nil if there is no such
// name.
func Ambiguous(names []string) []string {
	count := make(map[string]int, len(names))
	for _, name := range names {
		count[name]++
	}
	if len(count) == len(names) {
		return nil
	}
	var texts []string
	for _, name := range names {
		if n := count[name]; n > 1 {
			texts = append(texts, fmt.Sprintf("the server lists %d tools named %q: use --index to call one", n, name))
			count[name] = 1 // warn once
		}
	}
	return texts
}

// headerProblem returns what is wrong with the x-mcp-header annotations of a tool, or "". They
// matter only for stateless HTTP: there they make a tool unusable.
func (c *Conn) headerProblem(tool mcp.Tool) string {
	if c.Transport() != transport.StreamableHTTP || !client.Stateless(c.Revision()) {
		return ""
	}
	return mcp.HeaderProblem(tool.InputSchema)
}

// NameIn returns the name or URI that requests an entry of a list. It returns false if the entry
// has no usable name.
func (k Kind) NameIn(raw json.RawMessage) (string, bool) {
	if k == ToolKind {
		return mcp.ToolName(raw)
	}
	name, ok := jsonraw.Text(jsonraw.First(raw, k.Key))
	return name, ok && name != ""
}

// listKey returns the cache key of the list of kind k.
func (c *Conn) listKey(k Kind) string {
	if k == ToolKind {
		return c.toolsKey(c.Promised)
	}
	return c.toolsKey(c.Promised) + "\n" + k.Method
}

// ForgetTools drops the cached tools.
func (c *Conn) ForgetTools() {
	c.toolCache.empty()
	c.Forget(ToolKind)
}

// ForgetLists drops the cached lists that requests are checked against, so that they are fetched
// again.
func (c *Conn) ForgetLists() {
	c.ForgetTools()
	c.Forget(PromptKind)
}

// Forget drops the cached list of kind k. It may be called at any time, from the handler of a
// notification.
func (c *Conn) Forget(k Kind) {
	c.Mu.Lock() // SaveAs may change the session, which the key depends on
	isCached := c.cachesKind(k)
	key := ""
	if isCached {
		key = c.listKey(k)
	}
	c.Mu.Unlock()
	if isCached {
		_ = c.Store.DropTools(key)
	}
}

// SaveAs makes s the remembered session of the connection. Notifications may arrive at the same
// time.
func (c *Conn) SaveAs(s *state.Session) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Saved = s
	c.Passing = false
}

// cachesKind reports whether lists of kind k are cached for later commands: all lists of a session,
// and only tools and prompts of a server without one.
func (c *Conn) cachesKind(k Kind) bool {
	isCheckedAgainst := k == ToolKind || k == PromptKind // requests are checked against these lists
	return c.Store != nil && (c.Saved != nil || isCheckedAgainst)
}

// Remembered returns a definition that may be used without asking the server, or nil. It comes from
// a list that is still fresh, fetched by this connection or by an earlier command. If this command
// starts the server, earlier lists are not used. The definition serves to check arguments, to
// confirm destructive tools and to set header fields; it is never shown.
func (c *Conn) Remembered(name string) *Definition {
	if c.Env.Index > 0 {
		return nil // the index refers to a fresh list
	}
	tool := c.toolCache.tool(name)
	if tool == nil && !c.StartsServer() {
		tool = c.LastKnown(name)
		if tool != nil && c.toolCache != nil {
			// This connection may have stored the list itself, and emptied its own cache since.
			tool.Fresh = !tool.fetched.Before(c.toolCache.opened)
		}
	}
	if tool == nil || !c.Env.Now().Before(tool.Until) || c.headerProblem(tool.Tool) != "" {
		return nil
	}
	return c.toolCache.add(tool)
}

// StartsServer reports whether this command starts the server's process, unlike a server over HTTP
// or a kept one. Such a server is listed first: its author may just have edited it.
func (c *Conn) StartsServer() bool {
	isCommand := len(c.ServerSession().Command) > 0
	usesKept := c.IsKept() && !c.Passing
	return isCommand && !usesKept
}

// JustFetched reports whether the definition is so recent that it is not fetched again after a
// failed call.
func (c *Conn) JustFetched(tool *Definition) bool {
	isSingleCall := c.toolCache == nil
	return tool.Fresh && (isSingleCall || c.toolCache.recentList(c.Env.Now()) != nil)
}

// Doubt makes the next call fetch the definition of a tool again if a call failed that used the
// definition of an earlier command. tool is nil if the call used no definition.
func (c *Conn) Doubt(ctx context.Context, tool *Definition) {
	if tool != nil && !tool.Fresh {
		c.ExpireTools(ctx)
	}
}

// ExpireTools makes the cached list of tools stale. Completion still uses it.
func (c *Conn) ExpireTools(ctx context.Context) {
	c.toolCache.empty()
	if !c.cachesKind(ToolKind) {
		return
	}
	key := c.listKey(ToolKind)
	list, err := c.Store.Tools(key)
	if err != nil || list == nil {
		return
	}
	list.TTLms = new(int64)                // 0: stale at once
	_ = c.Store.SaveTools(ctx, key, *list) // if that fails, the list is used until it is stale
}

// LastKnown returns the definition in the last list of the server, or nil. It may be stale.
func (c *Conn) LastKnown(name string) *Definition {
	raw, list := c.cachedEntry(ToolKind, name)
	tool, bad := mcp.ParseTool(raw)
	if raw == nil || bad != nil {
		return nil
	}
	return &Definition{Tool: tool, Until: list.FreshUntil(), fetched: list.FetchedAt}
}

// RememberedEntry returns an entry of a cached list that may be used without asking the server, or
// nil.
func (c *Conn) RememberedEntry(k Kind, name string) json.RawMessage {
	raw, list := c.cachedEntry(k, name)
	if raw == nil || c.StartsServer() || !c.Env.Now().Before(list.FreshUntil()) {
		return nil
	}
	return raw
}

// cachedEntry returns an entry of the last list, and that list without its entries. Returns nil if
// the entry is unknown or older than rememberFor.
func (c *Conn) cachedEntry(k Kind, name string) (json.RawMessage, *state.ToolList) {
	if !c.cachesKind(k) {
		return nil, nil
	}
	entry, list, err := c.Store.Tool(c.listKey(k), name)
	if err != nil || entry == nil {
		return nil, nil
	}
	age := c.Env.Now().Sub(list.FetchedAt)
	if age < 0 || age > rememberFor { // below 0 the clock was set back: the age is unknown
		return nil, nil
	}
	return entry.Raw, list
}

// Define fetches a tool's definition from the server. If the list does not have the tool, it returns
// a failure, and the call need not be sent. It fetches pages until one has the tool, or the whole
// list if that is cached for other tools or --index counts in it.
func (c *Conn) Define(ctx context.Context, name string) (*Definition, wire.Outcome) {
	var enough func([]json.RawMessage) bool // nil fetches all pages
	needsWholeList := c.Saved != nil || c.toolCache != nil || c.Env.Index > 0
	if !needsWholeList {
		enough = func(items []json.RawMessage) bool {
			return slices.ContainsFunc(items, func(raw json.RawMessage) bool {
				listed, ok := ToolKind.NameIn(raw)
				return ok && listed == name
			})
		}
	}
	all, o := c.Tools(ctx, enough)
	if !o.OK() {
		return nil, o
	}
	c.toolCache.fill(all, c.Env.Now())
	return c.selectTool(name, all)
}

// selectTool finds a tool in a fresh list by its name, and by --index if several tools have the name.
// Without --index it returns the definition of the connection's tool cache if that is fresh, so that
// its compiled schemas are used again.
func (c *Conn) selectTool(name string, all Catalogue) (*Definition, wire.Outcome) {
	index := c.Env.Index // from 1; 0 without --index
	if tool := c.toolCache.tool(name); tool != nil && tool.Fresh && index == 0 {
		return tool, wire.Outcome{}
	}
	sameName := slices.DeleteFunc(slices.Clone(all.Tools), func(tool mcp.Tool) bool { return tool.Name != name })
	n := len(sameName)
	if n == 0 {
		return nil, c.noSuchTool(name, all)
	}
	if n == 1 && index == 0 {
		index = 1
	}
	if index < 1 || index > n {
		return nil, c.RefusedCall(name, fmt.Sprintf("the server lists %s called %q", english.Plural(n, "tool"), name),
			wire.Hint(fmt.Sprintf("--index selects one, from 1 to %d; only the name is sent to the server", n)))
	}
	return &Definition{Tool: sameName[index-1], Fresh: true}, wire.Outcome{}
}

// noSuchTool returns the failure for a name that a fresh list does not have: why the tool is omitted
// from the list, or a hint at the tool that was probably meant. If no tool looks meant, it adds why
// the server may not list the tool, and how to call it all the same.
func (c *Conn) noSuchTool(name string, all Catalogue) wire.Outcome {
	var names []string
	for _, omitted := range all.LeftOut {
		if omitted.tool == name { // the reason why it is omitted replaces a hint
			return c.RefusedCall(name, omitted.text("tools/list"), "")
		}
		if omitted.tool != "" {
			names = append(names, omitted.tool)
		}
	}
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
	}
	otherKind := c.SuggestKind(ToolKind, name)
	similar := similarName(ToolKind, name, names)
	hint := otherKind
	if hint == "" {
		hint = c.hintForSyntax(name, names)
	}
	if hint == "" {
		hint = hintForName(ToolKind, name, names)
	}
	isUnknown := otherKind == "" && similar == ""
	declaresNothing := string(c.Promised) == "{}"
	if isUnknown && len(names) > maxNamesInHint && declaresNothing {
		hint += "; some tools are listed only for clients that support elicitation: " + wire.Run("help answering")
	}
	if isUnknown {
		hint += "; " + wire.RunOnServer("call "+shellwords.Quote(name)+" --no-validate") + " calls one that is not listed"
	}
	return c.RefusedCall(name, fmt.Sprintf("the server has no tool %q", name), hint)
}

// hintForSyntax returns the hint for a name in the syntax of other clients, SERVER.TOOL or
// TOOL(...). Returns "" if name has neither syntax.
func (c *Conn) hintForSyntax(name string, names []string) wire.Hint {
	if tool, _, called := strings.Cut(name, "("); called && slices.Contains(names, tool) {
		return "arguments are words after the name: " + wire.RunOnServer("call "+shellwords.Quote(tool)+" NAME=VALUE")
	}
	return c.SuggestServer(name)
}

// SuggestServer returns the hint for a tool's name that begins with the name of a known server, or
// "".
func (c *Conn) SuggestServer(name string) wire.Hint {
	separator := strings.IndexAny(name, "./:")
	if separator < 1 || separator == len(name)-1 { // no separator, or nothing before or after it
		return ""
	}
	server := name[:separator]
	tool := name[separator+1:]
	known := server == DemoEndpoint || slices.Contains(c.Env.ConfiguredNames(), server)
	if _, st, err := c.Env.LoadState(); err == nil {
		known = known || slices.Contains(st.Names(), server)
	}
	if !known {
		return ""
	}
	return "did you mean " + wire.Run("-s "+shellwords.Quote(server)+" call "+shellwords.Quote(tool)) + "?"
}

// RefusedCall returns the failure of a call that is not sent because of the list of tools.
func (c *Conn) RefusedCall(name, text string, hint wire.Hint) wire.Outcome {
	return c.Unsent("tools/call", name, text, hint)
}

// Unsent returns the failure of a request that is not sent because of a list.
func (c *Conn) Unsent(method, name, text string, hint wire.Hint) wire.Outcome {
	return wire.Outcome{
		Kind: wire.InvalidArguments, Method: method, Name: name, ServerName: c.Where,
		Phase: "arguments", Text: text, Hint: hint,
	}
}

// Entry finds an entry of kind k by the name or URI that requests it, otherwise by its member name.
// It reads pages until one has the name or URI, or the whole list if that is cached. If the list does
// not have the entry, it returns a failure.
func (c *Conn) Entry(ctx context.Context, k Kind, name string) (json.RawMessage, wire.Outcome) {
	find := func(items []json.RawMessage, member string) json.RawMessage {
		for _, raw := range items {
			if text, ok := jsonraw.Text(jsonraw.First(raw, member)); ok && text == name {
				return raw
			}
		}
		return nil
	}
	enough := func(items []json.RawMessage) bool { return find(items, k.Key) != nil }
	if c.Saved != nil && k == PromptKind {
		enough = nil // the whole list is cached
	}
	list, out := c.Listed(ctx, k, enough)
	if !out.OK() {
		return nil, out
	}
	for _, member := range []string{k.Key, "name"} { // a name may be known better than a URI
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
	return nil, c.Unsent(k.Method, name, fmt.Sprintf("the server has no %s %q", k.One, name), hintForName(k, name, names))
}
