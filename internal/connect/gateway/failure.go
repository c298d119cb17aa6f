package gateway

import (
	"encoding/json"
	"strings"

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
	// SendsToken is true if mcpc serve got an Authorization field for the server.
	SendsToken bool `json:"sendsToken,omitempty"`
}

// metaFailure is the key of a Failure.
const metaFailure = "mcpc/failure"

// failure returns why the server did not answer, as _meta.
func (l *link) failure() json.RawMessage {
	out := l.lastFailure()
	l.mu.Lock()
	sendsToken := l.sendsToken
	l.mu.Unlock()
	failure := Failure{Kind: out.Kind, Message: out.Text, Server: redact.RedactURL(l.ID), SendsToken: sendsToken}
	raw, _ := json.Marshal(failure) // always marshals
	return jsonraw.With(nil, metaFailure, raw)
}

// isAuthorization reports whether a line of -H is an Authorization field.
func isAuthorization(line string) bool {
	name, _, _ := strings.Cut(line, ":")
	return strings.EqualFold(strings.TrimSpace(name), "Authorization")
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
