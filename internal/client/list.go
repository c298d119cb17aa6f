package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// A List is what a paged method gave: every item as it crossed, in order.
type List struct {
	// Items and Pages are what List and ListUntil keep: Pages are the responses, one per request.
	Items []json.RawMessage
	Pages []*wire.Message
	// Count is the number of items.
	Count int
	// TTL is for how many milliseconds the list may be taken for fresh
	// (2026-07-28 server/utilities/caching); nil where the server did not say.
	TTL *int64
	// Whole is set when the server had no more pages.
	Whole bool
	// member is where the items stand in each result: "tools".
	member   string
	Findings []wire.Finding
	// pages is the number of pages, and first the items of the first one.
	pages int
	first fingerprint
}

// A Page is one response of a list.
type Page struct {
	Message *wire.Message
	Items   []json.RawMessage
}

// ListUntil follows nextCursor to the end of a list, or to a limit, or behind the
// page for whose items enough says so; the list is then not Whole. enough may be
// nil. The outcome is that of the last page; a list that a limit cut ends as
// BadResponse and keeps what came. A cursor the server no longer takes, or a
// session that was lost on the way, starts the list once more from the beginning.
func (s *Session) ListUntil(
	ctx context.Context,
	method string,
	enough func(items []json.RawMessage) bool,
) (List, wire.Outcome) {
	var items []json.RawMessage
	var pages []*wire.Message
	l, o := s.Walk(ctx, method, func(p *Page) bool {
		if p == nil {
			items = nil
			pages = nil
			return false
		}
		items = append(items, p.Items...)
		pages = append(pages, p.Message)
		return enough != nil && enough(p.Items)
	})
	l.Items = items
	l.Pages = pages
	return l, o
}

// Walk is ListUntil that keeps nothing: take receives each page, which belongs to it, and says
// whether it is enough. nil says that the list starts again, and what came is void.
func (s *Session) Walk(ctx context.Context, method string, take func(p *Page) (enough bool)) (List, wire.Outcome) {
	began := s.opt.Now()
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--max-time", What: "the list did not end", After: s.opt.Limits.Hard},
		0,
	)
	defer stop()
	l, o, restart := walk(ctx, s, method, take)
	if restart {
		s.connection().addFinding(
			wire.Warning,
			"list_restarted",
			method+" could not be continued with the server's cursor; it was restarted",
		)
		take(nil)
		l, o, _ = walk(ctx, s, method, take)
	}
	o.Took = s.opt.Now().Sub(began)
	return l, o
}

// walk asks for page after page. restart is set when a fresh start may help:
// a cursor is good in its own session only, and not for ever.
func walk(
	ctx context.Context,
	s *Session,
	method string,
	take func(*Page) bool,
) (l List, o wire.Outcome, restart bool) {
	l.member = mcp.ListMember(method)
	var p page
	repeated := false
	for {
		cursor := p.next
		call := Call{Method: method, sessionOnly: cursor != nil}
		if cursor != nil {
			call.Params = jsonraw.With(nil, "cursor", cursor)
		}
		var renewed bool
		o, renewed = s.doRound(ctx, &call)
		if !o.Good() {
			stale := o.Kind == wire.RPCFailed && rpcCode(o) == -32602
			return l, o, cursor != nil && (stale || renewed)
		}
		last := p
		var items []json.RawMessage
		p, items = l.addPage(o)
		if items == nil {
			return l, withFailure(o, wire.BadResponse, "the result of "+method+" has no array "+l.member), false
		}
		p.countRepeats(last)
		repeated = repeated || p.sameCount == 2
		// There are servers that write "" where they mean that nothing follows, and some answer the cursor "" with the
		// first page for ever.
		isSame := p.sameCount > 0 && (p.next == nil || string(p.next) == `""`)
		isFirst := p.count > 0 && l.pages > 1 && p.items == l.first
		if string(cursor) == `""` && (isSame || isFirst) {
			l.Count -= p.count
			l.pages--
			l.Findings = append(l.Findings, wire.Finding{
				Rule: "cursor", Level: wire.Warning,
				Text: `the empty nextCursor returned the same page again: the list ends there`,
			})
			l.Whole = true
			return l, o, false
		}
		enough := take(&Page{Message: o.Message, Items: items})
		if p.next == nil && s.opt.Limits.Items > 0 && l.Count > s.opt.Limits.Items && !enough {
			o.Hint = itemsHint
			return l, withFailure(o, wire.BadResponse, "the list has more than "+countOf(s.opt.Limits.Items, "item")), false
		}
		if p.next == nil {
			l.Whole = true
			if repeated {
				l.Findings = append(l.Findings, wire.Finding{
					Rule: "cursor", Level: wire.Warning,
					Text: "three pages in a row were the same: the server may not understand its own cursors",
				})
			}
			return l, o, false
		}
		if enough {
			return l, o, false
		}
		if over, hint := l.limitReached(s.opt.Limits, p); over != "" {
			o.Hint = wire.Hint(hint)
			return l, withFailure(o, wire.BadResponse, over), false
		}
	}
}

// A page is what is compared of one page of a list with the others.
type page struct {
	items fingerprint
	count int
	next  json.RawMessage
	// same counts how often in a row these items came before, and stuck how often
	// there were some and the next cursor was this one, too.
	sameCount, stuckCount int
}

// A print stands for the bytes of an array. Its zero value is that of none.
type fingerprint struct {
	hash   uint64
	length int
}

var seed = maphash.MakeSeed()

