package playback

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mock/playback/bridge"
	"mcpc/internal/wire"
)

// Clients look a tool up before they call it. A recording of a client that had the list already, or that stopped at
// the page with its tool, has no list or half of one.

// lastRecordedPage ends a list where no page follows in the recording.
func (y *play) lastRecordedPage(result json.RawMessage) json.RawMessage {
	cursor := jsonraw.First(result, "nextCursor")
	if cursor == nil || !bridge.IsList(y.live.Method) || y.p.o.Pass != nil || y.p.library.hasPage(y.live.Method, cursor) {
		return result
	}
	y.p.tally.once("#" + y.x.Number + ": the recording has no further page of " + shown([]byte(y.live.Method)) + ", so the list ends there")
	return jsonraw.Without(result, "nextCursor")
}

// hasPage reports whether the page of a list at a cursor was recorded.
func (l *library) hasPage(method string, cursor json.RawMessage) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.pages[pageAt{method, jsonraw.TextOrRaw(cursor)}]
}

// A pageAt is a page of a list.
type pageAt struct{ method, cursor string }

// seenLists are the lists that can be made of the requests that name their entries.
var seenLists = map[string]struct {
	by, member string
	entry      func(name json.RawMessage) string
}{
	"tools/list": {"tools/call", "tools", func(name json.RawMessage) string {
		return fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, name)
	}},
	"prompts/list":   {"prompts/get", "prompts", func(name json.RawMessage) string { return fmt.Sprintf(`{"name":%s}`, name) }},
	"resources/list": {"resources/read", "resources", func(uri json.RawMessage) string { return fmt.Sprintf(`{"uri":%s,"name":%[1]s}`, uri) }},
}

// listOfSeen answers a list that was not recorded with what the recorded requests name; nil where they name nothing.
func (p *Player) listOfSeen(c client, m *wire.Message) []byte {
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
	result := bridge.Result(c.stateless, false, m.Method, fmt.Appendf(nil, `{%q:[%s]}`, kind.member, strings.Join(entries, ",")))
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
