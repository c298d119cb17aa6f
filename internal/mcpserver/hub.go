package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A Hub holds the open subscriptions of stateless clients. The zero value is empty.
type Hub struct {
	mu   sync.Mutex
	open map[*listener]bool
}

// A listener is one subscriptions/listen request.
type listener struct {
	id json.RawMessage
	// kinds are the subscribed notifications. uris and tasks are the subscribed resources and
	// tasks.
	kinds       map[string]bool
	uris, tasks map[string]bool
	// pushed buffers messages, so that a client that does not read does not block the server.
	pushed chan []byte
}

// listKinds are the members of a subscription filter for lists, with their notifications and
// required capabilities.
var listKinds = []struct{ member, method, capability string }{
	{"toolsListChanged", "notifications/tools/list_changed", "tools"},
	{"promptsListChanged", "notifications/prompts/list_changed", "prompts"},
	{"resourcesListChanged", "notifications/resources/list_changed", "resources"},
}

// Listen serves one subscription until ctx is done or the client has disconnected. It acknowledges
// the subscriptions that the server declares, calls opened once the subscription is open, and
// returns the final response, or nil if ctx is done. declares reports whether the server declares a
// capability or a member of one.
func (h *Hub) Listen(
	ctx context.Context,
	c Caller,
	m *wire.Message,
	send func([]byte),
	declares func(names ...string) bool,
	opened func(),
) []byte {
	filter := jsonraw.First(m.Params, "notifications")
	l := &listener{id: m.ID, kinds: map[string]bool{}, pushed: make(chan []byte, maxPushed)}
	granted := json.RawMessage("{}") // the part of the filter that the server declares
	for _, kind := range listKinds {
		if string(jsonraw.First(filter, kind.member)) == "true" && declares(kind.capability, "listChanged") {
			l.kinds[kind.method] = true
			granted = jsonraw.With(granted, kind.member, json.RawMessage("true"))
		}
	}
	if uris := jsonraw.First(filter, "resourceSubscriptions"); uris != nil && declares("resources", "subscribe") {
		l.uris = stringSet(uris)
		granted = jsonraw.With(granted, "resourceSubscriptions", uris)
	}
	if ids := jsonraw.First(filter, "taskIds"); ids != nil && declares("extensions", mcp.TasksExtension) {
		l.tasks = stringSet(ids)
		granted = jsonraw.With(granted, "taskIds", ids)
	}
	h.mu.Lock()
	if h.open == nil {
		h.open = map[*listener]bool{}
	}
	h.open[l] = true // before the client can rely on it; pushed messages are sent after the acknowledgement
	h.mu.Unlock()
	params := bridge.WithMeta(jsonraw.With(nil, "notifications", granted), bridge.MetaSubscription, m.ID)
	send(wire.ComposeNotification("notifications/subscriptions/acknowledged", params))
	opened()
	for isOver := false; !isOver; {
		select {
		case raw := <-l.pushed:
			send(raw)
		case <-ctx.Done():
			isOver = true
		case <-c.Over:
			isOver = true
		}
	}
	h.mu.Lock()
	delete(h.open, l)
	h.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	for len(l.pushed) > 0 { // no longer in h.open, it gets no more messages
		send(<-l.pushed)
	}
	return wire.ComposeResult(m.ID,
		bridge.WithMeta(json.RawMessage(`{"resultType":"complete"}`), bridge.MetaSubscription, m.ID))
}

// Subscriptions returns the resources in the open subscriptions, sorted.
func (h *Hub) Subscriptions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]bool{}
	for l := range h.open {
		maps.Copy(all, l.uris)
	}
	return slices.Sorted(maps.Keys(all))
}

// stringSet returns the strings of a JSON array as a set.
func stringSet(list json.RawMessage) map[string]bool {
	all := map[string]bool{}
	items, _ := jsonraw.ArrayUpTo(list, jsonraw.MaxParts)
	for _, item := range items {
		all[jsonraw.TextOrRaw(item)] = true
	}
	return all
}

// Publish sends a notification to its subscribers. It drops it for a client that does not read.
func (h *Hub) Publish(m *wire.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.open {
		if !l.wants(m) {
			continue
		}
		params := bridge.WithMeta(jsonraw.OrEmpty(m.Params), bridge.MetaSubscription, l.id)
		select {
		case l.pushed <- wire.ComposeNotification(m.Method, params):
		default: // the client does not read
		}
	}
}

// wants reports whether the subscription includes the notification.
func (l *listener) wants(m *wire.Message) bool {
	switch m.Method {
	case "notifications/resources/updated":
		return covers(l.uris, jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri")))
	case "notifications/tasks":
		return l.tasks[jsonraw.TextOrRaw(jsonraw.First(m.Params, "taskId"))]
	}
	return l.kinds[m.Method]
}
