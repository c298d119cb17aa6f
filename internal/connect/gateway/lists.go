package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/pin"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// tables map the names that clients use to what a server listed last. A nil table was not fetched
// yet.
type tables struct {
	tools     map[string]*tool
	prompts   map[string]string
	resources map[string]bool
	templates []template
}

// A tool is a tool of a server.
type tool struct {
	serverName string // at the server
	schema     json.RawMessage
	// definition is compared with the approved one.
	definition *connect.Definition
	// refused says why the tool is not served, or is "".
	refused string
}

// A template is a uriTemplate of a list.
type template struct {
	uriTemplate string
	parsed      mcp.URITemplate
}

// listAll answers a list request: it asks all servers at once, and returns their entries in the
// order of the command line.
func (p *peer) listAll(ctx context.Context, m *wire.Message) []byte {
	if jsonraw.First(m.Params, "cursor") != nil {
		return wire.ComposeError(m.ID, -32602, "unknown cursor: the list has one page")
	}
	k := connect.Kinds[slices.IndexFunc(connect.Kinds, func(k connect.Kind) bool { return k.Method == m.Method })]
	lists := make([][]json.RawMessage, len(p.links))
	complete := make([]bool, len(p.links))
	var all sync.WaitGroup
	for i, l := range p.links {
		all.Go(func() { lists[i], complete[i] = l.listEntries(ctx, k) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	items, failed := p.merge(k, lists)
	if failed != "" {
		return wire.ComposeError(m.ID, -32603, failed)
	}
	if k == connect.ToolKind && !slices.Contains(complete, false) {
		p.gateway.warnUnused()
	}
	if k == connect.ToolKind {
		items = append(items, p.standIns(complete)...)
	}
	result := jsonraw.With(nil, mcp.ListMember(m.Method), jsonraw.List(items))
	if p.session == nil {
		const toStateless, fromStateless = true, false // result has no members of stateless revisions yet
		result = bridge.ConvertResult(toStateless, fromStateless, m.Method, result)
		result = bridge.WithMeta(result, bridge.MetaServer, p.gateway.identity())
	}
	return wire.ComposeResult(m.ID, result)
}

// standIns returns a tool for each server that did not answer, so that its agent does not see fewer
// tools, or none, without a reason: NAME__login if the user can log in, else NAME__status. A call of
// NAME__status is a call of a tool that the server does not list: callTool asks the server again, and
// responds with the failure.
func (p *peer) standIns(complete []bool) (items []json.RawMessage) {
	for i, l := range p.links {
		if complete[i] {
			continue
		}
		name := l.standInName()
		text := fmt.Sprintf("Returns why the tools of the server %q are not available.", l.Name)
		if name == l.ownToolName("login") {
			text = fmt.Sprintf("Logs in to the server %q: returns the page that the user has to open.", l.Name)
		}
		item := jsonraw.With(nil, "name", jsonraw.Quote(name))
		item = jsonraw.With(item, "description", jsonraw.Quote(text))
		item = jsonraw.With(item, "inputSchema", json.RawMessage(`{"type":"object"}`))
		item = jsonraw.With(item, "annotations", json.RawMessage(`{"readOnlyHint":true}`))
		items = append(items, jsonraw.With(item, "_meta", l.failure()))
	}
	return items
}

// ownToolName returns the name of a tool that the gateway itself offers for the server. It has the
// name of the server even without prefixes.
func (l *link) ownToolName(name string) string {
	isTaken := func(string) bool { return false }
	return clientName(l.Name, name, isTaken)
}

// merge joins the lists. It keeps the first of several resources with one URI, and of several
// prompts with one name. Tools with the same name are a failure, which can happen only without
// prefixes.
func (p *peer) merge(k connect.Kind, lists [][]json.RawMessage) (items []json.RawMessage, failed string) {
	firstServer := map[string]string{}
	for i, list := range lists {
		name := p.links[i].Name
		duplicates := map[string]int{}
		for _, raw := range list {
			key, _ := jsonraw.Text(jsonraw.First(raw, k.Key))
			first, isTaken := firstServer[key]
			if !isTaken {
				firstServer[key] = name
				items = append(items, raw)
				continue
			}
			if first == name { // the server lists the same entry twice
				continue
			}
			if k == connect.ToolKind {
				const text = "%s and %s both list the tool %s: mcpc serve needs --deny for one of them, or no --no-prefix"
				return nil, fmt.Sprintf(text, first, name, key)
			}
			duplicates[first]++
		}
		for first, n := range duplicates {
			const text = "%s lists %s that %s lists too: read from %s"
			p.gateway.showOnce(textIsKey, fmt.Sprintf(text, name, english.Plural(n, k.One), first, first))
		}
	}
	return items, ""
}

// listEntries lists the entries of one server under the names that clients use, and stores the
// tables for these names. It returns false if the server did not answer.
func (l *link) listEntries(ctx context.Context, k connect.Kind) ([]json.RawMessage, bool) {
	ctx, stop := context.WithTimeout(ctx, listTimeout)
	defer stop()
	connectCtx, stopConnecting := context.WithTimeout(ctx, connectTimeout)
	conn, out := l.waitConnected(connectCtx)
	stopConnecting()
	for range 2 { // the first failure may be of an attempt that started no login
		if conn == nil && l.awaitLogin(ctx, out) {
			conn, out = l.waitConnected(ctx)
		}
	}
	if conn == nil {
		l.noteMissing(out)
		return nil, false
	}
	if declared, known := conn.Declares(k.Capability); known && !declared {
		l.storeList(ctx, conn, k, nil) // an empty table, not nil: the list is known
		return nil, true
	}
	list, out := conn.ListUntil(ctx, k.Method, client.WalkOptions{}, nil) // nil: all pages
	if l.logInAgain(ctx, out) {
		list, out = conn.ListUntil(ctx, k.Method, client.WalkOptions{}, nil)
	}
	if !out.OK() && !client.IsUnknownMethod(out) {
		l.noteMissing(out)
		return nil, false
	}
	return l.storeList(ctx, conn, k, list.Items), true
}

// noteMissing records that a list does not have this server's entries, and shows the user why.
func (l *link) noteMissing(out wire.Outcome) {
	if l.peer.ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	l.wasOmitted = true
	if !out.OK() {
		l.failed = out
	}
	l.mu.Unlock()
	if l.runningLogin() == nil {
		l.showFailure(connect.Explain(l.env, out))
	}
}

// storeList stores the table of a list, and returns the entries that clients see, under the names
// that they use.
func (l *link) storeList(
	ctx context.Context,
	conn *connect.Conn,
	k connect.Kind,
	items []json.RawMessage,
) []json.RawMessage {
	var built tables // without holding the lock: building asks the store and the user
	var shown []json.RawMessage
	switch k {
	case connect.ToolKind:
		built.tools, shown = l.buildToolTable(ctx, conn, items)
	case connect.PromptKind:
		built.prompts, shown = l.buildPromptTable(items)
	case connect.ResourceKind:
		built.resources, shown = l.buildResourceTable(items)
	case connect.TemplateKind:
		built.templates, shown = l.buildTemplateTable(items)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch k {
	case connect.ToolKind:
		l.listed.tools = built.tools
	case connect.PromptKind:
		l.listed.prompts = built.prompts
	case connect.ResourceKind:
		l.listed.resources = built.resources
	case connect.TemplateKind:
		l.listed.templates = built.templates
	}
	return shown
}

// buildPromptTable builds the table of prompts, and returns the entries that clients see.
func (l *link) buildPromptTable(items []json.RawMessage) (table map[string]string, shown []json.RawMessage) {
	table = map[string]string{}
	seen := map[string]bool{}
	for _, raw := range items {
		prompt, bad := mcp.ParsePrompt(raw)
		if bad != nil {
			showUnusable(l, bad)
			continue
		}
		if !addIfFirst(l, seen, connect.PromptKind, prompt.Name) {
			continue
		}
		isTaken := func(name string) bool { _, taken := table[name]; return taken }
		name := clientName(l.peer.gateway.prefix(l.Member), prompt.Name, isTaken)
		table[name] = prompt.Name
		shown = append(shown, withName(raw, prompt.Name, name))
	}
	return table, shown
}

// buildResourceTable builds the table of resources, and returns the entries that clients see.
func (l *link) buildResourceTable(items []json.RawMessage) (table map[string]bool, shown []json.RawMessage) {
	table = map[string]bool{}
	for _, raw := range items {
		r, bad := mcp.ParseResource(raw)
		if bad != nil {
			showUnusable(l, bad)
			continue
		}
		table[r.URI] = true
		shown = append(shown, raw)
	}
	return table, shown
}

// buildTemplateTable builds the table of templates, and returns the entries that clients see.
func (l *link) buildTemplateTable(items []json.RawMessage) (table []template, shown []json.RawMessage) {
	table = []template{} // not nil: the list was fetched
	for _, raw := range items {
		r, bad := mcp.ParseTemplate(raw)
		if bad != nil {
			showUnusable(l, bad)
			continue
		}
		parsed, _ := mcp.ParseURITemplate(r.URI)
		table = append(table, template{uriTemplate: r.URI, parsed: parsed})
		shown = append(shown, raw)
	}
	return table, shown
}

// buildToolTable builds the table of tools, and returns the entries that clients see. The table also
// has the tools that clients do not see because they are denied, or changed since they were approved:
// a call of one then gets the reason.
func (l *link) buildToolTable(
	ctx context.Context,
	conn *connect.Conn,
	items []json.RawMessage,
) (table map[string]*tool, shown []json.RawMessage) {
	table = map[string]*tool{}
	seen := map[string]bool{}
	for _, raw := range items {
		parsed, bad := mcp.ParseTool(raw)
		if bad != nil {
			showUnusable(l, bad)
			continue
		}
		if !addIfFirst(l, seen, connect.ToolKind, parsed.Name) {
			continue
		}
		t := &tool{
			serverName: parsed.Name,
			schema:     parsed.InputSchema,
			definition: &connect.Definition{Tool: parsed, Fresh: true},
		}
		isTaken := func(name string) bool { return table[name] != nil }
		name := clientName(l.peer.gateway.prefix(l.Member), parsed.Name, isTaken)
		table[name] = t
		switch {
		case l.peer.gateway.IsTransparent:
			shown = append(shown, raw)
		case !l.peer.gateway.serves(l.Member, parsed.Name):
			t.refused = "it is not allowed by --allow and --deny of mcpc serve"
		case pin.Check(ctx, conn, t.definition) == pin.Changed:
			approve := "mcpc servers trust " + shellwords.Quote(l.ID) + " --tools"
			t.refused = "its definition changed since it was approved, and the user has not approved the new one; " +
				"the user can do so with: " + approve
			const text = "%s/%s is left out: its definition changed since it was approved " +
				"(%s shows the change and approves it)"
			l.peer.gateway.showOnce(textIsKey, fmt.Sprintf(text, l.Name, parsed.Name, approve))
		default:
			shown = append(shown, withName(raw, parsed.Name, name))
		}
	}
	return table, shown
}

// showUnusable warns the user about the first entry of the server that no client can use.
func showUnusable(l *link, bad *wire.Finding) {
	l.peer.gateway.showOnce(l.Name+" entry", l.Name+": an entry of a list is left out: "+bad.Text)
}

// addIfFirst adds a name to the seen names and reports true, or warns the user that the list
// already has the name and reports false. A server cannot distinguish entries with the same name,
// so only the first is served.
func addIfFirst(l *link, seen map[string]bool, k connect.Kind, name string) bool {
	if seen[name] {
		text := fmt.Sprintf("%s lists the %s %s more than once: the first is served", l.Name, k.One, name)
		l.peer.gateway.showOnce(l.Name+" twice "+k.One, text)
		return false
	}
	seen[name] = true
	return true
}

// prefix returns the prefix for the names of a server, or "".
func (g *Gateway) prefix(m *Member) string {
	if g.Plain {
		return ""
	}
	return m.Name
}

// withName returns an entry with its name for clients, and otherwise the server's bytes.
func withName(raw json.RawMessage, serverName, clientName string) json.RawMessage {
	if serverName == clientName {
		return raw
	}
	return jsonraw.With(raw, "name", jsonraw.Quote(clientName))
}

// findServer returns the link of the server whose tables list a name, or nil. isListed searches the
// tables of one server. If no stored table has the name, the servers are listed again. failedServer
// is a server that may have the name but did not answer, or nil.
func (p *peer) findServer(
	ctx context.Context,
	k connect.Kind,
	clientName string,
	isListed func(*tables) bool,
) (found, failedServer *link) {
	prefix, _, _ := strings.Cut(clientName, separator)
	for _, listAgain := range []bool{false, true} { // first the stored tables of all servers
		for _, l := range p.links {
			if !p.gateway.Plain && l.Name != prefix {
				continue
			}
			if listAgain {
				if _, complete := l.listEntries(ctx, k); !complete {
					failedServer = l
				}
			}
			l.mu.Lock()
			hasName := isListed(&l.listed)
			l.mu.Unlock()
			if hasName {
				return l, nil
			}
		}
	}
	return nil, failedServer
}

// findTool finds a tool and its server. If it is not found, server is nil, and failedServer is a
// server that may have it but did not answer, or nil.
func (p *peer) findTool(ctx context.Context, clientName string) (server *link, t *tool, failedServer *link) {
	server, failedServer = p.findServer(ctx, connect.ToolKind, clientName, func(listed *tables) bool {
		t = listed.tools[clientName]
		return t != nil
	})
	return server, t, failedServer
}

// freshTool lists the tools again, and returns a tool, or nil.
func (l *link) freshTool(ctx context.Context, clientName string) *tool {
	l.listEntries(ctx, connect.ToolKind)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listed.tools[clientName]
}

// lastFailure returns why the server did not answer.
func (l *link) lastFailure() wire.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed.OK() {
		return wire.Outcome{Kind: wire.Transport, Text: "it did not answer with its list"}
	}
	return l.failed
}

// findPrompt finds a prompt, its server and its name there. If it is not found, server is nil, and
// failedServer is a server that may have it but did not answer, or nil.
func (p *peer) findPrompt(
	ctx context.Context, clientName string,
) (server *link, serverName string, failedServer *link) {
	server, failedServer = p.findServer(ctx, connect.PromptKind, clientName, func(listed *tables) (ok bool) {
		serverName, ok = listed.prompts[clientName]
		return ok
	})
	return server, serverName, failedServer
}

// unknownPrompt returns the error text for a prompt that findPrompt does not find.
func unknownPrompt(clientName string) string { return "Unknown prompt: " + clientName }
