package playback

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mock/playback/bridge"
	"mcpc/internal/wire"
)

// isModern reports a message that says for itself in which revision it is.
func isModern(m *wire.Message) bool {
	return m.Method == "server/discover" || m.Method == "subscriptions/listen" || jsonraw.First(jsonraw.First(m.Params, "_meta"), bridge.MetaVersion) != nil
}

// modernClient is the sender of a request of the modern era.
func modernClient(m *wire.Message) client {
	meta := jsonraw.First(m.Params, "_meta")
	return client{stateless: true, revision: jsonraw.TextOrRaw(jsonraw.First(meta, bridge.MetaVersion)),
		capabilities: jsonraw.First(meta, bridge.MetaCapabilities), level: jsonraw.TextOrRaw(jsonraw.First(meta, bridge.MetaLogLevel))}
}

// refusal is the error for a request that lacks what each has to have; nil accepts it.
func (p *Player) refusal(c client, m *wire.Message) json.RawMessage {
	switch {
	case !c.stateless && !p.o.Eras.Sessions() && m.Method == "initialize":
		return p.otherVersion(jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion")))
	case !c.stateless && !p.o.Eras.Sessions():
		return failure(-32602, "_meta lacks "+bridge.MetaVersion, nil)
	case !c.stateless:
		return nil
	case c.revision == "":
		return failure(-32602, "_meta lacks "+bridge.MetaVersion, nil)
	case c.revision != bridge.ModernRevision:
		return p.otherVersion(c.revision)
	case c.capabilities == nil:
		return failure(-32602, "_meta lacks "+bridge.MetaCapabilities, nil)
	}
	return nil
}
