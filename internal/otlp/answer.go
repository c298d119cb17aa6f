package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// errNotResponse is the error for a body that is not a valid OTLP response.
var errNotResponse = errors.New("not an OTLP response")

// ParsePartial parses the partial_success of an ExportTraceServiceResponse or
// ExportMetricsServiceResponse. It returns the number of rejected spans or data points, and the
// message of the collector. The message may be a warning if nothing was rejected. An empty body, or
// a body without partial_success, is a full success. It returns an error if body is not a valid
// response.
func ParsePartial(f Format, body []byte) (rejected int64, message string, err error) {
	if f == JSON {
		return parsePartialJSON(body)
	}
	partial, err := findLastField(body, 1)
	if err != nil || partial.data == nil {
		return 0, "", err
	}
	count, err := findLastField(partial.data, 1)
	if err != nil {
		return 0, "", err
	}
	text, err := findLastField(partial.data, 2)
	if err != nil || !utf8.Valid(text.data) {
		return 0, "", errNotResponse
	}
	return int64(count.varint), string(text.data), nil
}

// parsePartialJSON parses a partial_success in JSON. A count may be a number or a string.
func parsePartialJSON(body []byte) (rejected int64, message string, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return 0, "", nil
	}
	var answer struct {
		PartialSuccess struct {
			RejectedSpans, RejectedDataPoints json.RawMessage
			ErrorMessage                      string
		}
	}
	if json.Unmarshal(body, &answer) != nil || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return 0, "", errNotResponse
	}
	partial := answer.PartialSuccess
	for _, count := range []json.RawMessage{partial.RejectedSpans, partial.RejectedDataPoints} {
		if count == nil || string(count) == "null" {
			continue
		}
		rejected, err = strconv.ParseInt(strings.Trim(string(count), `"`), 10, 64)
		if err != nil {
			return 0, "", errNotResponse
		}
	}
	return rejected, partial.ErrorMessage, nil
}

// StatusMessage returns the message of a google.rpc.Status, the body of an error response. It
// returns "" if body has a different form.
func StatusMessage(f Format, body []byte) string {
	if f == JSON {
		text, _ := jsonraw.Text(jsonraw.First(body, "message"))
		return text
	}
	text, err := findLastField(body, 2)
	if err != nil || !utf8.Valid(text.data) {
		return ""
	}
	return string(text.data)
}

// A field is the value of a protobuf field, by its wire type.
type field struct {
	varint uint64
	data   []byte // nil unless the field is length-delimited
}

// findLastField parses a message and returns its field n, or the zero value. Of repeated fields it
// returns the last, as protobuf requires. It returns an error if the message is invalid.
func findLastField(message []byte, n int) (found field, err error) {
	for len(message) > 0 {
		number, kind, value, rest, ok := cutField(message)
		if !ok {
			return field{}, errNotResponse
		}
		message = rest
		if number == uint64(n) {
			switch kind {
			case varintType:
				found.varint, _ = binary.Uvarint(value)
			case bytesType:
				found.data = value
			}
		}
	}
	return found, nil
}
