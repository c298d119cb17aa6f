package redact

import "bytes"

// Nearly all that is recorded has no secret. isPlain tells that in one pass over the bytes, with a
// second look only at what may be one: a long run, an escape, a URL.

// longestPlain is how long a text is at most that isPlain looks at: longer ones are looked at in
// windows.
const longestPlain = window

// isPlain reports a text in which Bytes certainly hides nothing, and from which it learns nothing.
// Where it is false there may be no secret either.
func (s *Secrets) isPlain(raw []byte) bool {
	if len(raw) > longestPlain || len(raw) > 0 && raw[0] >= 0xFE || s != nil && s.Guess != GuessNone { // which begins UTF-16
		return false
	}
	var seen class
	endings := byLastTwo()
	long, from := false, 0 // whether there is a long run of token bytes, and where the last run begins
	for i, b := range raw {
		c := classes[b]
		if c&(tokenByte|assigns) == tokenByte {
			continue
		}
		if c&tokenByte == 0 {
			long = long || i-from >= shortestRun && !openWords[string(raw[from:i])]
			from = i + 1
		}
		if c&assigns != 0 && (!namesNothing(endings, raw[:i]) && isNamedSecret(raw[:i]) || b == ':' && beginsURL(raw, i)) {
			return false
		}
		seen |= c
	}
	long = long || len(raw)-from >= shortestRun && !openWords[string(raw[from:])]
	switch {
	case seen&zero != 0:
		return false
	case seen&entityEscape != 0 && len(hideForm(raw, false).replaced) > 0:
		return false
	case long && (beginsIn(raw) != 0 || holdsCoded(raw)):
		return false
	}
	return s == nil || s.values.hasNone(raw, seen&escape != 0)
}

// beginsURL reports a URL with what may be secret in it, by its colon.
func beginsURL(raw []byte, colon int) bool {
	if colon+2 >= len(raw) || raw[colon+1] != '/' || raw[colon+2] != '/' {
		return false
	}
	to := colon
	for to < len(raw) && classes[raw[to]]&linkEnd == 0 {
		to++
	}
	return bytes.ContainsAny(raw[colon:to], "@=")
}

// namesNothing reports a text that ends with a name in quotes whose last letters tell it from all
// names of secrets.
func namesNothing(endings *[32 * 26][]secretText, text []byte) bool {
	last := len(text) - 1
	if last < 2 || text[last] != '"' {
		return false
	}
	a, b := text[last-2]|0x20-'a', text[last-1]|0x20-'a'
	if a >= 26 || b >= 26 {
		return false
	}
	for _, s := range endings[32*int(a)+int(b)] {
		if mayEndWith(text[:last], s.text) {
			return false
		}
	}
	return true
}

// mayEndWith reports a word whose last letters are those of name, or that has other bytes among
// them.
func mayEndWith(word []byte, name string) bool {
	for i := 1; i <= len(name) && i <= len(word); i++ {
		if c := word[len(word)-i]; !isLetter(c) {
			return true
		} else if c|0x20 != name[len(name)-i] {
			return false
		}
	}
	return true
}

// isNamedSecret reports a text that ends with a secret name, as hideNamed tells it.
func isNamedSecret(text []byte) bool {
	word := wordBefore(text)
	return string(word) != "progressToken" && secretMember(word)
}

// holdsCoded reports a text within a text in base64 or in hexadecimal digits.
func holdsCoded(raw []byte) (found bool) {
	eachCoded(raw, func([]byte, func(from, to int) (int, int)) { found = true })
	return found
}

// openWords are long runs that stand in most messages and in heads. None is a token or a text in
// base64, which takes long to tell.
var openWords = map[string]bool{
	"notifications/progress": true, "notifications/message": true, "notifications/cancelled": true, "notifications/initialized": true,
	"notifications/tools/list_changed": true, "sampling/createMessage": true, "elicitation/create": true, "completion/complete": true,
	"resources/templates/list": true, "structuredContent": true, "additionalProperties": true, "supportedVersions": true,
	"io.modelcontextprotocol/clientInfo": true, "io.modelcontextprotocol/clientCapabilities": true, "io.modelcontextprotocol/protocolVersion": true,
	"io.modelcontextprotocol/serverInfo": true, "application/json": true, "text/event-stream": true, "MCP-Protocol-Version": true, "Mcp-Protocol-Version": true,
}
