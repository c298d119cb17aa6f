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

// A List is the result of a paged method.
type List struct {
	// Items and Pages are the items and the responses of ListUntil, in order; Walk does not set
	// them.
	Items []json.RawMessage
	Pages []*wire.Message
	// Count is the number of items.
	Count int
	// TTL is how long the list is fresh, in milliseconds (2026-07-28 server/utilities/caching); nil
	// if the server does not say.
	TTL *int64
	// IsComplete is set if the list is complete.
	IsComplete bool
	// member is the name of the array in each result, such as "tools".
	member   string
	Findings []wire.Finding
	// pages is the number of pages. first is the fingerprint of the first page's items.
	pages int
	first fingerprint
}

// A Page is one response of a list.
type Page struct {
	Message *wire.Message
	Items   []json.RawMessage
}

// ListUntil requests the pages of a list until the last page, a limit, or a page whose items are
// enough: enough reports true; it may be nil. The outcome is the last page's; if a limit ended the
// list, it is BadResponse and the list has the pages before the limit. If the server no longer
// accepts its cursor, or lost the session, ListUntil starts once more with the first page.
func (s *Session) ListUntil(
	ctx context.Context,
	method string,
	opt WalkOptions,
	enough func(items []json.RawMessage) bool,
) (List, wire.Outcome) {
	var items []json.RawMessage
	var pages []*wire.Message
	l, o := s.Walk(ctx, method, opt, func(p *Page) bool {
		if p == nil { // the list starts again
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

// WalkOptions configure one list.
type WalkOptions struct {
	// Shape replaces Options.Shape for the pages of the list. It has no effect if it or
	// Options.Shape is nil.
	Shape ShapeCheck
}

// Walk requests the pages of a list without storing them: it calls handle with each page, until the
// last page, a limit, or a page after which handle reports that it has enough. handle may keep the
// page. handle(nil) means that the list starts again and the previous pages do not count: Walk
// starts once more with the first page if the server no longer accepts its cursor, or lost the
// session. The outcome is the last page's; if a limit ended the list, it is BadResponse.
func (s *Session) Walk(
	ctx context.Context, method string, opt WalkOptions, handle func(p *Page) (isEnough bool),
) (List, wire.Outcome) {
	began := s.opt.Now()
	const spent = 0 // nothing was requested before
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--max-time", What: "the list did not end", After: s.opt.Limits.Hard},
		spent,
	)
	defer stop()
	l, o, restart := requestPages(ctx, s, method, opt, handle)
	if restart {
		s.connection().addFinding(
			wire.Warning,
			"list_restarted",
			method+" could not be continued with the server's cursor; it was restarted",
		)
		handle(nil)
		l, o, _ = requestPages(ctx, s, method, opt, handle)
	}
	o.Took = s.opt.Now().Sub(began)
	return l, o
}

// requestPages requests the pages of a list and passes each to handle, until handle reports that it
// has enough. restart reports that a start from the first page may succeed: a cursor is valid in its
// own session only, and may expire.
func requestPages(
	ctx context.Context,
	s *Session,
	method string,
	opt WalkOptions,
	handle func(*Page) (isEnough bool),
) (l List, o wire.Outcome, restart bool) {
	l.member = mcp.ListMember(method)
	var current page
	hasRepeats := false
	for {
		cursor := current.nextCursor
		call := Call{Method: method, sessionOnly: cursor != nil, shape: opt.Shape}
		if cursor != nil {
			call.Params = jsonraw.With(nil, "cursor", cursor)
		}
		var renewed bool
		o, renewed = s.doRound(ctx, &call)
		if !o.OK() {
			isStale := o.Kind == wire.RPCFailed && rpcCode(o) == -32602
			return l, o, cursor != nil && (isStale || renewed)
		}
		previous := current
		var items []json.RawMessage
		current, items = l.addPage(o)
		if items == nil {
			return l, withFailure(o, wire.BadResponse, "the result of "+method+" has no array "+l.member), false
		}
		current.countRepeats(previous)
		hasRepeats = hasRepeats || current.sameCount == 2 // three pages in a row
		isAfterEmptyCursor := string(cursor) == `""`      // which some servers send on their last page
		if isAfterEmptyCursor && l.isKnownPage(current) {
			l.endBefore(current)
			return l, o, false
		}
		isEnough := handle(&Page{Message: o.Message, Items: items})
		if current.nextCursor == nil {
			o = l.endAfterLastPage(o, s.opt.Limits.Items, isEnough, hasRepeats)
			return l, o, false
		}
		if isEnough {
			return l, o, false
		}
		if text, hint := l.limitReached(s.opt.Limits, current); text != "" {
			o.Hint = hint
			return l, withFailure(o, wire.BadResponse, text), false
		}
	}
}

// isKnownPage reports whether a page that was requested with the cursor "" repeats the previous or
// the first page. Some servers send nextCursor "" on the last page, and some of these respond to it
// with the first page again.
func (l *List) isKnownPage(p page) bool {
	repeatsPrevious := p.sameCount > 0 && (p.nextCursor == nil || string(p.nextCursor) == `""`)
	repeatsFirst := p.count > 0 && l.pages > 1 && p.items == l.first
	return repeatsPrevious || repeatsFirst
}

// endBefore completes the list without its last page p, which repeats an earlier one.
func (l *List) endBefore(p page) {
	l.Count -= p.count
	l.pages--
	l.Findings = append(l.Findings, wire.Finding{
		Rule: "cursor", Severity: wire.Warning,
		Text: `the empty nextCursor returned the same page again: the list ends there`,
	})
	l.IsComplete = true
}

// endAfterLastPage completes the list after a page without a cursor, and returns o. If the list has
// more than maxItems items and the caller has not enough, it returns a failure instead; 0 or less is
// no limit.
func (l *List) endAfterLastPage(o wire.Outcome, maxItems int, isEnough, hasRepeats bool) wire.Outcome {
	if maxItems > 0 && l.Count > maxItems && !isEnough {
		o.Hint = itemsHint
		return withFailure(o, wire.BadResponse, "the list has more than "+countOf(maxItems, "item"))
	}
	l.IsComplete = true
	if hasRepeats {
		l.Findings = append(l.Findings, wire.Finding{
			Rule: "cursor", Severity: wire.Warning,
			Text: "three pages in a row were the same: the server may not understand its own cursors",
		})
	}
	return o
}

// A page describes a page of a list for comparison with other pages.
type page struct {
	items      fingerprint
	count      int
	nextCursor json.RawMessage
	// sameCount counts the previous pages in a row with the same items. stuckCount counts only the
	// pages that also had the same next cursor and were not empty.
	sameCount, stuckCount int
}

// A fingerprint identifies the bytes of an array. Its zero value matches no array.
type fingerprint struct {
	hash   uint64
	length int
}

var seed = maphash.MakeSeed()

// countRepeats sets the counts of p from the previous page. They stay 0 if its items differ; the zero
// page before the first differs from every page.
func (p *page) countRepeats(previous page) {
	if p.items != previous.items {
		return
	}
	p.sameCount = previous.sameCount + 1
	if p.count > 0 && bytes.Equal(p.nextCursor, previous.nextCursor) {
		p.stuckCount = previous.stuckCount + 1
	}
}

// maxCopies limits how often in a row the same page with the same cursor is accepted. A repeated
// cursor alone is allowed (server/utilities/pagination), and so are pages without items.
const maxCopies = 10

// addPage counts the items of one result and reads its next cursor, which may be an empty string
// and is sent back unchanged. items is nil if the result has no such array.
func (l *List) addPage(o wire.Outcome) (p page, items []json.RawMessage) {
	result, _ := o.Message.ResultMembers()
	array, _ := result.Get(l.member)
	items, err := o.Message.ResultItems(l.member)
	if err != nil {
		return p, nil
	}
	if items == nil { // an empty array, not a missing one
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
	p.nextCursor, _ = result.Get("nextCursor")
	if len(p.nextCursor) == 0 || string(p.nextCursor) == "null" {
		p.nextCursor = nil
	} else if p.nextCursor[0] != '"' {
		l.Findings = append(l.Findings, wire.Finding{
			Rule: "cursor", Severity: wire.Warning,
			Text: "nextCursor is not a string, so the list ends here: " + jsonraw.Excerpt(p.nextCursor, 40),
		})
		p.nextCursor = nil
	}
	return p, items
}

// readTTL stores the shortest ttlMs of all pages, from 0 to one day.
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

// limitReached returns a text about the limit that the list has reached, or "". hint says how to
// raise the limit, if that can help.
func (l *List) limitReached(limits Limits, p page) (text string, hint wire.Hint) {
	if p.stuckCount+1 >= maxCopies { // the first copy is not counted
		text = "the list does not advance: the same page was returned %d times in a row, with the same cursor"
		hint = "the error is in the server: it does not continue from its own cursor; " + wire.Verbose(2, "the pages")
		return fmt.Sprintf(text, maxCopies), hint
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

// countOf returns a number with its noun, such as "2 pages".
func countOf(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Result returns the list as one result: the server's bytes if the list has one page, otherwise the
// first page's result with all items and without nextCursor. It returns nil if the list has no
// pages.
func (l *List) Result() json.RawMessage {
	if len(l.Pages) == 0 {
		return nil
	}
	if len(l.Pages) == 1 {
		return l.Pages[0].Result
	}
	var b bytes.Buffer
	_ = l.writeResult(&b, l.Pages[0], l.writeItems, "") // a buffer has no errors
	return b.Bytes()
}

// WriteJSON writes the list of a Walk as one result, and a newline. first is the first page, and items
// are the items of all pages separated by commas. A list of one page is written as the server sent it.
func (l *List) WriteJSON(to io.Writer, first *wire.Message, items []byte) error {
	if l.pages > 1 {
		return l.writeResult(to, first, func(w *bufio.Writer) { _, _ = spool.WriteAll(w, items) }, "\n")
	}
	_, err := to.Write(append(slices.Clip(first.Result), '\n'))
	return err
}

// writeResult writes the result of the page first to dst, without nextCursor and with the array that
// writeItems writes, and then end. The bufio.Writer keeps errors until Flush.
func (l *List) writeResult(dst io.Writer, first *wire.Message, writeItems func(*bufio.Writer), end string) error {
	w := bufio.NewWriterSize(dst, 64<<10)
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
			writeItems(w)
			w.WriteByte(']')
		} else {
			w.Write(part.Value)
		}
	}
	w.WriteString("}" + end)
	return w.Flush()
}

// Array returns all items as one array, and the name of the member that contains it in a result.
// The array has the server's bytes if the list has one page.
func (l *List) Array() (member string, items json.RawMessage) {
	if len(l.Pages) == 1 {
		return l.member, jsonraw.First(l.Pages[0].Result, l.member)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	w.WriteByte('[')
	l.writeItems(w)
	w.WriteByte(']')
	_ = w.Flush() // a buffer has no errors
	return l.member, b.Bytes()
}

// writeItems writes the items separated by commas. Errors are reported by the Flush of w.
func (l *List) writeItems(w *bufio.Writer) {
	for i, item := range l.Items {
		if i > 0 {
			w.WriteByte(',')
		}
		w.Write(item)
	}
}
