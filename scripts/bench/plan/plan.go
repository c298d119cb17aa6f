// Package plan is a list of HTTP requests as a client sent them once, written
// down so that other programs can send the same ones.
package plan

import (
	"encoding/json"
	"net/http"
	"os"
)

// SessionField names the one value that cannot be repeated: who replays a plan
// puts the session there that the server has just given.
const SessionField = "Mcp-Session-Id"

// A Request is one request: method, header fields and body as they were.
type Request struct {
	Method string
	Header http.Header
	Body   string
	// Print is set where the answer is part of what the command prints.
	Print bool
}

// Save writes a plan for Load.
func Save(name string, requests []Request) error {
	raw, err := json.Marshal(requests)
	if err != nil {
		return err
	}
	return os.WriteFile(name, raw, 0o600)
}

// Load reads what Save wrote.
func Load(name string) (requests []Request, err error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return requests, json.Unmarshal(raw, &requests)
}
