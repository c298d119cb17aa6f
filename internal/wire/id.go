package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Answers reports whether m answers the request with the given id. The type
// counts, as JSON-RPC demands: "7" does not answer 7; 7.0 does, being the same
// number. A response that breaks the rules, and is Invalid for it, still
// answers the request that it names: nothing better will come.
func (m *Message) Answers(id json.RawMessage) bool {
	return m.reply && len(id) > 0 && (bytes.Equal(m.ID, id) || idKey(m.ID) == idKey(id))
}

// namesNone reports a response that does not say what it answers: the error of
// a server that could not read the request (JSON-RPC 2.0, section 5).
func (m *Message) namesNone() bool {
	return m.reply && (m.ID == nil || string(m.ID) == "null")
}

// idKey is the same for two ids that are the same value of the same type,
// however they were written.
func idKey(id json.RawMessage) string {
	if text, ok := Text(id); ok {
		return string(Quote(text))
	}
	if isNumber(id) {
		return PlainNumber(string(id))
	}
	return string(id)
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// PlainNumber writes a JSON number as its digits and a power of ten, without
// zeros at either end: 7, 7.0 and 70e-1 are 7e0. Nothing is rounded.
func PlainNumber(number string) string {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(digits, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	power := int64(0)
	if exponent != "" {
		var err error
		if power, err = strconv.ParseInt(exponent, 10, 32); err != nil {
			return number // nobody's id; at least it is its own
		}
	}
	power -= int64(len(fraction))
	trimmed := strings.TrimRight(digits, "0")
	power += int64(len(digits) - len(trimmed))
	switch {
	case trimmed == "":
		return "0e0"
	case negative:
		trimmed = "-" + trimmed
	}
	return trimmed + "e" + strconv.FormatInt(power, 10)
}
