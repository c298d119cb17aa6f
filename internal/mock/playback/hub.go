package playback

import (
	"context"
	"encoding/json"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mock/playback/bridge"
	"mcpc/internal/wire"
)

// A hub has the modern subscriptions that are open.
type hub struct {
	mu   sync.Mutex
	open map[*listener]bool
}

// A listener is one subscriptions/listen.
type listener struct {
	id json.RawMessage
	// kinds are the notifications that it gets, uris and tasks those of which resource or task.
	kinds       map[string]bool
	uris, tasks map[string]bool
	send        func(raw []byte)
}

// listKinds are the members of a filter, their notifications and the capabilities that they need.
var listKinds = []struct{ member, method, capability string }{
	{"toolsListChanged", "notifications/tools/list_changed", "tools"},
	{"promptsListChanged", "notifications/prompts/list_changed", "prompts"},
	{"resourcesListChanged", "notifications/resources/list_changed", "resources"},
}

// listen acknowledges a subscription, and serves it until ctx is done, which is not answered, or the client
// has gone.
func (p *Player) listen(ctx context.Context, c client, m *wire.Message, send func([]byte)) []byte {
	asked := jsonraw.First(m.Params, "notifications")
	l := &listener{id: m.ID, kinds: map[string]bool{}, send: send}
	granted := json.RawMessage("{}")
	for _, k := range listKinds {
		if string(jsonraw.First(asked, k.member)) == "true" && p.handshake.declares(k.capability, "listChanged") {
			l.kinds[k.method] = true
			granted = jsonraw.With(granted, k.member, json.RawMessage("true"))
		}
	}
	if uris := jsonraw.First(asked, "resourceSubscriptions"); uris != nil && p.handshake.declares("resources", "subscribe") {
		l.uris = words(uris)
		granted = jsonraw.With(granted, "resourceSubscriptions", uris)
	}
	if ids := jsonraw.First(asked, "taskIds"); ids != nil && p.handshake.declares("extensions", mcp.TasksExtension) {
		l.tasks = words(ids)
		granted = jsonraw.With(granted, "taskIds", ids)
	}
	params := bridge.WithMeta(jsonraw.With(nil, "notifications", granted), bridge.MetaSubscription, m.ID)
	send(wire.ComposeNotification("notifications/subscriptions/acknowledged", params))
	p.hub.mu.Lock()
	if p.hub.open == nil {
		p.hub.open = map[*listener]bool{}
	}
	p.hub.open[l] = true
	p.hub.mu.Unlock()
	p.sendApart(p.after[-1], c)
	select {
	case <-ctx.Done():
	case <-c.over:
	}
	p.hub.mu.Lock()
	delete(p.hub.open, l)
	p.hub.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	return wire.ComposeResult(m.ID, bridge.WithMeta(json.RawMessage(`{"resultType":"complete"}`), bridge.MetaSubscription, m.ID))
}

func words(list json.RawMessage) map[string]bool {
	all := map[string]bool{}
	items, _ := jsonraw.ArrayUpTo(list, jsonraw.MaxParts)
	for _, item := range items {
		all[jsonraw.TextOrRaw(item)] = true
	}
	return all
}

// publish sends a notification to the subscriptions that asked for it.
func (h *hub) publish(m *wire.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.open {
		if !l.wants(m) {
			continue
		}
		l.send(wire.ComposeNotification(m.Method, bridge.WithMeta(jsonraw.OrEmpty(m.Params), bridge.MetaSubscription, l.id)))
	}
}

func (l *listener) wants(m *wire.Message) bool {
	switch m.Method {
	case "notifications/resources/updated":
		return covers(l.uris, jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri")))
	case "notifications/tasks":
		return l.tasks[jsonraw.TextOrRaw(jsonraw.First(m.Params, "taskId"))]
	}
	return l.kinds[m.Method]
}

// aboutServer reports a notification that is about the server, and not about one request.
func aboutServer(method string) bool {
	switch method {
	case "notifications/progress", "notifications/message", "notifications/elicitation/complete":
		return false
	}
	return true
}

// sendApart sends what the recorded server sent of its own accord.
func (p *Player) sendApart(all []Unrequested, c client) {
	for _, u := range all {
		m := u.Message
		switch {
		case m.Kind == wire.Request && c.stateless:
			p.tally.once("not played: " + shown([]byte(m.Method)) + " outside a request has no counterpart in " + bridge.ModernRevision)
		case m.Kind == wire.Request:
			go p.askApart(u, c.session)
		case c.stateless:
			p.hub.publish(m)
		case c.session != nil && c.session.wants(m) && m.Method != "notifications/tasks":
			c.session.push(wire.ComposeNotification(m.Method, bridge.WithoutMeta(m.Params, bridge.MetaSubscription)))
		}
	}
}

// mostAsked is how many requests a client may leave without an answer: each is waited for.
const mostAsked = 64

// askApart makes a request that belongs to none of the client's, where the client can answer it.
func (p *Player) askApart(u Unrequested, s *session) {
	m := u.Message
	if name := bridge.ClientCapability(m.Method); name != "" && !s.client().declares(name) {
		p.tally.once("not played: " + shown([]byte(m.Method)) + ": the client does not declare " + name)
		return
	}
	if s.unanswered() >= mostAsked {
		p.tally.once("not played: " + shown([]byte(m.Method)) + ": the client leaves too many requests without an answer")
		return
	}
	raw, answer := s.ask(m.Method, m.Params)
	s.push(raw)
	a := &ask{method: m.Method}
	if u.Answer != nil {
		a.result = u.Answer.Result
		if u.Answer.Error != nil {
			a.failed = u.Answer.Error.Raw
		}
	}
	p.compareLater(s.client(), "after "+p.library.place(u.After), a, answer)
}

// compareLater compares an answer that nothing waits for, when it comes.
func (p *Player) compareLater(c client, where string, a *ask, answer <-chan *wire.Message) {
	select {
	case got := <-answer:
		p.tally.compareAnswer(where, a, got)
	case <-c.over:
	}
}
