package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A pendingQuestion is a server's request for a stateless client.
type pendingQuestion struct {
	method string
	params json.RawMessage
	answer chan json.RawMessage // of size 1
	// withdrawn is done when nothing waits for the answer any more.
	withdrawn context.Context
}

// ask forwards a server's request to the client. It implements client.Asker. Without an answer the
// server gets an empty one.
func (l *link) ask(ctx context.Context, q client.InputRequest) client.Answer {
	ctx, stop := context.WithTimeout(ctx, answerTimeout)
	defer stop()
	askingCall, _ := ctx.Value(callKey{}).(*call)
	if askingCall == nil { // a request of the server does not name its call
		askingCall = l.newestCall(func(c *call) bool { return c.mayAsk })
	}
	var result json.RawMessage
	if l.peer.session != nil {
		result = l.askSession(ctx, q, askingCall)
	} else if askingCall != nil {
		result = askingCall.askStateless(ctx, q)
	}
	return client.Answer{Result: result}
}

// askSession asks a client with a session by a request, on the stream of the call if that is open,
// and returns the client's result. It returns nil if the client refuses, or if nothing waits any
// more.
func (l *link) askSession(ctx context.Context, q client.InputRequest, askingCall *call) json.RawMessage {
	select {
	case <-l.peer.ready:
	case <-ctx.Done():
		return nil
	}
	session := l.peer.session
	const toStateless = false
	question := bridge.ConvertQuestion(toStateless, q.Method, q.Params, l.peer.gateway.Token())
	raw, answer := session.Ask(q.Method, question)
	id := wire.ParseMessage(raw).ID
	defer session.Forget(id)
	if askingCall == nil || !askingCall.send(raw) {
		session.Push(raw)
	}
	select {
	case got := <-answer:
		return got.Result
	case <-ctx.Done():
		params := jsonraw.With(jsonraw.With(nil, "requestId", id), "reason", jsonraw.Quote("the server withdrew the request"))
		session.Push(wire.ComposeNotification("notifications/cancelled", params))
	case <-l.peer.ctx.Done():
	}
	return nil
}

// askStateless asks a stateless client in the response to its request, and returns the result of the
// answer. The client sends the answer with the request again. If it does not in time, or if the server
// withdraws the question, the call is cancelled and the result is nil.
func (c *call) askStateless(ctx context.Context, q client.InputRequest) json.RawMessage {
	const toStateless = true // such questions have no separate id
	pending := &pendingQuestion{
		method:    q.Method,
		params:    bridge.ConvertQuestion(toStateless, q.Method, q.Params, ""),
		answer:    make(chan json.RawMessage, 1),
		withdrawn: ctx,
	}
	select {
	case c.questions <- pending:
	case <-ctx.Done():
		return nil
	case <-c.link.peer.ctx.Done():
		return nil
	}
	select {
	case result := <-pending.answer:
		return result
	case <-ctx.Done():
		c.cancel() // its client does not come back, or would answer a question that is withdrawn
	case <-c.link.peer.ctx.Done():
	}
	return nil
}

// A suspension is a call that waits until its client sends the request again with an answer.
type suspension struct {
	call     *call
	question *pendingQuestion
	// requestHash is the hash of the request, which must be the same again.
	requestHash [sha256.Size]byte
}

// answerKey is the only member of inputRequests.
const answerKey = "question"

// suspend returns the response that asks the client, and stores the call until the client answers
// or the question is withdrawn. If too many calls wait already, it cancels the call and returns an
// error.
func (c *call) suspend(m *wire.Message, q *pendingQuestion) []byte {
	g := c.link.peer.gateway
	state := g.statePrefix + g.Token()
	g.mu.Lock()
	hasRoom := len(g.suspended) < maxSuspended
	if hasRoom {
		g.suspended[state] = &suspension{call: c, question: q, requestHash: requestHash(m)}
	}
	g.mu.Unlock()
	if !hasRoom {
		c.cancel()
		return wire.ComposeError(m.ID, -32603, "too many calls wait for answers of their clients")
	}
	context.AfterFunc(q.withdrawn, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.suspended, state)
	})
	return g.composeQuestion(m, q.method, q.params, state)
}

// composeQuestion returns the response to a stateless request that asks its client. state is the
// requestState, or "".
func (g *Gateway) composeQuestion(m *wire.Message, method string, params json.RawMessage, state string) []byte {
	var inputRequest, result jsonraw.Builder
	inputRequest.Text("method", method)
	inputRequest.Raw("params", params)
	result.Text("resultType", "input_required")
	result.Raw("inputRequests", jsonraw.With(nil, answerKey, inputRequest.Bytes()))
	if state != "" {
		result.Text("requestState", state)
	}
	result.Raw("_meta", jsonraw.With(nil, bridge.MetaServer, g.identity()))
	return wire.ComposeResult(m.ID, result.Bytes())
}

// requestHash returns the hash of a request's method and params, without the members that change
// when the client sends it again.
func requestHash(m *wire.Message) [sha256.Size]byte {
	params := jsonraw.OrEmpty(m.Params)
	for _, name := range []string{"_meta", "inputResponses", "requestState"} {
		params = jsonraw.Without(params, name)
	}
	return sha256.Sum256(append([]byte(m.Method+"\n"), jsonraw.Compact(params)...))
}

// takeSuspended returns the suspended call that the request continues, and removes it. Returns nil
// if the request has no requestState of this gateway, and an empty suspension if its call is
// unknown.
func (g *Gateway) takeSuspended(m *wire.Message) *suspension {
	state, _ := jsonraw.Text(jsonraw.First(m.Params, "requestState"))
	if !strings.HasPrefix(state, g.statePrefix) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.suspended[state]
	if s == nil || s.requestHash != requestHash(m) {
		return &suspension{}
	}
	delete(g.suspended, state)
	return s
}

// resume continues the call with the client's answer. If the answer is missing, it asks again.
func (s *suspension) resume(ctx context.Context, m *wire.Message, send func([]byte)) []byte {
	if s.call == nil {
		return wire.ComposeError(m.ID, -32602, "unknown requestState: its call has ended, or it belongs to another request")
	}
	answer := jsonraw.First(jsonraw.First(m.Params, "inputResponses"), answerKey)
	if answer == nil {
		return s.call.suspend(m, s.question)
	}
	s.call.attach(m, send)
	s.question.answer <- answer
	return s.call.wait(ctx, m)
}
