package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// IsResponseTo reports whether m is the response to the request with this id. The JSON type counts: "7"
// does not answer 7, but 7.0 does, because it is the same number. An Invalid response still answers
// the request that it names: no better response will follow.
func (m *Message) IsResponseTo(id json.RawMessage) bool {
	return m.reply && len(id) > 0 && (bytes.Equal(m.ID, id) || idKey(m.ID) == idKey(id))
}

// OtherID returns the id of the other JSON type: "2" for 2, and 2 for "2". It returns nil if there
// is no such id.
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

// keyOfOtherType returns, for the key of the number 20, the key of the string "20", and the reverse: the
// two ids are different. It returns "" if the key is of a string that is not a number in this sense, or
// of too large a number.
func keyOfOtherType(key string) string {
	if !jsonraw.IsNumber([]byte(key)) {
		if other := OtherID([]byte(key)); other != nil {
			return idKey(other)
		}
		return ""
	}
	digits, power, _ := strings.Cut(key, "e") // the key of 20 is 2e1
	zeros, err := strconv.Atoi(power)
	if err != nil || zeros < 0 || zeros >= maxZeros {
		return ""
	}
	return `"` + digits + strings.Repeat("0", zeros) + `"`
}

// maxZeros bounds the length of the text that is made from an id such as 1e999999999.
const maxZeros = 20

// HasID reports whether the message has an id that is not null.
func (m *Message) HasID() bool { return m.ID != nil && string(m.ID) != "null" }

// lacksRequestID reports whether m is a response without an id: the error of a server that could
// not read the request (JSON-RPC 2.0, section 5).
func (m *Message) lacksRequestID() bool {
	return m.reply && !m.HasID()
}

// idKey returns a key that is equal for equal ids of the same JSON type, however they are written.
func idKey(id json.RawMessage) string {
	if jsonraw.IsNumber(id) {
		return jsonraw.PlainNumber(string(id))
	}
	if text, ok := jsonraw.Text(id); ok {
		return string(jsonraw.Quote(text))
	}
	return string(id)
}
