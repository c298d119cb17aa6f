// Package conv reads a conversation between an MCP client and an MCP server frame by frame. It
// emits events for checks: a message, a tool in a list, the end of a stream. Each event has its
// request and the revision for the checks. The memory of a Conversation is limited.
package conv

import (
	"encoding/json"
	"hash/maphash"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/recent"
	"mcpc/internal/wire"
)

// A Peer is the declaration of one side.
type Peer struct {
	// Declared is set once the capabilities are known.
	Declared bool
	Caps     jsonraw.Members
	Version  string
}

// Has reports whether a capability is declared: Has("tools", "listChanged") is true if the member
// is true or an object.
func (p *Peer) Has(path ...string) bool {
	if len(path) == 0 {
		return true
	}
	value := Inside(p.Caps.Value(path[0]), path[1:]...)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// A Conversation is the state of both sides.
type Conversation struct {
	Server, Client Peer
	// Session is the revision that initialize agreed on, or Unknown.
	Session Rev
	// PerRequest is set once the server has shown that it supports 2026-07-28.
	PerRequest bool
	// Initialized is set once the client has sent notifications/initialized.
	Initialized bool
	// Opened is set once a request was seen that opens conversations. Before, a response may belong
	// to a request from before the recording.
	Opened bool
	// HTTP is set after a frame over HTTP, SSE after a frame over HTTP+SSE.
	HTTP, SSE bool
	// LastSent is the kind of the client's last message.
	LastSent wire.MessageKind
	// Now is the time of the last frame.
	Now time.Time
	// Hide returns bytes without their secrets, for findings. It is nil if the frames contain no
	// secrets.
	Hide func(raw []byte) []byte

	// lastOffered is the last revision that the client offered.
	lastOffered Rev
	emit        func(*Event)
	tables      tables
	noise       noiseLines
	state       map[string]any
}

// tables index the requests and streams of a conversation.
type tables struct {
	calls     recent.Map[string, *Call]
	tokens    recent.Map[string, *Call]
	streams   recent.Map[streamKey, *Stream]
	openCalls int
	seenItems recent.Map[uint64, bool]
}

// A streamKey identifies a stream across connections.
type streamKey struct{ conn, stream int }

// maxCalls is the minimum number of requests and streams that are remembered.
const maxCalls = 5_000

// New returns a conversation that passes its events to emit, in the order they occur in.
func New(emit func(*Event)) *Conversation {
	c := &Conversation{emit: emit, state: map[string]any{}}
	c.tables.calls.MinEntries = maxCalls
	c.tables.tokens.MinEntries = maxCalls
	c.tables.streams.MinEntries = maxCalls
	c.noise.emit = c.sendNoise
	return c
}

// State returns a check's own state in a conversation, by name.
func State[T any](c *Conversation, name string) *T {
	if s, ok := c.state[name].(*T); ok {
		return s
	}
	s := new(T)
	c.state[name] = s
	return s
}

// OpenCalls returns the number of the client's requests without a response.
func (c *Conversation) OpenCalls() int { return c.tables.openCalls }

// CallWithID returns the client's request with an id key, or nil.
func (c *Conversation) CallWithID(key string) *Call {
	call, _ := c.tables.calls.Lookup(key)
	return call
}

// CallWithToken returns the client's request with a progress token key, or nil.
func (c *Conversation) CallWithToken(token string) *Call {
	call, _ := c.tables.tokens.Lookup(token)
	return call
}

var seed = maphash.MakeSeed()

// Sum returns a hash of a name and bytes that is stable within one run of the program.
func Sum(name string, raw []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(name)
	_, _ = h.Write(raw)
	return h.Sum64()
}

// IsFirstSighting reports whether bytes are judged for the first time under a name. Lists are read
// repeatedly.
func (c *Conversation) IsFirstSighting(name string, raw []byte) bool {
	sum := Sum(name, raw)
	if _, seen := c.tables.seenItems.Lookup(sum); seen {
		return false
	}
	c.tables.seenItems.Put(sum, true)
	return true
}

// send completes an event and passes it to the checks.
func (c *Conversation) send(e Event) {
	e.Conversation = c
	if e.Members == nil && IsObject(e.Value) {
		e.Members, _ = jsonraw.Object(e.Value)
	}
	c.emit(&e)
}

// End emits OnEnd for each revision that was used. If the server answered no request of the client,
// as with HTTP 401, it emits OnEnd for the revision that the client asked for.
func (c *Conversation) End() {
	c.noise.flush()
	last := wire.Frame{Time: c.Now}
	revs := c.Revs()
	if len(revs) == 0 {
		revs = []Rev{c.lastOffered}
	}
	for _, r := range revs {
		c.send(Event{Kind: OnEnd, Frame: &last, Rev: r})
	}
}

// Revs returns the revisions that were used.
func (c *Conversation) Revs() []Rev {
	var revs []Rev
	if c.Session != Unknown {
		revs = append(revs, c.Session)
	}
	if c.PerRequest {
		revs = append(revs, Rev20260728)
	}
	return revs
}

// revOf returns the revision of a server message that is no reply: the stream's, or else the
// session's, or else the one stated in requests.
func (c *Conversation) revOf(s *Stream) Rev {
	if s != nil && s.Call != nil && s.Call.StatesRevision && c.PerRequest {
		return s.Call.Rev
	}
	if c.Session != Unknown {
		return c.Session
	}
	if c.PerRequest {
		return Rev20260728
	}
	if s != nil && s.Call != nil && !s.Call.StatesRevision {
		return s.Call.Rev
	}
	return Unknown
}

// perRequestCodes are the error codes that only 2026-07-28 has.
var perRequestCodes = map[int64]bool{-32020: true, -32021: true, -32022: true}

// revOfReply returns the revision to judge a reply by. A request that states 2026-07-28 may be a
// probe of a server that does not support it.
func (c *Conversation) revOfReply(call *Call, m *wire.Message, s *Stream) Rev {
	if call == nil {
		return c.revOf(s)
	}
	if call.Method == "initialize" {
		if version := ParseRev(TextInside(m.Result, "protocolVersion")); version != Unknown {
			return min(version, Rev20251125)
		}
		return c.Session
	}
	if !call.StatesRevision {
		return call.Rev
	}
	c.PerRequest = c.PerRequest || showsR26(call, m, s)
	if c.PerRequest {
		return call.Rev
	}
	return c.Session
}

// showsR26 reports whether the response to a request that states 2026-07-28 shows that the server
// supports this revision.
func showsR26(call *Call, m *wire.Message, s *Stream) bool {
	if m.Error != nil {
		return perRequestCodes[m.Error.Code]
	}
	if call.Method == "server/discover" {
		versions, _ := jsonraw.Array(Inside(m.Result, "supportedVersions"))
		for _, v := range versions {
			if text, _ := jsonraw.Text(v); ParseRev(text) == Rev20260728 {
				return true
			}
		}
		return len(versions) == 0 && Inside(m.Result, "resultType") != nil
	}
	return m.Result != nil
}

// declare records what a side declares. It copies the members, because they outlive the message.
func (p *Peer) declare(caps json.RawMessage, version string) {
	p.Declared = true
	p.Version = version
	p.Caps, _ = jsonraw.Object(append(json.RawMessage(nil), caps...))
}
