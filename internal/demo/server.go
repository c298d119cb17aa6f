//lint:file-ignore SA1019 logging is deprecated in 2026-07-28 and still spoken

package demo

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pageSize is small enough that listing the tools takes three pages: a client
// that ignores nextCursor is caught by the first list it asks for.
const pageSize = 8

// freshFor is how long, in milliseconds, a client may keep what it was told.
// Nothing here changes but by the tool change-list, which tells; five minutes is
// long enough for a shell loop to live on one tools/list and short enough to watch
// a cache expire.
const freshFor = 5 * 60 * 1000

// newServer returns the demo server, which can hold any number of sessions.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{
		Name:    "mcpc-demo",
		Title:   "mcpc demo server",
		Version: "1.0.0",
	}, &mcp.ServerOptions{
		// A document too, so that it can be read again later.
		Instructions:      string(embedded("instructions.md")),
		PageSize:          pageSize,
		CompletionHandler: complete,
		Capabilities: &mcp.ServerCapabilities{
			Logging:    &mcp.LoggingCapabilities{},
			Extensions: map[string]any{apps: map[string]any{"mimeTypes": []string{pageType}}},
		},
		SubscribeHandler:   subscribe,
		UnsubscribeHandler: unsubscribe,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs = freshFor
		},
	})
	for _, t := range tools(s) {
		t.add(s)
	}
	addResources(s)
	addPrompts(s)
	s.AddReceivingMiddleware(notFoundAsBefore)
	s.AddSendingMiddleware(countLogs)
	return s
}

// subscribe and unsubscribe have nothing to do: the SDK keeps the list, and
// advertises subscriptions only to a server that has these two.
func subscribe(context.Context, *mcp.SubscribeRequest) error     { return nil }
func unsubscribe(context.Context, *mcp.UnsubscribeRequest) error { return nil }
