package playback

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// isModern reports a message that says for itself in which revision it is.
func isModern(m *wire.Message) bool {
	return m.Method == "server/discover" || m.Method == "subscriptions/listen" || jsonraw.First(jsonraw.First(m.Params, "_meta"), metaVersion) != nil
}

// modernClient is the sender of a request of the modern era.
func modernClient(m *wire.Message) client {
	meta := jsonraw.First(m.Params, "_meta")
	return client{stateless: true, revision: jsonraw.TextOrRaw(jsonraw.First(meta, metaVersion)),
		capabilities: jsonraw.First(meta, metaCapabilities), level: jsonraw.TextOrRaw(jsonraw.First(meta, metaLogLevel))}
}

// refusal is the error for a request that lacks what each has to have; nil accepts it.
func (p *Player) refusal(c client, m *wire.Message) json.RawMessage {
	switch {
	case !c.stateless && !p.o.Eras.sessions() && m.Method == "initialize":
		return p.otherVersion(jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion")))
	case !c.stateless && !p.o.Eras.sessions():
		return failure(-32602, "_meta lacks "+metaVersion, nil)
	case !c.stateless:
		return nil
	case c.revision == "":
		return failure(-32602, "_meta lacks "+metaVersion, nil)
	case c.revision != modernRevision:
		return p.otherVersion(c.revision)
	case c.capabilities == nil:
		return failure(-32602, "_meta lacks "+metaCapabilities, nil)
	}
	return nil
}