// follow counts on from the page that came before.
func (p *page) countRepeats(last page) {
	if p.items != last.items {
		return
	}
	p.sameCount = last.sameCount + 1
	if p.count > 0 && bytes.Equal(p.next, last.next) {
		p.stuckCount = last.stuckCount + 1
	}
}

// mostCopies is how often in a row the same page may come. One cursor twice says nothing
// of an end (server/utilities/pagination), but no list has the same items over and over;
// pages without any may be all that a server has so far.
const maxCopies = 10

// add takes the items and the next cursor out of one result. The cursor is
// opaque: its bytes go back as they came. An empty string is a cursor.
// items is nil where the result has none, or not as an array.
func (l *List) addPage(o wire.Outcome) (p page, items []json.RawMessage) {
	result, _ := o.Message.ResultMembers()
	array, _ := result.Get(l.member)
	items, err := o.Message.ResultItems(l.member)
	if err != nil {
		return p, nil
	}
	if items == nil {
		items = []json.RawMessage{}
	}
	p.items = fingerprint{maphash.Bytes(seed, array), len(array)}
	p.count = len(items)
	l.Count += p.count
	l.pages++
	if l.pages == 1 {
		l.first = p.items
	}
	l.readTTL(result)
	p.next, _ = result.Get("nextCursor")
	if len(p.next) == 0 || string(p.next) == "null" {
		p.next = nil
	} else if p.next[0] != '"' {
		l.Findings = append(l.Findings, wire.Finding{
			Rule: "cursor", Level: wire.Warning,
			Text: "nextCursor is not a string, so the list ends here: " + jsonraw.Excerpt(p.next, 40),
		})
		p.next = nil
	}
	return p, items
}

// readTTL keeps the shortest ttlMs of all pages, and no more than a day.
// Negative means stale at once.
func (l *List) readTTL(result jsonraw.Members) {
	const day = 24 * 60 * 60 * 1000
	raw, ok := result.Get("ttlMs")
	ttl, err := strconv.ParseInt(string(raw), 10, 64)
	if !ok || err != nil {
		return
	}
	ttl = min(max(ttl, 0), day)
	if l.TTL == nil || ttl < *l.TTL {
		l.TTL = &ttl
	}
}

// over says which limit a list has reached, or "", and what raises it where that
// can help.
func (l *List) limitReached(limits Limits, p page) (text, hint string) {
	if p.stuckCount+1 >= maxCopies {
		return fmt.Sprintf(
				"the list does not advance: the same page was returned %d times in a row, with the same cursor",
				maxCopies,
			),
			"an error of the server: it does not continue from its own cursor; -vv shows the pages"
	}
	if limits.Pages > 0 && l.pages >= limits.Pages {
		text = "the list did not end within " + countOf(limits.Pages, "page")
		if p.sameCount > 2 {
			return text + ": the same page is returned repeatedly", ""
		}
		return text, "--max-pages N raises the limit, 0 removes it"
	}
	if limits.Items > 0 && l.Count >= limits.Items {
		return "the list did not end within " + countOf(limits.Items, "item"), itemsHint
	}
	return "", ""
}

const itemsHint = "--max-items N raises the limit, 0 removes it"

func countOf(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Result gives the list as one result: the server's own bytes where there was
// one page, else those of the first page with all items in its array and
// without nextCursor.
func (l *List) Result() json.RawMessage {
	if len(l.Pages) == 0 {
		return nil
	}
	if len(l.Pages) == 1 {
		return l.Pages[0].Result
	}
	var b bytes.Buffer
	_ = l.writeResult(&b, l.Pages[0], l.writeItems, "") // a buffer takes all
	return b.Bytes()
}

// WriteJSON writes the Result of a list whose first page and items are these, the items with a
// comma between them, and a line end.
func (l *List) WriteJSON(to io.Writer, first *wire.Message, items []byte) error {
	if l.pages > 1 {
		return l.writeResult(to, first, func(w *bufio.Writer) { _, _ = spool.WriteAll(w, items) }, "\n")
	}
	_, err := to.Write(append(slices.Clip(first.Result), '\n'))
	return err
}

// writeResult writes a result in which items writes the items. The writer keeps an error for its
// Flush.
func (l *List) writeResult(to io.Writer, first *wire.Message, items func(*bufio.Writer), end string) error {
	w := bufio.NewWriterSize(to, 64<<10)
	parts, _ := first.ResultMembers()
	before := "{"
	for _, part := range parts {
		if part.Name == "nextCursor" {
			continue
		}
		w.WriteString(before)
		w.Write(jsonraw.Quote(part.Name))
		w.WriteByte(':')
		before = ","
		if part.Name == l.member {
			w.WriteByte('[')
			items(w)
			w.WriteByte(']')
		} else {
			w.Write(part.Value)
		}
	}
	w.WriteString("}" + end)
	return w.Flush()
}

// Array gives all items as one array, and the name of the member that it is in a
// result: the server's own bytes where there was one page.
func (l *List) Array() (member string, items json.RawMessage) {
	if len(l.Pages) == 1 {
		return l.member, jsonraw.First(l.Pages[0].Result, l.member)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	w.WriteByte('[')
	l.writeItems(w)
	w.WriteByte(']')
	_ = w.Flush() // a buffer takes all
	return l.member, b.Bytes()
}

// writeItems leaves errors to the Flush that follows.
func (l *List) writeItems(w *bufio.Writer) {
	for i, item := range l.Items {
		if i > 0 {
			w.WriteByte(',')
		}
		w.Write(item)
	}
}
