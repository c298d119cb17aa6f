package term

import (
	"io"

	"mcpc/internal/sanitize"
)

// Line calls sanitize.Line, for callers without a Style.
func Line(s string) string { return Style{}.Line(s) }

// Block calls sanitize.Block, for callers without a Style.
func Block(s string) string { return Style{}.Block(s) }

// Line calls sanitize.Line, with plain ASCII if s requires it.
func (s Style) Line(text string) string { return sanitize.Line(text, s.signs()) }

// Block calls sanitize.Block, with plain ASCII if s requires it.
func (s Style) Block(text string) string { return sanitize.Block(text, s.signs()) }

// Sanitizer calls sanitize.NewWriter, with plain ASCII if s requires it.
func (s Style) Sanitizer(w io.Writer) io.WriteCloser { return sanitize.NewWriter(w, s.signs()) }

func (s Style) signs() sanitize.Picture {
	if s.ASCII {
		return sanitize.ASCII
	}
	return sanitize.Signs
}

// EscapeHidden writes the hidden characters in the strings of valid JSON as \u escapes.
func EscapeHidden(raw []byte) []byte { return sanitize.Bytes(raw, sanitize.JSON) }
