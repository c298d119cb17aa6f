package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"mcpc/internal/wire"
)

// A List is what a paged method gave: every item as it crossed, in order.
type List struct {
	Items []json.RawMessage
	// Pages are the responses, one per request.
	Pages []*wire.Message
	// TTL is for how many milliseconds the list may be taken for fresh
	// (2026-07-28 server/utilities/caching); nil where the server did not say.
	TTL *int64
	// Whole is set when the server had no more pages.
	Whole bool
	// member is where the items stand in each result: "tools".
	member   string
	Findings []wire.Finding
}

// members names the array of each method with pages.
var members = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
	"resources/templates/list": "resourceTemplates", "tasks/list": "tasks",
}

// List follows nextCursor to the end of a list, or to a limit. The outcome is
// that of the last page; a list that a limit cut ends as BadResponse and keeps
// what came. A cursor the server no longer takes, or a session that was lost on
// the way, starts the list once more from the beginning.
func (s *Session) List(ctx context.Context, method string) (List, wire.Outcome) {
	return s.ListUntil(ctx, method, nil)
}

// ListUntil is List, but it stops behind the page for whose items enough says
// so; the list is then not Whole.
func (s *Session) ListUntil(ctx context.Context, method string, enough func(items []json.RawMessage) bool) (List, wire.Outcome) {
	if hard := s.opt.Limits.Hard; hard > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, hard, timeoutError{"no end of the list", hard})
		defer stop()
	}
	l, o, restart := s.walk(ctx, method, enough)
	if restart {
		s.note("the list could not be continued and was started again")
		l, o, _ = s.walk(ctx, method, enough)
	}
	return l, o
}

// walk asks for page after page. restart is set when a fresh start may help.
func (s *Session) walk(ctx context.Context, method string, enough func([]json.RawMessage) bool) (l List, o wire.Outcome, restart bool) {
	l.member = members[method]
	var cursor, lastPage json.RawMessage
	same := 0
	for {
		call := Call{Method: method, Once: cursor != nil}
		if cursor != nil {
			call.Params = wire.With(nil, "cursor", cursor)
		}
		if o = s.Do(ctx, call); !o.Good() {
			stale := o.Kind == wire.RPCFailed && o.RPC().Code == -32602
			return l, o, cursor != nil && (stale || o.Retryable && o.Reached == wire.Unsent)
		}
		page, next, ok := s.page(&l, o)
		if !ok {
			return l, ended(o, wire.BadResponse, "the result of "+method+" has no array "+l.member), false
		}
		if same = repeats(page, lastPage, same); same > 0 && string(cursor) == `""` {
			l.dropRepeat(page)
			l.Whole = true
			return l, o, false
		}
		lastPage = page
		if next == nil {
			l.Whole = true
			return l, o, false
		}
		if enough != nil && enough(l.Items) {
			return l, o, false
		}
		if over := l.over(s.opt.Limits, same); over != "" {
			return l, ended(o, wire.BadResponse, over), false
		}
		cursor = next
	}
}

// page takes the items and the next cursor out of one result. The cursor is
// opaque: its bytes go back as they came. An empty string is a cursor.
func (s *Session) page(l *List, o wire.Outcome) (page, next json.RawMessage, ok bool) {
	result, _ := wire.Object(o.Result)
	page, _ = result.Get(l.member)
	items, err := wire.Array(page)
	if err != nil {
		return nil, nil, false
	}
	l.Items = append(l.Items, items...)
	l.Pages = append(l.Pages, o.Message)
	l.readTTL(result)
	next, _ = result.Get("nextCursor")
	switch {
	case len(next) == 0 || string(next) == "null":
		return page, nil, true
	case next[0] != '"':
		l.Findings = append(l.Findings, wire.Finding{Rule: "cursor", Level: wire.Warning,
			Text: "nextCursor is no string, so the list ends here: " + wire.Excerpt(next, 40)})
		return page, nil, true
	}
	return page, next, true
}

// readTTL keeps the shortest ttlMs of all pages. Negative means stale at once.
func (l *List) readTTL(result wire.Members) {
	raw, ok := result.Get("ttlMs")
	ttl, err := strconv.ParseInt(string(raw), 10, 64)
	if !ok || err != nil {
		return
	}
	ttl = max(ttl, 0)
	if l.TTL == nil || ttl < *l.TTL {
		l.TTL = &ttl
	}
}

// repeats counts how often in a row the same page came.
func repeats(page, last json.RawMessage, same int) int {
	if last != nil && bytes.Equal(page, last) && string(page) != "[]" {
		return same + 1
	}
	return 0
}

// dropRepeat takes back the last page. There are servers that write "" where
// they mean that nothing follows, and some answer the cursor "" with the first
// page for ever.
func (l *List) dropRepeat(page json.RawMessage) {
	items, _ := wire.Array(page)
	l.Items = l.Items[:len(l.Items)-len(items)]
	l.Pages = l.Pages[:len(l.Pages)-1]
	l.Findings = append(l.Findings, wire.Finding{Rule: "cursor", Level: wire.Warning,
		Text: `the empty nextCursor brought the same page again: the list was ended there`})
}

// over says which limit a list has reached, or "".
func (l *List) over(limits Limits, same int) string {
	switch {
	case limits.Pages > 0 && len(l.Pages) >= limits.Pages:
		text := fmt.Sprintf("the list did not end within %d pages", limits.Pages)
		if same > 2 {
			text += ": the same page comes again and again"
		}
		return text
	case limits.Items > 0 && len(l.Items) >= limits.Items:
		return fmt.Sprintf("the list did not end within %d items", limits.Items)
	}
	return ""
}

// Result gives the list as one result: the server's own bytes where there was
// one page, else those of the first page with all items in its array and
// without nextCursor.
func (l *List) Result() json.RawMessage {
	if len(l.Pages) == 0 {
		return nil
	}
	first := l.Pages[0].Result
	if len(l.Pages) == 1 {
		return first
	}
	parts, _ := wire.Object(first)
	out := []byte{'{'}
	for _, part := range parts {
		if part.Name == "nextCursor" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, wire.Quote(part.Name)...), ':')
		if part.Name == l.member {
			out = append(append(append(out, '['), bytes.Join(raws(l.Items), []byte(","))...), ']')
		} else {
			out = append(out, part.Value...)
		}
	}
	return append(out, '}')
}

func raws(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}
