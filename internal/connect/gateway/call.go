package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/pin"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A call is one request of a client on its way to a server.
type call struct {
	l      *link
	c      mcpserver.Caller
	number int64
	// asks is set where the server may ask the client something.
	asks bool
	// own is the progress token towards the server, level that of the log messages that the client wants.
	own, level string
	// asked has the questions of a server for a client whose requests stand alone.
	asked chan *question
	ended chan wire.Outcome
	stop  context.CancelFunc

	mu sync.Mutex
	// out sends to the client before the response; nil while the client has no request open for it.
	out   func([]byte)
	token json.RawMessage // the client's progress token
}

var numbers atomic.Int64

// send sends a message before the response; false where that is not possible now.
func (c *call) send(raw []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return false
	}
	c.out(raw)
	return true
}

// belongsTo sets the request of the client in which the call goes on; nil is none.
func (c *call) belongsTo(m *wire.Message, send func([]byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = send
	c.token = nil
	if m != nil {
		c.token = jsonraw.First(jsonraw.First(m.Params, "_meta"), "progressToken")
	}
}

// progress passes on a notification of progress with the client's token.
func (c *call) progress(params json.RawMessage) {
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	if token != nil {
		c.send(wire.ComposeNotification("notifications/progress", jsonraw.With(params, "progressToken", token)))
	}
}

// answer answers a request that is not about the session.
func (g *Gateway) answer(ctx context.Context, c mcpserver.Caller, m *wire.Message, send func([]byte)) []byte {
	if s := g.resumed(m); s != nil {
		return s.goOn(ctx, m, send)
	}
	refused := func(code int64, text string) []byte { return wire.ComposeError(m.ID, code, text) }
	if c.Stateless && c.Level != "" && !slices.Contains(mcp.LogLevels, c.Level) {
		return refused(-32602, "unknown log level: "+c.Level)
	}
	p := g.peerFor(c)
	if p == nil {
		return refused(-32603, fmt.Sprintf("mcpc serve has no session for this request, or %d clients already", mostPeers))
	}
	p.connectAll()
	params := jsonraw.Without(jsonraw.OrEmpty(bridge.Plain(m.Params)), "task")
	if mcp.IsServerList(m.Method) {
		return p.list(ctx, m)
	}
	switch m.Method {
	case "tools/call":
		return p.callTool(ctx, c, m, params, send)
	case "prompts/get":
		l, name, down := p.prompt(ctx, jsonraw.TextOrRaw(jsonraw.First(params, "name")))
		if down != nil {
			return down.failure(c, m, down.unreached())
		}
		if l == nil {
			return refused(-32602, name)
		}
		return g.forward(ctx, l, c, m, jsonraw.With(params, "name", jsonraw.Quote(name)), nil, send)
	case "resources/read":
		l, why := p.resource(ctx, jsonraw.TextOrRaw(jsonraw.First(params, "uri")))
		if l == nil {
			data := jsonraw.With(nil, "uri", jsonraw.First(params, "uri"))
			return mcpserver.ComposeError(m.ID, mcpserver.Failure(bridge.NoResource(c.Stateless), why, data))
		}
		return g.forward(ctx, l, c, m, params, nil, send)
	case "completion/complete":
		l, params, why := p.completes(ctx, params)
		if l == nil {
			return refused(-32602, why)
		}
		return g.forward(ctx, l, c, m, params, nil, send)
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		if !c.Stateless {
			return p.settle(ctx, m, params)
		}
	case "subscriptions/listen":
		if c.Stateless {
			return p.listen(ctx, c, m, send)
		}
	}
	return refused(-32601, "Method not found")
}

// otherName gives a member that some servers read as the name, without regard to case: it would be another tool than
// the one that is allowed. "" is none.
func otherName(params json.RawMessage) string {
	members, _ := jsonraw.Object(params)
	for _, m := range members {
		if m.Name != "name" && strings.EqualFold(m.Name, "name") {
			return m.Name
		}
	}
	return ""
}

// callTool calls a tool.
func (p *peer) callTool(
	ctx context.Context,
	c mcpserver.Caller,
	m *wire.Message,
	params json.RawMessage,
	send func([]byte),
) []byte {
	if other := otherName(params); other != "" {
		return wire.ComposeError(m.ID, -32602, "params has "+other+" beside name")
	}
	shown := jsonraw.TextOrRaw(jsonraw.First(params, "name"))
	l, t, down := p.tool(ctx, shown)
	if down != nil {
		return down.failure(c, m, down.unreached())
	}
	if l == nil {
		return wire.ComposeError(m.ID, -32602, "Unknown tool: "+shown)
	}
	if t.refused != "" {
		return toolFailure(c, m, "the tool "+shown+" is not served: "+t.refused)
	}
	if conn := l.current(); conn != nil {
		pin.Approve(ctx, conn, t.definition)
	}
	return p.g.forward(ctx, l, c, m, jsonraw.With(params, "name", jsonraw.Quote(t.name)), t.schema, send)
}

// forward sends a request to a server, and gives the response for the client, which may ask something before the call
// has ended.
func (g *Gateway) forward(
	ctx context.Context,
	l *link,
	c mcpserver.Caller,
	m *wire.Message,
	params, schema json.RawMessage,
	send func([]byte),
) []byte {
	conn, out := l.connected(ctx)
	release := func() {}
	if conn != nil && c.Stateless && !g.pipe && mcp.MayRequireInput(m.Method) && client.MayAsk(l.p.capabilities) &&
		!client.Stateless(conn.Revision()) {
		leased, free := g.lease(l)
		if leased == nil {
			return l.failure(
				c,
				m,
				wire.Outcome{Kind: wire.Refused, Text: fmt.Sprintf("%d calls are under way already", mostPeers)},
			)
		}
		l = leased
		release = free
		conn, out = l.connected(ctx)
	}
	if conn == nil {
		release()
		return l.failure(c, m, out)
	}
	k := &call{
		l:      l,
		c:      c,
		number: numbers.Add(1),
		asks:   mcp.MayRequireInput(m.Method),
		level:  c.Level,
		asked:  make(chan *question),
		ended:  make(chan wire.Outcome, 1),
	}
	k.own = fmt.Sprintf("mcpc-%d", k.number)
	k.belongsTo(m, send)
	life, stop := context.WithCancel(l.p.life)
	k.stop = stop
	l.mu.Lock()
	l.calls[k] = true
	l.mu.Unlock()
	go func() {
		defer release()
		defer stop()
		l.setLevel(life, conn, k.level)
		out := conn.Do(withCall(life, k), k.toServer(conn, m, params, schema))
		if client.HeaderMismatch(out) { // it was refused unread: the definition is out of date
			out = conn.Do(
				withCall(life, k),
				k.toServer(conn, m, params, l.freshSchema(life, jsonraw.TextOrRaw(jsonraw.First(m.Params, "name")))),
			)
		}
		l.mu.Lock()
		delete(l.calls, k)
		l.mu.Unlock()
		k.ended <- out
	}()
	return k.wait(ctx, m)
}

// toServer is the request as the server gets it. What a client and a server of one era ask each other goes through
// as it is; else the questions become those of the client's era.
func (c *call) toServer(conn *connect.Conn, m *wire.Message, params, schema json.RawMessage) client.Call {
	alone := client.Stateless(conn.Revision())
	if c.token != nil {
		params = bridge.WithMeta(params, "progressToken", jsonraw.Quote(c.own))
	}
	if alone && c.level != "" {
		params = bridge.WithMeta(params, bridge.MetaLogLevel, jsonraw.Quote(c.level))
	}
	return client.Call{Method: m.Method, Params: params, Schema: schema, OneRound: alone == c.c.Stateless}
}

// wait waits for the end of the call, or for a question to a client that is asked in the response.
func (c *call) wait(ctx context.Context, m *wire.Message) []byte {
	defer c.belongsTo(nil, nil)
	select {
	case out := <-c.ended:
		return c.response(m, out)
	case q := <-c.asked:
		return c.suspend(m, q)
	case <-ctx.Done():
		c.stop()
		return nil
	}
}

// response is the response to a client whose request ended so.
func (c *call) response(m *wire.Message, out wire.Outcome) []byte {
	got := out.Message
	method := m.Method
	alone := false
	if conn := c.l.current(); conn != nil {
		alone = client.Stateless(conn.Revision())
	}
	if got != nil && got.Kind == wire.Response && (c.c.Stateless || !wire.AsksForInput(got.Result)) {
		return wire.ComposeResult(m.ID, bridge.Result(c.c.Stateless, alone, method, got.Result))
	}
	if got != nil && got.Kind == wire.ErrorResponse && out.Kind != wire.Transport { // which is about the session
		return mcpserver.ComposeError(m.ID, bridge.Error(c.c.Stateless, alone, method, got.Error.Raw))
	}
	c.l.tellOfExit(out)
	return c.l.failure(c.c, m, out)
}

type callKey struct{}

// withCall gives a context the call for which it is, for questions.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
