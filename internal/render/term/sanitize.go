package term

import (
	"io"

	"mcpc/internal/sanitize"
)

// Line is sanitize.Line, for callers without a Style.
func Line(s string) string { return Style{}.Line(s) }

// Block is sanitize.Block, for callers without a Style.
func Block(s string) string { return Style{}.Block(s) }

// Line is sanitize.Line, in plain ASCII where s asks for it.
func (s Style) Line(text string) string { return sanitize.Line(text, s.signs()) }

// Block is sanitize.Block, in plain ASCII where s asks for it.
func (s Style) Block(text string) string { return sanitize.Block(text, s.signs()) }

// Sanitizer is sanitize.NewWriter, in plain ASCII where s asks for it.
func (s Style) Sanitizer(w io.Writer) io.WriteCloser { return sanitize.NewWriter(w, s.signs()) }

func (s Style) signs() sanitize.Picture {
	if s.ASCII {
		return sanitize.ASCII
	}
	return sanitize.Signs
}

// EscapeHidden writes the hidden characters of valid JSON, which can only stand
// in its strings, as \u escapes.
func EscapeHidden(raw []byte) []byte { return sanitize.Bytes(raw, sanitize.JSON) }
