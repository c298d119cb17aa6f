package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// A peer is a client of the gateway, with a connection to each server.
type peer struct {
	g *Gateway
	// session is the client's; nil for requests that stand alone.
	session *mcpserver.Session
	// capabilities are what the servers are told.
	capabilities json.RawMessage
	life         context.Context
	end          context.CancelFunc
	links        []*link
	// ready is closed once the client can be sent messages of its session.
	ready   chan struct{}
	isReady sync.Once
}

func (g *Gateway) newPeer(session *mcpserver.Session, capabilities json.RawMessage) *peer {
	p := &peer{g: g, session: session, capabilities: capabilities, ready: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	for i := range g.Members {
		p.links = append(
			p.links,
			&link{p: p, Member: &g.Members[i], calls: map[*call]bool{}, watched: map[string]*watching{}},
		)
	}
	return p
}

// offered are the capabilities of a client that servers are told of. Tasks are not passed on.
func offered(theirs json.RawMessage) json.RawMessage {
	all := json.RawMessage("{}")
	for _, name := range []string{"elicitation", "sampling", "roots"} {
		if value := jsonraw.First(theirs, name); value != nil {
			all = jsonraw.With(all, name, jsonraw.Without(value, "tasks"))
		}
	}
	if extensions := jsonraw.Without(jsonraw.First(theirs, "extensions"), mcp.TasksExtension); len(
		extensions,
	) > len(
		"{}",
	) {
		all = jsonraw.With(all, "extensions", extensions)
	}
	return all
}

// open makes the peer of a session.
func (g *Gateway) open(s *mcpserver.Session) {
	p := g.newPeer(s, offered(s.Caller().Capabilities))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	old := g.sessions[s]
	g.sessions[s] = p
	if old != nil { // the client initialized again
		g.closing.Go(old.close)
	} else if !g.pipe { // over stdio requests under way may end: see Close
		s.OnEnd(func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if p := g.sessions[s]; p != nil {
				delete(g.sessions, s)
				g.closing.Go(p.close)
			}
		})
	}
	p.connectAll()
}

func (g *Gateway) sessionOf(c mcpserver.Caller) *peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[c.Session]
}

// peerFor gives the peer of a request; nil where there are too many.
func (g *Gateway) peerFor(c mcpserver.Caller) *peer {
	if !c.Stateless {
		return g.sessionOf(c)
	}
	capabilities := offered(c.Capabilities)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.alone {
		if string(p.capabilities) == string(capabilities) {
			return p
		}
	}
	return g.addAlone(capabilities)
}

// lease gives a connection to the server of l that no other call uses until release is called: a server that asks by
// requests of its own does not say for which call. It gives nil where there are too many.
func (g *Gateway) lease(l *link) (_ *link, release func()) {
	at := slices.Index(l.p.links, l)
	g.mu.Lock()
	defer g.mu.Unlock()
	take := func(one *link) (*link, func()) {
		one.leased = true
		return one, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			one.leased = false
		}
	}
	for _, p := range g.alone {
		if one := p.links[at]; !one.leased && string(p.capabilities) == string(l.p.capabilities) {
			return take(one)
		}
	}
	if p := g.addAlone(l.p.capabilities); p != nil {
		return take(p.links[at])
	}
	return nil, nil
}

// addAlone adds a peer of requests that stand alone; nil where there are too many. The caller holds mu.
func (g *Gateway) addAlone(capabilities json.RawMessage) *peer {
	if g.closed || len(g.alone) >= mostPeers && !g.evict() {
		return nil
	}
	p := g.newPeer(nil, capabilities)
	p.begun()
	g.alone = append(g.alone, p)
	return p
}

// evict closes a peer that is not in use; false where there is none. The caller holds mu.
func (g *Gateway) evict() bool {
	for i, p := range g.alone {
		if !p.inUse() {
			g.alone = slices.Delete(g.alone, i, i+1)
			g.closing.Go(p.close)
			return true
		}
	}
	return false
}

// inUse reports requests under way, and resources that are watched. The caller holds the mutex of the gateway.
func (p *peer) inUse() bool {
	for _, l := range p.links {
		l.mu.Lock()
		used := l.leased || len(l.calls)+len(l.watched) > 0
		l.mu.Unlock()
		if used {
			return true
		}
	}
	return false
}

// begun notes that the client can be sent messages.
func (p *peer) begun() { p.isReady.Do(func() { close(p.ready) }) }

// connectAll begins to connect to all servers that are not connected, where it is time to try.
func (p *peer) connectAll() {
	for _, l := range p.links {
		l.attempt()
	}
}

// push sends the client a message that belongs to no request.
func (p *peer) push(m *wire.Message) {
	if p.session == nil {
		p.g.hub.Publish(m)
	} else if p.session.Wants(m) {
		select {
		case <-p.ready:
			p.session.Push(wire.ComposeNotification(m.Method, m.Params))
		default: // nothing may be sent to it yet
		}
	}
}

// close closes the connections to all servers.
func (p *peer) close() {
	p.end()
	var all sync.WaitGroup
	for _, l := range p.links {
		all.Go(l.close)
	}
	all.Wait()
}
