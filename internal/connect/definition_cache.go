package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"mcpc/internal/mcp"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// Unique leaves out tools of which there are two with one name: none of them is
// called.
func Unique(tools []mcp.Tool) (some []mcp.Tool) {
	times := map[string]int{}
	for _, t := range tools {
		times[t.Name]++
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return times[t.Name] > 1 })
}

// A toolbox is what a conversation of many calls knows of the server's tools, so
// that each is fetched and compiled once. It is emptied when the server tells of
// a change. A nil one keeps nothing.
type toolbox struct {
	opened time.Time // when the connection was
	// fetching is held while the server is asked, so that many calls ask once.
	fetching sync.Mutex

	mu    sync.RWMutex
	tools map[string]*Definition
	// whole is the list of that time, or nil.
	whole   *Catalogue
	fetched time.Time
	// until is when whole is stale.
	until time.Time
	// recentEnough is how long a list is not fetched again, whatever its ttlMs is and whatever it
	// lacks; 0 for one call only.
	recentEnough time.Duration
}

// fewLists is recentEnough where many calls come quickly, as in a batch.
const fewLists = time.Minute

func (b *toolbox) tool(name string) *Definition {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tools[name]
}

// keep gives the one definition of that name that all calls use.
func (b *toolbox) keep(tool *Definition) *Definition {
	if b == nil {
		return tool
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if there := b.tools[tool.Name]; there != nil {
		return there
	}
	if b.tools == nil {
		b.tools = map[string]*Definition{}
	}
	b.tools[tool.Name] = tool
	return tool
}

// fill takes a fresh list. Of two tools with one name none is called.
func (b *toolbox) fill(all Catalogue, now time.Time) {
	if b == nil {
		return
	}
	until := state.ToolList{FetchedAt: now, TTLms: all.TTL}.FreshUntil()
	if !now.Before(until) {
		until = now.Add(b.recentEnough)
	}
	tools := make(map[string]*Definition, len(all.Tools))
	for _, tool := range Unique(all.Tools) {
		tools[tool.Name] = &Definition{Tool: tool, Fresh: true, Until: until}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools = tools
	b.whole = &all
	b.fetched = now
	b.until = until
}

// listed drops the definitions of a connection that has listed its tools for the user: the user knows
// newer ones.
func (c *Conn) listed(k Kind) {
	if k == ToolKind {
		c.Box.empty()
	}
}

func (b *toolbox) empty() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools = nil
	b.whole = nil
}

// recent is the list that was fetched a moment ago, or nil.
func (b *toolbox) recent(now time.Time) *Catalogue {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.whole == nil || now.Sub(b.fetched) > b.recentEnough || !now.Before(b.until) {
		return nil
	}
	return b.whole
}

// DefineOnce is define, but that calls which want to know at the same time ask
// the server once, and do not ask again for a moment.
func (c *Conn) DefineOnce(ctx context.Context, name string) (*Definition, wire.Outcome) {
	if c.Box == nil {
		return c.Define(ctx, name)
	}
	c.Box.fetching.Lock()
	defer c.Box.fetching.Unlock()
	if all := c.Box.recent(c.Env.Now()); all != nil {
		return c.pick(name, *all)
	}
	return c.Define(ctx, name)
}

// toolsKey returns the cache key of a server's tools for these credentials: another token may
// see other tools (2026-07-28 server/utilities/caching, "private"). Without a session the
// declared client capabilities are part of it.
func (c *Conn) toolsKey(declared json.RawMessage) string {
	var key string
	if c.Saved != nil {
		key = c.Saved.Key
	} else {
		key = c.oneOffKey(declared)
	}
	for _, f := range c.Fields {
		key += "\n" + f.Name + ": " + f.Value
	}
	if g := c.Env.Guard; g != nil && g.Account+g.Fixed != "" {
		key += "\naccount " + g.Account + " token " + g.Fixed
	}
	return key + c.loginKey()
}

// loginKey names the login whose token is sent to the server, or is "": another user may have
// logged in since the tools were listed.
func (c *Conn) loginKey() string {
	endpoint := cmp.Or(c.Saved, c.OneOff).Endpoint
	if endpoint == "" || endpoint == DemoEndpoint {
		return ""
	}
	tokens, err := c.Env.Tokens()
	if err != nil {
		return ""
	}
	records, _ := tokens.Load()
	token, ok := records.Token(endpoint, c.Env.Auth.Account)
	if !ok {
		return ""
	}
	return "\nlogin " + token.Client + " " + token.Since.String()
}

// oneOffKey returns the cache key of a server without a session: address, network options
// and the client's capabilities, by which a server may list different tools.
func (c *Conn) oneOffKey(declared json.RawMessage) string {
	key := "one-off\n" + cmp.Or(c.verdictKey, c.Where+" "+c.Env.Version) + "\n" + c.Env.Protocol + "\n" + string(declared)
	if c.Target.Kind == target.Command {
		folder, _ := os.Getwd() // a command with a relative path is another one elsewhere
		return key + "\n" + folder
	}
	way, _ := json.Marshal(c.Env.Network.Reach) // texts always marshal
	return key + "\n" + string(way)
}
