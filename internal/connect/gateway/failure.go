package gateway

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A Failure says why a tool of the gateway is listed in place of a server's tools. It is in the _meta
// of the tool, for mcpc servers --check.
type Failure struct {
	Kind    wire.Kind `json:"kind"`
	Message string    `json:"message"`
	// Server names the server for -s, without secrets.
	Server string `json:"server"`
}

// metaFailure is the key of a Failure.
const metaFailure = "mcpc/failure"

// failure returns why the server did not answer, as _meta.
func (l *link) failure() json.RawMessage {
	out := l.lastFailure()
	raw, _ := json.Marshal(Failure{Kind: out.Kind, Message: out.Text, Server: redact.RedactURL(l.ID)}) // always marshals
	return jsonraw.With(nil, metaFailure, raw)
}

// FailureOf returns the failure in the definition of a tool, or false if the tool is one of a server.
func FailureOf(tool json.RawMessage) (Failure, bool) {
	var f Failure
	raw := jsonraw.First(jsonraw.First(tool, "_meta"), metaFailure)
	if raw == nil || json.Unmarshal(raw, &f) != nil {
		return Failure{}, false
	}
	return f, f.Kind != wire.OK
}
