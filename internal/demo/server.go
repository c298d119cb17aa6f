//lint:file-ignore SA1019 logging is deprecated in 2026-07-28 and still spoken

package demo

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/skill"
)

// pageSize is small enough that listing the tools takes three pages: a client
// that ignores nextCursor is caught by the first list it asks for.
const pageSize = 8

// freshFor is how long, in milliseconds, a client may keep what it was told.
// Nothing here changes but by the tool change-list, which tells; five minutes is
// long enough for a shell loop to live on one tools/list and short enough to watch
// a cache expire.
const freshFor = 5 * 60 * 1000

// newServer returns the demo server, which can hold any number of sessions. When end is
// done, its tasks end.
func newServer(end context.Context, opts Options) *mcp.Server {
	size := opts.PageSize
	if size == 0 {
		size = pageSize
	}
	extensions := map[string]any{
		apps:            map[string]any{"mimeTypes": []string{pageType}},
		skill.Extension: map[string]any{"directoryRead": true},
	}
	if opts.Tasks {
		extensions[tasksExtension] = map[string]any{}
	}
	s := mcp.NewServer(&mcp.Implementation{
		Name:    "mcpc-demo",
		Title:   "mcpc demo server",
		Version: "1.0.0",
	}, &mcp.ServerOptions{
		// A document too, so that it can be read again later.
		Instructions:      string(embedded("instructions.md")),
		PageSize:          size,
		CompletionHandler: complete,
		Capabilities: &mcp.ServerCapabilities{
			Logging:    &mcp.LoggingCapabilities{},
			Extensions: extensions,
		},
		// These have nothing to do: the SDK keeps the list, and advertises subscriptions only to a server that has them.
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs = freshFor
		},
	})
	for _, t := range tools(s) {
		t.add(s)
	}
	addResources(s)
	addPrompts(s)
	if opts.Tasks {
		addTasks(end, s, opts.Now)
		for _, t := range taskTools() {
			t.add(s)
		}
	}
	addSkills(s, opts.BrokenSkills)
	if opts.Extend != nil {
		opts.Extend(s)
	}
	s.AddReceivingMiddleware(notFoundAsBefore, malformed)
	s.AddSendingMiddleware(countLogs)
	return s
}
