package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/wire"
)

// ExampleCall is a command line that calls tool with arguments that satisfy its
// inputSchema, quoted for a POSIX shell, or where they are nil with placeholders. A
// name that reads like a flag has its place in the params.
func (a Aim) ExampleCall(tool wire.Tool, arguments json.RawMessage) string {
	if arguments == nil {
		arguments = placeholder(tool.InputSchema)
	}
	arguments = escapeHidden(arguments)
	if strings.HasPrefix(tool.Name, "-") {
		var params object
		params.raw("name", escapeHidden(wire.Quote(tool.Name)))
		params.raw("arguments", arguments)
		return a.Command("raw tools/call " + ShellQuote(string(params.bytes())))
	}
	return a.Command("call " + ShellQuote(tool.Name) + " " + ShellQuote(string(arguments)))
}

// ShellQuote writes s as one word for a POSIX shell. The word is printable: what
// hides or acts on a terminal is spelled out for printf, so that pasting the word
// gives s again.
func ShellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,") == "" {
		return s
	}
	if Line(s) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return `"$(printf '` + printfText(s) + `')"`
}

// printfText spells every byte outside printable ASCII in octal. $(…) drops line
// ends at the end of its text, which no name that a person can call ends in.
func printfText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
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
