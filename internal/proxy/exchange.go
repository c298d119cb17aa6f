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
	uri, client       string
	request, response halfStream

	conn int
	// alone is set where nothing in its head ties the request to others.
	alone bool
	// head waits for the body, which may say to which conversation it belongs.
	head *wire.HTTPHead
	// body is that of such a request, asked as of the function asked where it was long.
	body  []byte
	asked string
	// agent is the client's user agent. opens is set if the request opens a conversation, probes if a server of another
	// revision refuses it, refused if the server did.
	agent                  string
	opens, probes, refused bool
	// broken is set where the response did not come to its end: what there is of its
	// body is not a message.
	broken bool
	// session is the session that it names, introduction has the names of both sides.
	session      string
	introduction Introduction
}

func (p *Proxy) newExchange(target int, req *http.Request) *exchange {
	x := &exchange{p: p, target: target, stream: int(p.streams.Add(1)), uri: req.URL.RequestURI(), client: req.RemoteAddr}
	x.request.w = p.Watcher
	x.response.w = p.Watcher
	x.readWhole(&x.request, compress.Codings(req.Header), x.seeRequest)
	head := &wire.HTTPHead{Method: req.Method, URL: p.named(req.URL), Proto: "HTTP/1.1", Fields: fieldsOf(req.Header)}
	if req.Host != "" && req.Header.Get("Host") == "" {
		head.Fields = slices.Insert(head.Fields, 0, wire.Field{Name: "Host", Value: req.Host})
	}
	p.Watcher.do(func() {
		x.head = head
		x.conn = p.conns.of(target, head, x.uri, x.client)
		x.alone = x.conn == 0
		x.agent = head.Field("User-Agent")
		x.probes = x.alone && head.Field("Mcp-Method") != ""
	})
	return x
}

// named is a URL as clients know it: a server that only the Proxy can be reached by has the
// Proxy's address.
func (p *Proxy) named(u *url.URL) string {
	named := *u
	if p.KeepHost {
		named.Host = p.Address
	}
	return named.String()
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
	s.whole = func(raw []byte) {
		text, err := compress.Decode(raw, codings, mostMessage)
		switch {
		case len(text) > mostMessage:
			s.w.tell(1)
		case err == nil, x.broken && len(text) > 0:
			see(wire.Frame{Kind: wire.Body, Raw: text})
		case !x.broken:
			see(x.unreadable(raw, err))
		}
	}
}

// unreadable returns the frame of a body that could not be decoded, and reports the reason. Secrets cannot be found in
// such bytes, so that they are withheld.
func (x *exchange) unreadable(raw []byte, reason error) wire.Frame {
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
	if f.Kind == wire.Body && f.Raw != nil && x.alone {
		x.body = f.Raw
		if len(f.Raw) > capture.MaxCopied || mayGiveBack(f.Raw) {
			t = wire.ParseMessage(f.Raw).Traits()
			x.body = nil
		}
		if bytes.Contains(f.Raw, []byte(`"initialize"`)) {
			x.opens = wire.ParseMessage(f.Raw).Method == "initialize"
		}
	}
	x.asked = asked(t)
	x.settle(t)
	if f.Raw != nil {
		f.Dir = wire.Sent
		x.frame(f)
	}
}

// mayGiveBack reports whether a request may have a state or answers. A name may be escaped.
func mayGiveBack(raw []byte) bool {
	return bytes.Contains(raw, []byte("requestState")) || bytes.Contains(raw, []byte("inputResponses")) ||
		bytes.Contains(raw, []byte(`\u`))
}

