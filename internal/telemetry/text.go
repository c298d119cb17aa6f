package telemetry

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

const (
	longestName    = 256
	longestMessage = 1 << 10
	longestContent = 4 << 10
	// longestLookedAt is how many bytes of a content are searched for secrets before the content is
	// cut.
	longestLookedAt = 64 << 10
)

// bounded returns text as valid UTF-8 of at most n bytes, cut at a character. The result is a copy.
func bounded(text string, n int) string {
	if len(text) > n {
		text = text[:jsonraw.RuneStart([]byte(text[:min(len(text), n+utf8.UTFMax)]), n)]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > n { // U+FFFD may be longer than the invalid bytes
		text = text[:jsonraw.RuneStart([]byte(text), n)]
	}
	return strings.Clone(text)
}

// noSecrets has no values. It redacts values that have the name or the form of a secret.
var noSecrets *redact.Secrets

// shown returns the text of a message without secrets, at most longestMessage bytes.
func shown(text string) string {
	return bounded(noSecrets.Text(bounded(text, longestLookedAt)), longestMessage)
}

// content returns a JSON value of a message without secrets, at most longestContent bytes.
func content(raw json.RawMessage) string {
	safe, _ := noSecrets.Bytes(raw[:min(len(raw), longestLookedAt)])
	return bounded(string(safe), longestContent)
}

// idText returns an id as text: 7 for 7, abc for "abc", "" for null.
func idText(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		return bounded(text, longestName)
	}
	if string(id) == "null" {
		return ""
	}
	return bounded(string(id), longestName)
}

// hashIn returns the hash that recordings have in place of a secret, or other if the text has no
// hash.
func hashIn(text, other string) string {
	if all := redact.HashesIn(text); len(all) > 0 {
		return all[0]
	}
	return other
}
