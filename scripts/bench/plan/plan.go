// Package plan is a list of HTTP requests as a client sent them once, written
// down so that other programs can send the same ones.
package plan

import (
	"encoding/json"
	"net/http"
	"os"
)

// SessionField is the header field that cannot be repeated. A program that sends a plan replaces
// its value by the session id of the server.
const SessionField = "Mcp-Session-Id"

// A Request is one request of a plan: method, header fields and body as the client sent them.
type Request struct {
	Method string
	Header http.Header
	Body   string
	// Print is set if the response is part of the output of the command.
	Print bool
}

// Save writes a plan to a file.
func Save(name string, requests []Request) error {
	raw, err := json.Marshal(requests)
	if err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o600)
}

// Load reads a plan that Save wrote.
func Load(name string) (requests []Request, err error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return requests, json.Unmarshal(raw, &requests)
}
