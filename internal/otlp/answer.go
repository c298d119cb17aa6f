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

// errAnswer is the error of a body that is not the message that the protocol demands.
var errAnswer = errors.New("not an OTLP response")

// ParsePartial reads the partial_success of an ExportTraceServiceResponse or an
// ExportMetricsServiceResponse: how many spans or data points were rejected, and what the
// collector says about it, which may also be a warning where nothing was rejected. A body
// without partial_success, or an empty one, is a full success. An error says that body is not
// such a response.
func ParsePartial(f Format, body []byte) (rejected int64, message string, err error) {
	if f == JSON {
		return partialJSON(body)
	}
	partial, err := lastField(body, 1)
	if err != nil || partial.data == nil {
		return 0, "", err
	}
	count, err := lastField(partial.data, 1)
	if err != nil {
		return 0, "", err
	}
	text, err := lastField(partial.data, 2)
	if err != nil || !utf8.Valid(text.data) {
		return 0, "", errAnswer
	}
	return int64(count.varint), string(text.data), nil
}

func partialJSON(body []byte) (rejected int64, message string, err error) {
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
		return 0, "", errAnswer
	}
	partial := answer.PartialSuccess
	for _, count := range []json.RawMessage{partial.RejectedSpans, partial.RejectedDataPoints} {
		if count == nil || string(count) == "null" {
			continue
		}
		rejected, err = strconv.ParseInt(strings.Trim(string(count), `"`), 10, 64)
		if err != nil {
			return 0, "", errAnswer
		}
	}
	return rejected, partial.ErrorMessage, nil
}

// StatusMessage reads the message of a google.rpc.Status, the body of a failure. It is empty
// where body is something else.
func StatusMessage(f Format, body []byte) string {
	if f == JSON {
		text, _ := jsonraw.Text(jsonraw.First(body, "message"))
		return text
	}
	text, err := lastField(body, 2)
	if err != nil || !utf8.Valid(text.data) {
		return ""
	}
	return string(text.data)
}

// A field is the value of a field of a protobuf message, by its wire type.
type field struct {
	varint uint64
	data   []byte // nil if it is no length-delimited field
}

// lastField reads a whole message, and returns its field n: of several the last one, as
// protobuf demands.
func lastField(message []byte, n int) (found field, err error) {
	for len(message) > 0 {
		number, kind, value, rest, ok := cutField(message)
		if !ok {
			return field{}, errAnswer
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
