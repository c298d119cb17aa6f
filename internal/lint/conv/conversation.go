// Package conv reads a conversation between an MCP client and an MCP server, frame by
// frame, and makes events of it for checks: a message, a tool in a list, the end of a
// stream, each with the request to which it belongs and the revision by which it is to
// be judged. Times and bytes are those of the frames. What is remembered is bounded.
package conv

import (
	"encoding/json"
	"hash/maphash"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/recent"
	"mcpc/internal/wire"
)

// A Peer is what one side declared.
type Peer struct {
	// Declared is set once its capabilities are known.
	Declared bool
	Caps     jsonraw.Members
	Version  string
}

// Has reports a declared capability: Has("tools", "listChanged") is true where that
// member is true or an object.
func (p *Peer) Has(path ...string) bool {
	if len(path) == 0 {
		return true
	}
	value := Inside(p.Caps.Value(path[0]), path[1:]...)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// A Conversation is what is known of the two sides so far.
type Conversation struct {
	Server, Client Peer
	// Session is the revision that initialize agreed on, Unknown without one.
	Session Rev
	// PerRequest is set once the server has shown that it serves 2026-07-28.
	PerRequest bool
	// Initialized is set once the client has sent notifications/initialized.
	Initialized bool
	// Opened is set once a request was seen with which conversations begin. Before that a
	// response may be for a request that was sent before the recording began.
	Opened bool
	// HTTP and SSE are set once a frame has crossed by HTTP, and by HTTP+SSE.
	HTTP, SSE bool
	// LastSent is the kind of the last message of the client.
	LastSent wire.MessageKind
	// Now is the time of the last frame.
	Now time.Time
	// Hide returns bytes without their secrets, for findings. It is nil if the frames have none.
	Hide func(raw []byte) []byte

	// asked is the revision that the client offered last.
	asked  Rev
	emit   func(*Event)
	tables tables
	lines  lines
	state  map[string]any
}

// tables are what messages are found by.
type tables struct {
	calls   recent.Map[string, *Call]
	tokens  recent.Map[string, *Call]
	streams recent.Map[streamKey, *Stream]
	open    int
	judged  recent.Map[uint64, bool]
}

// A streamKey tells the streams of several connections apart.
type streamKey struct{ conn, stream int }

// maxCalls is how many requests and streams are remembered at least.
const maxCalls = 5_000

// New begins a conversation whose events go to emit, in the order in which they occur.
func New(emit func(*Event)) *Conversation {
	c := &Conversation{emit: emit, state: map[string]any{}}
	c.tables.calls.Least = maxCalls
	c.tables.tokens.Least = maxCalls
	c.tables.streams.Least = maxCalls
	c.lines.send = c.sendNoise
	return c
}

// State gives a check its own memory of a conversation, the same for the same name.
func State[T any](c *Conversation, name string) *T {
	if s, ok := c.state[name].(*T); ok {
		return s
	}
	s := new(T)
	c.state[name] = s
	return s
}

// OpenCalls is how many requests of the client wait for their response.
func (c *Conversation) OpenCalls() int { return c.tables.open }

// Call finds a request of the client by the key of its id.
func (c *Conversation) Call(key string) *Call {
	call, _ := c.tables.calls.Lookup(key)
	return call
}

// CallOf finds the request that has a progress token, by its key.
func (c *Conversation) CallOf(token string) *Call {
	call, _ := c.tables.tokens.Lookup(token)
	return call
}

var seed = maphash.MakeSeed()

// Sum is the same for the same name and bytes, in one run of the program.
func Sum(name string, raw []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(name)
	_, _ = h.Write(raw)
	return h.Sum64()
}

// Fresh reports bytes that were not judged under a name before: lists are read again
// and again.
func (c *Conversation) Fresh(name string, raw []byte) bool {
	sum := Sum(name, raw)
	if _, seen := c.tables.judged.Lookup(sum); seen {
		return false
	}
	c.tables.judged.Put(sum, true)
	return true
}

// send fills in an event and hands it to the checks.
func (c *Conversation) send(e Event) {
	e.Conversation = c
	if e.Members == nil && IsObject(e.Value) {
		e.Members, _ = jsonraw.Object(e.Value)
	}
	c.emit(&e)
}

// End tells the checks that nothing more will come, for each revision that was spoken;
// where the server answered none, as with 401, for the one that the client asked for.
func (c *Conversation) End() {
	c.lines.flush()
	last := wire.Frame{Time: c.Now}
	revs := c.Revs()
	if len(revs) == 0 {
		revs = []Rev{c.asked}
	}
	for _, r := range revs {
		c.send(Event{Kind: OnEnd, Frame: &last, Rev: r})
	}
}

// Revs are the revisions that were spoken.
func (c *Conversation) Revs() (revs []Rev) {
	if c.Session != Unknown {
		revs = append(revs, c.Session)
	}
	if c.PerRequest {
		revs = append(revs, R26)
	}
	return revs
}

// revOf is the revision of a message of the server that answers no request: that of its
// stream, else that of the session, else the one of requests that state it.
func (c *Conversation) revOf(s *Stream) Rev {
	switch {
	case s != nil && s.Call != nil && s.Call.Stamped && c.PerRequest:
		return s.Call.Rev
	case c.Session != Unknown:
		return c.Session
	case c.PerRequest:
		return R26
	case s != nil && s.Call != nil && !s.Call.Stamped:
		return s.Call.Rev
	}
	return Unknown
}

// perRequestCodes are the errors that only 2026-07-28 has.
var perRequestCodes = map[int64]bool{-32020: true, -32021: true, -32022: true}

// revOfReply is the revision by which a reply is judged. A request that states
// 2026-07-28 may have been a probe, and the server an older one that does not know it.
func (c *Conversation) revOfReply(call *Call, m *wire.Message, s *Stream) Rev {
	if call == nil {
		return c.revOf(s)
	}
	if call.Method == "initialize" {
		if version := ParseRev(TextInside(m.Result, "protocolVersion")); version != Unknown {
			return min(version, R25b)
		}
		return c.Session
	}
	if !call.Stamped {
		return call.Rev
	}
	c.PerRequest = c.PerRequest || shows26(call, m, s)
	if c.PerRequest {
		return call.Rev
	}
	return c.Session
}

func shows26(call *Call, m *wire.Message, s *Stream) bool {
	if m.Error != nil {
		return perRequestCodes[m.Error.Code]
	}
	if call.Method == "server/discover" {
		versions, _ := jsonraw.Array(Inside(m.Result, "supportedVersions"))
		for _, v := range versions {
			if text, _ := jsonraw.Text(v); ParseRev(text) == R26 {
				return true
			}
		}
		return len(versions) == 0 && Inside(m.Result, "resultType") != nil
	}
	return m.Result != nil
}

// declare notes what a side declares. The members are copied: they outlive the message.
func (p *Peer) declare(caps json.RawMessage, version string) {
	p.Declared = true
	p.Version = version
	p.Caps, _ = jsonraw.Object(append(json.RawMessage(nil), caps...))
}
