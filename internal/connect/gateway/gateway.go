// Package gateway is one MCP server for several others: it forwards the requests of its clients to
// the servers behind it, in both eras of the protocol on both sides.
//
// A peer is one client, with its own connection to each server. The requests of a session belong to
// one peer, and so do all requests over stdio with the same capabilities. Stateless requests over
// HTTP do not name a client: those with the same capabilities share peers. A server that sends its
// questions as requests gets a connection for each such call, so that no question reaches another
// client.
//
// It is a separate package because it is a server on one side and a library of connections on the
// other. Its caller, mcpc serve, has only the flags and the listener.
package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A Member is a server behind the gateway.
type Member struct {
	// Name is the prefix of the names that it lists, Given the name that the prefix was made
	// from, and ID the user's name for the server.
	Name, Given, ID string
	// Command is the server's command if it has no name that ID could be.
	Command []string
	// Shown is the command that names the server for the user if Command runs it in mcpc tap; else nil.
	Shown []string
	// Env returns the environment of one connection to the server, and a function to call when the
	// connection is closed.
	Env func() (env *host.Env, end func())
	// Share returns an open connection to the server, which its caller closes. The peers use it with
	// the handlers and capabilities of how. If Share is nil, each peer opens a connection of its own.
	Share func(how connect.Options) *connect.Conn
}

// Options say how a Gateway serves.
type Options struct {
	Members []Member
	// Plain omits the prefixes of the names of tools and prompts.
	Plain bool
	// IsTransparent lets the only member answer all requests about its entries itself: lists page by page,
	// and names that it does not list. Tools need no approval, and Allow and Deny have no effect.
	IsTransparent bool
	// Allow and Deny are patterns of NAME/TOOL. A tool is served if Allow is empty or any pattern
	// of Allow matches it, and no pattern of Deny matches it.
	Allow, Deny []string
	// Version is the version of mcpc.
	Version string
	// Token returns a text that cannot be guessed.
	Token func() string
	Now   func() time.Time
	// Tell shows the user a line, which may quote servers, and then the main stderr lines of a
	// server that exited. It may be called concurrently.
	Tell func(text string, stderr ...string)
	// Login says how the user logs in to a server that requires it. Without it, such servers are left out.
	Login *LoginOptions
	// Admit is passed to mcpserver.Options.
	Admit func(r *http.Request) (status int, reason string)
	// IsStdio is set if the only client is connected over stdio. Stdio sets it.
	IsStdio bool
	// Hub has the subscriptions of stateless clients. It is nil unless another server, whose clients Adopt
	// takes over, shares it.
	Hub *mcpserver.Hub
}

// Limits of the resources that clients use.
const (
	maxPeers     = 32 // each with a connection to each server
	maxSuspended = 64 // calls that wait for a client's answer
)

// Times. A list waits connectTimeout for the connection to a server, and listTimeout in all.
const (
	connectTimeout  = 10 * time.Second
	dialTimeout     = 60 * time.Second
	listTimeout     = 30 * time.Second
	answerTimeout   = 10 * time.Minute // for a client to answer a question
	disconnectGrace = time.Second      // for running requests of a client that is gone
	minPause        = time.Second      // between two attempts to connect
	maxPause        = time.Minute
)

// A Gateway serves clients. Its methods may be called concurrently.
type Gateway struct {
	Options
	server *mcpserver.Server
	hub    *mcpserver.Hub
	// statePrefix is the prefix of each requestState of this gateway. A server behind it may be mcpc
	// serve, too.
	statePrefix string
	// ctx is the context of logins. Close cancels it.
	ctx    context.Context
	cancel context.CancelFunc

	showMu sync.Mutex // held while Tell is called, guards shown
	shown  map[string]bool

	mu              sync.Mutex
	matchedPatterns map[string]bool // the patterns of Allow and Deny that match a tool
	sessions        map[*mcpserver.Session]*peer
	statelessPeers  []*peer        // of stateless requests
	closingPeers    sync.WaitGroup // and logins
	isClosed        bool           // no further peer is created
	suspended       map[string]*suspension
	// logins are the running logins, and the last ones that failed.
	logins map[*Member]*login
}

