package connect

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpc/internal/mcp"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// Unique returns the tools whose names no other tool has. The others cannot be called by name.
func Unique(tools []mcp.Tool) []mcp.Tool {
	count := map[string]int{}
	for _, t := range tools {
		count[t.Name]++
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return count[t.Name] > 1 })
}

// A toolCache has the tools of a connection of many calls, so that each one is fetched and compiled
// once. It is emptied when the server reports a change. A nil toolCache stores nothing.
type toolCache struct {
	opened time.Time // when the connection was opened
	// fetching is locked while the server is asked, so that parallel calls ask once.
	fetching sync.Mutex

	mu    sync.RWMutex
	tools map[string]*Definition
	// list is the last complete list of tools, or nil. It was received at fetched and is stale at
	// until.
	list    *Catalogue
	fetched time.Time
	until   time.Time
	// recentEnough is how long a list is not fetched again, whatever its ttlMs is. 0 is for a
	// command of one call.
	recentEnough time.Duration
}

// recentEnoughForBatch is recentEnough of a batch: its calls follow each other quickly.
const recentEnoughForBatch = time.Minute

// tool returns the cached definition of a tool, or nil.
func (b *toolCache) tool(name string) *Definition {
	if b == nil {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.tools[name]
}

// add stores a definition and returns the definition that all calls use: the first that was stored.
func (b *toolCache) add(tool *Definition) *Definition {
	if b == nil {
		return tool
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.tools[tool.Name]; known != nil {
		return known
	}
	if b.tools == nil {
		b.tools = map[string]*Definition{}
	}
	b.tools[tool.Name] = tool
	return tool
}

// fill replaces the tools by the tools of a new list. It leaves out tools that share a name.
func (b *toolCache) fill(all Catalogue, now time.Time) {
	if b == nil {
		return
	}
	until := state.ToolList{FetchedAt: now, TTLms: all.TTL}.FreshUntil()
	if !now.Before(until) { // no ttlMs, or 0: each call of a batch would list the tools again
		until = now.Add(b.recentEnough)
	}
	tools := make(map[string]*Definition, len(all.Tools))
	for _, tool := range Unique(all.Tools) {
		tools[tool.Name] = &Definition{Tool: tool, Fresh: true, Until: until}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools = tools
	b.list = &all
	b.fetched = now
	b.until = until
}

// dropCachedTools empties the cache after the tools were listed for the user, who has seen newer
// definitions.
func (c *Conn) dropCachedTools(k Kind) {
	if k == ToolKind {
		c.toolCache.empty()
	}
}

// empty drops the tools.
func (b *toolCache) empty() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tools = nil
	b.list = nil
}

// recentList returns the list if it is recent enough to be used again, or nil.
func (b *toolCache) recentList(now time.Time) *Catalogue {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.list == nil || now.Sub(b.fetched) > b.recentEnough || !now.Before(b.until) {
		return nil
	}
	return b.list
}

// DefineOnce fetches a tool's definition from the server, see Define. On a connection of many calls
// parallel callers send one request, and a list that is still recent is used without a request.
func (c *Conn) DefineOnce(ctx context.Context, name string) (*Definition, wire.Outcome) {
	if c.toolCache == nil {
		return c.Define(ctx, name)
	}
	c.toolCache.fetching.Lock()
	defer c.toolCache.fetching.Unlock()
	if all := c.toolCache.recentList(c.Env.Now()); all != nil {
		return c.selectTool(name, *all)
	}
	return c.Define(ctx, name)
}

// toolsKey returns the cache key of a server's tools for these credentials: another token may see
// other tools (2026-07-28 server/utilities/caching, "private"). Without a session the declared
// client capabilities are part of the key.
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
	if auth := c.Env.Guard; auth != nil && (auth.Account != "" || auth.Fixed != "") {
		key += "\naccount " + auth.Account + " token " + auth.Fixed // the store keeps only a hash of the key
	}
	return key + c.loginKey()
}

// loginKey returns the part of the cache key that identifies the login whose token is sent, or "".
// Another user may have logged in since the tools were listed.
func (c *Conn) loginKey() string {
	endpoint := c.ServerSession().Endpoint
	if endpoint == "" || endpoint == DemoEndpoint {
		return ""
	}
	tokens, err := c.Env.Tokens()
	if err != nil {
		return ""
	}
	records, _ := tokens.Load() // after an error there is no token to send either
	token, ok := records.Token(endpoint, c.Env.Auth.Account)
	if !ok {
		return ""
	}
	return "\nlogin " + token.Client + " " + token.Since.String()
}

// oneOffKey returns the cache key of a server without a session: address, network options and
// client capabilities. A server may list other tools for each of them.
func (c *Conn) oneOffKey(declared json.RawMessage) string {
	server := c.negotiatedKey
	if server == "" { // the demo server
		server = c.Where + " " + c.Env.Version
	}
	key := strings.Join([]string{"one-off", server, c.Env.Protocol, string(declared)}, "\n")
	if c.Target.Kind == target.Command {
		folder, _ := os.Getwd() // a relative path names another command in another folder
		return key + "\n" + folder
	}
	network, _ := json.Marshal(c.Env.Network.Reach) // strings always marshal
	return key + "\n" + string(network)
}
