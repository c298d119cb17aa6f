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

// plainResponse returns the response to a request that a message has although it breaks a rule: its id has another
// type, or it is the only message of an array where arrays are not allowed. The finding says so. Returns nil if there
// is none.
func plainResponse(m *wire.Message, out *Outgoing) (*wire.Message, *wire.Finding) {
	if out.AnyReply {
		return nil, nil
	}
	if m.Kind == wire.Batch && !out.Batches && len(m.Items) == 1 {
		item := m.Items[0]
		if !item.Answers(out.ID) || item.Kind == wire.Invalid {
			return nil, nil
		}
		return item, &wire.Finding{Rule: "batch", Level: wire.Warning,
			Text: "the response is in an array, which the revision does not support"}
	}
	if isReply(m) && hasOtherID(m, out.ID) {
		return m, &wire.Finding{Rule: "id", Level: wire.Warning, Text: "the response has id " + IDText(m.ID) +
			", the request had " + IDText(out.ID) + ": " + SameIDHint}
	}
	return nil, nil
}

// hasOtherID reports a message whose id differs from id in nothing but its JSON type.
func hasOtherID(m *wire.Message, id json.RawMessage) bool {
	other := wire.OtherID(m.ID)
	return other != nil && bytes.Equal(other, id)
}

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
