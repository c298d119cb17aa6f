package transport

import (
	"bytes"
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// mismatchFault returns the fault for a message that arrived instead of the response to out.
func mismatchFault(out *Outgoing, m *wire.Message) *Fault {
	f := badResponseFault(Mismatch(m, out.ID), m.Raw)
	if isReply(m) {
		f.Hint = SameIDHint
	}
	return f
}

// SameIDHint is the hint for a response with another id than its request.
const SameIDHint = "a server must return the request's id unchanged, in value and type"

// irregularResponse returns the response to out if m contains it in a form that breaks a rule: its id
// has another JSON type, or it is the only element of an array although arrays are not allowed. The
// finding names the rule. It returns nil if m contains no such response.
func irregularResponse(m *wire.Message, out *Outgoing) (*wire.Message, *wire.Finding) {
	if out.AcceptsAny {
		return nil, nil
	}
	if m.Kind == wire.Batch && !out.AllowsBatch && len(m.Items) == 1 {
		item := m.Items[0]
		if !item.IsResponseTo(out.ID) || item.Kind == wire.Invalid {
			return nil, nil
		}
		return item, &wire.Finding{
			Rule: "batch", Severity: wire.Warning,
			Text: "the response is in a JSON-RPC batch, which the revision does not support",
		}
	}
	if isReply(m) && hasOtherID(m, out.ID) {
		return m, &wire.Finding{Rule: "id", Severity: wire.Warning, Text: "the response has id " + IDText(m.ID) +
			", the request had " + IDText(out.ID) + ": " + SameIDHint}
	}
	return nil, nil
}

// hasOtherID reports whether the id of m differs from id only in its JSON type.
func hasOtherID(m *wire.Message, id json.RawMessage) bool {
	other := wire.OtherID(m.ID)
	return other != nil && bytes.Equal(other, id)
}

// isReply reports whether m is a result or an error response.
func isReply(m *wire.Message) bool {
	return m.Kind == wire.Response || m.Kind == wire.ErrorResponse
}

// Mismatch returns why m, which arrived instead of the response, does not answer the request with that
// id.
func Mismatch(m *wire.Message, id json.RawMessage) string {
	if problem := m.Problem(); problem != "" {
		return problem
	}
	if isReply(m) {
		return "the response has id " + IDText(m.ID) + ", the request had " + IDText(id)
	}
	return "a " + m.Kind.String() + " was received instead of the response"
}

// IDText returns an id for display, or "none" if id is nil.
func IDText(id json.RawMessage) string {
	if id == nil {
		return "none"
	}
	return jsonraw.Excerpt(id, 40)
}

// isBrokenResponse reports whether m is a broken response to the request with that id, after which no better
// response will arrive. A message with neither result nor error must look like JSON-RPC, unlike a
// logger's line. If m is not JSON, its id must be before the position of the error; if m only ends
// too early, it counts only if isWhole is set, because the next line may continue it.
func isBrokenResponse(m *wire.Message, id json.RawMessage, isWhole bool) bool {
	if m.Kind != wire.Invalid || len(id) == 0 {
		return false
	}
	if m.IsResponseTo(id) {
		return true
	}
	members, err := jsonraw.Object(m.Raw)
	given, _ := members.Get("id") // Object returns the members before a syntax error
	if !bytes.Equal(given, id) || members.Text("jsonrpc") == "" {
		return false
	}
	if err != nil {
		endsTooEarly := int(err.Offset) >= len(m.Raw)
		mayBeRequest := bytes.Contains(m.Raw, []byte(`"method"`)) // also after the error
		return (isWhole || !endsTooEarly) && !mayBeRequest
	}
	_, called := members.Get("method")
	return !called
}

// containsResponse reports whether m is an array with the response to the request.
func containsResponse(m *wire.Message, id json.RawMessage) bool {
	return slices.ContainsFunc(m.Items, func(item *wire.Message) bool { return item.IsResponseTo(id) })
}

// isJSON reports whether raw is valid JSON.
func isJSON(raw []byte) bool { return jsonraw.Valid(raw) == nil }
