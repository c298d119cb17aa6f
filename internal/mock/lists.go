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

// Clients look up a tool before they call it. The recording of a client that already had the list,
// or that stopped at the page with its tool, has no list or only a part of it.

// rememberLastPage remembers the cursor in a result whose next page was not recorded, so that
// answerPageAfterLast can end the list there. It ignores results without a cursor.
func (pb *playback) rememberLastPage(result json.RawMessage) {
	l := pb.player.library
	cursor := jsonraw.First(result, "nextCursor")
	if cursor == nil || !mcp.IsServerList(pb.live.Method) {
		return
	}
	page := listPage{pb.live.Method, jsonraw.TextOrRaw(cursor)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, recorded := l.pages[page]; !recorded {
		l.pages[page] = false
	}
}

// answerPageAfterLast answers the request for a page after the last recorded page with an empty
// page. It returns nil if the request is for anything else.
func (p *Player) answerPageAfterLast(c mcpserver.Caller, m *wire.Message) []byte {
	cursor := jsonraw.First(m.Params, "cursor")
	p.library.mu.RLock()
	recorded, isKnown := p.library.pages[listPage{m.Method, jsonraw.TextOrRaw(cursor)}]
	p.library.mu.RUnlock()
	if cursor == nil || recorded || !isKnown {
		return nil
	}
	p.tally.reportOnce("the recording has no further page of " + showStart(m.Method) + ": the list ends there")
	empty := fmt.Appendf(nil, `{%q:[]}`, mcp.ListMember(m.Method))
	const isModern = false // the result has only the members of the older era
	return wire.ComposeResult(m.ID, bridge.ConvertResult(c.Stateless, isModern, m.Method, empty))
}

// isLaterPage reports whether a request is for a page of a list whose cursor the recording has.
func (l *library) isLaterPage(m *wire.Message) bool {
	cursor := jsonraw.First(m.Params, "cursor")
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, isKnown := l.pages[listPage{m.Method, jsonraw.TextOrRaw(cursor)}]
	return cursor != nil && isKnown
}

// A listPage identifies a page of a list.
type listPage struct{ method, cursor string }

// derivedLists describes how the entries of a list follow from requests that name an entry.
var derivedLists = map[string]struct {
	// by is the method of the requests, entry returns the list's entry for a name in such a
	// request.
	by    string
	entry func(name json.RawMessage) string
}{
	"tools/list": {"tools/call", func(name json.RawMessage) string {
		return fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, name)
	}},
	"prompts/list": {"prompts/get", func(name json.RawMessage) string {
		return fmt.Sprintf(`{"name":%s}`, name)
	}},
	"resources/list": {"resources/read", func(uri json.RawMessage) string {
		return fmt.Sprintf(`{"uri":%s,"name":%[1]s}`, uri)
	}},
}

// answerListFromRequests answers a list that was not recorded with the entries that recorded requests name. It
// returns nil if there are no such requests.
func (p *Player) answerListFromRequests(c mcpserver.Caller, m *wire.Message) []byte {
	list, known := derivedLists[m.Method]
	if !known || jsonraw.First(m.Params, "cursor") != nil || p.library.hasMethod(m.Method) {
		return nil
	}
	names := p.library.names(list.by)
	if len(names) == 0 {
		return nil
	}
	entries := make([]string, len(names))
	for i, name := range names {
		entries[i] = list.entry(jsonraw.Quote(name))
	}
	p.tally.reportOnce(fmt.Sprintf("%s was not recorded: the list has the %s of the recorded %s requests",
		m.Method, english.Plural(len(names), "name"), list.by))
	result := fmt.Appendf(nil, `{%q:[%s]}`, mcp.ListMember(m.Method), strings.Join(entries, ","))
	const isModern = false // the result has only the members of the older era
	return wire.ComposeResult(m.ID, bridge.ConvertResult(c.Stateless, isModern, m.Method, result))
}

// names returns the distinct names in the recorded requests of a method, in recorded order.
func (l *library) names(method string) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var names []string
	seen := map[string]bool{}
	for _, x := range l.exchanges {
		if x.Method == method && x.Name != "" && !seen[x.Name] {
			seen[x.Name] = true
			names = append(names, x.Name)
		}
	}
	return names
}
