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

// An exchange is one HTTP request and its response, on their way through a Proxy.
// Its methods that begin with "see" run on the Watcher's goroutine and own what
// stands below; the others are called while something crosses.
type exchange struct {
	p      *Proxy
	target int
	stream int
	// uri is what the server is asked for, as the event that names an endpoint would
	// write it, client the address of the client.
	uri, clientAddr   string
	request, response halfStream

	conn int
	// alone is set where nothing in its head ties the request to others.
	standalone bool
	// head waits for the body, which may say to which conversation it belongs.
	head *wire.HTTPHead
	// body is that of such a request, asked as of the function asked where it was long.
	body     []byte
	stateKey string
	// agent is the client's user agent. opens is set if the request opens a conversation, probes if a server of another
	// revision refuses it, refused if the server did.
	agent                         string
	opensSession, probes, refused bool
	// broken is set where the response did not come to its end: what there is of its
	// body is not a message.
	incomplete bool
	// session is the session that it names, introduction has the names of both sides.
	session      string
	introduction Introduction
}

func (p *Proxy) newExchange(target int, req *http.Request) *exchange {
	x := &exchange{p: p, target: target, stream: int(p.streams.Add(1)), uri: req.URL.RequestURI(), clientAddr: req.RemoteAddr}
	x.request.w = p.Watcher
	x.response.w = p.Watcher
	x.readWhole(&x.request, compress.Codings(req.Header), x.seeRequest)
	head := &wire.HTTPHead{Method: req.Method, URL: p.publicURL(req.URL), Proto: "HTTP/1.1", Fields: fieldsOf(req.Header)}
	if req.Host != "" && req.Header.Get("Host") == "" {
		head.Fields = slices.Insert(head.Fields, 0, wire.Field{Name: "Host", Value: req.Host})
	}
	p.Watcher.schedule(func() {
		x.head = head
		x.conn = p.conns.byHead(target, head, x.uri, x.clientAddr)
		x.standalone = x.conn == 0
		x.agent = head.Field("User-Agent")
		x.probes = x.standalone && head.Field("Mcp-Method") != ""
	})
	return x
}

// named is a URL as clients know it: a server that only the Proxy can be reached by has the
// Proxy's address.
func (p *Proxy) publicURL(u *url.URL) string {
	public := *u
	if p.KeepHost {
		public.Host = p.Address
	}
	return public.String()
}