// New returns a Gateway. It opens no connection before a client does.
func New(o Options) *Gateway {
	g := &Gateway{
		Options: o, statePrefix: o.Token() + "-", shown: map[string]bool{}, matchedPatterns: map[string]bool{},
		sessions: map[*mcpserver.Session]*peer{}, suspended: map[string]*suspension{}, logins: map[*Member]*login{},
		hub: o.Hub,
	}
	if g.hub == nil {
		g.hub = &mcpserver.Hub{}
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.server = mcpserver.New(
		g,
		mcpserver.Options{
			Name:        "mcpc serve",
			Eras:        bridge.BothEras,
			SessionID:   o.Token,
			MaxSessions: maxPeers,
			ServesSSE:   true,
			Admit:       o.Admit,
			Dropped:     func() { g.showOnce(textIsKey, "messages were left out: the client does not read its GET stream") },
		},
	)
	return g
}

// Stdio serves one client until in ends or ctx is done, then closes the connections to the servers.
// It returns the error of reading in.
func (g *Gateway) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	g.IsStdio = true
	return g.server.Stdio(ctx, in, out)
}

// Handler serves over Streamable HTTP until ctx is done.
func (g *Gateway) Handler(ctx context.Context) http.Handler { return g.server.Handler(ctx) }

// Close ends the logins, closes the connections to all servers, and waits until they are closed.
func (g *Gateway) Close() {
	g.cancel()
	g.mu.Lock()
	g.isClosed = true
	all := g.peersLocked()
	g.statelessPeers = nil
	clear(g.sessions)
	g.mu.Unlock()
	for _, p := range all {
		g.closingPeers.Go(p.close)
	}
	g.closingPeers.Wait()
}

// Prepare returns how a request is answered: requests of the gateway itself at once, others by a
// job that may wait for servers. It implements mcpserver.Handler.
func (g *Gateway) Prepare(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	switch m.Method {
	case "initialize":
		return g.initialize(c, m)
	case "server/discover":
		if c.Stateless { // other revisions do not have it: respond refuses it
			return g.discover(c, m)
		}
	case "ping":
		if !c.Stateless { // stateless revisions do not have it
			return mcpserver.Replying(wire.ComposeResult(m.ID, json.RawMessage("{}")))
		}
	}
	if p := g.sessionPeer(c); p != nil {
		p.markReady() // some clients send requests without notifications/initialized
	}
	return mcpserver.Job{MayWait: true, Run: func(ctx context.Context, send func([]byte)) []byte {
		ctx, stop := withDisconnect(ctx, c)
		defer stop()
		if c.Stateless && !g.IsStdio { // these clients share the connections to the servers
			queued, end := g.queue(send)
			defer end()
			send = queued
		}
		response := g.respond(ctx, c, m, send)
		if ctx.Err() != nil {
			return nil // a cancelled request has no response
		}
		return response
	}}
}

// maxQueued limits the messages that wait for a client that does not read them.
const maxQueued = 1024

// queue returns a send function that does not wait for the client: a slow client must not delay
// other clients of the same connection. end waits until everything is sent.
func (g *Gateway) queue(send func([]byte)) (queued func([]byte), end func()) {
	waiting := make(chan []byte, maxQueued)
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
			g.showOnce(textIsKey, "messages were left out: the client does not read the stream of its request")
		}
	}
	return queued, func() {
		close(waiting)
		<-sent
	}
}

