package playback

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
)

// The bytes that a report has of a value, and the line of a miss in all.
const (
	mostShown  = 200
	mostOfLine = 160
)

// shown is the start of a value as text without control characters.
func shown(raw []byte) string {
	return sanitize.Line(jsonraw.Excerpt(raw, mostShown), sanitize.Signs)
}

// composeError gives the response with an error whose bytes are kept.
func composeError(id, failed json.RawMessage) []byte {
	var b jsonraw.Builder
	b.Text("jsonrpc", "2.0")
	b.Raw("id", id)
	b.Raw("error", jsonraw.OneLine(failed))
	return b.Bytes()
}

// failure is an error object; data may be nil.
func failure(code int64, message string, data json.RawMessage) json.RawMessage {
	var b jsonraw.Builder
	b.Number("code", code)
	b.Text("message", message)
	b.Raw("data", data)
	return b.Bytes()
}
