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

// A call is one request of a client that is forwarded to a server.
type call struct {
	link   *link
	caller mcpserver.Caller
	number int64
	// mayAsk is set if the server may ask the client something during the call.
	mayAsk bool
	// serverToken is the progress token for the server, level the level of log messages that the
	// client wants.
	serverToken, level string
	// questions receives the server's questions for a stateless client.
	questions chan *pendingQuestion
	outcome   chan wire.Outcome
	cancel    context.CancelFunc

	mu sync.Mutex
	// sendToClient sends a message to the client before the response. It is nil while no request of
	// the client is open.
	sendToClient func([]byte)
	clientToken  json.RawMessage // the client's progress token
}

// lastCallNumber counts the calls, to number them.
var lastCallNumber atomic.Int64

// send sends a message before the response. It returns false if no request of the client is open.
func (c *call) send(raw []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sendToClient == nil {
		return false
	}
	c.sendToClient(raw)
	return true
}

// attach sets the client's request that the call continues in. A nil m detaches it.
func (c *call) attach(m *wire.Message, send func([]byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendToClient = send
	c.clientToken = nil
	if m != nil {
		c.clientToken = jsonraw.First(jsonraw.First(m.Params, "_meta"), "progressToken")
	}
}

// forwardProgress forwards a progress notification with the client's token.
func (c *call) forwardProgress(params json.RawMessage) {
	c.mu.Lock()
	token := c.clientToken
	c.mu.Unlock()
	if token != nil {
		c.send(wire.ComposeNotification("notifications/progress", jsonraw.With(params, "progressToken", token)))
	}
}

// respond answers a client's request that does not open or close a session: it continues the
// suspended call that the request is the answer for, or forwards the request to the server that it
// is for.
func (g *Gateway) respond(ctx context.Context, c mcpserver.Caller, m *wire.Message, send func([]byte)) []byte {
	if s := g.takeSuspended(m); s != nil {
		return s.resume(ctx, m, send)
	}
	refuse := func(code int64, text string) []byte { return wire.ComposeError(m.ID, code, text) }
	if c.Stateless && c.Level != "" && !slices.Contains(mcp.LogLevels, c.Level) {
		return refuse(-32602, "unknown log level: "+c.Level)
	}
	p := g.peerFor(c)
	if p == nil {
		return refuse(-32603, fmt.Sprintf("mcpc serve has no session for this request, or %d clients already", maxPeers))
	}
	p.connectAll()
	// The servers get their own _meta, and no tasks: they are not forwarded.
	params := jsonraw.Without(jsonraw.OrEmpty(bridge.WithoutRequestMeta(m.Params)), "task")
	if g.IsTransparent && !isAboutSession(m.Method) {
		schema := noSchema
		if m.Method == "tools/call" {
			if _, t, _ := p.findTool(ctx, jsonraw.TextOrRaw(jsonraw.First(params, "name"))); t != nil {
				schema = t.schema
			}
		}
		return g.forward(ctx, p.links[0], c, m, params, schema, send)
	}
	if mcp.IsServerList(m.Method) {
		return p.listAll(ctx, m)
	}
	switch m.Method {
	case "tools/call":
		return p.callTool(ctx, c, m, params, send)
	case "prompts/get":
		promptName := jsonraw.TextOrRaw(jsonraw.First(params, "name"))
		l, serverName, failedServer := p.findPrompt(ctx, promptName)
		if failedServer != nil {
			return failedServer.failureResponse(c, m, failedServer.lastFailure())
		}
		if l == nil {
			return refuse(-32602, unknownPrompt(promptName))
		}
		return g.forward(ctx, l, c, m, jsonraw.With(params, "name", jsonraw.Quote(serverName)), noSchema, send)
	case "resources/read":
		l, why := p.findResource(ctx, jsonraw.TextOrRaw(jsonraw.First(params, "uri")))
		if l == nil {
			data := jsonraw.With(nil, "uri", jsonraw.First(params, "uri"))
			return mcpserver.ComposeError(m.ID, mcpserver.Failure(bridge.NoResourceCode(c.Stateless), why, data))
		}
		return g.forward(ctx, l, c, m, params, noSchema, send)
	case "completion/complete":
		l, params, why := p.completionTarget(ctx, params)
		if l == nil {
			return refuse(-32602, why)
		}
		return g.forward(ctx, l, c, m, params, noSchema, send)
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		if !c.Stateless { // stateless revisions do not have these methods
			return p.changeSession(ctx, m, params)
		}
	case "subscriptions/listen":
		if c.Stateless { // only stateless revisions have it
			return p.listen(ctx, c, m, send)
		}
	}
	return refuse(-32601, "Method not found")
}

// isAboutSession reports whether requests of the method set what the client gets outside of responses.
func isAboutSession(method string) bool {
	switch method {
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel", "subscriptions/listen":
		return true
	}
	return false
}

// secondName returns a member of params that differs from "name" only in case, or "". Some servers
// would read it as the name of the tool, and so call a tool that is not allowed.
func secondName(params json.RawMessage) string {
	members, _ := jsonraw.Object(params)
	for _, m := range members {
		if m.Name != "name" && strings.EqualFold(m.Name, "name") {
			return m.Name
		}
	}
	return ""
}

// callTool forwards a tools/call, and returns the response. It returns an error response for a tool
// that no server lists or whose server did not answer, and a failed result for a tool that is not
// served, and for the status tool of a server that answers again. A login tool logs in. It approves
// the tool's definition before it forwards the call.
func (p *peer) callTool(
	ctx context.Context,
	c mcpserver.Caller,
	m *wire.Message,
	params json.RawMessage,
	send func([]byte),
) []byte {
	if second := secondName(params); second != "" {
		return wire.ComposeError(m.ID, -32602, "params has "+second+" beside name")
	}
	clientName := jsonraw.TextOrRaw(jsonraw.First(params, "name"))
	server, t, failedServer := p.findTool(ctx, clientName)
	isLogin := func(l *link) bool { return l.ownToolName("login") == clientName }
	if i := slices.IndexFunc(p.links, isLogin); i >= 0 && server == nil {
		return p.links[i].callLogin(ctx, c, m)
	}
	if failedServer != nil {
		return failedServer.failureResponse(c, m, failedServer.lastFailure())
	}
	isStatus := func(l *link) bool { return l.ownToolName("status") == clientName }
	if server == nil && slices.ContainsFunc(p.links, isStatus) {
		return toolFailureResponse(c, m, "the server answers again: list the tools again")
	}
	if server == nil {
		return wire.ComposeError(m.ID, -32602, "Unknown tool: "+clientName)
	}
	if t.refused != "" {
		return toolFailureResponse(c, m, "the tool "+clientName+" is not served: "+t.refused)
	}
	if conn := server.connection(); conn != nil { // without a connection, forward returns the failure
		pin.Approve(ctx, conn, t.definition)
	}
	params = jsonraw.With(params, "name", jsonraw.Quote(t.serverName))
	return p.gateway.forward(ctx, server, c, m, params, t.schema, send)
}

// noSchema is the schema of requests other than tools/call.
var noSchema json.RawMessage

// forward forwards a request to a server and returns the response for the client. That response may
// ask the client a question before the call has ended: the call then continues in the background.
// schema is the tool's inputSchema; header fields are made from it.
func (g *Gateway) forward(
	ctx context.Context,
	l *link,
	c mcpserver.Caller,
	m *wire.Message,
	params, schema json.RawMessage,
	send func([]byte),
) []byte {
	l, conn, release, out := g.connectFor(ctx, l, c, m)
	if conn == nil {
		release()
		return l.failureResponse(c, m, out)
	}
	pending := &call{
		link:      l,
		caller:    c,
		number:    lastCallNumber.Add(1),
		mayAsk:    mcp.MayRequireInput(m.Method),
		level:     c.Level,
		questions: make(chan *pendingQuestion),
		outcome:   make(chan wire.Outcome, 1),
	}
	pending.serverToken = fmt.Sprintf("mcpc-%d", pending.number)
	pending.attach(m, send)
	// The call ends with its client, not with the request: a question suspends it between two requests.
	callCtx, cancel := context.WithCancel(l.peer.ctx)
	pending.cancel = cancel
	l.mu.Lock()
	l.calls[pending] = true
	l.mu.Unlock()
	go func() {
		defer release()
		defer cancel()
		out := pending.run(callCtx, conn, m, params, schema)
		l.mu.Lock()
		delete(l.calls, pending)
		l.mu.Unlock()
		pending.outcome <- out
	}()
	return pending.wait(ctx, m)
}

// connectFor returns the link for a request, its connection, and a function to call when the
// request has ended. The link is l, or a link that no other call uses if a server's question could
// otherwise reach the wrong client. If the connection is nil, the outcome has the reason.
func (g *Gateway) connectFor(
	ctx context.Context, l *link, c mcpserver.Caller, m *wire.Message,
) (*link, *connect.Conn, func(), wire.Outcome) {
	release := func() {}
	conn, out := l.waitConnected(ctx)
	mayAsk := mcp.MayRequireInput(m.Method) && client.MayAsk(l.peer.capabilities)
	hasSharedLink := c.Stateless && !g.IsStdio
	// A server with a session sends its questions as requests that do not name their call.
	needsLease := conn != nil && hasSharedLink && mayAsk && !client.Stateless(conn.Revision())
	if !needsLease {
		return l, conn, release, out
	}
	leased, free := g.lease(l)
	if leased == nil {
		text := fmt.Sprintf("%d calls are under way already", maxPeers)
		return l, nil, release, wire.Outcome{Kind: wire.Refused, Text: text}
	}
	conn, out = leased.waitConnected(ctx)
	return leased, conn, free, out
}

// run sends the call to the server and returns its outcome. It sends the call again if the server has
// rejected it without executing it: after a login, if the server requires one, and with the tool's
// present definition, if the server rejects the header fields or has lost the session.
func (c *call) run(
	ctx context.Context, conn *connect.Conn, m *wire.Message, params, schema json.RawMessage,
) wire.Outcome {
	c.link.setLevel(ctx, conn, c.level)
	out := conn.Do(withCall(ctx, c), c.serverCall(conn, m, params, schema))
	if c.link.logInAgain(ctx, out) {
		out = conn.Do(withCall(ctx, c), c.serverCall(conn, m, params, schema))
	}
	if m.Method == "tools/call" && (client.IsHeaderMismatch(out) || client.IsSessionLost(out)) {
		fresh := c.link.freshTool(ctx, jsonraw.TextOrRaw(jsonraw.First(m.Params, "name")))
		if fresh != nil && fresh.refused == "" {
			out = conn.Do(withCall(ctx, c), c.serverCall(conn, m, params, fresh.schema))
		}
	}
	return out
}

// serverCall returns the request for the server. Between a client and a server of the same era,
// questions are forwarded unchanged. Otherwise they are converted to the client's era.
func (c *call) serverCall(conn *connect.Conn, m *wire.Message, params, schema json.RawMessage) client.Call {
	isStateless := client.Stateless(conn.Revision())
	if c.clientToken != nil {
		params = bridge.WithMeta(params, "progressToken", jsonraw.Quote(c.serverToken))
	}
	if isStateless && c.level != "" {
		params = bridge.WithMeta(params, bridge.MetaLogLevel, jsonraw.Quote(c.level))
	}
	return client.Call{Method: m.Method, Params: params, Schema: schema, OneRound: isStateless == c.caller.Stateless}
}

// wait waits until the call has ended or a stateless client has to be asked, and returns the
// response to m: the result of the call, or the question. If the client cancels m, wait cancels the
// call and returns nil.
func (c *call) wait(ctx context.Context, m *wire.Message) []byte {
	defer c.attach(nil, nil)
	select {
	case out := <-c.outcome:
		return c.response(m, out)
	case q := <-c.questions:
		return c.suspend(m, q)
	case <-ctx.Done():
		c.cancel()
		return nil
	}
}

// response returns the response to the client for the outcome of its call: the server's result or
// error, converted to the client's era, or a failure if the server sent neither.
func (c *call) response(m *wire.Message, out wire.Outcome) []byte {
	received := out.Message // nil if the server sent no response
	toStateless := c.caller.Stateless
	fromStateless := false
	if conn := c.link.connection(); conn != nil {
		fromStateless = client.Stateless(conn.Revision())
	}
	if received != nil && received.Kind == wire.Response {
		// A client with a session does not know results that ask for input.
		canReceive := toStateless || !wire.RequiresInput(received.Result)
		if canReceive {
			result := bridge.ConvertResult(toStateless, fromStateless, m.Method, received.Result)
			return wire.ComposeResult(m.ID, result)
		}
	}
	// A transport error is about the session, not the call.
	if received != nil && received.Kind == wire.ErrorResponse && out.Kind != wire.Transport {
		failure := bridge.ConvertError(toStateless, fromStateless, m.Method, received.Error.Raw)
		return mcpserver.ComposeError(m.ID, failure)
	}
	c.link.showExit(out)
	return c.link.failureResponse(c.caller, m, out)
}

// callKey is the key of the call in a context.
type callKey struct{}

// withCall returns a context that carries the call, so that questions find it.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
