package proxy

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/compress"
	"mcpc/internal/recent"
	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// An exchange is one HTTP request and its response, as a Proxy forwards them. Its methods that begin
// with "see" run on the Watcher's goroutine, and only they use the fields below the blank line. The
// other methods are called by the goroutines that forward.
type exchange struct {
	p      *Proxy
	target int
	stream int
	// uri is the request URI at the server, as an endpoint event would write it. clientAddr is the
	// client's address.
	uri, clientAddr   string
	request, response halfStream

	conn int
	// isStandalone is set if nothing in the head connects the request to earlier ones.
	isStandalone bool
	// head waits for the body, which may name the request's conversation.
	head *wire.HTTPHead
	// body is the body of a standalone request; nil if stateKey was computed already.
	body     []byte
	stateKey string
	// userAgent is the client's user agent. opensSession is set for an initialize request. probes is set
	// for a request that a server of another revision refuses, refused if the server did refuse it.
	userAgent                      string
	opensSession, isProbe, refused bool
	// incomplete is set if the response was cut off: its body is not a message then.
	incomplete bool
	// session is the session id of the request or the response.
	session      string
	introduction Introduction
}

// newExchange returns the exchange of a request that is about to be forwarded to a target. It reads
// the head at once and looks for its conversation on the Watcher's goroutine.
func (p *Proxy) newExchange(target int, req *http.Request) *exchange {
	x := &exchange{p: p, target: target, stream: int(p.streams.Add(1))}
	x.uri = req.URL.RequestURI()
	x.clientAddr = req.RemoteAddr
	x.request.w = p.Watcher
	x.response.w = p.Watcher
	x.collectWhole(&x.request, compress.Codings(req.Header), x.seeRequest)
	head := &wire.HTTPHead{Method: req.Method, URL: p.publicURL(req.URL), Proto: "HTTP/1.1", Fields: fieldsOf(req.Header)}
	if req.Host != "" && req.Header.Get("Host") == "" {
		head.Fields = slices.Insert(head.Fields, 0, wire.Field{Name: "Host", Value: req.Host})
	}
	p.Watcher.schedule(func() {
		x.head = head
		x.conn = p.conns.findByHead(target, head, x.uri, x.clientAddr)
		x.isStandalone = x.conn == 0
		x.userAgent = head.Field("User-Agent")
		x.isProbe = x.isStandalone && head.Field("Mcp-Method") != "" // only stateless requests have it
	})
	return x
}

// publicURL returns a server's URL as clients know it: with KeepHost, at the Proxy's address.
func (p *Proxy) publicURL(u *url.URL) string {
	public := *u
	if p.KeepHost {
		public.Host = p.Address
	}
	return public.String()
}

