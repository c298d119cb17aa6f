package main

import (
	"context"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A toolbox is what a conversation of many calls knows of the server's tools, so
// that each is fetched and compiled once. It is emptied when the server tells of
// a change. A nil one keeps nothing.
type toolbox struct {
	// fetching is held by who asks the server, so that many calls ask once.
	fetching sync.Mutex

	mu    sync.RWMutex
	tools map[string]*definition
	// whole is the list of that time, or nil.
	whole   *catalogue
	fetched time.Time
}

// recentEnough is how long a list that was fetched in this conversation counts as
// a fresh one to who is told that a call does not fit it.
const recentEnough = time.Minute

func (b *toolbox) tool(name string) *definition {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tools[name]
}

// keep gives the one definition of that name that all calls use.
func (b *toolbox) keep(tool *definition) *definition {
	if b == nil {
		return tool
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if there := b.tools[tool.Name]; there != nil {
		return there
	}
	if b.tools == nil {
		b.tools = map[string]*definition{}
	}
	b.tools[tool.Name] = tool
	return tool
}

// fill takes a fresh list. Of two tools with one name none is called.
func (b *toolbox) fill(all catalogue, now time.Time) {
	if b == nil {
		return
	}
	tools := make(map[string]*definition, len(all.tools))
	for _, tool := range unique(all.tools) {
		tools[tool.Name] = &definition{Tool: tool, fresh: true}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools, b.whole, b.fetched = tools, &all, now
}

func (b *toolbox) empty() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools, b.whole = nil, nil
}

// recent is the list that was fetched a moment ago, or nil.
func (b *toolbox) recent(now time.Time) *catalogue {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if now.Sub(b.fetched) > recentEnough {
		return nil
	}
	return b.whole
}

// defineOnce is define, but that calls which want to know at the same time ask
// the server once, and do not ask again for a moment.
func (c *conversation) defineOnce(ctx context.Context, name string) (*definition, wire.Outcome) {
	if c.box == nil {
		return c.define(ctx, name)
	}
	c.box.fetching.Lock()
	defer c.box.fetching.Unlock()
	if all := c.box.recent(c.a.now()); all != nil {
		return c.pick(name, *all)
	}
	return c.define(ctx, name)
}
