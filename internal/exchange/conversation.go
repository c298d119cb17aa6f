package exchange

import (
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A Conversation holds what messages and HTTP heads state about all exchanges between a client and
// a server.
type Conversation struct {
	// Revision is the protocol revision. Era is "legacy" if initialize opened the conversation,
	// "modern" if each request states its revision. Both are "" until a frame states them.
	Revision, Era string
	// Target is the URL of the last request, without its query.
	Target string
	// IsStreamable is set if the last request certainly belonged to Streamable HTTP.
	IsStreamable bool
	// Client and Server are the names that the two sides report for themselves.
	Client, Server Implementation
	// Session is the hash that recordings have in place of the session id, or the id itself if it is
	// not hidden. It is "" if there is no session.
	Session string

	// head is the last head of a request, and facts are its contents. Most requests have the same
	// head.
	head  *wire.HTTPHead
	facts headFacts
}

// An Implementation is the name and the version of a client or a server.
type Implementation struct{ Name, Version string }

// String returns the name and the version; "" if there is neither.
func (i Implementation) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }

// parseImplementation parses an Implementation from JSON. It returns the zero value if raw is nil or
// has no name and version.
func parseImplementation(raw json.RawMessage) Implementation {
	if raw == nil {
		return Implementation{}
	}
	members, _ := jsonraw.Object(raw)
	return Implementation{members.Text("name"), members.Text("version")}
}

// headFacts are the contents of a request head that describe its conversation.
type headFacts struct {
	target, session, revision, era string
	streamable                     bool
}

// AddHead updates c with the head of a request. A head that names a method belongs to the modern
// era; a head with only the revision belongs to the legacy era.
func (c *Conversation) AddHead(h *wire.HTTPHead) {
	if c.head != h { // most requests have the same head
		c.head = h
		c.facts = parseHead(h)
	}
	c.Target = c.facts.target
	c.IsStreamable = c.facts.streamable
	if c.facts.session != "" {
		c.Session = c.facts.session
	}
	if c.facts.revision != "" {
		c.Revision = c.facts.revision
		c.Era = c.facts.era
	}
}

// parseHead returns the facts of a request head. A session id or a method in the head proves that
// the transport is Streamable HTTP; HTTP+SSE has neither.
func parseHead(h *wire.HTTPHead) headFacts {
	facts := headFacts{revision: h.Field("Mcp-Protocol-Version"), era: "legacy"}
	facts.target, _, _ = strings.Cut(h.URL, "?")
	id := h.Field("Mcp-Session-Id")
	method := h.Field("Mcp-Method")
	facts.streamable = id != "" || method != ""
	if id != "" {
		facts.session = HashOrText(id)
	}
	if method != "" {
		facts.era = "modern"
	}
	return facts
}

// HashOrText returns the first of the hashes that replace secrets in text, or text itself if it has
// no hash.
func HashOrText(text string) string {
	if !strings.Contains(text, "sha256") {
		return text
	}
	if all := redact.HashesIn(text); len(all) > 0 {
		return all[0]
	}
	return text
}

const (
	metaPrefix  = "io.modelcontextprotocol/"
	metaVersion = metaPrefix + "protocolVersion"
)

// addRequest updates c with the client, the revision and the era that a request states.
func (c *Conversation) addRequest(method string, m *wire.Message) {
	params, _ := m.ParamMembers()
	meta, _ := params.Get("_meta")
	if method == "initialize" {
		c.Revision = "" // the response states it; an earlier initialize may have tried a different one
		c.Era = "legacy"
		info, _ := params.Get("clientInfo")
		c.Client = parseImplementation(info)
	}
	if c.Client == (Implementation{}) {
		c.Client = parseImplementation(jsonraw.First(meta, metaPrefix+"clientInfo"))
	}
	if version, ok := jsonraw.Text(jsonraw.First(meta, metaVersion)); ok {
		c.Revision = version
		c.Era = "modern"
	}
}

// ParseServer returns the server that a result names. A request that opens a conversation has the name
// in its result, any other request in the _meta of its result.
func ParseServer(method string, m *wire.Message) Implementation {
	result, _ := m.ResultMembers()
	if IsOpeningMethod(method) {
		return parseImplementation(mcp.ServerInfo(result))
	}
	return parseImplementation(jsonraw.First(result.Value("_meta"), metaPrefix+"serverInfo"))
}

// IsOpeningMethod reports whether clients send requests of the method to open a conversation, without a call
// by the user.
func IsOpeningMethod(method string) bool {
	return mcp.IsOpening(method) || method == "logging/setLevel"
}

// NameOf returns the name, URI or task that a request concerns, or "" if it concerns nothing with a
// name.
func NameOf(m *wire.Message) string {
	params, _ := m.ParamMembers()
	for _, name := range []string{"name", "uri", "taskId"} {
		if text := params.Text(name); text != "" {
			return text
		}
	}
	ref, isCompletion := params.Get("ref") // completion/complete names a prompt or a resource
	if !isCompletion {
		return ""
	}
	members, _ := jsonraw.Object(ref)
	if name := members.Text("name"); name != "" {
		return name
	}
	return members.Text("uri")
}
