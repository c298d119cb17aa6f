// Package shellwords quotes and splits the words of a shell.
package shellwords

import (
	"fmt"
	"strings"

	"mcpc/internal/sanitize"
)

// Quote writes s as one word for a POSIX shell. The word is printable: what
// hides or acts on a terminal is spelled out for printf, so that pasting the word
// gives s again.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,") == "" {
		return s
	}
	if sanitize.Line(s, sanitize.Signs) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return `"$(printf '` + PrintfText(s) + `')"`
}

// PrintfText quotes s for "$(printf '…')": it spells every byte outside printable ASCII in octal. The shell
// drops line ends at the end of the output; no tool name that a person can call has one there.
func PrintfText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			b.WriteString("%%")
		case c < 0x20 || c > 0x7e || c == '\\' || c == '\'' || c == '"' || c == '$' || c == '`':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
