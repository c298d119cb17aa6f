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
	c      *Conn
	k      Kind
	taking Taking
	cache  *listCache
	pages  int
	first  *wire.Message
	// count is the number of usable entries, items the number of all entries.
	count   int
	items   int
	leftOut []LeftOut
	working sync.WaitGroup
	// panicValue is what reading a page panicked with. wait re-raises it in the caller's goroutine.
	panicValue any
}

// manyPages is the number of pages from which the heap is kept small: pages become garbage at once.
const manyPages = 4

// Take lists kind k as Add does, but keeps no page: how says where the entries go.
func (l *Listing) Take(ctx context.Context, c *Conn, k Kind, several bool, how Taking) (out wire.Outcome, left bool) {
	t := &pageReader{c: c, k: k, taking: how, cache: c.newListCache(k)}
	defer func() { _ = t.cache.entries.Close() }()
	c.reportsOmitted.Store(how.Rows != nil)
	list, out := c.Walk(ctx, k.Method, t.readPage)
	t.wait()
	out = c.finishList(k, list, out)
	if out.OK() && list.Whole {
		t.cache.save(ctx, list.TTL)
	}
	c.dropCachedTools(k)
	c.reportsOmitted.Store(false)
	if several && client.UnknownMethod(out) {
		c.warnOmitted(k)
		return out, true
	}
	if t.pages == 0 {
		return out, false
	}
	if how.Rows != nil {
		names := how.Rows.Special()
		c.warnConfusable(names)
		l.warn(c, k, t.leftOut, names, out)
		l.Shown += t.count
	} else {
		l.Shown += list.Count
	}
	l.Lists = append(l.Lists, Sorted{Kind: k, List: list, First: t.first, Taking: how})
	l.Messages = append(l.Messages, t.first)
	return out, false
}

// readPage starts reading a page, after the previous one was read. p is nil if the list starts
// again.
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
		host.KeepHeapSmall(t.c.Env)
	}
	t.working.Go(func() {
		defer func() { t.panicValue = recover() }()
		t.read(p)
	})
	return false
}

// wait waits until the last page is read.
func (t *pageReader) wait() {
	t.working.Wait()
	if t.panicValue != nil {
		panic(t.panicValue)
	}
}

// reset drops everything that was read.
func (t *pageReader) reset() {
	_ = t.cache.entries.Close() // the entries are not needed
	if t.taking.JSON != nil {
		_ = t.taking.JSON.buffer.Close()
		t.taking.JSON.err = nil
	}
	if t.taking.Rows != nil {
		t.taking.Rows.Empty()
	}
	*t = pageReader{c: t.c, k: t.k, taking: t.taking, cache: t.c.newListCache(t.k)}
}

// read parses the entries of a page and stores them.
func (t *pageReader) read(p *client.Page) {
	var e Entries
	if t.taking.Rows != nil {
		e = t.c.sortItems(t.k, p.Items, t.items)
	}
	tools := e.Tools
	for _, item := range p.Items {
		if t.taking.JSON == nil && t.cache.off {
			break
		}
		name := "" // of a tool that sortItems has parsed
		if len(tools) > 0 && &tools[0].Raw[0] == &item[0] {
			name = tools[0].Name
			tools = tools[1:]
		}
		t.cache.add(item, name)
		if t.taking.JSON != nil {
			t.taking.JSON.add(item)
		}
	}
	if t.taking.Rows == nil {
		return
	}
	t.items += len(p.Items)
	t.count += e.Count()
	t.leftOut = append(t.leftOut, e.leftOut...)
	t.taking.Rows.Take(e)
}
