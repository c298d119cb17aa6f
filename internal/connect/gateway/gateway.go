// Package gateway is one MCP server over several: it answers the requests of its clients with those of the servers
// behind it, in both eras of the protocol on both sides.
//
// A peer is one client, with a connection of its own to each server. The requests of a session, and all those over
// stdio with the same capabilities, are of one peer. Requests over HTTP that stand alone name no client: they share
// peers by their capabilities, and a call of a server that asks by requests of its own has its connection to itself,
// so that no question reaches another client.
//
// It is a package of its own, because it is a server on one side and a library of connections on the other; its
// caller, mcpc serve, has only the flags and the listener.
package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A Member is a server behind the gateway.
type Member struct {
	// Name is the prefix of what it lists, Given the name of which that was made, and ID what the user
	// calls the server.
	Name, Given, ID string
	// Env returns what one connection to it uses, and what is to be called when that is closed.
	Env func() (env *host.Env, end func())
}

// Options say how a Gateway serves.
type Options struct {
	Members []Member
	// Plain leaves the names of tools and prompts without prefixes.
	Plain bool
	// Allow and Deny are patterns of NAME/TOOL: a tool is served if one of Allow fits, or there is none, and none of
	// Deny fits.
	Allow, Deny []string
	// Version is mcpc's own.
	Version string
	// Token makes a text that cannot be guessed.
	Token func() string
	Now   func() time.Time
	// Tell is told each thing that the user should know, as one line that may hold what servers wrote, and after it
	// the main lines of the stderr of a server that exited. Calls may overlap.
	Tell func(text string, stderr ...string)
	// Admit is that of mcpserver.Options.
	Admit func(r *http.Request) (status int, reason string)
}

// Limits of what clients may cost.
const (
	mostPeers     = 32 // each with a connection to each server
	mostSuspended = 64 // calls that wait for a client's answer
)

// Times. A list waits for servers that take connectTime to connect, and listTime in all.
const (
	connectTime  = 10 * time.Second
	dialTime     = 60 * time.Second
	listTime     = 30 * time.Second
	answerTime   = 10 * time.Minute // a client has to answer a question
	graceAtEnd   = time.Second      // requests under way have when the client has gone
	firstPause   = time.Second      // between two attempts to connect
	longestPause = time.Minute
)

// A Gateway serves clients. Its methods may be called from several goroutines.
type Gateway struct {
	Options
	server *mcpserver.Server
	hub    mcpserver.Hub
	// states begins each requestState, and no other: a server may be mcpc serve too.
	states string
	// pipe is set where the only client is that of Stdio.
	pipe bool

	telling sync.Mutex // held while the user is told something
	told    map[string]bool

	mu        sync.Mutex
	used      map[string]bool // the patterns of Allow and Deny that fit a tool
	sessions  map[*mcpserver.Session]*peer
	alone     []*peer // of requests that stand alone
	closing   sync.WaitGroup
	closed    bool // no peer is made any more
	suspended map[string]*suspension
}

// New returns a Gateway.
func New(o Options) *Gateway {
	g := &Gateway{Options: o, states: o.Token() + "-", told: map[string]bool{}, used: map[string]bool{},
		sessions: map[*mcpserver.Session]*peer{}, suspended: map[string]*suspension{}}
	g.server = mcpserver.New(
		g,
		mcpserver.Options{
			Name:         "mcpc serve",
			Eras:         bridge.BothEras,
			SessionID:    o.Token,
			MostSessions: mostPeers,
			Admit:        o.Admit,
			Dropped:      func() { g.once("", "messages were left out: the client does not read its GET stream") },
		},
	)
	return g
}

// Stdio serves one client until in ends or ctx is done, and closes the connections to the servers. The error is that
// of reading.
func (g *Gateway) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	g.pipe = true
	return g.server.Stdio(ctx, in, out)
}

// Handler serves over Streamable HTTP until ctx is done.
func (g *Gateway) Handler(ctx context.Context) http.Handler { return g.server.Handler(ctx) }

// Close closes the connections to all servers, and waits until that is done.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	all := g.alone
	g.alone = nil
	for s, p := range g.sessions {
		delete(g.sessions, s)
		all = append(all, p)
	}
	g.mu.Unlock()
	for _, p := range all {
		g.closing.Go(p.close)
	}
	g.closing.Wait()
}

