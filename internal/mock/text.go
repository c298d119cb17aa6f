package mock

import (
	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
)

// The bytes that a report has of a value, and the line of a miss in all.
const (
	mostShown  = 200
	mostOfLine = 160
)

// shown is the start of a value as text without control characters.
func shown(text string) string {
	return sanitize.Line(jsonraw.Excerpt([]byte(text), mostShown), sanitize.Signs)
}