// fieldsOf lists header fields by name; net/http does not keep their order.
func fieldsOf(h http.Header) (fields []wire.Field) {
	fields = make([]wire.Field, 0, len(h)+2)
	for name, values := range h {
		for _, value := range values {
			fields = append(fields, wire.Field{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(fields, func(a, b wire.Field) int { return cmp.Compare(a.Name, b.Name) })
	return fields
}

// readWhole lets a half-stream read a body that is one message. see gets a Body frame, or a Noise frame if the
// body's codings cannot be undone.
func (x *exchange) readWhole(s *halfStream, codings []string, see func(wire.Frame)) {
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

// unreadable returns the frame of a body that could not be decoded, and reports the reason. Secrets cannot be found in
// such bytes, so that they are withheld.
func (x *exchange) undecodable(raw []byte, reason error) wire.Frame {
	if unread := x.p.Watcher.o.Unread; unread != nil {
		unread(reason)
	}
	f := wire.Frame{Kind: wire.Noise, Raw: []byte{}, Unread: reason.Error()}
	if len(raw) > 0 {
		f.Raw = []byte(redact.Redacted(string(raw)))
		f.Size = len(raw)
		f.Hidden = 1
	}
	return f
}

// seeRequest takes the body of the request; its Raw is nil if there is none. One that is on its own is only
// read where it may give back a state or answers, whose names may be escaped; mostly its answer is not of
// interest either.
func (x *exchange) seeRequest(f wire.Frame) {
	var t wire.Traits
	if f.Kind == wire.Body && f.Raw != nil && x.standalone {
		x.body = f.Raw
		if len(f.Raw) > capture.MaxCopied || mayHaveState(f.Raw) {
			t = wire.ParseMessage(f.Raw).Traits()
			x.body = nil
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

// mayGiveBack reports whether a request may have a state or answers. A name may be escaped.
func mayHaveState(raw []byte) bool {
	return bytes.Contains(raw, []byte("requestState")) || bytes.Contains(raw, []byte("inputResponses")) ||
		bytes.Contains(raw, []byte(`\u`))
}

// settle decides to which conversation the request belongs, and hands on its head.
func (x *exchange) assignConversation(t wire.Traits) {
	if x.head == nil {
		return
	}
	if x.conn == 0 && (t.State != "" || t.Answers) {
		x.conn = x.p.conns.find(connKey{x.target, byState, stateKeyOf(t) + t.State}, x.clientAddr)
	}
	if x.conn == 0 && (x.opensSession || x.head.Method == http.MethodGet) {
		x.conn = x.p.conns.find(connKey{x.target, byProbe, x.clientAddr}, x.clientAddr)
	}
	if x.conn == 0 && !x.opensSession && !x.probes {
		x.conn = x.p.conns.byUserAgent(x.target, x.agent, x.clientAddr)
	}
	if x.conn == 0 {
		x.conn = x.p.conns.new()
	}
	x.probes = x.probes || x.opensSession
	head := x.head
	x.head = nil
	x.emit(wire.Frame{Dir: wire.Sent, Kind: wire.Head, HTTP: head})
}

func (x *exchange) emit(f wire.Frame) {
	f.Stream = x.stream
	f.Conn = x.conn
	if f.HTTP != nil && f.HTTP.Field("Mcp-Session-Id") != "" {
		x.session = f.HTTP.Field("Mcp-Session-Id")
	}
	x.introduction.Learn(x.p.Desk, x.p.servers[x.target], x.session, f)
	x.p.Watcher.emit(f)
}

// answered tells of the response's head; its body is then given to x.response.
func (x *exchange) reportHead(resp *http.Response, timing *wire.Timing) {
	head := &wire.HTTPHead{Status: resp.StatusCode, Proto: resp.Proto, Fields: fieldsOf(resp.Header), Timing: timing}
	kind := wire.MediaType(resp.Header.Get("Content-Type"))
	codings := compress.Codings(resp.Header)
	x.p.Watcher.schedule(func() {
		x.seeSent()
		if id := head.Field("Mcp-Session-Id"); id != "" {
			x.p.conns.put(connKey{x.target, bySession, id}, x.conn, x.clientAddr)
		} else if x.opensSession && head.Status == http.StatusOK {
			x.p.conns.put(connKey{x.target, byAgent, x.agent}, x.conn, x.clientAddr)
		}
		x.refused = head.Status >= http.StatusBadRequest
		x.emit(wire.Frame{Dir: wire.Received, Kind: wire.Head, HTTP: head})
		if kind != "text/event-stream" {
			x.readWhole(&x.response, codings, x.seeResponse)
			return
		}
		if err := compress.Check(codings); err != nil {
			x.seeResponse(x.undecodable(nil, err))
			return
		}
		x.response.readStream = func(src io.Reader, fragment bool) { x.readEvents(src, codings, fragment) }
	})
}

// readEvents reads the events of a response as they come.
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

// seeSent hands on what of the request has not been yet: once there is a response
// nothing is waited for.
func (x *exchange) seeSent() {
	x.request.finish()
	x.assignConversation(wire.Traits{})
}

func (x *exchange) seeResponse(f wire.Frame) {
	f.Dir = wire.Received
	if x.incomplete {
		f.Kind = wire.Noise
	}
	x.rememberState(f.Raw)
	x.emit(f)
}

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
		// It holds the session's id.
		f.Raw = []byte(redact.RedactURL(string(ev.Data)))
		f.Size = len(ev.Data)
	} else if x.standalone && ev.ID != nil {
		x.p.conns.put(connKey{x.target, byEvent, *ev.ID}, x.conn, x.clientAddr)
	}
	if ev.IsMessage() {
		x.rememberState(ev.Data)
	}
	x.emit(f)
}

// remember notes the state with which a request that stands alone will go on.
func (x *exchange) rememberState(raw []byte) {
	if x.probes && wire.ParseMessage(raw).Error != nil {
		x.refused = true
	}
	if !x.standalone || !bytes.Contains(raw, []byte("input_required")) {
		return
	}
	if t := wire.ParseMessage(raw).Traits(); t.More {
		if x.body != nil {
			x.stateKey = stateKeyOf(wire.ParseMessage(x.body).Traits())
		}
		x.p.conns.put(connKey{x.target, byState, x.stateKey + t.State}, x.conn, x.clientAddr)
	}
}

// ended tells how it ended, and who saw to that.
func (x *exchange) reportEnd(by wire.Direction, how, text string) {
	x.reportEndAfter(nil, by, how, text)
}

// endedBehind is ended for an exchange whose last bytes are those.
func (x *exchange) reportEndAfter(last []byte, by wire.Direction, how, text string) {
	x.p.Watcher.enqueue(chunk{to: &x.response, bytes: last, do: func() {
		x.seeSent()
		x.incomplete = how != "end"
		x.response.finish()
		if x.probes && x.refused {
			x.p.conns.put(connKey{x.target, byProbe, x.clientAddr}, x.conn, x.clientAddr)
		}
		x.emit(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
	}})
}

// conns tells the conversations of several clients apart by what the clients send alone. A
// session's id makes one of all that name it, an event stream with an endpoint of all that
// is posted there. A request without either is on its own, because clients number theirs
// alike; what ties it to one before is the state that it gives back, or the event behind
// which it goes on. Clients that look for a server's revision open a session on the connection on
// which they were refused. Requests of an opened conversation without a session name nothing: they belong to
// the newest one of the same connection, or else of the same user agent.
type conns struct {
	last int
	// byKey are the conversations by what names them, newest first. Two clients may
	// be handed the same state.
	byKey recent.Map[connKey, []namedConn]
}

// A named is a conversation that a connKey names.
type namedConn struct {
	conn   int
	client string // its address
}

// mostOfState is how many conversations of one state are remembered.
const maxPerKey = 100

// A connKey is what names a conversation, of one target.
type connKey struct {
	target     int
	kind, text string
}

// The kinds of a connKey. One of kind byProbe names a probe that was refused on the connection of a client.
const (
	bySession  = "session"
	byEndpoint = "endpoint"
	byEvent    = "event"
	byState    = "state"
	byAgent    = "agent"
	byProbe    = "probe"
)

// new is a conversation of which nothing was seen before.
func (c *conns) new() int {
	c.last++
	return c.last
}

// find gives the conversation that a key names, 0 where none does. Of several it is the newest
// of the same client, or else the newest: the older ones may have been given up.
func (c *conns) find(key connKey, client string) int {
	all := c.byKey.Get(key)
	if len(all) == 0 {
		return 0
	}
	index := max(0, slices.IndexFunc(all, func(n namedConn) bool { return n.client == client }))
	conn := all[index].conn
	if key.kind == byState || key.kind == byProbe { // a client gives a state back once, and opens one session behind a probe
		c.byKey.Put(key, slices.Delete(all, index, index+1))
	}
	return conn
}

// put lets a key name a conversation. Only of states and agents several may be open.
func (c *conns) put(key connKey, conn int, client string) {
	if key.text == "" {
		return
	}
	all := []namedConn{{conn, client}}
	if key.kind == byState || key.kind == byAgent {
		before := c.byKey.Get(key)
		all = append(all, before[:min(len(before), maxPerKey)]...)
	}
	c.byKey.Put(key, all)
}

// of chooses the conversation of a request by its head, 0 where only its body may
// tell.
func (c *conns) byHead(target int, head *wire.HTTPHead, uri, client string) int {
	if id := head.Field("Mcp-Session-Id"); id != "" {
		key := connKey{target, bySession, id}
		conn := c.find(key, client)
		if conn == 0 {
			conn = c.new() // it was opened before the proxy saw it
		}
		c.put(key, conn, client)
		return conn
	}
	if conn := c.find(connKey{target, byEndpoint, uri}, client); conn != 0 {
		return conn
	}
	return c.find(connKey{target, byEvent, head.Field("Last-Event-ID")}, client)
}

// ofAgent returns the conversation without a session of a client's connection, or else the newest one of its user
// agent; 0 if there is none. The connection belongs to it from then on.
func (c *conns) byUserAgent(target int, agent, client string) int {
	key := connKey{target, byAgent, agent}
	conn := c.find(key, client)
	if conn != 0 && !slices.ContainsFunc(c.byKey.Get(key), func(n namedConn) bool { return n.client == client }) {
		c.put(key, conn, client)
	}
	return conn
}

// asked begins a key of kind byState: a server may hand out one state for all its tools, or none.
func stateKeyOf(t wire.Traits) string { return t.Method + "\x00" + t.Name + "\x00" }
