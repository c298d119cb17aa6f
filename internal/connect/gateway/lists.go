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

// tables are what a server listed last, by the names that clients use. A table that is nil was not fetched yet.
type tables struct {
	tools     map[string]*tool
	prompts   map[string]string
	resources map[string]bool
	templates []template
}

// A tool is what is known of one.
type tool struct {
	name   string // at the server
	schema json.RawMessage
	// definition is what is compared with what was approved.
	definition *connect.Definition
	// refused says why it is not served; "" where it is.
	refused string
}

// A template is a list's uriTemplate.
type template struct {
	text   string
	parsed mcp.URITemplate
}

// list answers a list: all servers are asked at once, and their entries come in the order of the command line.
func (p *peer) list(ctx context.Context, m *wire.Message) []byte {
	if jsonraw.First(m.Params, "cursor") != nil {
		return wire.ComposeError(m.ID, -32602, "unknown cursor: the list has one page")
	}
	k := connect.Kinds[slices.IndexFunc(connect.Kinds, func(k connect.Kind) bool { return k.Method == m.Method })]
	lists := make([][]json.RawMessage, len(p.links))
	whole := make([]bool, len(p.links))
	var all sync.WaitGroup
	for i, l := range p.links {
		all.Go(func() { lists[i], whole[i] = l.list(ctx, k) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	items, failed := p.merge(k, lists)
	if failed != "" {
		return wire.ComposeError(m.ID, -32603, failed)
	}
	if k == connect.ToolKind && !slices.Contains(whole, false) {
		p.g.warnUnused()
	}
	result := jsonraw.With(nil, mcp.ListMember(m.Method), jsonraw.List(items))
	if p.session == nil {
		result = bridge.WithMeta(bridge.Result(true, false, m.Method, result), bridge.MetaServer, p.g.identity())
	}
	return wire.ComposeResult(m.ID, result)
}

// merge joins the lists. Of resources with one URI, and of prompts with one name, the first is listed; tools without
// prefixes must differ.
func (p *peer) merge(k connect.Kind, lists [][]json.RawMessage) (items []json.RawMessage, failed string) {
	from := map[string]string{}
	for i, list := range lists {
		name := p.links[i].Name
		twice := map[string]int{}
		for _, raw := range list {
			key, _ := jsonraw.Text(jsonraw.First(raw, k.Key))
			first, taken := from[key]
			switch {
			case !taken:
				from[key] = name
				items = append(items, raw)
			case first == name:
			case k == connect.ToolKind:
				return nil, fmt.Sprintf(
					"%s and %s both list the tool %s: mcpc serve needs --deny for one of them, or no --no-prefix",
					first,
					name,
					key,
				)
			default:
				twice[first]++
			}
		}
		for first, n := range twice {
			p.g.once(
				"",
				fmt.Sprintf("%s lists %s that %s lists too: read from %s", name, english.Plural(n, k.One), first, first),
			)
		}
	}
	return items, ""
}

// list gives the entries of one server as clients see them, and keeps by which names they are asked for. whole is
// false where the server did not answer.
func (l *link) list(ctx context.Context, k connect.Kind) (items []json.RawMessage, whole bool) {
	ctx, stop := context.WithTimeout(ctx, listTime)
	defer stop()
	waiting, enough := context.WithTimeout(ctx, connectTime)
	conn, out := l.connected(waiting)
	enough()
	if conn == nil {
		l.miss(out)
		return nil, false
	}
	if declared, known := conn.Declares(k.Capability); known && !declared {
		l.keep(ctx, conn, k, nil)
		return nil, true
	}
	list, out := conn.ListUntil(ctx, k.Method, nil)
	switch {
	case client.UnknownMethod(out):
	case !out.Good():
		l.miss(out)
		return nil, false
	}
	return l.keep(ctx, conn, k, list.Items), true
}

// miss notes that the server is missing in a list.
func (l *link) miss(out wire.Outcome) {
	if l.p.life.Err() != nil {
		return
	}
	l.mu.Lock()
	l.missed = true
	l.mu.Unlock()
	l.tell(connect.Explain(l.env, out))
}

// keep makes the table of a list, and gives the entries as clients see them.
func (l *link) keep(
	ctx context.Context,
	conn *connect.Conn,
	k connect.Kind,
	items []json.RawMessage,
) (shown []json.RawMessage) {
	var made tables
	switch k {
	case connect.ToolKind:
		made.tools, shown = l.keepTools(ctx, conn, items)
	case connect.PromptKind:
		made.prompts = map[string]string{}
		seen := map[string]bool{}
		for _, raw := range items {
			prompt, bad := mcp.ParsePrompt(raw)
			if bad != nil {
				leftOut(l, bad)
				continue
			}
			if !first(l, seen, k, prompt.Name) {
				continue
			}
			name := shownName(
				l.p.g.prefix(l.Member),
				prompt.Name,
				func(name string) bool { _, taken := made.prompts[name]; return taken },
			)
			made.prompts[name] = prompt.Name
			shown = append(shown, renamed(raw, prompt.Name, name))
		}
	case connect.ResourceKind:
		made.resources = map[string]bool{}
		for _, raw := range items {
			if r, bad := mcp.ParseResource(raw); bad == nil {
				made.resources[r.URI] = true
				shown = append(shown, raw)
			} else {
				leftOut(l, bad)
			}
		}
	case connect.TemplateKind:
		made.templates = []template{}
		for _, raw := range items {
			r, bad := mcp.ParseTemplate(raw)
			if bad != nil {
				leftOut(l, bad)
				continue
			}
			parsed, _ := mcp.ParseURITemplate(r.URI)
			made.templates = append(made.templates, template{r.URI, parsed})
			shown = append(shown, raw)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch k {
	case connect.ToolKind:
		l.listed.tools = made.tools
	case connect.PromptKind:
		l.listed.prompts = made.prompts
	case connect.ResourceKind:
		l.listed.resources = made.resources
	case connect.TemplateKind:
		l.listed.templates = made.templates
	}
	return shown
}

// keepTools makes the table of tools. One that is denied, or is no longer what was approved, is not shown.
func (l *link) keepTools(
	ctx context.Context,
	conn *connect.Conn,
	items []json.RawMessage,
) (made map[string]*tool, shown []json.RawMessage) {
	made = map[string]*tool{}
	seen := map[string]bool{}
	for _, raw := range items {
		parsed, bad := mcp.ParseTool(raw)
		if bad != nil {
			leftOut(l, bad)
			continue
		}
		if !first(l, seen, connect.ToolKind, parsed.Name) {
			continue
		}
		t := &tool{name: parsed.Name, schema: parsed.InputSchema, definition: &connect.Definition{Tool: parsed, Fresh: true}}
		name := shownName(l.p.g.prefix(l.Member), parsed.Name, func(name string) bool { return made[name] != nil })
		made[name] = t
		switch {
		case !l.p.g.serves(l.Member, parsed.Name):
			t.refused = "it is not allowed by --allow and --deny of mcpc serve"
		case pin.Check(ctx, conn, t.definition) == pin.Changed:
			approve := "mcpc trust " + shellwords.Quote(l.ID) + " --tools"
			t.refused = "its definition changed since it was approved, and the user has not approved the new one; the user can do so with: " + approve
			l.p.g.once(
				"",
				fmt.Sprintf("%s/%s is left out: its definition changed since it was approved (%s shows the change and approves it)",
					l.Name, parsed.Name, approve),
			)
		default:
			shown = append(shown, renamed(raw, parsed.Name, name))
		}
	}
	return made, shown
}

// leftOut tells of the first entry of the server that no client can use.
func leftOut(l *link, bad *wire.Finding) {
	l.p.g.once(l.Name+" entry", l.Name+": an entry of a list is left out: "+bad.Text)
}

// first reports that a list had no entry of this name before: the server cannot tell entries of one name apart.
func first(l *link, seen map[string]bool, k connect.Kind, name string) bool {
	if seen[name] {
		l.p.g.once(l.Name+" twice "+k.One, l.Name+" lists the "+k.One+" "+name+" more than once: the first is served")
		return false
	}
	seen[name] = true
	return true
}

// prefix is that of the names of a server.
func (g *Gateway) prefix(m *Member) string {
	if g.Plain {
		return ""
	}
	return m.Name
}

// renamed is an entry with another name and otherwise the server's bytes.
func renamed(raw json.RawMessage, name, shown string) json.RawMessage {
	if name == shown {
		return raw
	}
	return jsonraw.With(raw, "name", jsonraw.Quote(shown))
}

// named gives the server of a name that clients use. look looks it up in what the server listed last; where it is
// not there the server is asked for its list once more.
func (p *peer) named(
	ctx context.Context,
	k connect.Kind,
	shown string,
	look func(*tables) bool,
) (l *link, found bool, down *link) {
	prefix, _, _ := strings.Cut(shown, separator)
	for _, fresh := range []bool{false, true} {
		for _, l := range p.links {
			if !p.g.Plain && l.Name != prefix {
				continue
			}
			if fresh {
				if _, whole := l.list(ctx, k); !whole {
					down = l
				}
			}
			l.mu.Lock()
			found := look(&l.listed)
			l.mu.Unlock()
			if found {
				return l, true, nil
			}
		}
	}
	return nil, false, down
}

// tool finds a tool. Without one, down is the server that may have it and did not answer, if there is one.
func (p *peer) tool(ctx context.Context, shown string) (l *link, t *tool, down *link) {
	l, _, down = p.named(ctx, connect.ToolKind, shown, func(listed *tables) bool {
		t = listed.tools[shown]
		return t != nil
	})
	return l, t, down
}

// freshSchema is the inputSchema of a tool in a new list; nil where there is none.
func (l *link) freshSchema(ctx context.Context, shown string) json.RawMessage {
	l.list(ctx, connect.ToolKind)
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.listed.tools[shown]; t != nil {
		return t.schema
	}
	return nil
}

// unreached says why the server did not answer.
func (l *link) unreached() wire.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed.Good() {
		return wire.Outcome{Kind: wire.Transport, Text: "it did not answer with its list"}
	}
	return l.failed
}

// prompt finds a prompt and its name at the server. Without one, down is the server that may have it and did not
// answer, or the text says why there is none.
func (p *peer) prompt(ctx context.Context, shown string) (l *link, name string, down *link) {
	l, found, down := p.named(ctx, connect.PromptKind, shown, func(listed *tables) (ok bool) {
		name, ok = listed.prompts[shown]
		return ok
	})
	if down != nil {
		return nil, "", down
	}
	if !found {
		return nil, "Unknown prompt: " + shown, nil
	}
	return l, name, nil
}
