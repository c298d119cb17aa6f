package connect

import (
	"context"
	"sync"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// A taker takes the pages of a list as they come, each beside the request for the next one.
type taker struct {
	c     *Conn
	k     Kind
	how   Taking
	keep  *keeper
	pages int
	first *wire.Message
	// count is the number of entries that can be used.
	count   int
	items   int
	leftOut []LeftOut
	working sync.WaitGroup
	// crash is a panic, which is the caller's.
	crash any
}

// manyPages is from how many pages on a list is so long that the heap is kept small: pages are
// garbage at once.
const manyPages = 4

// Take lists one kind as Add does, but keeps no page: how says what becomes of the entries.
func (l *Listing) Take(ctx context.Context, c *Conn, k Kind, several bool, how Taking) (out wire.Outcome, left bool) {
	t := &taker{c: c, k: k, how: how, keep: c.newKeeper(k)}
	defer func() { _ = t.keep.entries.Close() }()
	c.tellsLeftOut.Store(how.Rows != nil)
	list, out := c.Walk(ctx, k.Method, t.take)
	t.wait()
	out = c.listEnded(k, list, out)
	if out.Good() && list.Whole {
		t.keep.save(ctx, list.TTL)
	}
	c.listed(k)
	c.tellsLeftOut.Store(false)
	if several && client.UnknownMethod(out) {
		c.tellOmitted(k)
		return out, true
	}
	if t.pages == 0 {
		return out, false
	}
	if how.Rows != nil {
		names := how.Rows.Special()
		c.tellConfusable(names)
		l.tell(c, k, t.leftOut, names, out)
		l.Shown += t.count
	} else {
		l.Shown += list.Count
	}
	l.Lists = append(l.Lists, Sorted{Kind: k, List: list, First: t.first, Taking: how})
	l.Messages = append(l.Messages, t.first)
	return out, false
}

// take takes one page, or nil where the list starts again. It waits for the page before.
func (t *taker) take(p *client.Page) (enough bool) {
	t.wait()
	if p == nil {
		t.empty()
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
		defer func() { t.crash = recover() }()
		t.read(p)
	})
	return false
}

func (t *taker) wait() {
	t.working.Wait()
	if t.crash != nil {
		panic(t.crash)
	}
}

func (t *taker) empty() {
	_ = t.keep.entries.Close() // the entries are not needed
	if t.how.JSON != nil {
		_ = t.how.JSON.buffer.Close()
		t.how.JSON.err = nil
	}
	if t.how.Rows != nil {
		t.how.Rows.Empty()
	}
	*t = taker{c: t.c, k: t.k, how: t.how, keep: t.c.newKeeper(t.k)}
}

// read takes the entries of a page apart.
func (t *taker) read(p *client.Page) {
	var e Entries
	if t.how.Rows != nil {
		e = t.c.sortItems(t.k, p.Items, t.items)
	}
	tools := e.Tools
	for _, item := range p.Items {
		if t.how.JSON == nil && t.keep.off {
			break
		}
		name := "" // of a tool that was read already
		if len(tools) > 0 && &tools[0].Raw[0] == &item[0] {
			name = tools[0].Name
			tools = tools[1:]
		}
		t.keep.add(item, name)
		if t.how.JSON != nil {
			t.how.JSON.add(item)
		}
	}
	if t.how.Rows == nil {
		return
	}
	t.items += len(p.Items)
	t.count += e.Count()
	t.leftOut = append(t.leftOut, e.leftOut...)
	t.how.Rows.Take(e)
}