// fieldsOf returns the header fields sorted by name; net/http does not keep their order.
func fieldsOf(h http.Header) []wire.Field {
	fields := make([]wire.Field, 0, len(h)+2)
	for name, values := range h {
		for _, value := range values {
			fields = append(fields, wire.Field{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b wire.Field) int { return cmp.Compare(a.Name, b.Name) })
	return fields
}

// collectWhole makes a half-stream pass its body to see once it is complete: as a Body frame, or as
// a Noise frame if it cannot be decoded. Of a response that was cut off it passes the part that can
// be decoded, if any.
func (x *exchange) collectWhole(s *halfStream, codings []string, see func(wire.Frame)) {
	s.onWhole = func(raw []byte) {
		text, err := compress.Decode(raw, codings, maxMessage)
		switch {
		case len(text) > maxMessage:
			s.w.reportLost(1)
		case err == nil, x.incomplete && len(text) > 0:
			see(wire.Frame{Kind: wire.Body, Raw: text})
		case !x.incomplete:
			see(x.undecodable(raw, err))
		}
	}
}

// undecodable returns the frame of a body that could not be decoded, and reports the reason. The
// frame withholds the bytes, because secrets cannot be found in them.
func (x *exchange) undecodable(raw []byte, reason error) wire.Frame {
	if unread := x.p.Watcher.options.OnUnreadable; unread != nil {
		unread(reason)
	}
	f := wire.Frame{Kind: wire.Noise, Raw: []byte{}, DecodeError: reason.Error()}
	if len(raw) > 0 {
		f.Raw = []byte(redact.Redacted(string(raw)))
		f.Size = len(raw)
		f.Hidden = 1
	}
	return f
}

// seeRequest handles the body of the request; f.Raw is nil if the request has no body. The body of
// a standalone request is parsed only if it may contain a state or responses to server requests.
func (x *exchange) seeRequest(f wire.Frame) {
	var t wire.Traits
	if f.Kind == wire.Body && f.Raw != nil && x.isStandalone {
		x.body = f.Raw
		if len(f.Raw) > capture.MaxCopied || mayHaveState(f.Raw) {
			t = wire.ParseMessage(f.Raw).Traits()
			x.body = nil // stateKey is computed below, so a long body is not kept
		}
		if bytes.Contains(f.Raw, []byte(`"initialize"`)) {
			x.opensSession = wire.ParseMessage(f.Raw).Method == "initialize"
		}
	}
	x.stateKey = stateKeyOf(t)
	x.assignConversation(t)
	if f.Raw != nil {
		f.Dir = wire.Sent
		x.emit(f)
	}
}

// mayHaveState reports whether a request may contain a state or responses to server requests. The
// names of members may be escaped.
func mayHaveState(raw []byte) bool {
	return bytes.Contains(raw, []byte("requestState")) || bytes.Contains(raw, []byte("inputResponses")) ||
		bytes.Contains(raw, []byte(`\u`))
}

// assignConversation decides which conversation the request belongs to, and emits its head. It does
// nothing if the head was emitted before.
func (x *exchange) assignConversation(t wire.Traits) {
	if x.head == nil {
		return
	}
	// A request that returns a state continues the conversation that the server gave it in.
	if x.conn == 0 && (t.RequestState != "" || t.HasInputResponses) {
		x.conn = x.p.conns.find(connKey{x.target, byState, stateKeyOf(t) + t.RequestState}, x.clientAddr)
	}
	// After a refused probe, the same connection opens a session, or an event stream of the old
	// transport.
	if x.conn == 0 && (x.opensSession || x.head.Method == http.MethodGet) {
		x.conn = x.p.conns.find(connKey{x.target, byProbe, x.clientAddr}, x.clientAddr)
	}
	// A probe or initialize of a client that is known by its user agent begins a new conversation.
	if x.conn == 0 && !x.opensSession && !x.isProbe {
		x.conn = x.p.conns.findByUserAgent(x.target, x.userAgent, x.clientAddr)
	}
	if x.conn == 0 {
		x.conn = x.p.conns.new()
	}
	x.isProbe = x.isProbe || x.opensSession
	head := x.head
	x.head = nil
	x.emit(wire.Frame{Dir: wire.Sent, Kind: wire.Head, HTTP: head})
}

// emit sends a frame of the exchange to the Watcher.
func (x *exchange) emit(f wire.Frame) {
	f.Stream = x.stream
	f.Conn = x.conn
	if f.HTTP != nil && f.HTTP.Field("Mcp-Session-Id") != "" {
		x.session = f.HTTP.Field("Mcp-Session-Id")
	}
	x.introduction.Learn(x.p.Desk, x.p.servers[x.target], x.session, f)
	x.p.Watcher.emit(f)
}

// reportHead reports the head of the response. The body follows through x.response.
func (x *exchange) reportHead(resp *http.Response, timing *wire.Timing) {
	head := &wire.HTTPHead{Status: resp.StatusCode, Proto: resp.Proto, Fields: fieldsOf(resp.Header), Timing: timing}
	kind := wire.MediaType(resp.Header.Get("Content-Type"))
	codings := compress.Codings(resp.Header)
	x.p.Watcher.schedule(func() {
		x.seeSent()
		// Later requests find the conversation by the session, or without one by the user agent.
		if id := head.Field("Mcp-Session-Id"); id != "" {
			x.p.conns.put(connKey{x.target, bySession, id}, x.conn, x.clientAddr)
		} else if x.opensSession && head.Status == http.StatusOK {
			x.p.conns.put(connKey{x.target, byAgent, x.userAgent}, x.conn, x.clientAddr)
		}
		x.refused = head.Status >= http.StatusBadRequest
		x.emit(wire.Frame{Dir: wire.Received, Kind: wire.Head, HTTP: head})
		if kind != "text/event-stream" {
			x.collectWhole(&x.response, codings, x.seeResponse)
			return
		}
		if err := compress.Check(codings); err != nil {
			x.seeResponse(x.undecodable(nil, err))
			return
		}
		x.response.readStream = func(src io.Reader, fragment bool) { x.readEvents(src, codings, fragment) }
	})
}

// readEvents handles the events of a response while they are received.
func (x *exchange) readEvents(src io.Reader, codings []string, fragment bool) {
	s := &x.response
	if len(codings) > 0 {
		src = reservingReader{compress.NewReader(src, codings), s}
	}
	err := s.eachEvent(src, fragment, x.seeEvent)
	if len(codings) > 0 && !x.incomplete && !fragment && compress.IsUnreadable(err) {
		x.seeResponse(x.undecodable(nil, err))
	}
}

// seeSent emits what is left of the request: nothing more of it is expected once a response
// arrives.
func (x *exchange) seeSent() {
	x.request.finish()
	x.assignConversation(wire.Traits{})
}

// seeResponse handles the complete body of a response.
func (x *exchange) seeResponse(f wire.Frame) {
	f.Dir = wire.Received
	if x.incomplete {
		f.Kind = wire.Noise
	}
	x.rememberState(f.Raw)
	x.emit(f)
}

// seeEvent handles one event of a response: it remembers what later requests may refer to, and
// emits its frame. The bytes of a broken event are noise.
func (x *exchange) seeEvent(ev sse.Event) {
	if len(ev.Dropped) > 0 {
		x.emit(wire.Frame{Dir: wire.Received, Kind: wire.Noise, Raw: ev.Dropped})
	}
	if !ev.IsEvent() {
		return
	}
	f := wire.Frame{Dir: wire.Received, Kind: wire.Event, Raw: ev.Data, SSE: &ev.Facts}
	if ev.Event == "endpoint" {
		if u, err := x.p.Routes[x.target].To.Parse(string(ev.Data)); err == nil {
			x.p.conns.put(connKey{x.target, byEndpoint, u.RequestURI()}, x.conn, x.clientAddr)
		}
		// The address contains the session's id.
		f.Raw = []byte(redact.RedactURL(string(ev.Data)))
		f.Size = len(ev.Data)
	} else if x.isStandalone && ev.ID != nil {
		x.p.conns.put(connKey{x.target, byEvent, *ev.ID}, x.conn, x.clientAddr)
	}
	if ev.IsMessage() {
		x.rememberState(ev.Data)
	}
	x.emit(f)
}

// rememberState remembers what a received message says for later requests: that the server refused
// a probe, and the state that the client will send to continue a standalone request.
func (x *exchange) rememberState(raw []byte) {
	if x.isProbe && wire.ParseMessage(raw).Error != nil {
		x.refused = true
	}
	if !x.isStandalone || !bytes.Contains(raw, []byte("input_required")) {
		return
	}
	if t := wire.ParseMessage(raw).Traits(); t.RequiresInput {
		// seeRequest did not need the method and the name.
		if x.body != nil {
			x.stateKey = stateKeyOf(wire.ParseMessage(x.body).Traits())
		}
		x.p.conns.put(connKey{x.target, byState, x.stateKey + t.RequestState}, x.conn, x.clientAddr)
	}
}

// reportEnd reports how the exchange ended, and which side ended it.
func (x *exchange) reportEnd(by wire.Direction, how, text string) {
	x.reportEndAfter(nil, by, how, text)
}

// reportEndAfter reports the last bytes of the response, and then the end. How is "end" if the
// response is complete.
func (x *exchange) reportEndAfter(last []byte, by wire.Direction, how, text string) {
	x.p.Watcher.enqueue(chunk{stream: &x.response, bytes: last, after: func() {
		x.seeSent()
		x.incomplete = how != "end"
		x.response.finish()
		if x.isProbe && x.refused {
			x.p.conns.put(connKey{x.target, byProbe, x.clientAddr}, x.conn, x.clientAddr)
		}
		x.emit(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
	}})
}

// conns assigns requests to conversations, which have numbers from 1. Requests belong to the same
// conversation if they name the same session, or the endpoint of the same event stream. Any other
// request begins a conversation, with these exceptions: it returns a state that an earlier response
// contained, it resumes after an event, or it opens a session on the connection of a probe that the
// server refused. Requests of a conversation without a session belong to the newest conversation of
// the same connection, or else of the same user agent.
type conns struct {
	last int
	// byKey holds the conversations of a key, newest first. A server may give two clients the same
	// state.
	byKey recent.Map[connKey, []namedConn]
}

// A namedConn is a conversation that a connKey identifies.
type namedConn struct {
	conn   int
	client string // its address
}

// maxPerKey is how many conversations are remembered for one state or user agent.
const maxPerKey = 100

// A connKey identifies conversations with one target.
type connKey struct {
	target     int
	kind, text string
}

// The kinds of connKey. A key of kind byProbe is the connection on which a probe was refused.
const (
	bySession  = "session"
	byEndpoint = "endpoint"
	byEvent    = "event"
	byState    = "state"
	byAgent    = "agent"
	byProbe    = "probe"
)

// new returns the number of a new conversation.
func (c *conns) new() int {
	c.last++
	return c.last
}

// find returns the conversation of a key, or 0 without such a conversation. Of several it returns
// the newest of the same client, or else the newest. The key of a state or a probe is used up.
func (c *conns) find(key connKey, client string) int {
	all := c.byKey.Get(key)
	if len(all) == 0 {
		return 0
	}
	index := max(0, slices.IndexFunc(all, func(n namedConn) bool { return n.client == client })) // the first is the newest
	conn := all[index].conn
	if key.kind == byState || key.kind == byProbe { // used once
		c.byKey.Put(key, slices.Delete(all, index, index+1))
	}
	return conn
}

// put stores a conversation under a key. Only keys of states and user agents can have several.
func (c *conns) put(key connKey, conn int, client string) {
	if key.text == "" { // without an id or a user agent it identifies nothing
		return
	}
	all := []namedConn{{conn, client}}
	if key.kind == byState || key.kind == byAgent {
		before := c.byKey.Get(key)
		all = append(all, before[:min(len(before), maxPerKey)]...)
	}
	c.byKey.Put(key, all)
}

// findByHead returns the conversation of a request according to its head, or 0 if only the body can
// identify it.
func (c *conns) findByHead(target int, head *wire.HTTPHead, uri, client string) int {
	if id := head.Field("Mcp-Session-Id"); id != "" {
		key := connKey{target, bySession, id}
		conn := c.find(key, client)
		if conn == 0 {
			conn = c.new() // the session is older than the proxy
		}
		// This also keeps a session that is in use from being forgotten.
		c.put(key, conn, client)
		return conn
	}
	if conn := c.find(connKey{target, byEndpoint, uri}, client); conn != 0 {
		return conn
	}
	return c.find(connKey{target, byEvent, head.Field("Last-Event-ID")}, client)
}

// findByUserAgent returns the conversation of the client's connection, or else the newest of its
// user agent, or 0 if neither exists. It assigns the connection to that conversation.
func (c *conns) findByUserAgent(target int, agent, client string) int {
	key := connKey{target, byAgent, agent}
	conn := c.find(key, client)
	if conn != 0 && !slices.ContainsFunc(c.byKey.Get(key), func(n namedConn) bool { return n.client == client }) {
		c.put(key, conn, client)
	}
	return conn
}

// stateKeyOf returns the beginning of a key of kind byState. A server may use one state for all its
// tools.
func stateKeyOf(t wire.Traits) string { return t.Method + "\x00" + t.Name + "\x00" }
