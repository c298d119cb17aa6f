package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// Answers reports whether m answers the request with the given id. The type
// counts, as JSON-RPC demands: "7" does not answer 7; 7.0 does, being the same
// number. A response that breaks the rules, and is Invalid for it, still
// answers the request that it names: nothing better will come.
func (m *Message) Answers(id json.RawMessage) bool {
	return m.reply && len(id) > 0 && (bytes.Equal(m.ID, id) || idKey(m.ID) == idKey(id))
}

// OtherID returns an id that differs from id in nothing but its JSON type: "2" for 2, and 2 for "2". It returns nil if
// there is none.
func OtherID(id json.RawMessage) json.RawMessage {
	if jsonraw.IsNumber(id) {
		return jsonraw.Quote(string(id))
	}
	text, ok := jsonraw.Text(id)
	if number := json.RawMessage(text); ok && jsonraw.IsNumber(number) && jsonraw.Valid(number) == nil {
		return number
	}
	return nil
}

// otherKey is OtherID for the results of idKey; it returns "" if there is none.
func keyOfOtherType(key string) string {
	digits, power, isNumber := strings.Cut(key, "e")
	zeros, err := strconv.Atoi(power)
	if isNumber && jsonraw.IsNumber([]byte(key)) && err == nil && zeros >= 0 && zeros < 20 {
		return `"` + digits + strings.Repeat("0", zeros) + `"`
	}
	if other := OtherID([]byte(key)); !jsonraw.IsNumber([]byte(key)) && other != nil {
		return idKey(other)
	}
	return ""
}

// HasID reports whether the message has an id that is not null.
func (m *Message) HasID() bool { return m.ID != nil && string(m.ID) != "null" }

// namesNone reports a response that does not say what it answers: the error of
// a server that could not read the request (JSON-RPC 2.0, section 5).
func (m *Message) namesNoRequest() bool {
	return m.reply && !m.HasID()
}

// idKey is the same for two ids that are the same value of the same type,
// however they were written.
func idKey(id json.RawMessage) string {
	if jsonraw.IsNumber(id) {
		return jsonraw.PlainNumber(string(id))
	}
	if text, ok := jsonraw.Text(id); ok {
		return string(jsonraw.Quote(text))
	}
	return string(id)
}
