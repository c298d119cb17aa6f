package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// A peer is a client of the gateway, with a connection to each server.
type peer struct {
	gateway *Gateway
	// session is the client's session, or nil if the requests are stateless.
	session *mcpserver.Session
	// capabilities are the client capabilities that the servers get.
	capabilities json.RawMessage
	ctx          context.Context
	cancel       context.CancelFunc
	links        []*link
	// ready is closed once messages may be sent to the client's session.
	ready     chan struct{}
	readyOnce sync.Once
}

// newPeer returns a peer with a link to each server. It does not connect.
func (g *Gateway) newPeer(session *mcpserver.Session, capabilities json.RawMessage) *peer {
	p := &peer{gateway: g, session: session, capabilities: capabilities, ready: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for i := range g.Members {
		l := &link{peer: p, Member: &g.Members[i], calls: map[*call]bool{}, subscriptions: map[string]*subscription{}}
		p.links = append(p.links, l)
	}
	return p
}

// ForwardableCapabilities returns the capabilities of a client that servers get. Tasks are not
// forwarded.
func ForwardableCapabilities(theirs json.RawMessage) json.RawMessage {
	all := json.RawMessage("{}")
	for _, name := range []string{"elicitation", "sampling", "roots"} {
		if value := jsonraw.First(theirs, name); value != nil {
			all = jsonraw.With(all, name, jsonraw.Without(value, "tasks"))
		}
	}
	extensions := jsonraw.Without(jsonraw.First(theirs, "extensions"), mcp.TasksExtension)
	if len(extensions) > len("{}") {
		all = jsonraw.With(all, "extensions", extensions)
	}
	return all
}

// open creates the peer of a session, and starts connecting to the servers.
func (g *Gateway) open(s *mcpserver.Session) {
	p := g.newPeer(s, ForwardableCapabilities(s.Caller().Capabilities))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isClosed {
		return
	}
	old := g.sessions[s]
	g.sessions[s] = p
	if old != nil { // the client initialized again; OnEnd is set already
		g.closingPeers.Go(old.close)
	} else if !g.IsStdio { // over stdio, requests under way may end: Close closes the peer
		s.OnEnd(func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if p := g.sessions[s]; p != nil {
				delete(g.sessions, s)
				g.closingPeers.Go(p.close)
			}
		})
	}
	p.connectAll()
}

// Adopt takes over a client of another server, which shares Options.Hub: it connects to the servers and
// repeats the client's subscriptions. It waits for the servers.
func (g *Gateway) Adopt(c mcpserver.Caller) {
	if !c.Stateless {
		g.open(c.Session)
	}
	p := g.peerFor(c)
	if p == nil {
		return
	}
	uris := g.hub.Subscriptions()
	if p.session != nil {
		p.markReady()
		uris = p.session.Subscriptions()
	}
	for _, uri := range uris {
		if l, _ := p.findResource(p.ctx, uri); l != nil {
			if out := l.watch(p.ctx, uri); !out.OK() {
				g.showOnce(textIsKey, l.Name+": "+l.env.Secrets.Text(out.Text))
			}
		}
	}
}

// peersLocked returns all peers. The caller holds g.mu.
func (g *Gateway) peersLocked() []*peer {
	return append(slices.Collect(maps.Values(g.sessions)), g.statelessPeers...)
}

// sessionPeer returns the peer of the caller's session, or nil.
func (g *Gateway) sessionPeer(c mcpserver.Caller) *peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[c.Session]
}

// peerFor returns the peer of a request: of its session or, for a stateless request, a peer with
// the same capabilities. It returns nil if there are too many peers, and for an unknown session.
func (g *Gateway) peerFor(c mcpserver.Caller) *peer {
	if !c.Stateless {
		return g.sessionPeer(c)
	}
	capabilities := ForwardableCapabilities(c.Capabilities)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.statelessPeers {
		if string(p.capabilities) == string(capabilities) {
			return p
		}
	}
	return g.addStateless(capabilities)
}

// lease returns a link to the same server as l that no other call uses until release is called, so
// that each question of the server belongs to that one call. The link may be l itself. lease returns
// nil if there are too many peers.
func (g *Gateway) lease(l *link) (_ *link, release func()) {
	memberIndex := slices.Index(l.peer.links, l)
	g.mu.Lock()
	defer g.mu.Unlock()
	markLeased := func(candidate *link) (*link, func()) {
		candidate.isLeased = true
		return candidate, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			candidate.isLeased = false
		}
	}
	for _, p := range g.statelessPeers {
		candidate := p.links[memberIndex]
		hasCapabilities := string(p.capabilities) == string(l.peer.capabilities)
		if hasCapabilities && !candidate.isLeased {
			return markLeased(candidate)
		}
	}
	if p := g.addStateless(l.peer.capabilities); p != nil {
		return markLeased(p.links[memberIndex])
	}
	return nil, nil
}

// addStateless adds a peer for stateless requests. It returns nil if there are too many. The caller
// holds g.mu.
func (g *Gateway) addStateless(capabilities json.RawMessage) *peer {
	if g.isClosed {
		return nil
	}
	if len(g.statelessPeers) >= maxPeers && !g.evict() {
		return nil
	}
	var noSession *mcpserver.Session
	p := g.newPeer(noSession, capabilities)
	p.markReady() // there is no handshake to wait for
	g.statelessPeers = append(g.statelessPeers, p)
	return p
}

// evict closes a peer that is not in use. It returns false if all peers are in use. The caller
// holds g.mu.
func (g *Gateway) evict() bool {
	for i, p := range g.statelessPeers {
		if !p.isInUse() {
			g.statelessPeers = slices.Delete(g.statelessPeers, i, i+1)
			g.closingPeers.Go(p.close)
			return true
		}
	}
	return false
}

// isInUse reports whether the peer has running requests or watched resources. The caller holds the
// gateway's mutex.
func (p *peer) isInUse() bool {
	for _, l := range p.links {
		l.mu.Lock()
		used := l.isLeased || len(l.calls)+len(l.subscriptions) > 0
		l.mu.Unlock()
		if used {
			return true
		}
	}
	return false
}

// markReady records that messages may be sent to the client.
func (p *peer) markReady() { p.readyOnce.Do(func() { close(p.ready) }) }

// connectAll starts connecting to all servers that are not connected.
func (p *peer) connectAll() {
	for _, l := range p.links {
		l.startDialing()
	}
}

// push sends the client a message that belongs to no request, if the client wants it.
func (p *peer) push(m *wire.Message) {
	if p.session == nil {
		p.gateway.hub.Publish(m)
	} else if p.session.Wants(m) {
		select {
		case <-p.ready:
			p.session.Push(wire.ComposeNotification(m.Method, m.Params))
		default: // the client is not ready: nothing may be sent to it yet
		}
	}
}

// close closes the connections to all servers.
func (p *peer) close() {
	p.cancel()
	var all sync.WaitGroup
	for _, l := range p.links {
		all.Go(l.close)
	}
	all.Wait()
}
