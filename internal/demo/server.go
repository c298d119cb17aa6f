//lint:file-ignore SA1019 logging is deprecated in 2026-07-28 and still spoken

package demo

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/skill"
)

// defaultPageSize is small enough that the list of tools has three pages. A client that ignores nextCursor
// fails at its first list.
const defaultPageSize = 8

// cacheMillis is how long, in milliseconds, a client may cache a result. Results change only by the
// tool change-list, which sends a notification. Five minutes suffice for a shell loop with one
// tools/list, and are short enough to test an expired cache.
const cacheMillis = 5 * 60 * 1000

// newServer returns the demo server, for any number of sessions. Its tasks end when end is done.
func newServer(end context.Context, opts Options) *mcp.Server {
	size := opts.PageSize
	if size == 0 {
		size = defaultPageSize
	}
	extensions := map[string]any{
		appsExtension:   map[string]any{"mimeTypes": []string{pageType}},
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
		// The instructions are a resource too, so that a client can read them later.
		Instructions:      string(readEmbedded("instructions.md")),
		PageSize:          size,
		CompletionHandler: complete,
		Capabilities: &mcp.ServerCapabilities{
			Logging:    &mcp.LoggingCapabilities{},
			Extensions: extensions,
		},
		// These handlers do nothing: the SDK keeps the subscriptions, but declares the capability only
		// for a server with handlers.
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs = cacheMillis
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
	s.AddReceivingMiddleware(useOldNotFoundCode, rejectMalformed)
	s.AddSendingMiddleware(countLogs)
	return s
}