// Prepare decides how a request is answered: see mcpserver.Handler.
func (g *Gateway) Prepare(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	switch m.Method {
	case "initialize":
		return g.initialize(c, m)
	case "server/discover":
		if c.Stateless {
			return g.discover(c, m)
		}
	case "ping":
		if !c.Stateless {
			return mcpserver.Replying(wire.ComposeResult(m.ID, json.RawMessage("{}")))
		}
	}
	if p := g.sessionOf(c); p != nil {
		p.begun()
	}
	return mcpserver.Job{Waits: true, Run: func(ctx context.Context, send func([]byte)) []byte {
		ctx, stop := whileThere(ctx, c)
		defer stop()
		if c.Stateless && !g.pipe {
			queued, end := g.queue(send)
			defer end()
			send = queued
		}
		response := g.answer(ctx, c, m, send)
		if ctx.Err() != nil {
			return nil // a cancelled request has no response
		}
		return response
	}}
}

// mostQueued is how many messages before a response wait for a client that does not read them.
const mostQueued = 1024

// queue gives a send that does not wait for the client, because other clients use the connections that it would hold
// up, and a function that waits until all is sent.
func (g *Gateway) queue(send func([]byte)) (queued func([]byte), end func()) {
	waiting := make(chan []byte, mostQueued)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for raw := range waiting {
			send(raw)
		}
	}()
	queued = func(raw []byte) {
		select {
		case waiting <- raw:
		default:
			g.once("", "messages were left out: the client does not read the stream of its request")
		}
	}
	return queued, func() {
		close(waiting)
		<-sent
	}
}

// whileThere ends a context a moment after the client has gone.
func whileThere(ctx context.Context, c mcpserver.Caller) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if c.Over != nil {
		go func() {
			select {
			case <-c.Over:
				grace, stop := context.WithTimeout(ctx, graceAtEnd)
				defer stop()
				<-grace.Done()
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// Notified takes a notification of a client in a session.
func (g *Gateway) Notified(c mcpserver.Caller, m *wire.Message) {
	p := g.sessionOf(c)
	if p == nil {
		return
	}
	switch m.Method {
	case "notifications/initialized":
		p.begun()
	case "notifications/roots/list_changed":
		for _, l := range p.links {
			if conn := l.current(); conn != nil && !client.Stateless(conn.Revision()) {
				go conn.Notify(p.life, client.Call{Method: m.Method, Params: m.Params})
			}
		}
	}
}

// capabilities are those of the gateway.
const capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}`

// declares reports a capability of the gateway.
func declares(names ...string) bool {
	value := json.RawMessage(capabilities)
	for _, name := range names {
		value = jsonraw.First(value, name)
	}
	return value != nil
}

// initialize opens a session, and begins to connect to the servers.
func (g *Gateway) initialize(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	revision, refused := g.server.Opens(c, m)
	if refused != nil {
		return mcpserver.Replying(refused)
	}
	g.open(c.Session)
	var b jsonraw.Builder
	b.Text("protocolVersion", revision)
	b.Raw("capabilities", json.RawMessage(capabilities))
	b.Raw("serverInfo", g.identity())
	b.Text("instructions", g.instructions())
	return mcpserver.Replying(wire.ComposeResult(m.ID, b.Bytes()))
}

// discover answers server/discover, and begins to connect to the servers.
func (g *Gateway) discover(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	if p := g.peerFor(c); p != nil {
		p.connectAll()
	}
	var b jsonraw.Builder
	b.Text("resultType", "complete")
	b.Raw(
		"supportedVersions",
		jsonraw.ListOf(g.server.Eras.Revisions(), func(v string) []byte { return jsonraw.Quote(v) }),
	)
	b.Raw("capabilities", json.RawMessage(capabilities))
	b.Text("instructions", g.instructions())
	b.Number("ttlMs", 0)
	b.Text("cacheScope", "private")
	b.Raw("_meta", jsonraw.With(nil, bridge.MetaServer, g.identity()))
	return mcpserver.Replying(wire.ComposeResult(m.ID, b.Bytes()))
}

func (g *Gateway) identity() json.RawMessage {
	var b jsonraw.Builder
	b.Text("name", "mcpc-serve")
	b.Text("title", "mcpc serve")
	b.Text("version", g.Version)
	return b.Bytes()
}

// instructions say what the names mean. They quote nothing that a server wrote.
func (g *Gateway) instructions() string {
	text := "These are the tools, prompts and resources of several MCP servers:"
	for i, m := range g.Members {
		if i > 0 {
			text += ","
		}
		text += " " + m.Name
	}
	if g.Plain {
		return text + "."
	}
	return text + ". The name of a tool or prompt begins with that of its server and __."
}

// mostTold is how many texts are remembered as told; later ones are not told.
const mostTold = 1000

// once tells the user a text, unless one with the same key was told before; "" is the text as key. It returns when the
// text is told, by whichever call: what follows, as the response to a client or the end of the process, does not come
// before it.
func (g *Gateway) once(key, text string, stderr ...string) {
	if key == "" {
		key = text
	}
	g.telling.Lock()
	defer g.telling.Unlock()
	if !g.told[key] && len(g.told) < mostTold {
		g.told[key] = true
		g.Tell(text, stderr...)
	}
}
