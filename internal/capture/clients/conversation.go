// Package clients reports what clients do. A Reader reads the conversations of each client from
// recordings, and Compare answers the questions of Facts, with the exchanges that prove each
// answer.
package clients

import (
	"slices"
	"sort"
	"strings"
	"time"

	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// The transports of a Conversation.
const (
	Stdio          = "stdio"
	StreamableHTTP = "Streamable HTTP"
	HTTPWithSSE    = "HTTP+SSE"
)

// A Conversation is what one client and a server sent each other in one session or over one connection.
type Conversation struct {
	// Client is zero if the client never says its name.
	Client    exchange.Implementation
	Transport string
	// Events are in the order they were recorded in.
	Events []*Event

	// hasEnded reports that the client has ended: it sends nothing after the last event. next is the
	// conversation that the client began after this one, or nil; previous is the one before.
	hasEnded       bool
	next, previous *Conversation
	// isLost is set if the server no longer knows the session.
	isLost bool
	// headerTools are the tools with x-mcp-header in their schema, as far as the server listed them.
	headerTools map[string]bool
	// shortestWait is the shortest time after which the client cancelled a request without progress;
	// 0 if it cancelled none.
	shortestWait time.Duration
	// progressed has the exchanges with progress notifications.
	progressed map[string]bool
	// capabilities are the newest capabilities that the client declared.
	capabilities []byte

	// sent are the client's requests and notifications by their method, its GETs and DELETEs, and
	// its requests of further pages by their pageKey, in the order of Events.
	sent map[string][]*Event
	// firstRequest and firstResult are the first request of the client, and the first one with a
	// result.
	firstRequest, firstResult *Event
	// lastClosed is the end of the last GET that the client closed, or nil.
	lastClosed *Event
	// lastAnswered and lastHTTP are the positions of the client's last request with a response, and
	// of its last HTTP request; -1 without one.
	lastAnswered, lastHTTP int
}

// An Event is a message, the end of a stream, or an HTTP request of the client without a message.
type Event struct {
	// Frame has no Raw. Its HTTP is the head of the HTTP request or response that carried the message.
	wire.Frame
	// Message is nil if the event has none.
	Message *Message
	// Request is the request that this event responds to, or nil. Response is the opposite.
	Request, Response *Event
	// Exchange is the number of the exchange, as mcpc show takes it. An event that belongs to no
	// exchange has the exchange of the last initialize, or else the first one.
	Exchange string

	// content is equal for requests with the same method and params, whatever their ids.
	content  uint64
	position int
	// result has the facts of a result. answered is the request that a second response belongs to, or
	// nil.
	result   resultFacts
	answered *Event
	// opener is the request or GET that the event's stream responds to, or nil. hasIDs is set if
	// the stream that this event opened has ids.
	opener *Event
	hasIDs bool
	// isRefused is set if the HTTP status of the response to the event is that of an error.
	isRefused bool
	// revision is the revision that the request names, or else the one that was negotiated before,
	// or "".
	revision string
	// hasSession is set after the server gave a session id.
	hasSession bool
}

// A Message is what an Event keeps of its message.
type Message struct {
	Kind wire.MessageKind
	// ID is the JSON of the id, or "".
	ID, Method string
	// params and result are the members of the message's params and result, without the payload.
	params, result jsonraw.Members
	// code is the code of an error.
	code int64
	// hasArguments is set for a call with arguments.
	hasArguments bool
}

// isMessage reports whether the event is a message of this kind and direction.
func (e *Event) isMessage(dir wire.Direction, kind wire.MessageKind) bool {
	return e.Message != nil && e.Dir == dir && e.Message.Kind == kind
}

// isRequest reports whether the event is a request of the client.
func (e *Event) isRequest() bool { return e.isMessage(wire.Sent, wire.Request) }

// isResult reports whether the event is a result that the server returns to a request of the client.
func (e *Event) isResult() bool { return e.isMessage(wire.Received, wire.Response) && e.Request != nil }

// isHTTP reports whether the client sent the event as an HTTP request, or in one.
func (e *Event) isHTTP() bool { return e.Dir == wire.Sent && e.Kind != wire.Closed && e.HTTP != nil }

// hasFields reports whether the event is an HTTP request of the client whose header fields were
// recorded.
func (e *Event) hasFields() bool { return e.isHTTP() && len(e.HTTP.Fields) > 0 }

// isClosedBy reports whether the event is the end of a stream by the client or the server.
func (e *Event) isClosedBy(side wire.Direction) bool {
	return e.Kind == wire.Closed && e.Close != nil && e.Close.By == side
}

// method returns the method of a request or notification, or the HTTP method of a request without a
// message.
func (e *Event) method() string {
	switch {
	case e.Message != nil:
		return e.Message.Method
	case e.isHTTP():
		return e.HTTP.Method
	}
	return ""
}

// ownMeta returns a member of the _meta of a client's request that describes the client or the
// revision, or nil. Only requests of revisions without a handshake have it.
func (e *Event) ownMeta(name string) []byte {
	if !e.isRequest() {
		return nil
	}
	return jsonraw.First(e.Message.params.Value("_meta"), "io.modelcontextprotocol/"+name)
}

// ownRevision returns the revision that a request names in its _meta, or "".
func (e *Event) ownRevision() string {
	revision, _ := jsonraw.Text(e.ownMeta("protocolVersion"))
	return revision
}

// declaredCapabilities returns the capabilities that a request declares, or nil.
func (e *Event) declaredCapabilities() []byte {
	if e.isRequest() && e.method() == "initialize" {
		return e.Message.params.Value("capabilities")
	}
	return e.ownMeta("clientCapabilities")
}

// clientName returns the client that a request names, or the zero value.
func (e *Event) clientName() exchange.Implementation {
	info := e.ownMeta("clientInfo")
	if e.isRequest() && e.method() == "initialize" {
		info = e.Message.params.Value("clientInfo")
	}
	members, _ := jsonraw.Object(info)
	return exchange.Implementation{Name: members.Text("name"), Version: members.Text("version")}
}

// url returns the URL of the conversation without a query, or "" over stdio.
func (c *Conversation) url() string {
	for _, e := range c.Events {
		if e.isHTTP() {
			url, _, _ := strings.Cut(e.HTTP.URL, "?")
			return url
		}
	}
	return ""
}

// newConversation returns the conversation of a client. It sets the fields of the events that depend
// on other events.
func newConversation(client exchange.Implementation, events []*Event) *Conversation {
	c := &Conversation{
		Client: client, Transport: transportOf(events), Events: events, sent: map[string][]*Event{},
		headerTools: map[string]bool{}, progressed: map[string]bool{}, lastAnswered: -1, lastHTTP: -1,
	}
	type stream struct{ conn, number int }
	openers := map[stream]*Event{}
	negotiated := ""
	hasSession := false
	opening := ""
	for i, e := range events {
		e.position = i
	}
	for _, e := range events {
		if e.isRequest() || e.isHTTP() && e.Message == nil {
			openers[stream{e.Conn, e.Stream}] = e
		}
		if e.Stream > 0 {
			e.opener = openers[stream{e.Conn, e.Stream}]
		}
		if e.opener != nil && e.SSE != nil && e.SSE.ID != nil {
			e.opener.hasIDs = true
		}
		if e.opener != nil && e.Kind == wire.Head && e.Dir == wire.Received {
			e.opener.isRefused = true // only the heads of errors are events
		}
		if declared := e.declaredCapabilities(); declared != nil {
			c.capabilities = declared
		}
		if e.isResult() && e.Request.method() == "initialize" {
			negotiated = e.Message.result.Text("protocolVersion")
		}
		e.revision = e.ownRevision()
		if e.revision == "" {
			e.revision = negotiated
		}
		hasSession = hasSession || e.Dir == wire.Received && e.HTTP.Field("Mcp-Session-Id") != ""
		e.hasSession = hasSession
		if opening == "" || e.isRequest() && e.method() == "initialize" {
			opening = e.Exchange
		}
		if e.Exchange == "" {
			e.Exchange = opening
		}
		c.index(e)
	}
	for _, e := range events {
		if e.Exchange == "" { // it precedes all exchanges
			e.Exchange = opening
		}
	}
	return c
}

// index adds an event to the indexes of the conversation.
func (c *Conversation) index(e *Event) {
	if e.Dir == wire.Sent && e.method() != "" {
		c.sent[e.method()] = append(c.sent[e.method()], e)
	}
	if e.isHTTP() {
		c.lastHTTP = e.position
	}
	if e.isClosedBy(wire.Sent) && e.opener != nil && e.opener.method() == "GET" {
		c.lastClosed = e
	}
	for _, tool := range e.result.headerTools {
		c.headerTools[tool] = true
	}
	if request := refusedRequest(e, 404); request != nil && request.HTTP.Field("Mcp-Session-Id") != "" {
		c.isLost = true
	}
	c.learnWait(e)
	if !e.isRequest() {
		return
	}
	if cursor := e.Message.params.Value("cursor"); cursor != nil {
		key := pageKey(e.method(), cursor)
		c.sent[key] = append(c.sent[key], e)
	}
	if c.firstRequest == nil {
		c.firstRequest = e
	}
	if e.Response == nil {
		return
	}
	c.lastAnswered = e.position
	if c.firstResult == nil && e.Response.isResult() {
		c.firstResult = e
	}
}

// pageKey returns the key in Conversation.sent of the requests of a page. The client may escape
// characters of the cursor that the server did not.
func pageKey(method string, cursor []byte) string { return method + " " + jsonraw.TextOrRaw(cursor) }

// continues reports whether the client sent a request after an event and got its response, so that
// it had the opportunity to react to the event.
func (c *Conversation) continues(e *Event) bool { return c.lastAnswered > e.position }

// soon is the time within which a client begins a conversation because of how the previous one ended.
// Later, another process of the client may have begun.
const soon = 5 * time.Second

// followsPrevious reports whether the client began the conversation because the server of the previous
// one only responded to server/discover, or lost the session.
func (c *Conversation) followsPrevious() bool {
	before := c.previous
	if before == nil || before.url() != c.url() {
		return false
	}
	wait := c.Events[0].Time.Sub(before.Events[len(before.Events)-1].Time)
	isOther := func(e *Event) bool { return e.isRequest() && e.method() != "server/discover" }
	return wait < soon && (before.isLost || !slices.ContainsFunc(before.Events, isOther))
}

// after returns what the client sent with a method after an event.
func (c *Conversation) after(e *Event, method string) []*Event {
	all := c.sent[method]
	return all[sort.Search(len(all), func(i int) bool { return all[i].position > e.position }):]
}

// transportOf returns the transport that the events show.
func transportOf(events []*Event) string {
	transport := Stdio
	for _, e := range events {
		if e.SSE != nil && e.SSE.Event == "endpoint" {
			return HTTPWithSSE
		}
		if e.HTTP != nil {
			transport = StreamableHTTP
		}
	}
	return transport
}
