package telemetry

import (
	"net/url"
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
	// started is the start time of the session, or zero if there is no session. last is the time of
	// the last frame.
	started, last time.Time
}

// An endpoint is the address of a server. The zero value is unknown or a command.
type endpoint struct {
	address string
	port    int64
}

// endpointOf returns the endpoint of a URL. It returns the zero value for a command.
func endpointOf(target string) endpoint {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return endpoint{}
	}
	e := endpoint{address: bounded(u.Hostname(), longestName), port: 80}
	if u.Scheme == "https" {
		e.port = 443
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		e.port = int64(port)
	}
	return e
}

// conn returns the state of the conversation with the number. It creates the state of a new
// conversation.
func (b *Builder) conn(number int) *conn {
	c := b.conns.Get(number)
	if c == nil {
		c = &conn{server: b.target}
	}
	b.conns.Put(number, c) // an existing conversation too: the map discards the least recently put ones
	return c
}

// head updates c with an HTTP head, and keeps the trace context in the head of a request for its
// body.
func (b *Builder) head(c *conn, f *wire.Frame) {
	h := f.HTTP
	if f.Dir == wire.Received || c.proto == "" { // the version in a request is only what its client proposes
		c.proto = bounded(h.Proto, longestName)
	}
	if id := h.Field("Mcp-Session-Id"); id != "" {
		c.session = bounded(hashIn(id, hashIn(redact.Redacted(id), "")), longestName) // the id may already be hashed
	}
	if f.Dir == wire.Received {
		return
	}
	c.conversation.AddHead(h)
	if e := endpointOf(h.URL); e != (endpoint{}) {
		c.server = e
	}
	if version := h.Field("Mcp-Protocol-Version"); version != "" {
		c.version = bounded(version, longestName)
	}
	at := stream{f.Conn, f.Stream}
	if context, ok := ParseContext(h.Field("traceparent"), h.Field("tracestate")); ok {
		b.headed.Put(at, context)
	} else {
		b.headed.Delete(at)
	}
	if h.Method == "DELETE" {
		b.endSession(c, f.Time, false)
	}
}

// endSession adds the duration of the session to the metrics. broke is set if the connection
// failed. It does nothing if c has no session.
func (b *Builder) endSession(c *conn, at time.Time, broke bool) {
	if c.started.IsZero() {
		return
	}
	took := at.Sub(c.started)
	c.started = time.Time{}
	if b.o.Metrics == nil {
		return
	}
	var attributes []otlp.Attribute
	if broke {
		attributes = append(attributes, text(errorType, string(wire.Transport)))
	}
	attributes = append(attributes, textIfAny(protocolVersion, c.version)...)
	attributes = append(attributes, c.network()...)
	b.o.Metrics.observe(clientSession, append(attributes[:len(attributes):len(attributes)], c.server.attributes()...), at,
		took)
	if b.o.Between {
		b.o.Metrics.observe(serverSession, attributes, at, took)
	}
}

// network returns the attributes of the transport.
func (c *conn) network() []otlp.Attribute {
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

// attributes returns the attributes of the address.
func (e endpoint) attributes() []otlp.Attribute {
	if e.address == "" {
		return nil
	}
	return []otlp.Attribute{text(serverAddress, e.address), {Key: serverPort, Value: e.port}}
}
