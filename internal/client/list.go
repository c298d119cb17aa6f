package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
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
	began := s.opt.Now()
	ctx, stop := limited(ctx, transport.TimeoutError{Flag: "--max-time", What: "the list did not end", After: s.opt.Limits.Hard}, 0)
	defer stop()
	l, o, restart := walk(ctx, s, method, enough)
	if restart {
		l.Findings = nil
		s.connection().found(wire.Warning, "list_restarted", method+" could not be continued with the server's cursor; it was restarted")
		l, o, _ = walk(ctx, s, method, enough)
	}
	o.Took = s.opt.Now().Sub(began)
	return l, o
}

// walk asks for page after page. restart is set when a fresh start may help:
// a cursor is good in its own session only, and not for ever.
func walk(ctx context.Context, s *Session, method string, enough func([]json.RawMessage) bool) (l List, o wire.Outcome, restart bool) {
	l.member = members[method]
	var p page
	repeated := false
	for {
		cursor := p.next
		call := Call{Method: method, inSession: cursor != nil}
		if cursor != nil {
			call.Params = jsonraw.With(nil, "cursor", cursor)
		}
		var renewed bool
		if o, renewed = s.do(ctx, &call); !o.Good() {
			stale := o.Kind == wire.RPCFailed && rpcCode(o) == -32602
			return l, o, cursor != nil && (stale || renewed)
		}
		last := p
		var ok bool
		if p, ok = l.add(o); !ok {
			return l, ended(o, wire.BadResponse, "the result of "+method+" has no array "+l.member), false
		}
		p.follow(last)
		repeated = repeated || p.same == 2
		switch {
		case string(cursor) == `""` && l.startsOver(p):
			l.dropLast(p)
			l.Whole = true
			return l, o, false
		case p.next == nil && l.tooLong(s.opt.Limits) && (enough == nil || !enough(l.Items)):
			o.Hint = itemsHint
			return l, ended(o, wire.BadResponse, "the list has more than "+counted(s.opt.Limits.Items, "item")), false
		case p.next == nil:
			l.Whole = true
			if repeated {
				l.Findings = append(l.Findings, wire.Finding{Rule: "cursor", Level: wire.Warning,
					Text: "three pages in a row were the same: the server may not understand its own cursors"})
			}
			return l, o, false
		case enough != nil && enough(l.Items):
			return l, o, false
		}
		if over, hint := l.over(s.opt.Limits, p); over != "" {
			o.Hint = wire.Hint(hint)
			return l, ended(o, wire.BadResponse, over), false
		}
	}
}

// A page is one page of a list, as it crossed.
type page struct {
	items json.RawMessage
	n     int
	next  json.RawMessage
	// same counts how often in a row these items came before, and stuck how often
	// there were some and the next cursor was this one, too.
	same, stuck int
}

// follow counts on from the page that came before.
func (p *page) follow(last page) {
	if last.items == nil || !bytes.Equal(p.items, last.items) {
		return
	}
	p.same = last.same + 1
	if p.n > 0 && bytes.Equal(p.next, last.next) {
		p.stuck = last.stuck + 1
	}
}

// mostCopies is how often in a row the same page may come. One cursor twice says nothing
// of an end (server/utilities/pagination), but no list has the same items over and over;
// pages without any may be all that a server has so far.
const mostCopies = 10

// add takes the items and the next cursor out of one result. The cursor is
// opaque: its bytes go back as they came. An empty string is a cursor.
func (l *List) add(o wire.Outcome) (p page, ok bool) {
	result, _ := o.Message.ResultMembers()
	p.items, _ = result.Get(l.member)
	items, err := o.Message.ResultItems(l.member)
	if err != nil {
		return p, false
	}
	p.n = len(items)
	l.Items = append(l.Items, items...)
	l.Pages = append(l.Pages, o.Message)
	l.readTTL(result)
	p.next, _ = result.Get("nextCursor")
	switch {
	case len(p.next) == 0 || string(p.next) == "null":
		p.next = nil
	case p.next[0] != '"':
		l.Findings = append(l.Findings, wire.Finding{Rule: "cursor", Level: wire.Warning,
			Text: "nextCursor is not a string, so the list ends here: " + jsonraw.Excerpt(p.next, 40)})
		p.next = nil
	}
	return p, true
}

// startsOver reports that the empty cursor brought nothing new: the page before
// it once more, or the first one.
func (l *List) startsOver(p page) bool {
	if p.same > 0 && (p.next == nil || string(p.next) == `""`) {
		return true
	}
	return p.n > 0 && len(l.Pages) > 1 && bytes.Equal(p.items, jsonraw.First(l.Pages[0].Result, l.member))
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

// dropLast takes back the last page. There are servers that write "" where they
// mean that nothing follows, and some answer the cursor "" with the first page
// for ever.
func (l *List) dropLast(p page) {
	l.Items = l.Items[:len(l.Items)-p.n]
	l.Pages = l.Pages[:len(l.Pages)-1]
	l.Findings = append(l.Findings, wire.Finding{Rule: "cursor", Level: wire.Warning,
		Text: `the empty nextCursor returned the same page again: the list ends there`})
}

// over says which limit a list has reached, or "", and what raises it where that
// can help.
func (l *List) over(limits Limits, p page) (text, hint string) {
	switch {
	case p.stuck+1 >= mostCopies:
		return fmt.Sprintf("the list does not advance: the same page was returned %d times in a row, with the same cursor", mostCopies),
			"an error of the server: it does not continue from its own cursor; -vv shows the pages"
	case limits.Pages > 0 && len(l.Pages) >= limits.Pages:
		text = "the list did not end within " + counted(limits.Pages, "page")
		if p.same > 2 {
			return text + ": the same page is returned repeatedly", ""
		}
		return text, "--max-pages N raises the limit, 0 removes it"
	case limits.Items > 0 && len(l.Items) >= limits.Items:
		return "the list did not end within " + counted(limits.Items, "item"), itemsHint
	}
	return "", ""
}

const itemsHint = "--max-items N raises the limit, 0 removes it"

// tooLong reports a list beyond the limit for items, which holds for the last page
// as for those before it.
func (l *List) tooLong(limits Limits) bool { return limits.Items > 0 && len(l.Items) > limits.Items }

func counted(n int, one string) string {
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
	first := l.Pages[0].Result
	if len(l.Pages) == 1 {
		return first
	}
	var b bytes.Buffer
	_ = l.WriteLine(&b) // a buffer takes all
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// WriteLine writes the Result of a list of several pages without making it first, and a
// line end.
func (l *List) WriteLine(to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10) // it keeps an error for the Flush
	parts, _ := l.Pages[0].ResultMembers()
	before := "{"
	for _, part := range parts {
		if part.Name == "nextCursor" {
			continue
		}
		w.WriteString(before)
		w.Write(jsonraw.Quote(part.Name))
		w.WriteByte(':')
		if before = ","; part.Name == l.member {
			l.writeItems(w)
		} else {
			w.Write(part.Value)
		}
	}
	w.WriteString("}\n")
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
	l.writeItems(w)
	_ = w.Flush()
	return l.member, b.Bytes()
}

// writeItems leaves errors to the Flush that follows.
func (l *List) writeItems(w *bufio.Writer) {
	w.WriteByte('[')
	for i, item := range l.Items {
		if i > 0 {
			w.WriteByte(',')
		}
		w.Write(item)
	}
	w.WriteByte(']')
}
