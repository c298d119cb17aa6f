package connect

import (
	"context"
	"sync"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// A pageReader reads the pages of a list as they are received, each in parallel to the request for
// the next one.
type pageReader struct {
	conn        *Conn
	kind        Kind
	destination Taking
	cache       *listCache
	pages       int
	first       *wire.Message
	// usableCount is the number of usable entries, items the number of all entries.
	usableCount int
	itemCount   int
	leftOut     []LeftOut
	reading     sync.WaitGroup
	// panicValue is what reading a page panicked with. wait re-raises it in the caller's goroutine.
	panicValue any
}

// manyPages is the minimum number of pages for which the heap is kept small: pages become garbage
// at once.
const manyPages = 4

// Take lists kind k and passes its entries to destination, page by page. Unlike Add it keeps no page
// but the first. If several kinds are listed, a kind that the server refuses is left out: isOmitted
// is then true.
func (l *Listing) Take(
	ctx context.Context,
	c *Conn,
	k Kind,
	several bool,
	destination Taking,
) (out wire.Outcome, isOmitted bool) {
	reader := &pageReader{conn: c, kind: k, destination: destination, cache: c.newListCache(k)}
	defer func() { _ = reader.cache.entries.Close() }()
	list, out := c.Walk(ctx, k.Method, c.walkOptions(destination.Rows != nil), reader.readPage)
	reader.wait()
	out = c.finishList(k, list, out)
	if out.OK() && list.IsComplete {
		reader.cache.save(ctx, list.TTL)
	}
	c.dropCachedTools(k)
	if several && client.IsUnknownMethod(out) {
		c.warnOmitted(k)
		return out, true
	}
	if reader.pages == 0 {
		return out, false
	}
	if destination.Rows != nil {
		names := destination.Rows.Special()
		c.warnConfusable(names)
		l.warn(c, k, reader.leftOut, names, out)
		l.Shown += reader.usableCount
	} else {
		l.Shown += list.Count
	}
	l.Lists = append(l.Lists, Sorted{Kind: k, List: list, First: reader.first, Taking: destination})
	l.Messages = append(l.Messages, reader.first)
	return out, false
}

// readPage starts reading a page, after the previous one was read. p is nil if the list starts
// again. It always returns false, because all pages are wanted.
func (t *pageReader) readPage(p *client.Page) (enough bool) {
	t.wait()
	if p == nil {
		t.reset()
		return false
	}
	t.pages++
	if t.pages == 1 {
		t.first = p.Message
	}
	if t.pages == manyPages {
		host.KeepHeapSmall(t.conn.Env)
	}
	t.reading.Go(func() {
		defer func() { t.panicValue = recover() }()
		t.read(p)
	})
	return false
}

// wait waits until the last page is read. It panics with what reading the page panicked with.
func (t *pageReader) wait() {
	t.reading.Wait()
	if t.panicValue != nil {
		panic(t.panicValue)
	}
}

// reset drops everything that was read.
func (t *pageReader) reset() {
	_ = t.cache.entries.Close() // the entries are not needed
	if t.destination.JSON != nil {
		_ = t.destination.JSON.buffer.Close()
		t.destination.JSON.err = nil
	}
	if t.destination.Rows != nil {
		t.destination.Rows.Empty()
	}
	*t = pageReader{conn: t.conn, kind: t.kind, destination: t.destination, cache: t.conn.newListCache(t.kind)}
}

// read parses the entries of a page if there are Rows, and passes them to the destination and the
// cache.
func (t *pageReader) read(p *client.Page) {
	var e Entries
	if t.destination.Rows != nil {
		e = t.conn.parseItems(t.kind, p.Items, t.itemCount)
	}
	tools := e.Tools
	for _, item := range p.Items {
		if t.destination.JSON == nil && t.cache.isDisabled {
			break // nothing takes the remaining items
		}
		name := "" // unless parseItems has parsed the item
		// tools has the usable items in their order: the same memory means the same item.
		if len(tools) > 0 && &tools[0].Raw[0] == &item[0] {
			name = tools[0].Name
			tools = tools[1:]
		}
		t.cache.add(item, name)
		if t.destination.JSON != nil {
			t.destination.JSON.add(item)
		}
	}
	if t.destination.Rows == nil {
		return
	}
	t.itemCount += len(p.Items)
	t.usableCount += e.Count()
	t.leftOut = append(t.leftOut, e.leftOut...)
	t.destination.Rows.Take(e)
}
