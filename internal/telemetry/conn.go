package telemetry

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/exchange"
	"mcpc/internal/otlp"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A conn is the state of one conversation.
type conn struct {
	// version is the protocol version, session the hash of the session id; "" if unknown.
	version, session string
	server           endpoint
	conversation     exchange.Conversation
	// proto is the HTTP version in the last head, or "" on a pipe.
	proto string
	// sessionStart is the start time of the session, or zero if there is no session. lastFrame is the time of
	// the last frame.
	sessionStart, lastFrame time.Time
}

// An endpoint is the address of a server. The zero value is unknown or a command.
type endpoint struct {
	address string
	port    int64
}

// parseEndpoint returns the endpoint of a URL. It returns the zero value for a command.
func parseEndpoint(target string) endpoint {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return endpoint{}
	}
	e := endpoint{address: cutText(u.Hostname(), maxName), port: 80}
	if u.Scheme == "https" {
		e.port = 443
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		e.port = int64(port)
	}
	return e
}

// connFor returns the state of the conversation with the number. It creates the state of a new
// conversation.
func (b *Builder) connFor(number int) *conn {
	c := b.conns.Get(number)
	if c == nil {
		c = &conn{server: b.target}
	}
	b.conns.Put(number, c) // an existing conversation too: the map discards the least recently put ones
	return c
}

// addHead updates c with an HTTP head, and keeps the trace context in the head of a request for its
// body.
func (b *Builder) addHead(c *conn, f *wire.Frame) {
	h := f.HTTP
	if f.Dir == wire.Received || c.proto == "" { // the version in a request is only what its client proposes
		c.proto = cutText(h.Proto, maxName)
	}
	if id := h.Field("Mcp-Session-Id"); id != "" {
		c.session = cutText(firstHash(id, firstHash(redact.Redacted(id), "")), maxName) // the id may already be hashed
	}
	if f.Dir == wire.Received {
		return
	}
	c.conversation.AddHead(h)
	if e := parseEndpoint(h.URL); e != (endpoint{}) {
		c.server = e
	}
	if version := h.Field("Mcp-Protocol-Version"); version != "" {
		c.version = cutText(version, maxName)
	}
	key := stream{f.Conn, f.Stream}
	if context, ok := ParseContext(h.Field("traceparent"), h.Field("tracestate")); ok {
		b.headContexts.Put(key, context)
	} else {
		b.headContexts.Delete(key)
	}
	if h.Method == "DELETE" {
		b.endSession(c, f.Time, false) // DELETE ends the session, whatever the server responds
	}
}

// endSession adds the duration of the session to the metrics. broke is set if the connection
// failed. It does nothing if c has no session.
func (b *Builder) endSession(c *conn, at time.Time, broke bool) {
	if c.sessionStart.IsZero() {
		return
	}
	duration := at.Sub(c.sessionStart)
	c.sessionStart = time.Time{}
	if b.options.Metrics == nil {
		return
	}
	var attributes []otlp.Attribute
	if broke {
		attributes = append(attributes, text(errorType, string(wire.Transport)))
	}
	attributes = append(attributes, textIfAny(protocolVersion, c.version)...)
	attributes = append(attributes, c.networkAttributes()...)
	ofClient := append(slices.Clone(attributes), c.server.serverAttributes()...)
	b.options.Metrics.observe(clientSession, ofClient, at, duration)
	if b.options.IsRelay {
		b.options.Metrics.observe(serverSession, attributes, at, duration)
	}
}

// networkAttributes returns the attributes of the transport.
func (c *conn) networkAttributes() []otlp.Attribute {
	if c.proto == "" {
		return []otlp.Attribute{text(networkTransport, "pipe")}
	}
	transport := "tcp"
	version := strings.TrimSuffix(strings.TrimPrefix(c.proto, "HTTP/"), ".0")
	if version == "3" {
		transport = "quic"
	}
	return append([]otlp.Attribute{text(networkTransport, transport), text(networkProtocolName, "http")},
		textIfAny(networkProtocolVersion, version)...)
}

// serverAttributes returns the attributes of the address.
func (e endpoint) serverAttributes() []otlp.Attribute {
	if e.address == "" {
		return nil
	}
	return []otlp.Attribute{text(serverAddress, e.address), {Key: serverPort, Value: e.port}}
}
