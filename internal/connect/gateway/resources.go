package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// findResource finds the server of a URI: the first that lists it, otherwise the first with a
// template that matches, otherwise the only one with resources. If it returns nil, the text says
// why.
func (p *peer) findResource(ctx context.Context, uri string) (*link, string) {
	isListed := func(t *tables) bool { return t.resources[uri] }
	hasTemplate := func(listed *tables) bool {
		return slices.ContainsFunc(listed.templates, func(t template) bool {
			return t.uriTemplate == uri || t.parsed.MayGive(uri)
		})
	}
	for _, listAgain := range []bool{false, true} {
		if listAgain {
			p.listResources(ctx)
		}
		for _, matches := range []func(*tables) bool{isListed, hasTemplate} {
			if l := p.findLink(matches); l != nil {
				return l, ""
			}
		}
	}
	var candidates []*link
	var names []string
	for _, l := range p.links {
		const noMember = "" // the declaration is enough
		if c := l.connection(); c != nil && c.Offers("resources", noMember) {
			candidates = append(candidates, l)
			names = append(names, l.Name)
		}
	}
	switch len(candidates) {
	case 0:
		return nil, "no server that is connected has resources"
	case 1:
		return candidates[0], ""
	}
	return nil, "no server lists the resource " + uri + " or a template for it; it may belong to " +
		strings.Join(names, ", ")
}

// findLink returns the first link whose tables match, or nil.
func (p *peer) findLink(matches func(*tables) bool) *link {
	for _, l := range p.links {
		l.mu.Lock()
		found := matches(&l.listed)
		l.mu.Unlock()
		if found {
			return l
		}
	}
	return nil
}

// listResources lists the resources and templates of all servers.
func (p *peer) listResources(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range p.links {
		for _, k := range []connect.Kind{connect.ResourceKind, connect.TemplateKind} {
			all.Go(func() { l.listEntries(ctx, k) })
		}
	}
	all.Wait()
}

// completionTarget finds the server of a completion, and returns the params for it. If the link is
// nil, the text says why.
func (p *peer) completionTarget(ctx context.Context, params json.RawMessage) (*link, json.RawMessage, string) {
	ref := jsonraw.First(params, "ref")
	if uri, ok := jsonraw.Text(jsonraw.First(ref, "uri")); ok {
		l, why := p.findResource(ctx, uri)
		return l, params, why
	}
	promptName := jsonraw.TextOrRaw(jsonraw.First(ref, "name"))
	l, serverName, failedServer := p.findPrompt(ctx, promptName)
	if failedServer != nil {
		return nil, nil, "the server " + failedServer.Name + " did not answer"
	}
	if l == nil {
		return nil, nil, unknownPrompt(promptName)
	}
	ref = jsonraw.With(ref, "name", jsonraw.Quote(serverName))
	return l, jsonraw.With(params, "ref", ref), ""
}

// maxSubscriptions limits the resources of one server that a client may watch.
const maxSubscriptions = 256

// A subscription makes a server report changes of one resource. userCount subscriptions of clients
// share it.
type subscription struct {
	stop      context.CancelFunc
	userCount int
	// answered is closed when the server has agreed or refused. out is valid then: a failure if it refused.
	answered chan struct{}
	out      wire.Outcome
}

// watch subscribes to a resource at the server until unwatch is called as often as watch. It waits for
// the server's agreement. The outcome is a failure if the server cannot be reached or refuses; unwatch
// must not be called then.
func (l *link) watch(ctx context.Context, uri string) wire.Outcome {
	conn, out := l.waitConnected(ctx)
	if conn == nil {
		return out
	}
	l.mu.Lock()
	watched := l.subscriptions[uri]
	if watched == nil && len(l.subscriptions) >= maxSubscriptions {
		l.mu.Unlock()
		return wire.Outcome{Kind: wire.Refused, Text: "too many subscriptions"}
	}
	if watched == nil {
		listenCtx, stop := context.WithCancel(l.peer.ctx)
		watched = &subscription{stop: stop, answered: make(chan struct{})}
		l.subscriptions[uri] = watched
		go l.subscribe(listenCtx, conn, uri, watched)
	}
	watched.userCount++
	l.mu.Unlock()
	select {
	case <-watched.answered:
		out = watched.out
	case <-ctx.Done():
		out = wire.Outcome{Kind: wire.Signal, Text: "the request was cancelled"}
	}
	if !out.OK() {
		l.unwatch(uri)
	}
	return out
}

