package mcp

import (
	"encoding/json"

	"mcpc/internal/wire"
)

// codeRejected is the error code that the specification's examples refuse sampling with
// (client/sampling, "Error Handling").
const codeRejected = -1

// Answer is the client's answer to a request of the server: a result, or the code and message of an
// error.
type Answer struct {
	Result json.RawMessage
	Code   int64
	Text   string
}

// Compose returns the response to the request with this id.
func (a Answer) Compose(id json.RawMessage) []byte {
	if a.Result != nil {
		return wire.ComposeResult(id, a.Result)
	}
	return wire.ComposeError(id, a.Code, a.Text)
}

// NoAnswer returns the answer to a request of this method if the user gives no answer.
func NoAnswer(method string) Answer {
	switch method {
	case "elicitation/create":
		return Answer{Result: json.RawMessage(`{"action":"cancel"}`)}
	case "sampling/createMessage":
		return Answer{Code: codeRejected, Text: "User rejected sampling request"}
	}
	return Answer{Code: -32603, Text: "Internal error: the client has no answer"}
}
