package transport

import (
	"bytes"
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// noAnswerTo says why a message does not answer a request that gets no other one.
func noAnswerTo(out *Outgoing, m *wire.Message) *Fault {
	f := badContent(Mismatch(m, out.ID), m.Raw)
	if isReply(m) {
		f.Hint = SameIDHint
	}
	return f
}

// SameIDHint is the hint for a response with another id than its request.
const SameIDHint = "a server must return the request's id unchanged, in value and type"

// isReply reports a response, good or not.
func isReply(m *wire.Message) bool {
	return m.Kind == wire.Response || m.Kind == wire.ErrorResponse
}

// Mismatch says why a message does not answer the request with that id.
func Mismatch(m *wire.Message, id json.RawMessage) string {
	if problem := m.Problem(); problem != "" {
		return problem
	}
	if isReply(m) {
		return "the response has id " + IDText(m.ID) + ", the request had " + IDText(id)
	}
	return "a " + m.Kind.String() + " was received instead of the response"
}

// IDText is an id as it is shown, or "none".
func IDText(id json.RawMessage) string {
	if id == nil {
		return "none"
	}
	return jsonraw.Excerpt(id, 40)
}

// NoID reports a message whose id is absent or null.
func NoID(m *wire.Message) bool { return m.ID == nil || string(m.ID) == "null" }

// claims reports a broken answer to the request: nothing better will come. One
// that has neither a result nor an error must at least look like JSON-RPC, as a
// line of some logger does not. One that is not JSON must have its id before the
// place where it breaks; if it only ends too early and is not whole, the rest may be in
// the next line.
func claims(m *wire.Message, id json.RawMessage, whole bool) bool {
	if m.Kind != wire.Invalid || len(id) == 0 {
		return false
	}
	if m.Answers(id) {
		return true
	}
	members, err := jsonraw.Object(m.Raw)
	given, _ := members.Get("id")
	if !bytes.Equal(given, id) || members.Text("jsonrpc") == "" {
		return false
	}
	if err != nil { // a request's method may stand behind that place
		return (whole || int(err.Offset) < len(m.Raw)) && !bytes.Contains(m.Raw, []byte(`"method"`))
	}
	_, called := members.Get("method")
	return !called
}

// holds reports an array with the response to the request.
func holds(m *wire.Message, id json.RawMessage) bool {
	return slices.ContainsFunc(m.Items, func(item *wire.Message) bool { return item.Answers(id) })
}

func isJSON(raw []byte) bool { return jsonraw.Valid(raw) == nil }
