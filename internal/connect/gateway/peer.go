package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"mcpc/internal/client"
	"mcpc/internal/connect"
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
	// busy is set while one request has the peer to itself. It belongs to the mutex of the gateway.
	busy bool
}

func (g *Gateway) newPeer(session *mcpserver.Session, capabilities json.RawMessage) *peer {
	p := &peer{g: g, session: session, capabilities: capabilities, ready: make(chan struct{})}
	p.life, p.end = context.WithCancel(context.Background())
	for i := range g.Members {
		p.links = append(p.links, &link{p: p, Member: &g.Members[i], calls: map[*call]bool{}, watched: map[string]*watching{}})
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
	if extensions := jsonraw.Without(jsonraw.First(theirs, "extensions"), mcp.TasksExtension); len(extensions) > len("{}") {
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
	switch {
	case old != nil: // the client initialized again
		g.closing.Go(old.close)
	case !g.pipe: // over stdio requests under way may end: see Close
		s.OnEnd(func() { g.drop(s) })
	}
	p.connectAll()
}

// drop closes the peer of a session that has ended.
func (g *Gateway) drop(s *mcpserver.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.sessions[s]; p != nil {
		delete(g.sessions, s)
		g.closing.Go(p.close)
	}
}

func (g *Gateway) sessionOf(c mcpserver.Caller) *peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[c.Session]
}

// peerFor gives the peer of a request, and what is to be called when the request is done with it. alone is set for a
// request that a server may ask something. ok is false where there are too many.
func (g *Gateway) peerFor(c mcpserver.Caller, alone bool) (p *peer, release func(), ok bool) {
	if !c.Stateless {
		p := g.sessionOf(c)
		return p, func() {}, p != nil
	}
	capabilities := offered(c.Capabilities)
	alone = alone && !g.pipe && client.MayAsk(capabilities)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.alone {
		if string(one.capabilities) == string(capabilities) && !(alone && one.busy) {
			one.busy = one.busy || alone
			return one, g.releasing(one, alone), true
		}
	}
	if g.closed || len(g.alone) >= mostPeers && !g.evict() {
		return nil, nil, false
	}
	p = g.newPeer(nil, capabilities)
	p.busy = alone
	p.begun()
	g.alone = append(g.alone, p)
	return p, g.releasing(p, alone), true
}

// releasing gives the function that releases a peer.
func (g *Gateway) releasing(p *peer, alone bool) func() {
	return sync.OnceFunc(func() {
		if alone {
			g.mu.Lock()
			defer g.mu.Unlock()
			p.busy = false
		}
	})
}

// evict closes a peer that is not in use; false where there is none. The caller holds mu.
func (g *Gateway) evict() bool {
	for i, p := range g.alone {
		if !p.busy && !p.inUse() {
			g.alone = append(g.alone[:i:i], g.alone[i+1:]...)
			g.closing.Go(p.close)
			return true
		}
	}
	return false
}

// inUse reports requests under way, and resources that are watched.
func (p *peer) inUse() bool {
	for _, l := range p.links {
		l.mu.Lock()
		used := len(l.calls)+len(l.watched) > 0
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

// conns are the connections that there are.
func (p *peer) conns() (all []*connect.Conn) {
	for _, l := range p.links {
		if c := l.current(); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// push sends the client a message that belongs to no request.
func (p *peer) push(m *wire.Message) {
	switch {
	case p.session == nil:
		p.g.hub.Publish(m)
	case p.session.Wants(m):
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
