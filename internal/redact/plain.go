package redact

import (
	"bytes"

	"mcpc/internal/spool"
)

// Nearly all recorded text has no secret. isPlain recognizes that in one pass over the bytes, and
// looks closer only at long runs, escapes and URLs.

// isPlain reports whether Bytes certainly hides nothing in a text and learns nothing from it. A text
// without secrets need not be plain.
func (s *Secrets) isPlain(raw []byte) bool {
	mayBeUTF16 := len(raw) > 0 && raw[0] >= 0xFE // by its byte order mark
	if mayBeUTF16 || s != nil && s.Guess != GuessNone {
		return false
	}
	for from := 0; from < len(raw); {
		to, end, isSeparated := s.windowAt(raw, from)
		isContinued := end < len(raw)
		// Without a separator, a name or a token could continue in the next window unseen.
		if !isSeparated || !isPlainWindow(s, raw[from:end], isContinued) {
			return false
		}
		if to < len(raw) {
			spool.Release(raw[from:to])
		}
		from = to
	}
	return true
}

// isPlainWindow reports whether Bytes certainly hides nothing in a window and learns nothing from
// it. isContinued is set if more text follows the window.
func isPlainWindow(s *Secrets, raw []byte, isContinued bool) bool {
	colon := -1  // the next ":" from offset on
	equals := -1 // the next "="
	for offset := 0; ; {
		if colon < offset {
			colon = indexByte(raw, ':', offset)
		}
		if equals < offset {
			equals = indexByte(raw, '=', offset)
		}
		i := min(colon, equals)
		if i == len(raw) {
			break
		}
		isURL := i == colon && beginsURL(raw, i, isContinued)
		if isURL || isNamedSecret(raw[:i]) {
			return false
		}
		offset = i + 1
	}
	if bytes.IndexByte(raw, 0) >= 0 { // perhaps UTF-16
		return false
	}
	if bytes.IndexByte(raw, '&') >= 0 && len(hideForm(raw, false).replaced) > 0 {
		return false
	}
	if bytes.Contains(raw, []byte(keyWord)) || bytes.Contains(raw, []byte(curlWord)) {
		return false
	}
	if hasLongRun(raw) && (hasToken(raw) || hasCodedText(raw)) {
		return false
	}
	return s == nil || s.values.hasNone(raw)
}

// indexByte returns the place of the first c from offset on, counted in raw, or len(raw).
func indexByte(raw []byte, c byte, offset int) int {
	if next := bytes.IndexByte(raw[offset:], c); next >= 0 {
		return offset + next
	}
	return len(raw)
}

// hasLongRun reports whether raw has a run of token bytes that is long enough for a token or for
// base64, other than openWords. It checks bytes at intervals that such a run cannot miss.
func hasLongRun(raw []byte) bool {
	for i := minRun - 1; i < len(raw); {
		from := i + 1
		for from > max(0, i+1-minRun) && isTokenByte(raw[from-1]) {
			from--
		}
		if from > i {
			i += minRun
			continue
		}
		to := i + 1
		for to < len(raw) && isTokenByte(raw[to]) {
			to++
		}
		if to-from >= minRun && !openWords[string(raw[from:to])] {
			return true
		}
		i = to + minRun
	}
	return false
}

// beginsURL reports whether the colon belongs to a URL that may contain a secret. If isContinued is
// set, a URL at the end of the text may continue after it.
func beginsURL(raw []byte, colon int, isContinued bool) bool {
	if colon+2 >= len(raw) || raw[colon+1] != '/' || raw[colon+2] != '/' {
		return false
	}
	to := colon
	for to < len(raw) && classes[raw[to]]&urlEnd == 0 {
		to++
	}
	return to == len(raw) && isContinued || bytes.ContainsAny(raw[colon:to], "@=")
}

// isNamedSecret reports whether text ends with a secret name, by the rules of hideNamed. The
// exception is progressToken.
func isNamedSecret(text []byte) bool {
	word := wordBefore(text)
	return string(word) != "progressToken" && isSecretMember(word)
}

// hasCodedText reports whether a text contains text in base64 or in hexadecimal digits.
func hasCodedText(raw []byte) bool {
	found := false
	eachCoded(raw, func([]byte, func(from, to int) (int, int)) { found = true })
	return found
}

// openWords are long runs that occur in most messages and heads. They are neither tokens nor base64
// text; checking that each time would be slow.
var openWords = map[string]bool{
	"notifications/progress": true, "notifications/message": true, "notifications/cancelled": true,
	"notifications/initialized":        true,
	"notifications/tools/list_changed": true, "sampling/createMessage": true, "elicitation/create": true,
	"completion/complete":      true,
	"resources/templates/list": true, "structuredContent": true, "additionalProperties": true, "supportedVersions": true,
	"io.modelcontextprotocol/clientInfo": true, "io.modelcontextprotocol/clientCapabilities": true,
	"io.modelcontextprotocol/protocolVersion": true,
	"io.modelcontextprotocol/serverInfo":      true, "application/json": true, "text/event-stream": true,
	"MCP-Protocol-Version": true, "Mcp-Protocol-Version": true,
}
