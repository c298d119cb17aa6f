package mock

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// Clients look a tool up before they call it. A recording of a client that had the list already, or that stopped at
// the page with its tool, has no list or half of one.

// noteLastPage keeps the cursor of a page that is not in the recording: what is asked with it is the end of the list.
func (y *play) noteLastPage(result json.RawMessage) {
	l, cursor := y.p.library, jsonraw.First(result, "nextCursor")
	if cursor == nil || !mcp.IsServerList(y.live.Method) {
		return
	}
	at := pageAt{y.live.Method, jsonraw.TextOrRaw(cursor)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, recorded := l.pages[at]; !recorded {
		l.pages[at] = false
	}
}

// endOfList answers the request for a page that follows the last recorded one with an empty page; nil is for
// other requests.
func (p *Player) endOfList(c mcpserver.Caller, m *wire.Message) []byte {
	cursor := jsonraw.First(m.Params, "cursor")
	p.library.mu.RLock()
	recorded, given := p.library.pages[pageAt{m.Method, jsonraw.TextOrRaw(cursor)}]
	p.library.mu.RUnlock()
	if cursor == nil || recorded || !given {
		return nil
	}
	p.tally.once("the recording has no further page of " + shown(m.Method) + ": the list ends there")
	return wire.ComposeResult(m.ID, bridge.Result(c.Stateless, false, m.Method, fmt.Appendf(nil, `{%q:[]}`, mcp.ListMember(m.Method))))
}

// A pageAt is a page of a list.
type pageAt struct{ method, cursor string }

// seenLists are the lists that can be made of the requests that name their entries.
var seenLists = map[string]struct {
	by    string
	entry func(name json.RawMessage) string
}{
	"tools/list": {"tools/call", func(name json.RawMessage) string {
		return fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, name)
	}},
	"prompts/list":   {"prompts/get", func(name json.RawMessage) string { return fmt.Sprintf(`{"name":%s}`, name) }},
	"resources/list": {"resources/read", func(uri json.RawMessage) string { return fmt.Sprintf(`{"uri":%s,"name":%[1]s}`, uri) }},
}

// listOfSeen answers a list that was not recorded with what the recorded requests name; nil where they name nothing.
func (p *Player) listOfSeen(c mcpserver.Caller, m *wire.Message) []byte {
	kind, known := seenLists[m.Method]
	if !known || jsonraw.First(m.Params, "cursor") != nil || p.library.knows(m.Method) {
		return nil
	}
	names := p.library.names(kind.by)
	if len(names) == 0 {
		return nil
	}
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = kind.entry(jsonraw.Quote(name))
	}
	p.tally.once(fmt.Sprintf("%s was not recorded: it has the %s of the recorded %s requests", m.Method, english.Plural(len(names), "name"), kind.by))
	result := bridge.Result(c.Stateless, false, m.Method, fmt.Appendf(nil, `{%q:[%s]}`, mcp.ListMember(m.Method), strings.Join(entries, ",")))
	return wire.ComposeResult(m.ID, result)
}

// names are what the recorded requests of a method name, each once, in recorded order.
func (l *library) names(method string) (names []string) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	seen := map[string]bool{}
	for _, x := range l.all {
		if x.Method == method && x.Name != "" && !seen[x.Name] {
			seen[x.Name] = true
			names = append(names, x.Name)
		}
	}
	return names
}
