package mock

import (
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A handshake describes how the recorded server introduced itself.
type handshake struct {
	// initialize and discover are the newest recorded results, nil if not recorded.
	initialize, discover json.RawMessage
	// initializeIndex and discoverIndex are the indexes of their exchanges.
	initializeIndex, discoverIndex int
	// capabilities, identity and instructions are served to clients of either era.
	capabilities, identity json.RawMessage
	instructions           json.RawMessage
	// isDerived is set if no handshake was recorded.
	isDerived bool
}

// learn stores the result of exchange n if it is a successful handshake. A later one replaces an earlier
// one. It returns the error of reading the recording.
func (h *handshake) learn(x Recorded, n int) error {
	if !mcp.IsOpening(x.Method) || !x.Answered {
		return nil
	}
	e, err := x.Load()
	if err != nil || e == nil {
		return err
	}
	result := wire.ParseMessage(e.Response.Raw).Result
	members, parseErr := jsonraw.Object(result)
	if parseErr != nil || members.Value("capabilities") == nil { // an error, or not a valid result
		return nil
	}
	if x.Method == "initialize" {
		h.initialize = result
		h.initializeIndex = n
	} else {
		h.discover = result
		h.discoverIndex = n
	}
	return nil
}

// complete derives what clients of either era are served. If no handshake was recorded, the
// capabilities follow from the recorded methods.
func (h *handshake) complete(all []Recorded) {
	recorded := h.initialize
	if recorded == nil {
		recorded = h.discover
	}
	// Object(nil) has no members.
	members, _ := jsonraw.Object(recorded)
	h.capabilities = members.Value("capabilities")
	h.instructions = members.Value("instructions")
	h.identity = members.Value("serverInfo")
	if h.identity == nil {
		h.identity = jsonraw.First(members.Value("_meta"), bridge.MetaServer)
	}
	if recorded == nil {
		h.isDerived = true
		for _, x := range all {
			// tasks needs members that the recorded methods do not show.
			if name := bridge.ServerCapability(x.Method); name != "" && name != "tasks" {
				h.capabilities = jsonraw.With(h.capabilities, name, json.RawMessage("{}"))
			}
		}
	}
	h.capabilities = jsonraw.OrEmpty(h.capabilities)
	if h.identity == nil {
		h.identity = json.RawMessage(`{"name":"mcpc mock","version":"0"}`)
	}
}

// declares reports whether the server declares a capability ("resources") or a member of one
// ("resources", "subscribe").
func (h *handshake) declares(names ...string) bool {
	value := h.capabilities
	for _, name := range names {
		value = jsonraw.First(value, name)
	}
	return value != nil && string(value) != "false"
}

// initializeResult returns the result of initialize for a revision: the recorded result with that
// revision, or else a result composed of what is known about the server.
func (p *Player) initializeResult(revision string) json.RawMessage {
	h := &p.handshake
	if h.initialize != nil {
		p.tally.countHit(h.initializeIndex)
		if jsonraw.TextOrRaw(jsonraw.First(h.initialize, "protocolVersion")) == revision {
			return h.initialize
		}
		return jsonraw.With(h.initialize, "protocolVersion", jsonraw.Quote(revision))
	}
	capabilities := h.capabilities
	if extensions := jsonraw.First(capabilities, "extensions"); extensions != nil { // of the stateless era
		capabilities = jsonraw.With(capabilities, "extensions", jsonraw.Without(extensions, mcp.TasksExtension))
	}
	var b jsonraw.Builder
	b.Text("protocolVersion", revision)
	b.Raw("capabilities", capabilities)
	b.Raw("serverInfo", h.identity)
	b.Raw("instructions", h.instructions)
	return b.Bytes()
}

// discoverResult returns the result of server/discover: the recorded result, or else a result
// composed of what is known about the server. It keeps the recorded versions if all of them are
// served and the stateless revision is among them.
func (p *Player) discoverResult() json.RawMessage {
	h := &p.handshake
	served := p.options.Eras.Revisions()
	versions := jsonraw.ListOf(served, func(v string) []byte { return jsonraw.Quote(v) })
	if h.discover != nil {
		p.tally.countHit(h.discoverIndex)
		recorded, _ := jsonraw.Array(jsonraw.First(h.discover, "supportedVersions"))
		isUnserved := func(v json.RawMessage) bool { return !slices.Contains(served, jsonraw.TextOrRaw(v)) }
		isModern := func(v json.RawMessage) bool { return jsonraw.TextOrRaw(v) == bridge.ModernRevision }
		if slices.ContainsFunc(recorded, isModern) && !slices.ContainsFunc(recorded, isUnserved) {
			return h.discover
		}
		return jsonraw.With(h.discover, "supportedVersions", versions)
	}
	var b jsonraw.Builder
	b.Text("resultType", "complete")
	b.Raw("supportedVersions", versions)
	b.Raw("capabilities", jsonraw.Without(h.capabilities, "tasks")) // the tasks of 2025-11-25
	b.Raw("instructions", h.instructions)
	b.Number("ttlMs", 0)
	b.Text("cacheScope", "private")
	b.Raw("_meta", jsonraw.With(nil, bridge.MetaServer, h.identity))
	return b.Bytes()
}