// settle decides to which conversation the request belongs, and hands on its head.
func (x *exchange) settle(t wire.Traits) {
	if x.head == nil {
		return
	}
	if x.conn == 0 && (t.State != "" || t.Answers) {
		x.conn = x.p.conns.find(connKey{x.target, byState, asked(t) + t.State}, x.client)
	}
	if x.conn == 0 && (x.opens || x.head.Method == http.MethodGet) {
		x.conn = x.p.conns.find(connKey{x.target, byProbe, x.client}, x.client)
	}
	if x.conn == 0 && !x.opens && !x.probes {
		x.conn = x.p.conns.ofAgent(x.target, x.agent, x.client)
	}
	if x.conn == 0 {
		x.conn = x.p.conns.new()
	}
	x.probes = x.probes || x.opens
	head := x.head
	x.head = nil
	x.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Head, HTTP: head})
}

func (x *exchange) frame(f wire.Frame) {
	f.Stream = x.stream
	f.Conn = x.conn
	if f.HTTP != nil && f.HTTP.Field("Mcp-Session-Id") != "" {
		x.session = f.HTTP.Field("Mcp-Session-Id")
	}
	x.introduction.Learn(x.p.Desk, x.p.servers[x.target], x.session, f)
	x.p.Watcher.frame(f)
}

// answered tells of the response's head; its body is then given to x.response.
func (x *exchange) answered(resp *http.Response, timing *wire.Timing) {
	head := &wire.HTTPHead{Status: resp.StatusCode, Proto: resp.Proto, Fields: fieldsOf(resp.Header), Timing: timing}
	kind := wire.MediaType(resp.Header.Get("Content-Type"))
	codings := compress.Codings(resp.Header)
	x.p.Watcher.do(func() {
		x.seeSent()
		if id := head.Field("Mcp-Session-Id"); id != "" {
			x.p.conns.put(connKey{x.target, bySession, id}, x.conn, x.client)
		} else if x.opens && head.Status == http.StatusOK {
			x.p.conns.put(connKey{x.target, byAgent, x.agent}, x.conn, x.client)
		}
		x.refused = head.Status >= http.StatusBadRequest
		x.frame(wire.Frame{Dir: wire.Received, Kind: wire.Head, HTTP: head})
		if kind != "text/event-stream" {
			x.readWhole(&x.response, codings, x.seeAnswer)
			return
		}
		if err := compress.Check(codings); err != nil {
			x.seeAnswer(x.unreadable(nil, err))
			return
		}
		x.response.read = func(src io.Reader, fragment bool) { x.readEvents(src, codings, fragment) }
	})
}

// readEvents reads the events of a response as they come.
func (x *exchange) readEvents(src io.Reader, codings []string, fragment bool) {
	s := &x.response
	if len(codings) > 0 {
		src = heldReader{compress.NewReader(src, codings), s}
	}
	err := s.eachEvent(src, fragment, x.seeEvent)
	if len(codings) > 0 && !x.broken && !fragment && compress.IsUnreadable(err) {
		x.seeAnswer(x.unreadable(nil, err))
	}
}

// seeSent hands on what of the request has not been yet: once there is a response
// nothing is waited for.
func (x *exchange) seeSent() {
	x.request.finish()
	x.settle(wire.Traits{})
}

func (x *exchange) seeAnswer(f wire.Frame) {
	f.Dir = wire.Received
	if x.broken {
		f.Kind = wire.Noise
	}
	x.remember(f.Raw)
	x.frame(f)
}

func (x *exchange) seeEvent(ev sse.Event) {
	if len(ev.Dropped) > 0 {
		x.frame(wire.Frame{Dir: wire.Received, Kind: wire.Noise, Raw: ev.Dropped})
	}
	if !ev.IsEvent() {
		return
	}
	f := wire.Frame{Dir: wire.Received, Kind: wire.Event, Raw: ev.Data, SSE: &ev.Facts}
	if ev.Event == "endpoint" {
		if u, err := x.p.Routes[x.target].To.Parse(string(ev.Data)); err == nil {
			x.p.conns.put(connKey{x.target, byEndpoint, u.RequestURI()}, x.conn, x.client)
		}
		// It holds the session's id.
		f.Raw = []byte(redact.RedactURL(string(ev.Data)))
		f.Size = len(ev.Data)
	} else if x.alone && ev.ID != nil {
		x.p.conns.put(connKey{x.target, byEvent, *ev.ID}, x.conn, x.client)
	}
	if ev.IsMessage() {
		x.remember(ev.Data)
	}
	x.frame(f)
}