// withDisconnect returns a context that ends disconnectGrace after the client is gone.
func withDisconnect(ctx context.Context, c mcpserver.Caller) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if c.Over != nil { // otherwise ctx alone ends when the client is gone
		go func() {
			select {
			case <-c.Over:
				grace, stop := context.WithTimeout(ctx, disconnectGrace)
				defer stop()
				<-grace.Done() // the grace is over, or the request has ended
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// Notified handles a notification of a client in a session. It implements mcpserver.Handler.
func (g *Gateway) Notified(c mcpserver.Caller, m *wire.Message) {
	p := g.sessionPeer(c)
	if p == nil {
		return
	}
	switch m.Method {
	case "notifications/initialized":
		p.markReady()
	case "notifications/roots/list_changed":
		for _, l := range p.links {
			// Stateless revisions do not have this notification. No server waits for another.
			if conn := l.connection(); conn != nil && !client.Stateless(conn.Revision()) {
				go conn.Notify(p.ctx, client.Call{Method: m.Method, Params: m.Params})
			}
		}
	}
}

// capabilities are the ServerCapabilities of the gateway.
const capabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},` +
	`"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}`

// declaresCapability reports whether capabilities has the member at this path.
func declaresCapability(names ...string) bool {
	value := json.RawMessage(capabilities)
	for _, name := range names {
		value = jsonraw.First(value, name)
	}
	return value != nil
}

// initialize opens a session, and starts connecting to the servers.
func (g *Gateway) initialize(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	revision, refused := g.server.OpenSession(c, m)
	if refused != nil {
		return mcpserver.Replying(refused)
	}
	g.open(c.Session)
	return g.withOpening(c, func(o opening) []byte {
		var b jsonraw.Builder
		b.Text("protocolVersion", revision)
		b.Raw("capabilities", o.capabilities)
		b.Raw("serverInfo", o.identity)
		if o.instructions != "" {
			b.Text("instructions", o.instructions)
		}
		return wire.ComposeResult(m.ID, b.Bytes())
	})
}

// An opening is what the first response to a client says about the server.
type opening struct {
	identity, capabilities json.RawMessage
	instructions           string
}

// openingTimeout is how long the first response to a client waits for a single server. A client waits
// longer for it.
const openingTimeout = 2 * time.Second

// withOpening returns a job that calls compose with what the first response says. A single server whose
// tools keep their names describes itself, if it answers in time. Otherwise the gateway describes itself.
func (g *Gateway) withOpening(c mcpserver.Caller, compose func(opening) []byte) mcpserver.Job {
	own := opening{g.identity(), json.RawMessage(capabilities), g.instructions()}
	p := g.peerFor(c)
	if !g.Plain || len(g.Members) != 1 || p == nil {
		return mcpserver.Replying(compose(own))
	}
	return mcpserver.Job{MayWait: true, Run: func(ctx context.Context, _ func([]byte)) []byte {
		ctx, stop := context.WithTimeout(ctx, openingTimeout)
		defer stop()
		conn, _ := p.links[0].waitDialed(ctx)
		if conn == nil {
			return compose(opening{own.identity, own.capabilities, ""})
		}
		info := conn.Info()
		if info.ServerInfo == nil {
			info.ServerInfo = own.identity
		}
		return compose(opening{info.ServerInfo, sharedCapabilities(info.Capabilities), info.Instructions})
	}}
}

// sharedCapabilities returns the capabilities of the gateway that a server has, too. It always has tools,
// because the gateway has tools in place of those of a server that fails.
func sharedCapabilities(theirs json.RawMessage) json.RawMessage {
	shared := json.RawMessage(capabilities)
	for _, name := range []string{"prompts", "resources", "completions", "logging"} {
		if jsonraw.First(theirs, name) == nil {
			shared = jsonraw.Without(shared, name)
		}
	}
	return shared
}

// discover answers server/discover, and starts connecting to the servers.
func (g *Gateway) discover(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	if p := g.peerFor(c); p != nil {
		p.connectAll()
	}
	return g.withOpening(c, func(o opening) []byte {
		var b jsonraw.Builder
		b.Text("resultType", "complete")
		b.Raw(
			"supportedVersions",
			jsonraw.ListOf(g.server.Eras.Revisions(), func(v string) []byte { return jsonraw.Quote(v) }),
		)
		b.Raw("capabilities", o.capabilities)
		if o.instructions != "" {
			b.Text("instructions", o.instructions)
		}
		b.Number("ttlMs", 0) // the servers may change at any time
		b.Text("cacheScope", "private")
		b.Raw("_meta", jsonraw.With(nil, bridge.MetaServer, o.identity))
		return wire.ComposeResult(m.ID, b.Bytes())
	})
}

// identity returns the serverInfo of the gateway.
func (g *Gateway) identity() json.RawMessage {
	var b jsonraw.Builder
	b.Text("name", "mcpc-serve")
	b.Text("title", "mcpc serve")
	b.Text("version", g.Version)
	return b.Bytes()
}

// instructions returns the instructions that explain the names. They quote nothing that a server wrote.
func (g *Gateway) instructions() string {
	text := "These are the tools, prompts and resources of several MCP servers:"
	if len(g.Members) == 1 {
		text = "These are the tools, prompts and resources of the MCP server"
	}
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

// maxShown limits the texts for the user. Later ones are not shown.
const maxShown = 1000

// textIsKey is the key of showOnce for a text that is shown once as it is.
const textIsKey = ""

// showOnce shows the user a text unless one with the same key was shown. It
// returns after the text is shown, whichever goroutine shows it: a response that depends on it
// comes later.
func (g *Gateway) showOnce(key, text string, stderr ...string) {
	if key == textIsKey {
		key = text
	}
	g.showMu.Lock()
	defer g.showMu.Unlock()
	if !g.shown[key] && len(g.shown) < maxShown {
		g.shown[key] = true
		g.Tell(text, stderr...)
	}
}
