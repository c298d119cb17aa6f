package tui

import (
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
)

// indented is JSON with one member to a line, in about w columns; what is not JSON stays as it is.
func indented(text string, w int) string {
	if notJSON(text) != "" {
		return text
	}
	return strings.TrimSpace(string(render.IndentJSON(term.Style{Width: w}, []byte(text))))
}

// notJSON says why a text is not JSON; "" is JSON.
func notJSON(text string) string {
	if err := jsonraw.Valid([]byte(text)); err != nil {
		return "not JSON: " + err.Error()
	}
	return ""
}
