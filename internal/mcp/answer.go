package mcp

import (
	"encoding/json"

	"mcpc/internal/wire"
)

// codeRejected is the code with which the specification's examples refuse a
// request for sampling (client/sampling, "Error Handling").
const codeRejected = -1

// Answer is the client's answer to a request of the server: a result, or the code and the
// message of an error.
type Answer struct {
	Result json.RawMessage
	Code   int64
	Text   string
}

// Compose composes the response to the request with that id.
func (a Answer) Compose(id json.RawMessage) []byte {
	if a.Result != nil {
		return wire.ComposeResult(id, a.Result)
	}
	return wire.ComposeError(id, a.Code, a.Text)
}

// NoAnswer is the answer to a request with the method where the user gives none.
func NoAnswer(method string) Answer {
	switch method {
	case "elicitation/create":
		return Answer{Result: json.RawMessage(`{"action":"cancel"}`)}
	case "sampling/createMessage":
		return Answer{Code: codeRejected, Text: "User rejected sampling request"}
	}
	return Answer{Code: -32603, Text: "Internal error: the client has no answer"}
}