// subscribe listens for changes of a resource at the server until ctx is done or the server ends it.
func (l *link) subscribe(ctx context.Context, conn *connect.Conn, uri string, watched *subscription) {
	defer watched.stop()
	var once sync.Once
	answer := func(out wire.Outcome) {
		once.Do(func() {
			watched.out = out
			close(watched.answered)
		})
	}
	out := conn.Listen(ctx, client.ListenRequest{
		SubscriptionFilter: client.SubscriptionFilter{URIs: []string{uri}},
		Began: func(agreed client.SubscriptionFilter) {
			if slices.Contains(agreed.URIs, uri) {
				answer(wire.Outcome{})
			} else {
				answer(wire.Outcome{Kind: wire.RPCFailed, Text: "it does not report changes of " + uri})
			}
		},
	})
	answer(out)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subscriptions[uri] == watched { // otherwise unwatch has deleted it
		delete(l.subscriptions, uri)
	}
}

// unwatch ends the subscription of watch when its last user calls it.
func (l *link) unwatch(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	watched := l.subscriptions[uri]
	if watched == nil {
		return
	}
	watched.userCount--
	if watched.userCount == 0 {
		delete(l.subscriptions, uri)
		watched.stop()
	}
}

// changeSession answers a request that sets the log level or a subscription of a session. A second
// subscription to a resource changes nothing.
func (p *peer) changeSession(ctx context.Context, m *wire.Message, params json.RawMessage) []byte {
	if m.Method == "logging/setLevel" {
		return p.setSessionLevel(ctx, m, jsonraw.TextOrRaw(jsonraw.First(params, "level")))
	}
	const subscribed = true
	success := wire.ComposeResult(m.ID, json.RawMessage("{}"))
	uri := jsonraw.TextOrRaw(jsonraw.First(params, "uri"))
	if m.Method == "resources/unsubscribe" {
		p.session.Subscribe(uri, !subscribed)
		for _, l := range p.links { // unwatch ignores the servers that do not watch it
			l.unwatch(uri)
		}
		return success
	}
	l, why := p.findResource(ctx, uri)
	if l == nil {
		return wire.ComposeError(m.ID, -32602, why)
	}
	if p.session.IsSubscribed(uri) {
		return success
	}
	p.session.Subscribe(uri, subscribed) // before the server can report a change
	if out := l.watch(ctx, uri); !out.OK() {
		p.session.Subscribe(uri, !subscribed)
		return l.failureResponse(mcpserver.Caller{}, m, out)
	}
	return success
}

// setSessionLevel answers logging/setLevel: it sets the level for the session and for all servers
// that are connected. A server that connects later gets the session's level then.
func (p *peer) setSessionLevel(ctx context.Context, m *wire.Message, level string) []byte {
	if !slices.Contains(mcp.LogLevels, level) {
		return wire.ComposeError(m.ID, -32602, "unknown log level: "+level)
	}
	p.session.SetLevel(level)
	ctx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	var all sync.WaitGroup
	for _, l := range p.links {
		if c := l.connection(); c != nil {
			all.Go(func() { l.setLevel(ctx, c, p.level()) })
		}
	}
	all.Wait()
	return wire.ComposeResult(m.ID, json.RawMessage("{}"))
}

// listen serves a subscriptions/listen. It subscribes to the resources at their servers first, so that the
// client loses no change after the acknowledgement, and leaves out the resources that their server does not
// report on: the acknowledgement does not have them, and the user is warned.
func (p *peer) listen(ctx context.Context, c mcpserver.Caller, m *wire.Message, send func([]byte)) []byte {
	filter := jsonraw.First(m.Params, "notifications")
	uris, _ := jsonraw.ArrayUpTo(jsonraw.First(filter, "resourceSubscriptions"), maxSubscriptions)
	watched := map[string]*link{}
	defer func() {
		for uri, l := range watched {
			l.unwatch(uri)
		}
	}()
	watchCtx, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	granted := []json.RawMessage{}
	for _, raw := range uris {
		uri := jsonraw.TextOrRaw(raw)
		l, _ := p.findResource(watchCtx, uri)
		if l == nil || watched[uri] != nil {
			continue
		}
		if out := l.watch(watchCtx, uri); !out.OK() {
			p.gateway.showOnce(textIsKey, l.Name+": "+l.env.Secrets.Text(out.Text))
			continue
		}
		watched[uri] = l
		granted = append(granted, raw)
	}
	request := *m
	if uris != nil {
		filter = jsonraw.With(filter, "resourceSubscriptions", jsonraw.List(granted))
		request.Params = jsonraw.With(m.Params, "notifications", filter)
	}
	return p.gateway.hub.Listen(ctx, c, &request, send, declaresCapability, func() {})
}