// remember notes the state with which a request that stands alone will go on.
func (x *exchange) remember(raw []byte) {
	if x.probes && wire.ParseMessage(raw).Error != nil {
		x.refused = true
	}
	if !x.alone || !bytes.Contains(raw, []byte("input_required")) {
		return
	}
	if t := wire.ParseMessage(raw).Traits(); t.More {
		if x.body != nil {
			x.asked = asked(wire.ParseMessage(x.body).Traits())
		}
		x.p.conns.put(connKey{x.target, byState, x.asked + t.State}, x.conn, x.client)
	}
}

// ended tells how it ended, and who saw to that.
func (x *exchange) ended(by wire.Direction, how, text string) { x.endedBehind(nil, by, how, text) }

// endedBehind is ended for an exchange whose last bytes are those.
func (x *exchange) endedBehind(last []byte, by wire.Direction, how, text string) {
	x.p.Watcher.add(chunk{to: &x.response, bytes: last, do: func() {
		x.seeSent()
		x.broken = how != "end"
		x.response.finish()
		if x.probes && x.refused {
			x.p.conns.put(connKey{x.target, byProbe, x.client}, x.conn, x.client)
		}
		x.frame(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
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
	byKey recent.Map[connKey, []named]
}

// A named is a conversation that a connKey names.
type named struct {
	conn   int
	client string // its address
}

// mostOfState is how many conversations of one state are remembered.
const mostOfState = 100

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
func (c *conns) find(t connKey, client string) int {
	all := c.byKey.Get(t)
	if len(all) == 0 {
		return 0
	}
	at := max(0, slices.IndexFunc(all, func(n named) bool { return n.client == client }))
	conn := all[at].conn
	if t.kind == byState || t.kind == byProbe { // a client gives a state back once, and opens one session behind a probe
		c.byKey.Put(t, slices.Delete(all, at, at+1))
	}
	return conn
}

// put lets a key name a conversation. Only of states and agents several may be open.
func (c *conns) put(t connKey, conn int, client string) {
	if t.text == "" {
		return
	}
	all := []named{{conn, client}}
	if t.kind == byState || t.kind == byAgent {
		before := c.byKey.Get(t)
		all = append(all, before[:min(len(before), mostOfState)]...)
	}
	c.byKey.Put(t, all)
}

// of chooses the conversation of a request by its head, 0 where only its body may
// tell.
func (c *conns) of(target int, head *wire.HTTPHead, uri, client string) int {
	if id := head.Field("Mcp-Session-Id"); id != "" {
		t := connKey{target, bySession, id}
		conn := c.find(t, client)
		if conn == 0 {
			conn = c.new() // it was opened before the proxy saw it
		}
		c.put(t, conn, client)
		return conn
	}
	if conn := c.find(connKey{target, byEndpoint, uri}, client); conn != 0 {
		return conn
	}
	return c.find(connKey{target, byEvent, head.Field("Last-Event-ID")}, client)
}

// ofAgent returns the conversation without a session of a client's connection, or else the newest one of its user
// agent; 0 if there is none. The connection belongs to it from then on.
func (c *conns) ofAgent(target int, agent, client string) int {
	t := connKey{target, byAgent, agent}
	conn := c.find(t, client)
	if conn != 0 && !slices.ContainsFunc(c.byKey.Get(t), func(n named) bool { return n.client == client }) {
		c.put(t, conn, client)
	}
	return conn
}

// asked begins a key of kind byState: a server may hand out one state for all its tools, or none.
func asked(t wire.Traits) string { return t.Method + "\x00" + t.Name + "\x00" }
